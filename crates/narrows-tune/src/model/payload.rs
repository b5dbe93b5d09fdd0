//! What moving payload takes.

use narrows::strategy::{Strategy, Transfer};

use super::parameters::{Access, Costs, Engine, InPool};
use super::{Message, sum};

/// What moving payload takes of a core, and what it takes beside any core.
#[derive(Clone, Copy, Default)]
pub(super) struct Moved {
    /// The request in, at the caller; out, at the callee.
    pub request: u64,
    /// The response.
    pub response: u64,
    /// Both, by the engine.
    pub engine: u64,
}

/// What a payload takes at so many picoseconds for 1024 bytes.
fn bytes(count: u32, rate: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(rate) / 1024).unwrap_or(u64::MAX)
}

/// What payload takes at one of the sides.
pub(super) fn moved(
    costs: &Costs,
    access: Access<u64>,
    message: &Message,
    strategy: &Strategy,
    calls: bool,
) -> Moved {
    let Message { request, response, .. } = *message;
    let copy = |count, rate| match count {
        0 => 0,
        count => access.block.saturating_add(bytes(count, rate)),
    };
    // The caller writes requests and reads responses; the callee the other way round.
    let (into, out) = if calls { (request, response) } else { (response, request) };
    let counted = costs.in_pool == InPool::Counted;
    let (into, out) = match strategy.transfer {
        Transfer::SingleCopy | Transfer::InPlace if counted => {
            (copy(into, access.write), copy(out, access.read))
        }
        Transfer::Copy => (copy(into, access.write), copy(out, access.read)),
        Transfer::SingleCopy => (0, copy(out, access.read)),
        Transfer::InPlace => (0, 0),
        Transfer::CopyEngine => {
            let each = |count: u32| u64::from(count.div_ceil(strategy.fragment));
            let each = |count| each(count).saturating_mul(costs.engine.descriptor);
            (each(into), each(out))
        }
    };
    let engine = match strategy.transfer {
        Transfer::CopyEngine => {
            let Engine { byte, completion, .. } = costs.engine;
            sum(&[bytes(request, byte), bytes(response, byte), completion, completion])
        }
        _ => 0,
    };
    let (request, response) = if calls { (into, out) } else { (out, into) };
    Moved { request, response, engine }
}
