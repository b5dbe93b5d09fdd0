//! The command line of `narrows compare`.

use crate::base::options::PageFile;
use clap::Args;
use std::path::PathBuf;

/// What `compare` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows run --json > before.json
  narrows run --json > after.json
  narrows compare before.json after.json
  narrows run --json | narrows compare before.json - --report change.html

A figure changed by more than noise if the interval of 95 % in which its change
lies has no 0 in it. The interval is found by bootstrap from the rounds of a
bench, or from the medians of the 20 parts of a run.")]
pub struct Compare {
    /// What run or bench printed with --json before; - is standard input
    #[arg(value_name = "A.json")]
    pub before: PathBuf,
    /// And what the same command printed after; - is standard input
    #[arg(value_name = "B.json")]
    pub after: PathBuf,
    /// A page of what was found.
    #[command(flatten)]
    pub page: PageFile,
}
