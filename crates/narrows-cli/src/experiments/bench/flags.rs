//! What `bench` can be asked for.

use super::against::flags::Against;
use super::choice::{self, Word};
use super::linx::flags::Linx;
use crate::base::options::Place;
use crate::formats::values::{bytes, duration};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

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
