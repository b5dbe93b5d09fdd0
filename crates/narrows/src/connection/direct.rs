//! The direct connection: one message of the link is one message of the driver, and shared memory
//! loses none, so there is nothing to do but pass it on.

use crate::driver::{self, DriverError, Payload};
use crate::memory::{Corrupt, Descriptor, More, Shared, Taken, Way};
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
pub fn post_in_slot<P: Platform>(
    platform: &P,
    shared: &mut Shared<P>,
    descriptor: Descriptor,
    payload: &[u8],
) -> bool {
    let posted = shared.post_in_slot(descriptor, payload);
    if posted {
        shared.ring_if_armed(platform);
    }
    posted
}

/// Sends a message in a block, if one and a slot are free at once. False if it did not.
#[inline(always)]
pub fn post_in_block<P: Platform>(
    platform: &P,
    shared: &mut Shared<P>,
    way: Way,
    descriptor: Descriptor,
    payload: &[u8],
) -> bool {
    let posted = shared.post_in_block(descriptor, way, payload);
    if posted {
        shared.ring_if_armed(platform);
    }
    posted
}

/// Sends messages in their order, up to the first for which there is no room at once (see
/// [`Shared::post`]), and looks once behind all of them whether the peer wants to be rung. Returns
/// how many it sent.
#[inline(always)]
pub fn post<'a, P: Platform>(
    platform: &P,
    shared: &mut Shared<P>,
    way: Way,
    messages: impl Iterator<Item = (Descriptor, &'a [u8])>,
) -> usize {
    let mut sent = 0;
    for (descriptor, payload) in messages {
        if !shared.post(descriptor, way, payload) {
            break;
        }
        sent += 1;
    }
    if sent > 0 {
        shared.ring_if_armed(platform);
    }
    sent
}

/// Takes the next message straight to where it is used: see [`Shared::take_into`].
///
/// # Errors
/// As there.
#[inline(always)]
pub fn take_into<'a, P: Platform, const SHORT: bool>(
    platform: &P,
    shared: &mut Shared<P>,
    port: u16,
    copied: bool,
    place: impl FnOnce(&Descriptor) -> Option<&'a mut [u8]>,
) -> Result<Option<Descriptor>, More> {
    shared.take_into::<SHORT>(platform, port, copied, place)
}

/// Takes the next message.
///
/// # Errors
/// The peer broke the protocol.
#[inline]
pub fn take<P: Platform>(shared: &mut Shared<P>) -> Result<Option<Taken>, Corrupt> {
    shared.take()
}
