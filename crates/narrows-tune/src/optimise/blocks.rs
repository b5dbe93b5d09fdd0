//! Blocks of memory: bytes may be enough, and blocks not.

use super::late::Placed;
use super::reduce::State;
use super::{MAX_DSPS, Problem};

/// The blocks of a problem.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blocks<'a> {
    /// How many there are for each DSP, by kind: of every place where blocks lie, those of each
    /// length and of all that are longer, as a message may have a longer one than it needs. None if
    /// there are as many as are needed.
    pub there: &'a [u32],
    /// How many of each kind each choice needs (`choice * kinds + kind`).
    pub needs: &'a [u32],
}

impl Blocks<'_> {
    /// Whether they are those of this number of choices.
    pub(super) fn are_of(&self, choices: usize) -> bool {
        self.needs.len() == choices * self.there.len()
    }

    fn any(&self) -> bool {
        !self.there.is_empty()
    }

    fn of(&self, choice: usize) -> &[u32] {
        let kinds = self.there.len();
        self.needs.get(choice * kinds..(choice + 1) * kinds).unwrap_or_default()
    }

    /// Whether a choice has enough if no other flow is there.
    pub(super) fn fit(&self, choice: usize) -> bool {
        self.of(choice).iter().zip(self.there).all(|(needs, there)| needs <= there)
    }

    /// Whether a choice needs no more of any kind than another.
    pub(super) fn within(&self, one: usize, other: usize) -> bool {
        self.of(one).iter().zip(self.of(other)).all(|(one, other)| one <= other)
    }
}

/// Whether there are blocks for flows that have their choices, and at least for the others, of
/// which each needs what its group does at least: `least` of a group and a kind. Of those it is not
/// known which DSP serves them, unless that is given or there is but one.
pub(super) fn enough(
    problem: &Problem<'_>,
    placed: impl Iterator<Item = Placed> + Clone,
    left: &[State],
    least: impl Fn(usize, usize) -> u64,
) -> bool {
    let blocks = &problem.blocks;
    if !blocks.any() {
        return true;
    }
    let one = problem.dsps.len() == 1;
    blocks.there.iter().enumerate().all(|(kind, there)| {
        let mut needed = [0; MAX_DSPS];
        for Placed { choice, dsp } in placed.clone() {
            let needs = blocks.of(choice).get(kind).copied().unwrap_or(0);
            let Some(sum) = needed.get_mut(usize::from(dsp)) else { return false };
            *sum += u64::from(needs);
        }
        let mut somewhere = 0;
        for (number, group) in left.iter().enumerate().filter(|(_, group)| group.left > 0) {
            let sum = match group.dsp.or(one.then_some(0)) {
                Some(dsp) => needed.get_mut(usize::from(dsp)),
                None => Some(&mut somewhere),
            };
            let Some(sum) = sum else { return false };
            *sum += u64::from(group.left) * least(number, kind);
        }
        let there = u64::from(*there);
        let all: u64 = needed.iter().sum();
        needed.iter().all(|sum| *sum <= there)
            && all + somewhere <= there * problem.dsps.len() as u64
    })
}
