//! The command line of `narrows calibrate`.

use crate::base::number::number;
use clap::Args;
use std::path::PathBuf;

/// What `calibrate` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows calibrate --out here.toml
  narrows calibrate --out here.toml --cores 0,2 --rounds 100
  narrows bench pingpong --on here.toml")]
pub struct Calibrate {
    /// The platform file to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Rounds, in each of which everything has its turn
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = number::<u16>(1..=u16::MAX.into()))]
    pub rounds: u16,
}
