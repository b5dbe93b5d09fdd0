//! What a flow delays others by.

use super::{Estimate, WHOLE};
use crate::optimise::Delay;

impl Estimate {
    /// What the flow delays another by at most: one of the same core that is called, and one of
    /// another core. `paced` is whether it has a period.
    pub fn delays(&self, paced: bool) -> [Delay; 2] {
        let Estimate { blocks, serves, once, at_once, period, .. } = *self;
        // Without a period its next call is there as soon as there is room: before the request,
        // and before the response.
        let turns = if paced { 1 } else { 2 };
        [(serves, once[0] + once[1]), (0, once[0])].map(|(there, cold)| {
            let lasting = blocks.saturating_mul(turns).saturating_add(there);
            // It is cold once, whatever there is of it.
            let each = lasting.saturating_sub(cold);
            let lasting = each.saturating_mul(at_once);
            let rate = u128::from(each) * u128::from(WHOLE) / u128::from(period.max(1));
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            Delay { most: lasting.saturating_add(cold), lasting, rate }
        })
    }
}
