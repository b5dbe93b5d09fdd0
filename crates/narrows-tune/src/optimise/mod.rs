//! The cheapest choice for every flow, under what memory and processors there are.
//!
//! Each flow takes one of its choices. A choice has a cost, which is to be least in sum, and takes
//! some of the internal memory and of the time of the DSP that serves the flow. With one DSP this
//! is the multiple-choice knapsack problem; with several, each with a memory and a time of its own,
//! each flow is given a DSP as well.
//!
//! [`optimise`] searches depth first and exactly: it branches and bounds by the linear relaxation,
//! for which each group's choices are replaced by their lower convex hull. Everything is counted in
//! whole numbers, so that equal means equal, on a board as on a host. It uses the storage that it
//! is given and no other, and stops at a limit of nodes with the best that it has found and a bound
//! on what it has not.

mod blocks;
mod late;
mod pack;
mod reduce;
mod relax;
mod search;
#[cfg(test)]
mod tests;
mod timing;

use core::fmt;

use search::Search;

pub use blocks::Blocks;
pub use timing::{Deadlines, Delay, Slack, Timing};

/// The most DSPs.
pub const MAX_DSPS: usize = 8;

/// A way for a flow to travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// What is to be least in sum, in a unit of the caller's.
    pub cost: u32,
    /// Bytes of the internal memory of the DSP that serves the flow.
    pub memory: u32,
    /// Time of that DSP, in parts per million.
    pub work: u32,
    /// Time of the core that calls, in parts per million.
    pub load: u32,
}

/// Flows with the same choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Where their choices begin in [`Problem::choices`].
    pub first: u32,
    /// How many choices there are.
    pub choices: u16,
    /// How many flows there are.
    pub flows: u16,
    /// The DSP that serves them, if it is not for the search to say.
    pub dsp: Option<u8>,
}

/// What a DSP has for flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dsp {
    /// Bytes of internal memory.
    pub memory: u32,
    /// Time, in parts per million: a million is all of it.
    pub work: u32,
}

/// What is to be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The flows, by their choices.
    pub groups: &'a [Group],
    /// The choices of all groups.
    pub choices: &'a [Choice],
    /// The DSPs, at least one and at most [`MAX_DSPS`].
    pub dsps: &'a [Dsp],
    /// Time of the core that calls for all flows, in parts per million; [`u64::MAX`] if that does
    /// not matter.
    pub load: u64,
    /// Blocks of memory, beside its bytes.
    pub blocks: Blocks<'a>,
    /// How flows delay each other, and what they bear.
    pub deadlines: Deadlines<'a>,
}

impl Problem<'_> {
    /// All flows.
    pub fn flows(&self) -> usize {
        self.groups.iter().map(|group| usize::from(group.flows)).sum()
    }
}

/// What a flow was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pick {
    /// The number of the choice within its group.
    pub choice: u16,
    /// The number of the DSP.
    pub dsp: u8,
}

/// What came of a search; the picks are where the caller wanted them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// What all picks cost.
    pub cost: u64,
    /// Nothing costs less than this; equal to the cost if the search went to its end.
    pub bound: u64,
    /// Nodes that the search visited.
    pub nodes: u32,
}

impl Found {
    /// Whether nothing is cheaper.
    pub fn proven(&self) -> bool {
        self.bound >= self.cost
    }

    /// By how much something could be cheaper at most, in parts per million of the cost.
    pub fn gap(&self) -> u64 {
        let gap = u128::from(self.cost.saturating_sub(self.bound)) * 1_000_000;
        u64::try_from(gap / u128::from(self.cost.max(1))).unwrap_or(u64::MAX)
    }
}

/// Why nothing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsolved {
    /// The problem is none: no DSP, too many of them, a group without choices or with some that are
    /// not there. Nothing but another problem helps.
    Malformed,
    /// The storage or the room for picks is shorter than [`Needs`] says.
    Storage,
    /// All flows together take more internal memory than there is, whatever is chosen: by this many
    /// bytes.
    Memory(u64),
    /// All flows together take more time of the DSPs than there is: by this many parts per million.
    Work(u64),
    /// All flows together take more time of the core that calls than there is: by this many parts
    /// per million.
    Load(u64),
    /// Each sum would fit, but no choice and no division among the DSPs fits all of them at once.
    Division,
    /// There is memory, but its blocks are too few or too short for all flows at once.
    Blocks,
    /// By every choice of this group its flows are late or fall behind, even if the others delay
    /// them as little as they can, which is by this much.
    Late {
        /// The number of the group.
        group: u16,
        /// What the others delay each of its flows by at least.
        beside: Delay,
    },
    /// No choices that fit keep all deadlines at once.
    Deadlines,
    /// The limit of nodes was reached before anything was found. More nodes may help.
    Limit,
}

impl fmt::Display for Unsolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsolved::Malformed => f.write_str(
                "the problem needs 1 to 8 DSPs, choices for each flow and timings for each choice",
            ),
            Unsolved::Storage => f.write_str("the storage is too short for the problem"),
            Unsolved::Memory(bytes) => {
                let unit = if *bytes == 1 { "byte" } else { "bytes" };
                write!(
                    f,
                    "the flows need at least {bytes} {unit} more of internal memory than there is: \
                     give them more, or allow strategies with external memory"
                )
            }
            Unsolved::Work(ppm) => write!(
                f,
                "the flows need at least {} % more of a DSP's time than there is: use more DSPs, or \
                 give them less work",
                Percent(*ppm)
            ),
            Unsolved::Load(ppm) => write!(
                f,
                "the flows need at least {} % more of the calling core's time than there is: give \
                 them more, or call less often",
                Percent(*ppm)
            ),
            Unsolved::Division => f.write_str("no division of the flows among the DSPs fits"),
            Unsolved::Blocks => {
                f.write_str("the blocks of memory are too few or too short for all at once")
            }
            Unsolved::Late { .. } => {
                f.write_str("a flow is late however the others travel that are in its way")
            }
            Unsolved::Deadlines => f.write_str("no strategies that fit keep all deadlines at once"),
            Unsolved::Limit => {
                f.write_str("the search ended at its limit before it found anything")
            }
        }
    }
}

impl core::error::Error for Unsolved {}

/// Parts per million as percent, with two places.
struct Percent(u64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = self.0.div_ceil(100);
        write!(f, "{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

/// How long each part of [`Storage`] has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Of groups.
    pub groups: usize,
    /// Of kept choices and of steps.
    pub choices: usize,
    /// Of frames, trials and picks.
    pub flows: usize,
}

impl Needs {
    /// What a problem needs.
    pub fn of(problem: &Problem<'_>) -> Needs {
        let choices = problem.groups.iter().map(|group| usize::from(group.choices)).sum();
        Needs { groups: problem.groups.len(), choices, flows: problem.flows() }
    }
}

/// What a search works in. Its contents before and after mean nothing.
#[derive(Debug)]
pub struct Storage<'a> {
    /// What is known of each group.
    pub groups: &'a mut [GroupState],
    /// The choices that no other is better than.
    pub kept: &'a mut [KeptChoice],
    /// Steps along the hulls.
    pub steps: &'a mut [HullStep],
    /// The way from the root of the search.
    pub frames: &'a mut [SearchFrame],
    /// Picks on trial.
    pub trial: &'a mut [Pick],
}

pub use reduce::{Kept as KeptChoice, State as GroupState, Step as HullStep};
pub use search::Frame as SearchFrame;

/// Finds the cheapest picks: `picks` has one for each flow, in the order of the groups.
///
/// Visits at most `limit` nodes. If it had to stop there, [`Found::bound`] says how good what it
/// found is at least. Allocates nothing.
///
/// # Errors
/// Why there is nothing, or by how much something is missing.
pub fn optimise(
    problem: &Problem<'_>,
    storage: &mut Storage<'_>,
    picks: &mut [Pick],
    limit: u32,
) -> Result<Found, Unsolved> {
    check(problem)?;
    let needs = Needs::of(problem);
    let short = |room: usize, needed: usize| room < needed;
    if short(storage.groups.len(), needs.groups)
        || short(storage.kept.len(), needs.choices)
        || short(storage.steps.len(), needs.choices)
        || short(storage.frames.len(), needs.flows)
        || short(storage.trial.len(), needs.flows)
        || short(picks.len(), needs.flows)
    {
        return Err(Unsolved::Storage);
    }
    Search::new(problem, storage, picks)?.run(limit)
}

fn check(problem: &Problem<'_>) -> Result<(), Unsolved> {
    let there = |group: &Group| {
        let end = u64::from(group.first) + u64::from(group.choices);
        group.choices > 0 && end <= problem.choices.len() as u64
    };
    let dsps = 1..=MAX_DSPS;
    let counted = problem.groups.len() <= usize::from(u16::MAX);
    let served = |group: &Group| group.dsp.is_none_or(|dsp| usize::from(dsp) < problem.dsps.len());
    let good = counted
        && dsps.contains(&problem.dsps.len())
        && problem.groups.iter().all(|group| there(group) && served(group))
        && problem.blocks.are_of(problem.choices.len())
        && problem.deadlines.are_of(problem.choices.len());
    if good { Ok(()) } else { Err(Unsolved::Malformed) }
}
