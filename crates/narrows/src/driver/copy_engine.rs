//! Moved into and out of the pool by the copy engine, a descriptor of it per fragment. A payload
//! that fits the slot is not worth an engine. What an engine fails to bring out of the pool this
//! core copies itself: a message that has arrived cannot be refused any more.

use super::{DriverError, Payload, copy, fits_slot, take_block};
use crate::memory::{Placed, Shared, Taken};
use crate::platform::{Memory, Platform};
use crate::strategy::Strategy;

pub(super) fn place<'a, P: Platform>(
    platform: &P,
    shared: &mut Shared<P>,
    strategy: &Strategy,
    payload: Payload<'a>,
) -> Result<Placed<'a>, DriverError> {
    let bytes = match payload {
        Payload::Bytes(bytes) if !fits_slot(shared, bytes) => bytes,
        _ => return copy::place(shared, strategy, payload),
    };
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let block = take_block(shared, strategy, len)?;
    let stored = shared.own_block(block).is_some_and(|(offset, _)| {
        // What was made there and never sent is still in this core's cache, and would be
        // written back over what the engine brings.
        shared.own().invalidate(offset, len);
        platform.engine_store(shared.own(), offset, bytes, strategy.fragment).is_ok()
    });
    if !stored {
        shared.put_back(block);
        return Err(DriverError::NoEngine);
    }
    Ok(Placed::Block { block, len })
}

pub(super) fn collect<P: Platform>(
    platform: &P,
    shared: &Shared<P>,
    strategy: &Strategy,
    taken: &Taken,
    at: u32,
    to: &mut [u8],
) -> bool {
    // Of what several messages share a block by, a part may be as short.
    let Some(block) = taken.descriptor.block.filter(|_| !fits_slot(shared, to)) else {
        return copy::collect(shared, taken, at, to);
    };
    let end = u32::try_from(to.len()).ok().and_then(|n| n.checked_add(at));
    let inside = end.is_some_and(|end| end <= taken.descriptor.len);
    match shared.theirs().block(block) {
        Some((offset, _)) if inside => {
            let fragment = strategy.fragment;
            platform.engine_fetch(shared.peer(), offset + at, to, fragment).is_ok()
                || shared.read(block, at, to)
        }
        _ => false,
    }
}
