//! Copies in external memory that wait for each other: of the calling core and of those that are
//! called.

use super::WHOLE;
use super::parameters::Costs;
use super::parts::Parts;
use super::sum;

/// Copies of the cores that are called which are remembered: two of a message.
const LAST: usize = 8;

/// When they are made, from one moment to another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Copies {
    /// That which the calling core is at.
    pub here: [u64; 2],
    there: [[u64; 2]; LAST],
    next: usize,
}

/// For how long there are both.
fn both([from, until]: [u64; 2], [other, over]: [u64; 2]) -> u64 {
    until.min(over).saturating_sub(from.max(other))
}

fn longer(costs: &Costs, time: u64) -> u64 {
    let more = u128::from(time) * u128::from(costs.contended) / u128::from(WHOLE);
    u64::try_from(more).unwrap_or(u64::MAX)
}

/// By how much longer either side copies a part while the other one copies the next, if one is
/// worked off in so much time: copies lie to each other as they happen to.
pub(super) fn pipelined(costs: &Costs, parts: &Parts, each: u64) -> u64 {
    let [here, there] = parts.copied.map(|copied| u128::from(sum(&copied)));
    let at_once = here.min(u128::from(each)) * there.min(u128::from(each));
    let at_once = u64::try_from(at_once / u128::from(each.max(1))).unwrap_or(u64::MAX);
    longer(costs, at_once)
}

impl Copies {
    /// A core that is called copies: by how much longer than alone.
    pub fn there(&mut self, costs: &Costs, copy: [u64; 2]) -> u64 {
        self.there[self.next % LAST] = copy;
        self.next = self.next.wrapping_add(1);
        longer(costs, both(copy, self.here))
    }

    /// By how much longer than alone the calling core copies.
    pub fn slower(&self, costs: &Costs, copy: [u64; 2]) -> u64 {
        longer(costs, self.there.iter().map(|other| both(copy, *other)).sum())
    }
}
