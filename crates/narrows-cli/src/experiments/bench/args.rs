//! What arguments several benches have in common.

use super::choice::{self, Word};
use crate::base::number::number;
use crate::base::offered::offered;
use crate::base::options::Place;
use crate::formats::strategy::{self, NOTIFICATIONS, PLACEMENTS};
use crate::formats::values::bytes;
use clap::Args;

/// Choices of a strategy, one axis each.
#[derive(Clone, Debug, Default, Args)]
pub struct Axes {
    /// How the bytes move: copy, copy_lazy, copy_batched, single_copy, in_place, copy_engine
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", hide_possible_values = true,
          value_parser = offered(strategy::drivers(), choice::transfer))]
    pub transfer: Vec<Word>,
    /// How the other side learns of them: interrupt, spin, poll=TIME, timer=TIME, hybrid=TIME,
    /// coalesced=N:TIME
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", hide_possible_values = true,
          value_parser = offered(NOTIFICATIONS.to_vec(), choice::notify))]
    pub notify: Vec<Word>,
    /// Where they lie: internal, external
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", hide_possible_values = true,
          value_parser = offered(PLACEMENTS.to_vec(), choice::placement))]
    pub placement: Vec<Word>,
}

/// Lengths of messages.
#[derive(Clone, Debug, Default, Args)]
pub struct Sizes {
    /// Sizes of a message in bytes
    #[arg(long, value_delimiter = ',', value_name = "N,…", value_parser = bytes)]
    pub bytes: Vec<usize>,
}

/// How often everything is measured.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Rounds {
    /// Rounds, in each of which the limit and everything measured has its turn
    #[arg(long, value_name = "N", value_parser = number::<u16>(1..=u16::MAX.into()))]
    pub rounds: Option<u16>,
}

/// What a bench takes that measures the same everywhere.
#[derive(Clone, Debug, Args)]
pub struct Fixed {
    /// How often.
    #[command(flatten)]
    pub rounds: Rounds,
    /// Where to run; this machine if nothing is named.
    #[command(flatten)]
    pub place: Place,
}
