//! Flags of `bench tune --against`.

use crate::base::number::number;
use clap::{Args, ValueEnum};

/// What the model is put beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Beside {
    /// Random workloads on simulated chips: load, latency bound and 99th percentile
    Simulator,
    /// Strategies on this machine: which of two is the cheaper
    Host,
}

/// What `bench tune` takes beside what all benches do.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Against {
    /// Put the model's figures beside measured ones, instead of timing the choosing
    #[arg(long, value_enum)]
    pub against: Option<Beside>,
    /// Against the simulator: how many workloads
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=100_000))]
    pub cases: Option<u32>,
    /// Against the simulator: only the one of this number
    #[arg(long, value_name = "N", conflicts_with = "cases", value_parser = number::<u32>(0..=u32::MAX.into()))]
    pub case: Option<u32>,
    /// Against the simulator: what is drawn with; the same seed draws the same
    #[arg(long, value_name = "N", value_parser = number::<u64>(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Against the simulator: callees learn of requests in a way of their own
    #[arg(long)]
    pub callees: bool,
}

impl Against {
    /// Whether the model is put beside simulated chips.
    pub fn of_chips(&self) -> bool {
        self.against == Some(Beside::Simulator)
    }
}
