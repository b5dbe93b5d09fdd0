//! The command line of `narrows gateway`.

use crate::base::number::size;
use crate::base::offered::{offered, platforms};
use crate::base::options::{PageFile, TraceFile};
use crate::base::shipped;
use crate::formats::values::duration;
use clap::builder::StringValueParser;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// The most sessions of a kind: each takes two processes of others.
const SESSIONS: i64 = 16;

/// How sessions travel to the DSP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Each kind by the strategy that the workload file has for it.
    Static,
    /// As the controller chooses while sessions come and go.
    Auto,
    /// One after the other.
    Both,
}

/// What `gateway` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows gateway                         three sessions of each kind, both ways
  narrows gateway --until-late            how many sessions the DSP carries
  narrows gateway --speed 10 --strategy auto --memory 1KiB
  narrows gateway --kill 4s               the DSP dies, and comes back

The packages and the gateway are there after:
  ci/setup gateway
  cargo build --release --manifest-path apps/gateway/Cargo.toml")]
pub struct Gateway {
    /// Sessions of G.711 that come and go, instead of as many as the workload has; with
    /// --until-late the most that are added, 16 without
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=SESSIONS))]
    pub audio: Option<u16>,
    /// Sessions of H.263, likewise
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=SESSIONS))]
    pub video: Option<u16>,
    /// Carry sessions for so long each way, 10 s without; with --until-late the time from one
    /// session to the next, 2 s without
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub length: Option<Duration>,
    /// The part of a core's speed that the DSP has, from 1 to 100
    #[arg(long, value_name = "PERCENT", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub speed: u32,
    /// How frames travel to the DSP: static as the workload says, auto as the controller chooses
    #[arg(
        long,
        value_name = "static|auto|both",
        default_value = "both",
        hide_possible_values = true
    )]
    pub strategy: Way,
    /// Internal memory that sessions may take with `auto`, instead of the workload's
    #[arg(long, value_name = "SIZE", value_parser = size::<u32>(0..=u32::MAX.into()))]
    pub memory: Option<u32>,
    /// Add sessions one after the other until a frame is late
    #[arg(long)]
    pub until_late: bool,
    /// Kill the DSP so long after the first session, and start it again a second later
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "until_late")]
    pub kill: Option<Duration>,
    /// The workload file that says when sessions come and go, and by which strategies
    #[arg(long, value_name = "WORKLOAD.toml", default_value = "workloads/gateway.toml",
          value_parser = offered(vec!["gateway"], shipped::path("workloads")), hide_possible_values = true)]
    pub workload: PathBuf,
    /// The platform that the same sessions are simulated on
    #[arg(long, value_name = "PLATFORM", default_value = "davinci", hide_possible_values = true,
          value_parser = offered(platforms(), StringValueParser::new()))]
    pub on: String,
    /// Where the gateway and the DSP were built
    #[arg(long, value_name = "DIR", default_value = "apps/gateway/target/release")]
    pub gateway: PathBuf,
    /// Keep the logs, recordings and statistics in this directory
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// A page of what was found.
    #[command(flatten)]
    pub page: PageFile,
    /// A trace of what happened.
    #[command(flatten)]
    pub trace: TraceFile,
}
