//! What `bench grid` can be asked for.

use crate::base::options::Place;
use clap::Args;

/// What `bench grid` takes.
#[derive(Clone, Debug, Default, Args)]
pub struct Grid {
    /// A part of the grid, by shorter runs, in a minute instead of an hour
    #[arg(long)]
    pub short: bool,
    /// Which chip; without, all of the list, and with --short the first
    #[command(flatten)]
    pub place: Place,
}
