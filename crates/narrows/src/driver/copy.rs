//! This core copies: in by the sender, out by the receiver. A short payload travels in the slot.

use super::{DriverError, Payload, fits_slot, take_block};
use crate::memory::{Placed, Shared, Taken};
use crate::platform::Platform;
use crate::strategy::Strategy;

#[inline]
pub(super) fn place<'a, P: Platform>(
    shared: &mut Shared<P>,
    strategy: &Strategy,
    payload: Payload<'a>,
) -> Result<Placed<'a>, DriverError> {
    let bytes = match payload {
        Payload::Block { block, len } => return Ok(Placed::Block { block, len }),
        Payload::Bytes(bytes) if fits_slot(shared, bytes) => return Ok(Placed::InSlot(bytes)),
        Payload::Bytes(bytes) => bytes,
    };
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let block = take_block(shared, strategy, len)?;
    shared.write(block, 0, bytes);
    Ok(Placed::Block { block, len })
}

#[inline]
pub(super) fn collect<P: Platform>(
    shared: &Shared<P>,
    taken: &Taken,
    at: u32,
    to: &mut [u8],
) -> bool {
    let end = u32::try_from(to.len()).ok().and_then(|n| n.checked_add(at));
    let Some(end) = end.filter(|end| *end <= taken.descriptor.len) else { return false };
    match taken.descriptor.block {
        Some(block) => shared.read(block, at, to),
        None => taken.in_slot.get(at as usize..end as usize).is_some_and(|bytes| {
            to.copy_from_slice(bytes);
            true
        }),
    }
}
