//! The command line of `narrows sweep`.

use crate::base::offered::{offered, sweeps};
use crate::base::options::PageFile;
use crate::base::shipped;
use clap::{Args, ValueHint};
use std::num::NonZero;
use std::path::PathBuf;

/// What `sweep` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows sweep sweeps/memory.toml
  narrows sweep sweeps/memory.toml --out memory.csv --json-lines memory.jsonl
  narrows sweep sweeps/voice.toml --threads 1
  narrows sweep sweeps/clusters.toml
  narrows sweep sweeps/memory.toml --report memory.html

A sweep that was interrupted goes on where it was when the same command is given
again. With another sweep file, or another platform or workload in it, another
file has to be named for the rows.")]
pub struct Sweep {
    /// The sweep file
    #[arg(value_name = "SWEEP.toml", hide_possible_values = true, value_hint = ValueHint::FilePath,
          value_parser = offered(sweeps(), shipped::path("sweeps")))]
    pub sweep: PathBuf,
    /// The file for rows, as CSV; usually named as the sweep, in this directory
    #[arg(long, value_name = "FILE.csv")]
    pub out: Option<PathBuf>,
    /// Also write the rows to this file, a JSON object each
    #[arg(long, value_name = "FILE")]
    pub json_lines: Option<PathBuf>,
    /// Points simulated at once, usually as many as this machine has cores
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZero<usize>>,
    /// A page of what was found.
    #[command(flatten)]
    pub page: PageFile,
}
