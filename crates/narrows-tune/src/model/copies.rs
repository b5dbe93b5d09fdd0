//! Copies in external memory that wait for each other: of the calling core and of those that are
//! called.

use super::WHOLE;
use super::parameters::Costs;
use super::parts::Parts;
use super::sum;

/// Messages served by the cores that are called which are remembered.
const LAST: usize = 4;

/// From one moment to another.
type Time = [u64; 2];

/// What a core does with a message: its copies, and what else it is at itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub own: Time,
    pub copies: [Time; 2],
}

/// What both sides do at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Copies {
    /// What the calling core is at.
    pub here: Work,
    there: [Work; LAST],
    next: usize,
}

/// For how long there are both.
fn both([from, until]: Time, [other, over]: Time) -> u64 {
    until.min(over).saturating_sub(from.max(other))
}

fn part(of: u32, time: u64) -> u64 {
    let more = u128::from(time) * u128::from(of) / u128::from(WHOLE);
    u64::try_from(more).unwrap_or(u64::MAX)
}

fn longer(costs: &Costs, time: u64) -> u64 {
    part(costs.contended, time)
}

impl Work {
    /// By how much longer than alone a core does it, beside what another does.
    fn slower(&self, costs: &Costs, other: &Work) -> u64 {
        let over = |copies: [Time; 2], time| sum(&copies.map(|copy| both(copy, time)));
        let copying = sum(&other.copies.map(|copy| over(self.copies, copy)));
        let disturbed = sum(&[over(self.copies, other.own), over(other.copies, self.own)]);
        sum(&[longer(costs, copying), part(costs.disturbed, disturbed)])
    }
}

/// By how much longer either side copies a part while the other one copies the next, if one is
/// worked off in the time `each`: copies lie to each other as they happen to.
pub(super) fn pipelined(costs: &Costs, parts: &Parts, each: u64) -> u64 {
    let [here, there] = parts.copied.map(|copied| u128::from(sum(&copied)));
    let at_once = here.min(u128::from(each)) * there.min(u128::from(each));
    let at_once = u64::try_from(at_once / u128::from(each.max(1))).unwrap_or(u64::MAX);
    longer(costs, at_once)
}

impl Copies {
    /// A core that is called works: by how much longer than alone.
    pub fn there(&mut self, costs: &Costs, work: Work) -> u64 {
        let slower = work.slower(costs, &self.here);
        self.there[self.next % LAST] = work;
        self.next = self.next.wrapping_add(1);
        slower
    }

    /// By how much longer than alone the calling core works.
    pub fn slower(&self, costs: &Costs, work: &Work) -> u64 {
        self.there.iter().map(|other| work.slower(costs, other)).sum()
    }
}
