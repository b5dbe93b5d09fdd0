//! Flags of `bench tune --against`.

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
    /// Of tune: put the model's figures beside measured ones, instead of timing the choosing
    #[arg(long, value_enum)]
    pub against: Option<Beside>,
    /// Of tune --against simulator: how many workloads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub cases: Option<u32>,
    /// Of tune --against simulator: only the one of this number
    #[arg(long, value_name = "N", conflicts_with = "cases")]
    pub case: Option<u32>,
}
