//! What `bench advise` can be asked for.

use crate::base::number::number;
use crate::base::options::Place;
use clap::Args;

/// What `bench advise` takes.
#[derive(Clone, Debug, Default, Args)]
pub struct Advise {
    /// Workloads that are drawn for each platform; without, 200 for a chip and 20 on this machine
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=100_000))]
    pub cases: Option<u32>,
    /// What workloads are drawn by; 1 without
    #[arg(long, value_name = "N", value_parser = number::<u64>(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Only this workload
    #[arg(long, value_name = "N", conflicts_with = "cases", value_parser = number::<u32>(0..=u32::MAX.into()))]
    pub case: Option<u32>,
    /// Where; without, all chips that come with the program
    #[command(flatten)]
    pub place: Place,
}
