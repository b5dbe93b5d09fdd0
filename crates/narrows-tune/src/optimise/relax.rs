//! The linear relaxation: flows that are not fixed go along their hulls, what saves most for a byte
//! first, until the memory of all DSPs together is full.

use super::MAX_DSPS;
use super::reduce::{State, Step};

/// What the relaxation says of the flows that are left.
pub(super) struct Relaxed {
    /// They cost no less.
    pub bound: u64,
    /// They cost this where the relaxation was made whole.
    pub cost: u64,
    /// The group with a flow between two choices; none if the relaxation is whole by itself.
    pub between: Option<u16>,
    /// What a byte of each memory is worth to it: what is saved, and for how many bytes.
    pub worth: [(u64, u64); MAX_DSPS],
}

/// Relaxes: flows that are left cost `cost` with the smallest choices, and `memory` bytes are there
/// beside those: of each DSP if each group has its own, or else, if they are `free`, of all in the
/// first place. Leaves a whole solution in the groups: that of the relaxation with flows
/// between two choices at the smaller one, and whatever later steps still fit.
pub(super) fn relax(
    groups: &mut [State],
    steps: &[Step],
    cost: u64,
    mut memory: [u64; MAX_DSPS],
    free: bool,
) -> Relaxed {
    for group in groups.iter_mut() {
        (group.at, group.next, group.raised) = (0, 0, 0);
    }
    let (mut cost, mut bound) = (cost, cost);
    let mut full = [false; MAX_DSPS];
    let mut between = None;
    let mut worth = [(0, 1); MAX_DSPS];
    for step in steps {
        let Some(group) = groups.get_mut(usize::from(step.group)) else { continue };
        let place = group.dsp.filter(|_| !free).map_or(0, usize::from);
        let (Some(memory), Some(full)) = (memory.get_mut(place), full.get_mut(place)) else {
            continue;
        };
        // Behind a step that did not fit for all flows of the group, the later ones are none of
        // theirs.
        if group.left == 0 || group.at != step.from || group.raised > 0 || (*full && *memory == 0) {
            continue;
        }
        let each = u64::from(step.memory);
        let all = each * u64::from(group.left);
        let some = if all <= *memory { u64::from(group.left) } else { *memory / each };
        let saves = some * u64::from(step.saves);
        *memory -= some * each;
        cost -= saves;
        if !*full {
            bound -= saves;
        }
        if some == u64::from(group.left) {
            group.at = step.to;
            continue;
        }
        (group.next, group.raised) = (step.to, some as u16);
        if !*full {
            *full = true;
            if let Some(worth) = worth.get_mut(place) {
                *worth = (u64::from(step.saves), each);
            }
            // Less than a step's memory is left, so the product fits.
            bound -= *memory * u64::from(step.saves) / each;
            if *memory > 0 && between.is_none() {
                between = Some(step.group);
            }
        }
    }
    Relaxed { bound, cost, between, worth }
}
