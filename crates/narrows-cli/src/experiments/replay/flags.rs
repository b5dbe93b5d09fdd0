//! What `replay` can be asked for.

use crate::base::number::size;
use crate::base::offered::offered;
use crate::base::options::{PageFile, Place, TraceFile};
use crate::experiments::run::flags::Run;
use crate::formats::functions::cost::Cost;
use crate::formats::recording::Playing;
use crate::formats::strategy;
use crate::formats::values::{Policies, policy_name};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// What `replay` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows replay voice.pftrace
  narrows replay voice.pftrace --on davinci --strategy copy/interrupt,auto
  narrows replay voice.pftrace --on davinci --cost \"1.2 ms\"
  narrows advise --from voice.pftrace --on generic-amp

A call is sent when it was sent, with as many bytes, and its answer has as many
as it had; a message comes back without a byte. What functions take of a core is
not in a recording: --cost says it.")]
pub struct Replay {
    /// The recording: what narrows record or --trace wrote; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Strategies to play it by, one after the other; `auto` chooses while they run
    #[arg(long, value_name = "NAME|all", value_delimiter = ',', hide_possible_values = true,
          value_parser = offered(strategy::offered(&["auto"]), policy_name))]
    pub strategy: Vec<Policies>,
    /// How many times as fast as it was recorded
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = speed)]
    pub speed: f64,
    /// What each request takes of the core that is called, on a chip
    #[arg(long, value_name = "COST")]
    pub cost: Option<Cost>,
    /// Internal memory that flows may take with `auto`, instead of all that there is
    #[arg(long, value_name = "SIZE", value_parser = size::<u32>(0..=u32::MAX.into()))]
    pub memory: Option<u32>,
    /// Print the long tables too: p99 to max, jitter, throughput, decisions
    #[arg(long)]
    pub details: bool,
    /// Where to play it; on this machine if nothing is named
    #[command(flatten)]
    pub place: Place,
    /// A page of what was found.
    #[command(flatten)]
    pub page: PageFile,
    /// A trace of what happened.
    #[command(flatten)]
    pub trace: TraceFile,
}

/// Reads how many times as fast something is to go.
pub fn speed(text: &str) -> Result<f64, String> {
    let read = text.parse::<f64>().ok().filter(|speed| (1e-3..=1e6).contains(speed));
    read.ok_or_else(|| "expected a number from 0.001 to 1000000, such as 10".to_owned())
}

impl Replay {
    /// How the recording is played.
    pub fn playing(&self) -> Playing {
        Playing { speed: self.speed, cost: self.cost }
    }

    /// The same of a workload that is run.
    pub fn run(&self) -> Run {
        Run {
            workload: self.file.clone(),
            strategy: self.strategy.clone(),
            memory: self.memory,
            costs: None,
            details: self.details,
            live: false,
            duration: None,
            out: None,
            hdr: None,
            place: self.place.clone(),
            page: self.page.clone(),
            trace: self.trace.clone(),
        }
    }
}
