//! The command line, defined once: help, man page and completions all come from here.

use crate::answers::doctor::flags::Doctor;
use crate::answers::why::flags::Why;
use crate::answers::{advise, compare, ps, tune};
use crate::base::failure::exit_codes;
use crate::base::options::Global;
use crate::experiments::bench::flags::Bench;
use crate::experiments::bench::traffic::flags::Partner;
use crate::experiments::gateway::flags::Gateway;
use crate::experiments::mcapi::flags::Mcapi;
use crate::experiments::papers::flags::Papers;
use crate::experiments::replay::flags::Replay;
use crate::experiments::run::flags::Run;
use crate::experiments::voip::flags::Voip;
use crate::experiments::{calibrate, sweep};
use crate::formats::platform::flags as platform;
use crate::rig::callee::flags::Callee;
use crate::services::bridge::flags::BridgeFlags;
use crate::services::record::flags::Record;
use crate::services::view::flags::View;
use clap::{Args, Parser, Subcommand};
use std::ffi::OsStr;
use std::path::PathBuf;

/// Message passing between the cores of asymmetric chips.
///
/// Carries the traffic of a workload file to another core and back, measures every step of
/// the way, and compares the ways to go.
#[derive(Debug, Parser)]
#[command(
    name = "narrows",
    version,
    max_term_width = 80,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{}", exit_codes())
)]
pub struct Flags {
    /// What every subcommand takes.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  narrows run                           speech to the other core and back
  narrows run --strategy all --out out  the same by every strategy
  narrows bench pingpong --bytes 48     round trips beside their limit
  narrows doctor                        what spoils measurements here";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Carry a workload to another core and back, phase by phase
    Run(Run),
    /// Measure the stack beside what the machine itself allows
    Bench(Bench),
    /// Say what here spoils a measurement, and what to do about it
    Doctor(Doctor),
    /// List, check and draw the chips that can be simulated
    #[command(
        subcommand_required = true,
        arg_required_else_help = true,
        disable_help_subcommand = true,
        after_help = platform::EXAMPLES
    )]
    Platform {
        /// What to do.
        #[command(subcommand)]
        what: platform::Platform,
    },
    /// Measure this machine, and write a platform file to simulate it with
    Calibrate(calibrate::flags::Calibrate),
    /// Simulate a grid of chips, strategies and traffic, and write a table
    Sweep(sweep::flags::Sweep),
    /// Say what each flow of a workload should travel by, and why: tried, not only computed
    Advise(advise::flags::Advise),
    /// Choose the strategy of every flow of a workload, by a model of what each costs
    Tune(tune::flags::Tune),
    /// Say what changed between two runs, and whether that is more than noise
    Compare(compare::flags::Compare),
    /// Say what the slowest messages of a trace waited for
    Why(Why),
    /// Put published figures beside those of the simulator
    Papers(Papers),
    /// Run programs written to MCAPI on the cores of a simulated chip
    Mcapi(Mcapi),
    /// Make real calls with a codec on another core, and measure them
    Voip(Voip),
    /// Carry real sessions through a media gateway with its codecs on another core
    Gateway(Gateway),
    /// Keep what the nodes of a domain send each other, without a word to them
    Record(Record),
    /// Play the traffic of a recording on another chip, or by other strategies
    Replay(Replay),
    /// List the nodes that run: links, flows, rates, blocks, sleepers
    Ps(ps::flags::Ps),
    /// The same, again and again, the busiest first
    Top(ps::flags::Top),
    /// Link nodes of this machine with those of another, over TCP
    Bridge(BridgeFlags),
    /// Show traces in a browser: what each core did, and the messages between them
    View(View),
    /// Write the manual pages
    Man(Man),
    /// Print the completions of a shell
    Completions(Completions),
}

/// The command line of a process that the program starts itself: help, pages, completions and
/// suggestions know nothing of it.
#[derive(Debug, Parser)]
#[command(name = "narrows", disable_help_subcommand = true)]
pub struct Inner {
    /// What every subcommand takes.
    #[command(flatten)]
    pub global: Global,
    /// Which process it is.
    #[command(subcommand)]
    pub process: Process,
}

/// The processes that the program starts itself.
#[derive(Debug, Subcommand)]
pub enum Process {
    /// The other core's process; started by run and bench themselves
    Callee(Callee),
    /// The other process of bench storm and bench soak; started by them
    Partner(Partner),
}

impl Inner {
    /// Whether the first word of a command line names such a process.
    pub fn is_meant(first: Option<&OsStr>) -> bool {
        first.and_then(OsStr::to_str).is_some_and(Process::has_subcommand)
    }
}

/// What `man` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows man | man -l -
  narrows man --out ~/.local/share/man/man1")]
pub struct Man {
    /// Write one page per subcommand here, instead of the main page to the screen
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// What `completions` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows completions bash > ~/.local/share/bash-completion/completions/narrows
  narrows completions fish > ~/.config/fish/completions/narrows.fish")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::bench::choice::Word;
    use crate::formats::strategy::Policy;
    use crate::formats::values::duration;
    use std::time::Duration;

    fn parse(line: &str) -> Result<Flags, clap::Error> {
        Flags::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn run_takes_its_defaults() {
        let flags = parse("narrows run").unwrap();
        let Command::Run(run) = flags.command else {
            panic!("not run");
        };
        assert_eq!(run.workload, PathBuf::from("workloads/voice.toml"));
        assert!(run.strategy.is_empty() && run.duration.is_none() && run.out.is_none());
    }

    #[test]
    fn lists_and_durations_parse() {
        let flags =
            parse("narrows bench pingpong --transfer copy,in_place --bytes 48,4096").unwrap();
        let Command::Bench(bench) = flags.command else {
            panic!("not bench");
        };
        let asked = bench.which.common();
        let names: Vec<String> = asked.axes.transfer.iter().map(Word::to_string).collect();
        assert_eq!(names, ["copy", "in_place"]);
        assert_eq!(asked.bytes, [48, 4096]);
        for (text, expected) in [("20ms", 20_000), ("10s", 10_000_000), ("500us", 500)] {
            assert_eq!(duration(text), Ok(Duration::from_micros(expected)));
        }
    }

    #[test]
    fn names_of_strategies_add_up() {
        let flags = parse("narrows run --strategy copy,in_place/spin,copy/hybrid").unwrap();
        let Command::Run(run) = flags.command else {
            panic!("not run");
        };
        let names: Vec<String> = run.strategies().iter().map(Policy::to_string).collect();
        assert_eq!(names, ["copy/hybrid/external", "in_place/spin/external"]);
    }

    #[test]
    fn impossible_values_are_refused() {
        for line in [
            "narrows run --duration 0s",
            "narrows run --duration -3ms",
            "narrows run --strategy nonsense",
            "narrows run --memory 1.5B",
            "narrows bench pingpong --bytes 17M",
            "narrows bench pingpong --rounds 1e9",
            "narrows run --memory -1",
            "narrows run --memory 5000000KiB",
            "narrows bench pingpong --bytes 0",
            "narrows bench pingpong --bytes 16777216",
            "narrows --cores 1 doctor",
            "narrows --priority 100 doctor",
            "narrows bench advise --case 1 --cases 2",
            "narrows bench nothing",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }
}
