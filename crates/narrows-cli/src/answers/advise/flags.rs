//! The command line of `narrows advise`.

use crate::answers::tune::flags::{Objective, clock, percent};
use crate::base::number::{number, size};
use crate::base::offered::{flows, offered};
use crate::base::options::{Global, PageFile, places};
use crate::base::shipped;
use crate::formats::strategy;
use crate::formats::values::{Choice, strategy_name};
use clap::builder::StringValueParser;
use clap::{Args, ValueHint};
use narrows_sim::time::Frequency;
use std::path::PathBuf;

/// What `advise` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows advise --on davinci
  narrows advise workloads/gateway.toml --on davinci --out tuned
  narrows advise workloads/voice.toml --objective latency
  narrows advise voice --on davinci --json | jq '.results[].strategy'
  narrows advise workloads/tasks/sensor.toml --on quatro67
  narrows advise workloads/accelerators/spectra.toml --on bmm-clusters

A model proposes the best strategies and the best of each other kind
(docs/MODEL.md). Each proposal is then carried: simulated on a chip, or run
between two processes here. What is said is what was measured so. Of strategies
that cannot be told apart the one with the lower latency is chosen, then the one
with less internal memory, then the simpler one.

Of a workload of tasks it says which of them belong on one processor of a board
with ports, so that messages hold processors least. Of flows through
accelerators it says how many ports and how much credit are enough.")]
pub struct Advise {
    /// The workload file
    #[arg(value_name = "WORKLOAD.toml", default_value = "workloads/voice.toml",
          value_parser = offered(flows(), shipped::path("workloads")), hide_possible_values = true,
          value_hint = ValueHint::FilePath)]
    pub workload: PathBuf,
    /// Advise on the traffic of a recording, instead of a workload file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with_all = ["workload", "out"])]
    pub from: Option<PathBuf>,
    /// Where it is to run: the name of a platform, or its file, or `host`
    #[arg(long, value_name = "PLATFORM|host", default_value = "host", hide_possible_values = true,
          value_parser = offered(places(), StringValueParser::new()))]
    pub on: String,
    /// What is to be least
    #[arg(long, value_enum, default_value_t = Objective::Load)]
    pub objective: Objective,
    /// Bytes of internal memory, instead of the workload's or all that the platform has
    #[arg(long, value_name = "SIZE", value_parser = size::<u32>(0..=u32::MAX.into()))]
    pub memory: Option<u32>,
    /// The most that all flows may take of the calling core, or tasks of a processor, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0, value_parser = percent)]
    pub load: f64,
    /// Cores to call, instead of those that the workload names or one
    #[arg(long, value_name = "N", value_parser = number::<u8>(1..=8))]
    pub dsps: Option<u8>,
    /// Strategies to choose from, instead of all that make sense (spin for latency only)
    #[arg(long, value_name = "NAME|all", value_delimiter = ',', hide_possible_values = true,
          value_parser = offered(strategy::offered(&[]), strategy_name))]
    pub strategy: Vec<Choice>,
    /// Of energy: clocks that the calling core can have, instead of those in the platform's file
    #[arg(long, value_name = "CLOCK,…", value_delimiter = ',', value_parser = clock)]
    pub clocks: Vec<Frequency>,
    /// Write the workload with the strategies that were chosen into this directory; made if missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where to write what was found as a page.
    #[command(flatten)]
    pub page: PageFile,
}

impl Advise {
    /// What was given that says something of workloads of strategies alone.
    pub fn of_strategies(&self, global: &Global) -> Option<&'static str> {
        let given = [
            (self.objective != Objective::Load, "--objective"),
            (self.memory.is_some(), "--memory"),
            (self.dsps.is_some(), "--dsps"),
            (!self.strategy.is_empty(), "--strategy"),
            (!self.clocks.is_empty(), "--clocks"),
            (self.out.is_some(), "--out"),
            (global.cores.is_some(), "--cores"),
        ];
        given.into_iter().find_map(|(given, flag)| given.then_some(flag))
    }
}
