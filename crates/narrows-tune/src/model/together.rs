//! What flows take of the calling core together, if they begin when they do.

use super::queue::{Phases, Walk};
use super::{Costs, Stream, share};

/// Periods of the slowest flow that are worked through, behind one that does not count.
const PERIODS: u64 = 4;
/// How often, each time with the looks of the cores that are called at other moments.
const TIMES: u64 = 4;

/// What all flows take of the calling core, in parts per million, each beginning
/// [`after`](Stream::after) the others: waits, looks and bells are those of all, and copies wait
/// for each other. What is far more than `most` is not worked out to the end. None if a core has
/// less time than it is asked for, no flow has a period, or it takes more `turns` of the flows than
/// are left.
pub fn together(costs: &Costs, streams: &mut [Stream], most: u32, turns: &mut u32) -> Option<u32> {
    let slowest = streams.iter().map(|one| one.period).max().filter(|period| *period > 0)?;
    let end = slowest.saturating_mul(PERIODS + 1);
    let far = most.saturating_add(most / 8);
    let (mut busy, mut all, mut load) = (0, 0, None);
    for seed in 1..=TIMES {
        let mut walk = Walk::new(costs, streams, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))?;
        walk.begin(Phases::Together);
        let mut from = None;
        while walk.caller.at < end {
            if walk.caller.at >= slowest {
                let _ = from.get_or_insert(walk.caller);
            }
            *turns = turns.checked_sub(1)?;
            if !walk.turn(usize::MAX, |_| ()) && !walk.wait() {
                return None;
            }
        }
        let from = from?;
        busy += walk.caller.busy - from.busy;
        all += walk.caller.at - from.at;
        let found = share(busy, all).saturating_add(walk.always());
        load = Some(found);
        if found > far {
            break;
        }
    }
    load
}
