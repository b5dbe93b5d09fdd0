//! The linear relaxation: flows that are not fixed go along their hulls, what saves most for a byte
//! first, until the memory of all DSPs together is full.

use super::reduce::{State, Step};

/// What the relaxation says of the flows that are left.
pub(super) struct Relaxed {
    /// They cost no less.
    pub bound: u64,
    /// They cost this where the relaxation was made whole.
    pub cost: u64,
    /// The group with a flow between two choices; none if the relaxation is whole by itself.
    pub between: Option<u16>,
}

/// Relaxes: flows that are left cost `cost` with the smallest choices, and `memory` bytes are there
/// beside those. Leaves a whole solution in the groups: that of the relaxation with the flow
/// between two choices at the smaller one, and whatever later steps still fit.
pub(super) fn relax(groups: &mut [State], steps: &[Step], cost: u64, memory: u64) -> Relaxed {
    for group in groups.iter_mut() {
        (group.at, group.next, group.raised) = (0, 0, 0);
    }
    let (mut cost, mut memory) = (cost, memory);
    let mut bound = None;
    let mut between = None;
    for step in steps {
        let Some(group) = groups.get_mut(usize::from(step.group)) else { continue };
        // Behind a step that did not fit for all flows of the group, the later ones are none of
        // theirs.
        if group.left == 0 || group.at != step.from || group.raised > 0 {
            continue;
        }
        let each = u64::from(step.memory);
        let all = each * u64::from(group.left);
        if all <= memory {
            memory -= all;
            cost -= u64::from(step.saves) * u64::from(group.left);
            group.at = step.to;
            continue;
        }
        let some = memory / each;
        memory -= some * each;
        cost -= some * u64::from(step.saves);
        (group.next, group.raised) = (step.to, some as u16);
        if bound.is_none() {
            // Less than a step's memory is left, so the product fits.
            let part = memory * u64::from(step.saves) / each;
            bound = Some(cost - part);
            if memory > 0 {
                between = Some(step.group);
            }
        }
        if memory == 0 {
            break;
        }
    }
    Relaxed { bound: bound.unwrap_or(cost), cost, between }
}
