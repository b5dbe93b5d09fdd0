//! What `bench` can be asked for: the name of a bench, and what that one takes.

use super::advise::flags::Advise;
use super::against::flags::Against;
pub use super::args::{Axes, Fixed, Rounds, Sizes};
use super::choice::{self, Word};
use super::grid::flags::Grid;
use super::linx::flags::{Burst, Linx, Nodes};
use super::sra::flags::Sra;
use super::susan::flags::Susan;
use crate::base::number::number;
use crate::base::offered::offered;
use crate::base::options::{HOST, PageFile, Place, TraceFile};
use crate::formats::strategy::NOTIFICATIONS;
use crate::formats::values::duration;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// What `bench` takes.
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  narrows bench pingpong --help         what a bench takes
  narrows bench limit
  narrows bench bounds --rounds 100
  narrows bench sizes --json
  narrows bench sizes --on nios2-dual   the same on a simulated chip
  narrows bench phases --report phases.html

bounds, pingpong, throughput, phases, sizes and mcapi run their limit
interleaved with themselves, and print their figure, the limit and the ratio of
the two; scaling and clients have their first figure as limit of the others. On
a chip the limit is what the same loops take there without the stack; mcapi, and
packets between clusters, have none there. clients and sim are for this machine
only, and so is tune without --against simulator."
)]
pub struct Bench {
    /// What to measure
    #[command(subcommand)]
    pub which: Which,
    /// A page of what was found.
    #[command(flatten)]
    pub page: PageFile,
    /// A trace of what happened.
    #[command(flatten)]
    pub trace: TraceFile,
    /// Print too what cores, caches and buses of a simulated chip did
    #[arg(long, global = true)]
    pub details: bool,
}

/// The benches.
#[derive(Debug, Subcommand)]
pub enum Which {
    /// What the machine itself allows: cache lines, memcpy, a bare doorbell
    #[command(after_help = "\
Examples:
  narrows bench limit
  narrows bench limit --bytes 64,4096 --on davinci")]
    Limit(Limit),
    /// The stack beside the limits, with the bounds it is to keep
    #[command(after_help = "\
Examples:
  narrows bench bounds --rounds 100
  narrows bench bounds --on generic-amp")]
    Bounds(Fixed),
    /// Round trips
    #[command(after_help = "\
Examples:
  narrows bench pingpong --bytes 48
  narrows bench pingpong --transfer copy,in_place --bytes 48,1024,32768
  narrows bench pingpong --on bmm-clusters --cores 0,6   between two clusters")]
    Pingpong(Compared),
    /// Messages one way
    #[command(after_help = "\
Examples:
  narrows bench throughput --placement internal,external --rounds 100
  narrows bench throughput --on bmm-clusters   by DMA and by a buffer manager")]
    Throughput(Compared),
    /// Where the time of a call goes, A to E
    #[command(after_help = "\
Examples:
  narrows bench phases --notify interrupt,spin")]
    Phases(Compared),
    /// 128 B to 32 KiB, internal and external, interrupt and polling
    #[command(after_help = "\
Examples:
  narrows bench sizes --json
  narrows bench sizes --on nios2-dual")]
    Sizes(Compared),
    /// One side killed again and again: how soon the other is told, and what is lost
    #[command(after_help = "\
Examples:
  narrows bench storm --rounds 1000
  narrows bench storm --members 12 --rounds 200
  narrows bench storm --churn 1000
  narrows bench storm --transfer in_place --on davinci")]
    Storm(Storm),
    /// Full load for a long time: whether memory, descriptors and latency stay flat
    #[command(after_help = "\
Examples:
  narrows bench soak --for 1h
  narrows bench soak --for 10m --churn 200
  narrows bench soak --for 5s --on generic-amp")]
    Soak(Soak),
    /// 1 to 64 links, 1 to 1024 endpoints, and a node that sleeps
    #[command(after_help = "\
Examples:
  narrows bench scaling --notify spin")]
    Scaling(Scaling),
    /// Many clients of one server: how soon they are linked, and what round trips they get
    #[command(after_help = "\
Examples:
  narrows bench clients
  narrows bench clients --clients 1,40 --notify spin --rounds 3")]
    Clients(Clients),
    /// Scalars, messages and packets between two processes by the C library
    #[command(after_help = "\
Examples:
  narrows bench mcapi --rounds 100
  narrows bench mcapi --on generic-amp")]
    Mcapi(Fixed),
    /// What the simulator simulates in a second, beside SystemC
    #[command(after_help = "\
Examples:
  narrows bench sim --systemc bench/systemc/pingpong")]
    Sim(Sim),
    /// What choosing a strategy for each of many flows takes
    #[command(after_help = "\
Examples:
  narrows bench tune
  narrows bench tune --against host
  narrows bench tune --against simulator --on davinci --cases 50")]
    Tune(Tune),
    /// What advise chooses for random workloads, beside the best of all choices
    #[command(after_help = "\
Examples:
  narrows bench advise --on davinci --cases 20
  narrows bench advise --on generic-amp --case 7")]
    Advise(Advise),
    /// What auto takes beside the best static strategies, over chips, budgets and sessions
    #[command(after_help = "\
Without --short it takes about an hour on two cores. A static strategy is one
for all sessions or one for each kind. It counts if it carries all that is due
and is never late.

Examples:
  narrows bench grid --short
  narrows bench grid --on davinci --json")]
    Grid(Grid),
    /// Messages and their acknowledgements between processors with ports and no shared memory
    #[command(after_help = "\
Examples:
  narrows bench sra
  narrows bench sra --bytes 4092 --mode burst,rw --hops 2
  narrows bench sra --mode frame --with frames,dedicated,on-chip
  narrows bench sra --on pci44")]
    Sra(Sra),
    /// An image cut among CPUs: smoothing, edges and corners, results over packet channels
    #[command(after_help = "\
Examples:
  narrows bench susan --cpus 1..8 --on bmm-clusters
  narrows bench susan --cpus 1..16 --on bmm-clusters-16
  narrows bench susan --cpus 1,2,4 --image photo.pgm --out found.png
  narrows bench susan --find edges --threshold 20 --image a.png --out edges.png")]
    Susan(Susan),
    /// LINX: a request and its reply, ten times a second
    #[command(after_help = "\
--rounds is how often is asked: 10 times if nothing is said, with 16 to 1024
bytes. --json and --out have each signal, and what both cores did meanwhile.

Examples:
  narrows bench t0 --stack flat
  narrows bench t0 --driver shm-ack,dma-ack --on nios2-dual
  narrows bench t0 --stack layered --bytes 128,1024 --mtu 64,256 --on nios2-dual
  narrows bench t0 --on nios2-quad --out signals.csv")]
    T0(Linx),
    /// LINX: as t0, and now and then a log is asked for just before
    #[command(after_help = "\
--rounds is how often is asked: 10 times if nothing is said, with 32 bytes. A
log of 1500 bytes is asked for before the first request and every tenth behind.

Examples:
  narrows bench t1 --driver dma-ack --stack layered --on nios2-dual
  narrows bench t1 --rounds 21 --on nios2-dual --out signals.csv")]
    T1(Linx),
    /// LINX: 100 signals behind each other
    #[command(after_help = "\
--rounds is how many signals the burst has. On a chip all of them are made
before the first is sent, so its pool has to have room for them.

Examples:
  narrows bench t2 --stack layered --handler-stopped
  narrows bench t2 --stack layered --counter poll --on nios2-dual
  narrows bench t2 --driver shm-noack --on nios2-dual --out signals.csv")]
    T2(Burst),
    /// LINX: signals of 65000 bytes behind each other
    #[command(after_help = "\
--rounds is how many signals are sent: 8 if nothing is said. Layered, the link
handler is stopped until all were sent, as in the source.

Examples:
  narrows bench t3 --stack layered --mtu 512,2048 --on nios2-dual
  narrows bench t3 --driver single-copy --rounds 4 --on nios2-dual")]
    T3(Linx),
    /// LINX: as t0, between every two cores of the chip
    #[command(after_help = "\
Core 0 asks core 1, core 2 asks core 3, and so on: all at the same moments.

Examples:
  narrows bench t4 --on nios2-quad
  narrows bench t4 --nodes 6")]
    T4(Nodes),
    /// LINX: as t0, one core asks all others
    #[command(after_help = "\
Examples:
  narrows bench t5 --driver shm-ack --on nios2-quad
  narrows bench t5 --nodes 8")]
    T5(Nodes),
    /// LINX: as t0, all others ask one core
    #[command(after_help = "\
Examples:
  narrows bench t6 --driver dma-noack --on nios2-quad
  narrows bench t6 --nodes 8")]
    T6(Nodes),
}

/// What the limits take.
#[derive(Debug, Args)]
pub struct Limit {
    /// How long messages are.
    #[command(flatten)]
    pub sizes: Sizes,
    /// How often, and where.
    #[command(flatten)]
    pub fixed: Fixed,
}

/// What a bench takes that compares strategies.
#[derive(Debug, Args)]
pub struct Compared {
    /// Which strategies.
    #[command(flatten)]
    pub axes: Axes,
    /// How long messages are.
    #[command(flatten)]
    pub sizes: Sizes,
    /// How often, and where.
    #[command(flatten)]
    pub fixed: Fixed,
}

/// What `bench storm` takes.
#[derive(Debug, Args)]
pub struct Storm {
    /// Which strategies.
    #[command(flatten)]
    pub axes: Axes,
    /// Kills
    #[arg(long, value_name = "N", value_parser = number::<u16>(1..=u16::MAX.into()))]
    pub rounds: Option<u16>,
    /// What is drawn with; the same seed draws the same
    #[arg(long, value_name = "N", value_parser = number::<u64>(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Kill members of a mesh of this many processes, each linked with each other
    #[arg(long, value_name = "N", value_parser = number::<u16>(3..=32))]
    pub members: Option<u16>,
    /// After the kills, measure beside nodes that link and go again this many times a second; 0 is
    /// as often as they can
    #[arg(long, value_name = "N", conflicts_with = "members", value_parser = number::<u32>(0..=u32::MAX.into()))]
    pub churn: Option<u32>,
    /// Where to run; this machine if nothing is named.
    #[command(flatten)]
    pub place: Place,
}

/// What `bench soak` takes.
#[derive(Debug, Args)]
pub struct Soak {
    /// Which strategy.
    #[command(flatten)]
    pub axes: Axes,
    /// How long it runs, in virtual time with --on
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,
    /// Write the distribution of all calls' latencies as HdrHistogram does
    #[arg(long, value_name = "FILE")]
    pub hdr: Option<PathBuf>,
    /// Beside nodes that link and go again this many times a second; 0 is as often as they can
    #[arg(long, value_name = "N", value_parser = number::<u32>(0..=u32::MAX.into()))]
    pub churn: Option<u32>,
    /// Where to run; this machine if nothing is named.
    #[command(flatten)]
    pub place: Place,
}

/// What `bench scaling` takes.
#[derive(Debug, Args)]
pub struct Scaling {
    /// How the other side learns of messages: interrupt, spin, poll=TIME, timer=TIME,
    /// hybrid=TIME, coalesced=N:TIME
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", hide_possible_values = true,
          value_parser = offered(NOTIFICATIONS.to_vec(), choice::notify))]
    pub notify: Vec<Word>,
    /// How often, and where.
    #[command(flatten)]
    pub fixed: Fixed,
}

/// What `bench clients` takes.
#[derive(Debug, Args)]
pub struct Clients {
    /// Clients of a server; each number has a server of its own, and the first is what the others
    /// are compared with: 1, 10, 100 and 1000 if nothing is named
    #[arg(long, value_delimiter = ',', value_name = "N,…",
          value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub clients: Vec<u16>,
    /// How the server learns of messages: interrupt, spin, poll=TIME, timer=TIME,
    /// hybrid=TIME, coalesced=N:TIME
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", hide_possible_values = true,
          value_parser = offered(NOTIFICATIONS.to_vec(), choice::notify))]
    pub notify: Vec<Word>,
    /// How often.
    #[command(flatten)]
    pub rounds: Rounds,
}

/// What `bench sim` takes.
#[derive(Debug, Args)]
pub struct Sim {
    /// The same model for SystemC, built by bench/systemc/build
    #[arg(long, value_name = "PROGRAM")]
    pub systemc: Option<PathBuf>,
    /// How long messages are.
    #[command(flatten)]
    pub sizes: Sizes,
    /// How often.
    #[command(flatten)]
    pub rounds: Rounds,
}

/// What `bench tune` takes.
#[derive(Debug, Args)]
pub struct Tune {
    /// What the model is put beside.
    #[command(flatten)]
    pub against: Against,
    /// How often, and, against the simulator, where.
    #[command(flatten)]
    pub fixed: Fixed,
}

/// What benches have in common; what one does not take is empty.
#[derive(Clone, Debug, Default)]
pub struct Common {
    /// Which strategies.
    pub axes: Axes,
    /// Sizes of messages.
    pub bytes: Vec<usize>,
    /// How often.
    pub rounds: Option<u16>,
    /// Where.
    pub place: Place,
}

impl From<&Fixed> for Common {
    fn from(of: &Fixed) -> Common {
        Common { rounds: of.rounds.rounds, place: of.place.clone(), ..Common::default() }
    }
}

impl Which {
    /// The name on the command line and in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Which::Limit(_) => "limit",
            Which::Bounds(_) => "bounds",
            Which::Pingpong(_) => "pingpong",
            Which::Throughput(_) => "throughput",
            Which::Phases(_) => "phases",
            Which::Sizes(_) => "sizes",
            Which::Storm(_) => "storm",
            Which::Soak(_) => "soak",
            Which::Scaling(_) => "scaling",
            Which::Clients(_) => "clients",
            Which::Mcapi(_) => "mcapi",
            Which::Sim(_) => "sim",
            Which::Tune(_) => "tune",
            Which::Advise(_) => "advise",
            Which::Grid(_) => "grid",
            Which::Sra(_) => "sra",
            Which::Susan(_) => "susan",
            Which::T0(_) => "t0",
            Which::T1(_) => "t1",
            Which::T2(_) => "t2",
            Which::T3(_) => "t3",
            Which::T4(_) => "t4",
            Which::T5(_) => "t5",
            Which::T6(_) => "t6",
        }
    }

    /// Whether it is of this machine, and not of a chip that was named.
    pub fn is_here(&self) -> bool {
        match self {
            Which::Sra(sra) => sra.on == HOST,
            which => which.common().place.platform().is_none(),
        }
    }

    /// What it has in common with others.
    pub fn common(&self) -> Common {
        let linx = |linx: &Linx| Common { bytes: linx.sizes.bytes.clone(), ..(&linx.fixed).into() };
        match self {
            Which::Bounds(args) | Which::Mcapi(args) => args.into(),
            Which::Limit(Limit { sizes, fixed }) => {
                Common { bytes: sizes.bytes.clone(), ..fixed.into() }
            }
            Which::Pingpong(args)
            | Which::Throughput(args)
            | Which::Phases(args)
            | Which::Sizes(args) => Common {
                axes: args.axes.clone(),
                bytes: args.sizes.bytes.clone(),
                ..(&args.fixed).into()
            },
            Which::Storm(Storm { axes, rounds, place, .. }) => {
                let (axes, place) = (axes.clone(), place.clone());
                Common { axes, rounds: *rounds, place, ..Common::default() }
            }
            Which::Soak(Soak { axes, place, .. }) => {
                Common { axes: axes.clone(), place: place.clone(), ..Common::default() }
            }
            Which::Scaling(Scaling { notify, fixed }) => {
                let axes = Axes { notify: notify.clone(), ..Axes::default() };
                Common { axes, ..fixed.into() }
            }
            Which::Clients(Clients { notify, rounds, .. }) => {
                let axes = Axes { notify: notify.clone(), ..Axes::default() };
                Common { axes, rounds: rounds.rounds, ..Common::default() }
            }
            Which::Sim(Sim { sizes, rounds, .. }) => {
                Common { bytes: sizes.bytes.clone(), rounds: rounds.rounds, ..Common::default() }
            }
            Which::Tune(args) => (&args.fixed).into(),
            Which::Sra(Sra { sizes, rounds, .. }) => {
                Common { bytes: sizes.bytes.clone(), rounds: rounds.rounds, ..Common::default() }
            }
            Which::Susan(args) => Common { place: args.place.clone(), ..Common::default() },
            Which::Advise(args) => Common { place: args.place.clone(), ..Common::default() },
            Which::Grid(args) => Common { place: args.place.clone(), ..Common::default() },
            Which::T0(args) | Which::T1(args) | Which::T3(args) => linx(args),
            Which::T2(args) => linx(&args.linx),
            Which::T4(args) | Which::T5(args) | Which::T6(args) => linx(&args.linx),
        }
    }
}
