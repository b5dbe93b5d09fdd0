//! What flows take of the calling core together, if they begin when they do.

use super::queue::{Phases, Walk};
use super::{Costs, Stream, share};

/// Periods of the slowest flow that are worked through, behind one that does not count.
const PERIODS: u64 = 4;
/// How often, each time with the looks of the cores that are called at other moments.
const TIMES: u64 = 4;
/// The most waits and turns, for flows whose periods have nothing to do with each other.
const MOST: usize = 20_000;

/// What all flows take of the calling core, in parts per million, each beginning
/// [`after`](Stream::after) the others: waits, looks and bells are those of all, and copies wait for
/// each other. None if a core has less time than it is asked for, or no flow has a period.
pub fn together(costs: &Costs, streams: &mut [Stream]) -> Option<u32> {
    let slowest = streams.iter().map(|one| one.period).max().filter(|period| *period > 0)?;
    let (mut busy, mut all) = (0, 0);
    for seed in 1..=TIMES {
        let mut walk = Walk::new(costs, streams, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))?;
        walk.begin(Phases::Together);
        let mut from = None;
        let end = slowest.saturating_mul(PERIODS + 1);
        for _ in 0..MOST {
            if walk.caller.at >= slowest {
                let _ = from.get_or_insert(walk.caller);
            }
            if walk.caller.at >= end {
                break;
            }
            if !walk.turn(usize::MAX, |_| ()) && !walk.wait() {
                return None;
            }
        }
        let from = from?;
        busy += walk.caller.busy - from.busy;
        all += walk.caller.at - from.at;
        if seed == TIMES {
            return Some(share(busy, all).saturating_add(walk.always()));
        }
    }
    None
}
