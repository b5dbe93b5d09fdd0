//! The direct connection: one message of the link is one message of the driver, and shared memory
//! loses none, so there is nothing to do but pass it on.

use crate::driver::{self, DriverError, Payload};
use crate::memory::{Corrupt, Descriptor, Placed, Shared, Taken};
use crate::platform::Platform;
use crate::span::{Edge, Span};
use crate::strategy::Strategy;

/// Sends one message.
///
/// # Errors
/// See [`DriverError`]; nothing was sent.
#[inline]
pub fn send<P: Platform>(
    platform: &P,
    shared: &mut Shared<P>,
    strategy: &Strategy,
    descriptor: Descriptor,
    payload: Payload<'_>,
) -> Result<(), DriverError> {
    let id = driver::call_id(&descriptor);
    platform.stamp(Span::Connection, Edge::Enter, id);
    let sent = driver::send(platform, shared, strategy, descriptor, payload);
    platform.stamp(Span::Connection, Edge::Leave, id);
    sent
}

/// Sends a message that fits a slot which is known to be free. False if it did not.
#[inline(always)]
pub fn post<P: Platform>(
    platform: &P,
    shared: &mut Shared<P>,
    descriptor: Descriptor,
    payload: &[u8],
) -> bool {
    let fits = payload.len() <= Shared::<P>::IN_SLOT && shared.tx.known_room();
    if fits {
        shared.publish(descriptor, Placed::InSlot(payload));
        shared.ring_if_armed(platform);
    }
    fits
}

/// Takes the next message straight to where it is used: see [`Shared::take_into`].
#[inline(always)]
pub fn take_into<P: Platform>(
    platform: &P,
    shared: &mut Shared<P>,
    port: u16,
    to: &mut [u8],
) -> Option<Descriptor> {
    shared.take_into(platform, port, to)
}

/// Takes the next message.
///
/// # Errors
/// The peer broke the protocol.
#[inline]
pub fn take<P: Platform>(shared: &mut Shared<P>) -> Result<Option<Taken>, Corrupt> {
    shared.take()
}
