//! What moving payload takes.

use narrows::strategy::{Strategy, Transfer};

use super::parameters::{Access, Costs, InPool, Side};
use super::{Flow, LONGEST, picos, sum};

/// A message of a flow: all requests that it holds, or the longest part of one.
pub(super) struct Message {
    pub request: u32,
    pub response: u32,
    pub work: u64,
}

impl Message {
    /// A flow's by a strategy; none if it is longer than any message.
    pub fn of(flow: &Flow, strategy: &Strategy) -> Option<Message> {
        let count = u32::from(strategy.granularity);
        let long = |one: u32| {
            let long = one.checked_mul(count).filter(|all| *all <= LONGEST)?;
            u32::try_from(strategy.parts.longest(long as usize)).ok()
        };
        let (work, fixed) = (picos(flow.work), picos(flow.fixed.min(flow.work)));
        let cut = (work - fixed).div_ceil(strategy.parts.count.max(1).into());
        Some(Message {
            request: long(flow.request)?,
            response: long(flow.response)?,
            work: sum(&[fixed, cut]).saturating_mul(count.into()),
        })
    }
}

/// What moving payload takes of a core, and what it takes beside any core.
#[derive(Clone, Copy, Default)]
pub(super) struct Moved {
    /// The request in, at the caller; out, at the callee.
    pub request: u64,
    /// The response.
    pub response: u64,
    /// The two by the engine.
    pub engine: [u64; 2],
}

/// What a payload takes at this many picoseconds for 1024 bytes.
fn bytes(count: u32, rate: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(rate) / 1024).unwrap_or(u64::MAX)
}

/// Which rate of a block's: of writing, or of reading.
type Rate = fn(&Access<u64>) -> u64;

/// What payload takes at one of the sides, `looked` at by the other one meanwhile or not.
pub(super) fn moved(
    costs: &Costs,
    internal: bool,
    looked: bool,
    message: &Message,
    strategy: &Strategy,
    calls: bool,
) -> Moved {
    let Message { request, response, .. } = *message;
    let side = if calls { &costs.caller } else { &costs.callee };
    let (pool, more, engine, upkeep) = match internal {
        true => (&side.internal, side.internal_spin, costs.engine_internal, 0),
        false => (&side.external, side.external_spin, costs.engine, side.upkeep),
    };
    let made_there = matches!(strategy.transfer, Transfer::SingleCopy | Transfer::InPlace);
    let in_slot = |count: u32| count <= costs.in_slot && !made_there;
    let in_block = |count, rate: Rate| match count {
        0 => 0,
        count => {
            let alone = pool.of(count);
            let access = if looked { alone.and(more) } else { alone };
            access.block.saturating_add(bytes(count, rate(&access)))
        }
    };
    let write: Rate = |access| access.write;
    let read: Rate = |access| access.read;
    // The caller writes requests and reads responses; the callee the other way round.
    let (into, out) = if calls { (request, response) } else { (response, request) };
    let counted = costs.in_pool == InPool::Counted;
    let place = |count, rate, slot| match strategy.transfer {
        _ if in_slot(count) => bytes(count, slot),
        Transfer::CopyEngine => {
            let fragments = u64::from(count.div_ceil(strategy.fragment));
            fragments.saturating_mul(engine.descriptor).saturating_add(bytes(count, upkeep))
        }
        _ => in_block(count, rate),
    };
    let leaves = |here: bool| made_there && here && !counted;
    let reads = strategy.transfer == Transfer::InPlace;
    let moved = |count| match strategy.transfer {
        Transfer::CopyEngine if !in_slot(count) => {
            bytes(count, engine.byte).saturating_add(engine.completion)
        }
        _ => 0,
    };
    let times = u32::from(strategy.granularity);
    if calls && times > 1 && strategy.transfer == Transfer::CopyEngine {
        // The core gathers requests. It fetches each response by itself: what is short on its own,
        // if all are not, and what is longer by the engine.
        let (each, times) = (response / times, u64::from(times));
        let one = match in_slot(each) && !in_slot(response) {
            true => in_block(each, read),
            false => place(each, read, side.slot.read),
        };
        return Moved {
            request: in_block(request, write),
            response: one.saturating_mul(times),
            engine: [0, moved(each).saturating_mul(times)],
        };
    }
    let gathered = match made_there && calls && times > 1 {
        true => {
            let gathered = bytes(into, side.gather[usize::from(!internal)]);
            gathered.saturating_add(in_block(into, |_| 0))
        }
        false => 0,
    };
    let into = if leaves(true) { 0 } else { place(into, write, side.slot.write) };
    let into = sum(&[into, gathered]);
    let out = if leaves(reads) { 0 } else { place(out, read, side.slot.read) };
    let (request_here, response_here) = if calls { (into, out) } else { (out, into) };
    let engine = [moved(request), moved(response)];
    Moved { request: request_here, response: response_here, engine }
}

/// What payload and code take of a side at most more where caches have none of it.
pub(super) fn cold(side: &Side<u64>, message: &Message, calls: bool) -> u64 {
    let Message { request, response, .. } = *message;
    let (into, out) = if calls { (request, response) } else { (response, request) };
    let Access { write, read, block } = side.cold;
    sum(&[block, bytes(side.cached(into), write), bytes(side.cached(out), read)])
}
