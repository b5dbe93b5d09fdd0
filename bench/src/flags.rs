//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::contender::{Group, Mode};
use crate::fan;

/// Compares Narrows with its peers and writes docs/BENCHMARKS.md
///
/// Every contender sends and receives over the same two cores, in turns within one run. Every
/// message is written in full by its sender and read in full by its receiver.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub struct Flags {
    /// Rounds: each visits every contender at every size, in an order of its own
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// How long to measure in all; starting and ending processes comes on top
    #[arg(long, default_value_t = 240, value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: u32,
    /// Only contenders whose name has this in it; may be repeated
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// Only contenders of this group
    #[arg(long)]
    pub group: Option<Group>,
    /// Only these sizes of messages, in bytes: multiples of 8
    #[arg(long, value_delimiter = ',', default_values_t = [8, 48, 64, 1024, 4096, 65536])]
    pub bytes: Vec<usize>,
    /// Only this way of waiting
    #[arg(long)]
    pub mode: Option<Mode>,
    /// The seed of the order
    #[arg(long)]
    pub seed: Option<u64>,
    /// The cores of the two ends
    #[arg(long, value_name = "A,B", value_parser = cores)]
    pub cores: Option<(usize, usize)>,
    /// Write everything that was measured to a file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Measure nothing, and write the document anew from such a file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "smoke"])]
    pub from: Option<PathBuf>,
    /// Where BENCHMARKS.md and its charts go; without it, the docs directory of this checkout if
    /// everything is measured, and nowhere otherwise
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Only show that every contender works: a few messages each, no document
    #[arg(long, conflicts_with_all = ["output", "json"])]
    pub smoke: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Measures one pair; milliseconds, or 0 to see that it works
    #[command(hide = true)]
    Visit {
        millis: u64,
        #[command(flatten)]
        pair: Pair,
    },
    /// Is the other end of a pair
    #[command(hide = true)]
    End {
        #[command(flatten)]
        pair: Pair,
    },
    /// Compares one publisher with many subscribers, and prints a table
    Fan {
        #[command(flatten)]
        flags: fan::Flags,
    },
    /// Is a subscriber of that table
    #[command(hide = true)]
    Reader {
        #[command(flatten)]
        reader: fan::Reader,
    },
    /// Is Aeron's media driver
    #[cfg(feature = "aeron")]
    #[command(hide = true)]
    AeronDriver {
        directory: PathBuf,
        #[arg(value_parser = cores)]
        cores: (usize, usize),
    },
}

/// Which pair.
#[derive(Args)]
pub struct Pair {
    pub name: String,
    pub bytes: usize,
    #[arg(value_enum)]
    pub mode: Mode,
    pub directory: PathBuf,
    pub tag: String,
    #[arg(value_parser = cores)]
    pub cores: (usize, usize),
}

fn cores(text: &str) -> Result<(usize, usize), String> {
    let both = text.split_once(',').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    both.ok_or_else(|| "two numbers with a comma between them, as in 0,1".into())
}
