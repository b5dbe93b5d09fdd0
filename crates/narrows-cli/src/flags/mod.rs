//! The command line, defined once: help, man page and completions all come from here.

mod inner;
mod values;

pub use inner::{Callee, Partner};
pub(crate) use values::{memory, strategy_name};

use crate::bench::against::flags::Against;
use crate::bench::choice::{self, Word};
use crate::bench::linx::flags::Linx;
use crate::failure::exit_codes;
use crate::mcapi::flags::Mcapi;
use crate::papers::flags::Papers;
use crate::platform::flags as platform;
use crate::strategy::Policy;
use crate::{calibrate, strategy, sweep, tune};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use narrows::strategy::Strategy;
use std::path::PathBuf;
use std::time::Duration;
use values::{bytes, cores, duration, policy_name};

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

/// Options of every subcommand.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Run with real-time priority N (1 to 99)
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub priority: Option<u8>,
    /// Lock all memory, so that nothing is paged out
    #[arg(long, global = true)]
    pub lock_memory: bool,
    /// Cores of the caller and of the callee, such as 0,1
    #[arg(long, global = true, value_name = "A,B", value_parser = cores)]
    pub cores: Option<Cores>,
    /// Print one JSON object instead of tables
    #[arg(long, global = true)]
    pub json: bool,
}

/// The two cores that measurements are pinned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// Where the caller runs.
    pub caller: usize,
    /// Where the callee runs.
    pub callee: usize,
}

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
    /// Choose the strategy of every flow of a workload, by a model of what each costs
    Tune(tune::flags::Tune),
    /// Put published figures beside those of the simulator
    Papers(Papers),
    /// Run programs written to MCAPI on the cores of a simulated chip
    Mcapi(Mcapi),
    /// Write the manual pages
    Man(Man),
    /// Print the completions of a shell
    Completions(Completions),
    /// The other core's process; started by run and bench themselves
    #[command(hide = true)]
    Callee(Callee),
    /// The other process of bench storm and bench soak; started by them
    #[command(hide = true)]
    Partner(Partner),
}

/// What `run` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows run
  narrows run workloads/mixed.toml --duration 2s
  narrows run --strategy copy,in_place/spin --out out
  narrows run --strategy copy/poll=5ms/internal,copy_engine/fragment=4096
  narrows run --on davinci
  narrows run workloads/gateway.toml --on davinci --strategy static,auto
  narrows run workloads/gateway.toml --strategy auto --memory 16KiB --live

A strategy is a driver and what differs from hybrid/external, joined by '/':
  driver:          copy, copy_lazy, copy_batched, single_copy, in_place,
                   copy_engine
  notification:    interrupt, spin, poll=TIME, hybrid=TIME, coalesced=N:TIME
  placement:       internal, external
  acknowledgement: ack_interrupt, ack_lazy, ack_batched
  and:             granularity=K requests in a message, fragment=BYTES
poll, hybrid and coalesced stand for 1ms, at most 50us, and 8:1ms. `all` is each
of copy, copy_lazy, single_copy, in_place and copy_engine with every
notification in either placement, 50 in all. `static` is each flow's own of the
file. `auto` chooses one for each flow and changes it while flows come and go
(docs/MODEL.md).")]
pub struct Run {
    /// The workload file
    #[arg(value_name = "WORKLOAD.toml", default_value = "workloads/voice.toml")]
    pub workload: PathBuf,
    /// Strategies to run one after the other, instead of the workload's own; `static` is
    /// each flow's own of the file, `auto` chooses while they run
    #[arg(long, value_name = "NAME|all", value_delimiter = ',', value_parser = policy_name)]
    pub strategy: Vec<Policies>,
    /// Internal memory that flows may take with `auto`, instead of the workload's or platform's
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u32>,
    /// Reckon with what this chip takes, with `auto`, instead of measuring first
    #[arg(long, value_name = "PLATFORM")]
    pub costs: Option<String>,
    /// Show flows, strategies and decisions while they run
    #[arg(long)]
    pub live: bool,
    /// How long each strategy runs, instead of the workload's own duration
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Directory for the audio that comes back; made if it is missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where to run; this machine if nothing is named
    #[command(flatten)]
    pub place: Place,
}

/// Where `run` and `bench` run.
#[derive(Clone, Debug, Default, Args)]
pub struct Place {
    /// Run on a simulated chip, in virtual time: the name of a platform, or its file; or `host`, as without
    #[arg(long, value_name = "PLATFORM|host")]
    pub on: Option<String>,
}

/// What stands for this machine where a platform is named.
pub const HOST: &str = "host";

impl Place {
    /// The platform that was named; none for this machine.
    pub fn platform(&self) -> Option<&str> {
        self.on.as_deref().filter(|on| *on != HOST)
    }
}

impl Run {
    /// The strategies that the command line asks for; none if it leaves that to the workload.
    pub fn strategies(&self) -> Vec<Policy> {
        let mut all = Vec::new();
        strategy::append(&mut all, self.strategy.iter().flat_map(|choice| choice.0.clone()));
        all
    }
}

/// The strategies that one name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice(pub Vec<Strategy>);

/// As [`Choice`], for who can carry flows by strategies of their own too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies(pub Vec<Policy>);

/// What `bench` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows bench limit
  narrows bench bounds --rounds 100
  narrows bench pingpong --transfer copy,in_place --bytes 48,1024,32768
  narrows bench phases --notify interrupt,spin
  narrows bench sizes --json
  narrows bench throughput --placement internal,external --rounds 100
  narrows bench storm --rounds 1000
  narrows bench soak --for 1h
  narrows bench mcapi --rounds 100
  narrows bench tune
  narrows bench sizes --on nios2-dual
  narrows bench soak --for 5s --on generic-amp
  narrows bench mcapi --on generic-amp
  narrows bench sim --systemc bench/systemc/pingpong
  narrows bench t0 --stack flat
  narrows bench t0 --driver shm-ack,dma-ack --on nios2-dual
  narrows bench t2 --stack layered --counter poll --on nios2-dual
  narrows bench t5 --nodes 8

Each bench but storm, soak, sim and tune runs its limit interleaved with itself
and prints its figure, the limit and the ratio of the two. On a simulated chip
the limit is what the same loops take there without the stack; sim and tune are
for this machine only.
  transfer:   copy, copy_lazy, copy_batched, single_copy, in_place, copy_engine
  notify:     interrupt, spin, poll=TIME, hybrid=TIME, coalesced=N:TIME
  placement:  internal, external")]
pub struct Bench {
    /// What to measure
    #[arg(value_enum)]
    pub which: Which,
    /// How the bytes move
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = choice::transfer)]
    pub transfer: Vec<Word>,
    /// How the other side learns of them
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = choice::notify)]
    pub notify: Vec<Word>,
    /// Where they lie
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = choice::placement)]
    pub placement: Vec<Word>,
    /// Sizes of a message in bytes
    #[arg(long, value_delimiter = ',', value_name = "N,…", value_parser = bytes)]
    pub bytes: Vec<usize>,
    /// Rounds, in each of which the limit and everything measured has its turn; of storm: kills
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: Option<u16>,
    /// Of storm and tune --against simulator: what is drawn with; the same seed draws the same
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Of sim: the same model for SystemC, built by bench/systemc/build
    #[arg(long, value_name = "PROGRAM")]
    pub systemc: Option<PathBuf>,
    /// Of soak: how long it runs, in virtual time with --on
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,
    /// Of tune: what the model is put beside
    #[command(flatten)]
    pub against: Against,
    /// Of t0 to t6: driver, placement and the like
    #[command(flatten)]
    pub linx: Linx,
    /// Where to run; this machine if nothing is named
    #[command(flatten)]
    pub place: Place,
}

/// The benches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// What the machine itself allows: cache lines, memcpy, a bare doorbell
    Limit,
    /// The stack beside the limits, with the bounds it is to keep
    Bounds,
    /// Round trips
    Pingpong,
    /// Messages one way
    Throughput,
    /// Where the time of a call goes, A to E
    Phases,
    /// 128 B to 32 KiB, internal and external, interrupt and polling
    Sizes,
    /// One side killed again and again: how soon the other is told, and what is lost
    Storm,
    /// Full load for a long time: whether memory, descriptors and latency stay flat
    Soak,
    /// 1 to 64 links, 1 to 1024 endpoints, and a node that sleeps
    Scaling,
    /// Scalars, messages and packets between two processes by the C library
    Mcapi,
    /// What the simulator simulates in a second, beside SystemC
    Sim,
    /// What choosing a strategy for each of many flows takes
    Tune,
    /// LINX: a request and its reply, ten times a second
    T0,
    /// LINX: as t0, and now and then a log is asked for just before
    T1,
    /// LINX: 100 signals behind each other
    T2,
    /// LINX: signals of 65000 bytes behind each other
    T3,
    /// LINX: as t0, between every two cores of the chip
    T4,
    /// LINX: as t0, one core asks all others
    T5,
    /// LINX: as t0, all others ask one core
    T6,
}

impl Which {
    /// The name on the command line and in reports.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// What `doctor` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows doctor
  narrows doctor --memory
  narrows doctor --json")]
pub struct Doctor {
    /// Also say how many bytes of memory a link takes
    #[arg(long)]
    pub memory: bool,
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

/// The definition itself, for help, man page and completions.
pub fn definition() -> clap::Command {
    Flags::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
    }

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
        let names: Vec<String> = bench.transfer.iter().map(Word::to_string).collect();
        assert_eq!(names, ["copy", "in_place"]);
        assert_eq!(bench.bytes, [48, 4096]);
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
            "narrows run --memory 1.5KiB",
            "narrows run --memory -1",
            "narrows run --memory 5000000KiB",
            "narrows bench pingpong --bytes 0",
            "narrows bench pingpong --bytes 16777216",
            "narrows --cores 1,1 doctor",
            "narrows --priority 100 doctor",
            "narrows bench nothing",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn help_fits_eighty_columns() {
        let mut names: Vec<String> = vec![String::new()];
        for sub in definition().get_subcommands() {
            names.push(sub.get_name().to_owned());
            let below = sub.get_subcommands();
            names.extend(below.map(|one| format!("{} {}", sub.get_name(), one.get_name())));
        }
        for name in names {
            for flag in ["-h", "--help"] {
                let error = parse(&format!("narrows {name} {flag}")).unwrap_err();
                for line in error.to_string().lines() {
                    assert!(line.chars().count() <= 80, "narrows {name} {flag}: {line}");
                }
            }
        }
    }
}
