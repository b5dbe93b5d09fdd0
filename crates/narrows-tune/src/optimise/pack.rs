//! Gives the flows of a relaxation that was made whole their DSPs.

use super::reduce::{Kept, State};
use super::{Dsp, Pick};

/// Takes a choice's share of what a DSP has, if it is there.
pub(super) fn take(dsp: &mut Dsp, kept: &Kept) -> bool {
    let (Some(memory), Some(work)) =
        (dsp.memory.checked_sub(kept.choice.memory), dsp.work.checked_sub(kept.choice.work))
    else {
        return false;
    };
    *dsp = Dsp { memory, work };
    true
}

/// Writes the picks of the flows that are left to their places, behind those that are fixed. False
/// if a flow fits nowhere any more.
pub(super) fn pack(
    groups: &mut [State],
    kept: &[Kept],
    dsps: &mut [Dsp],
    offsets: impl Iterator<Item = usize>,
    picks: &mut [Pick],
) -> bool {
    for (group, offset) in groups.iter_mut().zip(offsets) {
        for flow in 0..group.left {
            let number = if flow < group.raised { group.next } else { group.at };
            let Some(one) = group.choice(kept, number) else { return false };
            let Some(dsp) = nearest(dsps, one, group.dsp) else { return false };
            if !dsps.get_mut(dsp).is_some_and(|dsp| take(dsp, one)) {
                return false;
            }
            let Some(pick) = picks.get_mut(offset + usize::from(group.seated)) else {
                return false;
            };
            *pick = Pick { choice: one.number, dsp: dsp as u8 };
            group.seated += 1;
        }
    }
    true
}

/// The DSP into which a choice fits with the least left; of equals the least busy, as choices
/// without memory find time there.
fn nearest(dsps: &[Dsp], kept: &Kept, served: Option<u8>) -> Option<usize> {
    let choice = &kept.choice;
    let fits = |dsp: &Dsp| dsp.memory >= choice.memory && dsp.work >= choice.work;
    let left = |dsp: &Dsp| if choice.memory > 0 { dsp.memory } else { 0 };
    let may = |at: usize| served.is_none_or(|served| usize::from(served) == at);
    let all = dsps.iter().enumerate().filter(|(at, dsp)| may(*at) && fits(dsp));
    all.min_by_key(|(_, dsp)| (left(dsp), u32::MAX - dsp.work)).map(|(at, _)| at)
}
