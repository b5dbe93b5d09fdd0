//! The command line of `narrows papers`.

use crate::base::options::PageFile;
use clap::{Args, ValueEnum};

/// A source of published figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// The thesis on a TI DaVinci: ARM, DSP and DSP/BIOS Link
    #[value(name = "S0")]
    S0,
    /// The paper that came of it
    #[value(name = "S1")]
    S1,
    /// The report on messages between DSPs without shared memory, under MQX
    #[value(name = "S2")]
    S2,
    /// The paper on a hardware buffer manager between clusters on a network on chip
    #[value(name = "S3")]
    S3,
    /// The thesis on OSEck and LINX on Nios II
    #[value(name = "S4")]
    S4,
    /// What TI publishes of IPC on its AM64x, and of the mailbox on its AM62P
    #[value(name = "TI")]
    Ti,
}

impl Source {
    /// Its name, with which the names of its experiments begin.
    pub fn name(self) -> &'static str {
        match self {
            Source::S0 => "S0",
            Source::S1 => "S1",
            Source::S2 => "S2",
            Source::S3 => "S3",
            Source::S4 => "S4",
            Source::Ti => "TI",
        }
    }
}

/// What `papers` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows papers
  narrows papers --source S0
  narrows papers --source S2
  narrows papers --report papers.html
  narrows papers --json | jq '.results[] | select(.within == false).id'")]
pub struct Papers {
    /// Only the figures of these sources, instead of all
    #[arg(long, value_name = "NAME", value_delimiter = ',', ignore_case = true)]
    pub source: Vec<Source>,
    /// A page of what was found.
    #[command(flatten)]
    pub page: PageFile,
}
