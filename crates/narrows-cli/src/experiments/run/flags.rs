//! What `run` can be asked for.

use crate::base::number::size;
use crate::base::offered::{offered, platforms, workloads};
use crate::base::options::{PageFile, Place, TraceFile};
use crate::base::shipped;
use crate::formats::strategy::{self, Policy};
use crate::formats::values::{Policies, duration, policy_name};
use clap::builder::StringValueParser;
use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

/// What `run` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows run
  narrows run workloads/mixed.toml --duration 2s
  narrows run --strategy copy,in_place/spin --out out
  narrows run --strategy copy/poll=5ms/internal,copy_engine/fragment=4096
  narrows run --on davinci
  narrows run --report run.html
  narrows run workloads/gateway.toml --on davinci --strategy static,auto
  narrows run workloads/gateway.toml --strategy auto --memory 16KiB --live
  narrows run workloads/susan.toml --out out

A strategy is a driver and what differs from hybrid/external, joined by '/':
  driver:          copy, copy_lazy, copy_batched, single_copy, in_place,
                   copy_engine
  notification:    interrupt, spin, poll=TIME, timer=TIME, hybrid=TIME,
                   coalesced=N:TIME
  callee:          callee=interrupt, callee=poll=TIME and so on, where the
                   callee is to learn of requests in a way of its own
  placement:       internal, external
  acknowledgement: ack_interrupt, ack_lazy, ack_batched
  and:             granularity=K requests in a message, fragment=BYTES
  or:              parts=P calls for a request, one after the other; parts=P:W
                   with W of them under way; for flows with parts in the file
poll, timer, hybrid and coalesced stand for 1ms, 1ms, at most 50us, and 8:1ms.
`all` is each of copy, copy_lazy, single_copy, in_place and copy_engine with
every notification in either placement, 60 in all. `static` is each flow's own
of the file. `auto` chooses one for each flow and changes it while flows come
and go (docs/MODEL.md).")]
pub struct Run {
    /// The workload file
    #[arg(value_name = "WORKLOAD.toml", default_value = "workloads/voice.toml",
          value_parser = offered(workloads(), shipped::path("workloads")), hide_possible_values = true,
          value_hint = ValueHint::FilePath)]
    pub workload: PathBuf,
    /// Strategies to run one after the other, instead of the workload's own; `static` is
    /// each flow's own of the file, `auto` chooses while they run
    #[arg(long, value_name = "NAME|all", value_delimiter = ',', hide_possible_values = true,
          value_parser = offered(strategy::offered(&["static", "auto"]), policy_name))]
    pub strategy: Vec<Policies>,
    /// Internal memory that flows may take with `auto`, instead of the workload's or platform's
    #[arg(long, value_name = "SIZE", value_parser = size::<u32>(0..=u32::MAX.into()))]
    pub memory: Option<u32>,
    /// Reckon with what this chip takes, with `auto`, instead of measuring first
    #[arg(long, value_name = "PLATFORM", hide_possible_values = true,
          value_parser = offered(platforms(), StringValueParser::new()))]
    pub costs: Option<String>,
    /// Print the long tables too: p99 to max, jitter, throughput, decisions, what a chip did
    #[arg(long)]
    pub details: bool,
    /// Show flows, strategies and decisions while they run
    #[arg(long)]
    pub live: bool,
    /// How long each strategy runs, instead of the workload's own duration
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Directory for the audio that comes back, or for the image; made if it is missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the distribution of round trips as HdrHistogram does; with several flows or strategies
    /// to a file for each, whose name has theirs
    #[arg(long, value_name = "FILE")]
    pub hdr: Option<PathBuf>,
    /// Where to run; this machine if nothing is named
    #[command(flatten)]
    pub place: Place,
    /// A page of what was found.
    #[command(flatten)]
    pub page: PageFile,
    /// A trace of what happened.
    #[command(flatten)]
    pub trace: TraceFile,
}

impl Run {
    /// The strategies that the command line asks for; none if it leaves that to the workload.
    pub fn strategies(&self) -> Vec<Policy> {
        let mut all = Vec::new();
        strategy::append(&mut all, self.strategy.iter().flat_map(|choice| choice.0.clone()));
        all
    }
}
