//! What `record` can be asked for.

use crate::base::number::size;
use crate::formats::values::duration;
use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

/// What `record` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows record --out traffic.pftrace                until Ctrl-C
  narrows record voice --out voice.pftrace --for 60s
  narrows replay voice.pftrace --on davinci           the same traffic on a chip

The nodes are not asked, woken or told: their messages are read where they lie.
What was overwritten before it could be read is counted. `narrows view` and
Perfetto's viewer open the file.")]
pub struct Record {
    /// The domain whose messages are kept
    #[arg(value_name = "DOMAIN", default_value = "default")]
    pub domain: String,
    /// The file to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Keep what messages carry too, not only how much
    #[arg(long)]
    pub payload: bool,
    /// End after this time, instead of with Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub r#for: Option<Duration>,
    /// End when the file has this size
    #[arg(long, value_name = "SIZE", default_value = "1GiB",
          value_parser = size::<u64>(1..=u64::MAX))]
    pub limit: u64,
}
