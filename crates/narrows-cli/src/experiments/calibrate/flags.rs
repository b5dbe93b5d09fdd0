//! The command line of `narrows calibrate`.

use crate::base::number::{number, size};
use crate::formats::workload::MAX_BYTES;
use clap::Args;
use std::path::PathBuf;

/// What `calibrate` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows calibrate --out here.toml
  narrows calibrate --out here.toml --cores 0,2 --rounds 100
  narrows bench pingpong --on here.toml
  narrows calibrate --function g711.encode --bytes 160,320,640
  narrows calibrate --function my_encode --library ./libcodec.so

With --function it measures a function instead of the machine, and prints what
it costs as a flow of a workload says it (workloads/README.md).")]
pub struct Calibrate {
    /// The platform file to write
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "function",
        conflicts_with = "function"
    )]
    pub out: Option<PathBuf>,
    /// Rounds, in each of which everything has its turn
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = number::<u16>(1..=u16::MAX.into()))]
    pub rounds: u16,
    /// Measure this function instead, on requests of several sizes
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// The shared library that the function is in
    #[arg(long, value_name = "FILE", requires = "function", conflicts_with = "out")]
    pub library: Option<PathBuf>,
    /// Bytes of the function's requests
    #[arg(long, value_name = "SIZE", value_delimiter = ',', requires = "function", conflicts_with = "out", default_values_t = [64, 256, 1024, 4096, 16384], value_parser = size::<usize>(1..=MAX_BYTES as u64))]
    pub bytes: Vec<usize>,
    /// The most bytes of its responses; twice the request without
    #[arg(long, value_name = "SIZE", requires = "function", conflicts_with = "out", value_parser = size::<usize>(1..=MAX_BYTES as u64))]
    pub response: Option<usize>,
    /// WAV file that its requests are cut from; a pattern without
    #[arg(long, value_name = "FILE", requires = "function", conflicts_with = "out")]
    pub input: Option<PathBuf>,
}
