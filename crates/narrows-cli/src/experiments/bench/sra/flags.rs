//! What `bench sra` can be asked for.

use crate::base::number::number;
use crate::experiments::bench::args::Sizes;
use clap::{Args, ValueEnum};
use narrows_sim::chip::DmaMode;

use crate::base::offered::{offered, platforms};
use clap::builder::StringValueParser;

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

/// What `bench sra` takes.
#[derive(Clone, Debug, Args)]
pub struct Sra {
    /// How long messages are: 24, 1024 and 4092 bytes if nothing is said
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
    /// A board whose processors have ports: the name of a platform, or its file
    #[arg(long, value_name = "PLATFORM", default_value = "quatro67", hide_possible_values = true,
          value_parser = offered(platforms(), StringValueParser::new()))]
    pub on: String,
}
