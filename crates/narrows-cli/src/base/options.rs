//! What every command takes, and where a command runs.

use crate::base::offered::{offered, platforms};
use crate::base::usage::Monitor;
use clap::Args;
use clap::builder::StringValueParser;
use narrows_host::Carrier;
use std::path::PathBuf;

/// Options that every subcommand takes or refuses with a reason.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Common options")]
pub struct Global {
    /// Run with real-time priority N (1 to 99)
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub priority: Option<u8>,
    /// Lock all memory, so that nothing is paged out
    #[arg(long, global = true)]
    pub lock_memory: bool,
    /// Cores of the caller and of the callee, such as 0,1; run and bench pingpong take one for both
    #[arg(long, global = true, value_name = "A,B", value_parser = cores)]
    pub cores: Option<Cores>,
    /// What carries links between processes: memory, or stream (frames over a Unix socket)
    #[arg(long, global = true, value_name = "memory|stream", value_parser = carrier)]
    pub carrier: Option<Carrier>,
    /// Print one JSON object instead of tables
    #[arg(long, global = true)]
    pub json: bool,
    /// What looks at simulations: [`traced`](crate::base::trace::traced) has it write a trace.
    #[arg(skip)]
    pub monitor: Monitor,
}

/// The two cores that measurements are pinned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// Where the caller runs.
    pub caller: usize,
    /// Where the callee runs.
    pub callee: usize,
}

impl Cores {
    /// Whether both sides are on one core.
    pub fn are_one(self) -> bool {
        self.caller == self.callee
    }
}

/// Where `run` and `bench` run.
#[derive(Clone, Debug, Default, Args)]
pub struct Place {
    /// Run on a simulated chip, in virtual time: the name of a platform, or its file; or `host`, as
    /// without
    #[arg(long, value_name = "PLATFORM|host", hide_possible_values = true,
          value_parser = offered(places(), StringValueParser::new()))]
    pub on: Option<String>,
}

/// A page of what a command found.
#[derive(Clone, Debug, Default, Args)]
pub struct PageFile {
    /// Write what was found as one page for a browser: words, charts and tables
    #[arg(long, global = true, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

/// A trace of what happened.
#[derive(Clone, Debug, Default, Args)]
pub struct TraceFile {
    /// Write what each core did and when: `narrows why` and Perfetto's viewer read it
    #[arg(long, global = true, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

/// What stands for this machine where a platform is named.
pub const HOST: &str = "host";

/// What shells offer for `--on`.
pub fn places() -> Vec<&'static str> {
    platforms().into_iter().chain([HOST]).collect()
}

impl Place {
    /// The platform that was named; none for this machine.
    pub fn platform(&self) -> Option<&str> {
        self.on.as_deref().filter(|on| *on != HOST)
    }
}

fn cores(text: &str) -> Result<Cores, String> {
    let expected = || "expected two cores, such as 0,1".to_owned();
    let (caller, callee) = text.split_once(',').ok_or_else(expected)?;
    let (Ok(caller), Ok(callee)) = (caller.trim().parse(), callee.trim().parse()) else {
        return Err(expected());
    };
    Ok(Cores { caller, callee })
}

fn carrier(text: &str) -> Result<Carrier, String> {
    let named = Carrier::ALL.into_iter().find(|carrier| carrier.name() == text);
    named.ok_or_else(|| "expected memory or stream".to_owned())
}
