//! The direct connection: one message of the link is one message of the driver, and shared memory
//! loses none, so there is nothing to do but pass it on.

use crate::driver::{self, DriverError, Payload};
use crate::memory::{Corrupt, Descriptor, Shared, Taken};
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
    key: u32,
    shared: &mut Shared<P>,
    strategy: &Strategy,
    descriptor: Descriptor,
    payload: Payload<'_>,
) -> Result<(), DriverError> {
    let id = driver::call_id(&descriptor);
    platform.stamp(Span::Connection, Edge::Enter, id);
    let sent = driver::send(platform, key, shared, strategy, descriptor, payload);
    platform.stamp(Span::Connection, Edge::Leave, id);
    sent
}

/// Takes the next message.
///
/// # Errors
/// The peer broke the protocol.
#[inline]
pub fn take<P: Platform>(shared: &mut Shared<P>) -> Result<Option<Taken>, Corrupt> {
    shared.take()
}
