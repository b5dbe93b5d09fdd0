//! What `bench sra` can be asked for.

use crate::base::number::number;
use crate::base::offered::offered;
use crate::base::options::places;
use crate::experiments::bench::args::Rounds;
use crate::experiments::bench::args::Sizes;
use clap::builder::StringValueParser;
use clap::{Args, ValueEnum};
use narrows_sim::chip::DmaMode;
use std::path::PathBuf;

/// How DMA is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    /// Software starts each packet of half a FIFO
    Burst,
    /// An event starts each element
    Rw,
    /// An event starts each frame of half a FIFO
    Frame,
}

impl ModeName {
    /// The mode.
    pub fn mode(self) -> DmaMode {
        match self {
            ModeName::Burst => DmaMode::Burst,
            ModeName::Rw => DmaMode::ReadWrite,
            ModeName::Frame => DmaMode::Frame,
        }
    }
}

/// What the board might have beside what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Variant {
    /// Controllers that only send and others that only receive
    Dedicated,
    /// Messages in on-chip memory
    OnChip,
    /// Several frames in an outgoing frame-synchronised transfer
    Frames,
    /// Two interrupts for each port
    Interrupts,
}

impl Variant {
    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// How processors of this machine are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// Each with the next
    Line,
    /// And the last with the first
    Ring,
}

impl Shape {
    /// All.
    pub const ALL: [Shape; 2] = [Shape::Line, Shape::Ring];

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Line => "line",
            Shape::Ring => "ring",
        }
    }
}

/// What `bench sra` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  narrows bench sra
  narrows bench sra --on pci44 --bytes 24,4092
  narrows bench sra --mode frame --with frames,dedicated
  narrows bench sra --on host --hops 2
  narrows bench sra --on host --shape ring --hops 3 --routes routes.toml")]
pub struct Sra {
    /// How long messages are: 24, 1024 and 4092 bytes if nothing is said (on this machine not
    /// 1024)
    #[command(flatten)]
    pub sizes: Sizes,
    /// Transfers from task to task; 1 is to a neighbour
    #[arg(long, value_name = "H", default_value_t = 1, value_parser = number::<usize>(1..=15))]
    pub hops: usize,
    /// How DMA is driven; each way that there is if none is named
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,…")]
    pub mode: Vec<ModeName>,
    /// What the board has beside what it has
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,…")]
    pub with: Vec<Variant>,
    /// A board whose processors have ports: the name of a platform, or its file; host for four
    /// processors of this machine
    #[arg(long, value_name = "PLATFORM", default_value = "quatro67", hide_possible_values = true,
          value_parser = offered(places(), StringValueParser::new()))]
    pub on: String,
    /// With --on host, how the processors are linked; each way if none is named
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,…")]
    pub shape: Vec<Shape>,
    /// With --on host, a file with routes that go before the shortest ones
    #[arg(long, value_name = "FILE")]
    pub routes: Option<PathBuf>,
    /// With --on host, how often.
    #[command(flatten)]
    pub rounds: Rounds,
}
