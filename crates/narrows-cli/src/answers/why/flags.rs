//! The command line of `narrows why`.

use crate::base::number::number;
use crate::formats::values::duration;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// What `why` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows run --on davinci --strategy copy/interrupt --trace run.pftrace
  narrows why run.pftrace
  narrows why run.pftrace --flow 2 --slowest 10
  narrows why run.pftrace --over 1ms --json

docs/TRACES.md says what each cause means.")]
pub struct Why {
    /// The trace: what --trace wrote; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only messages of this flow, or from this port
    #[arg(long, value_name = "F", value_parser = number::<u32>(0..=u32::MAX.into()))]
    pub flow: Option<u32>,
    /// Explain so many of the slowest messages
    #[arg(long, value_name = "N", default_value = "5", value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub slowest: u32,
    /// Only messages that took longer
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub over: Option<Duration>,
}
