//! What channels of packets and of scalars have in common.

use super::super::call::Call;
use super::super::channel::Channel;
use super::super::control::Kind;
use super::super::endpoint::Direction;
use super::super::foreign::Output;
use super::super::home::Home;
use super::super::id::{EndpointId, Handle};
use super::super::process;
use super::super::request::Operation;
use super::super::status::{Outcome, Status};
use super::super::transfer::{Incoming, Outgoing};
use super::{Begun, For};

/// A call for the channel of a handle, with its place; the handle is looked at by what is done next.
#[inline]
pub(super) fn channel<H: Home>(handle: u32) -> Outcome<(Call<H>, Handle)> {
    let handle = Handle(handle);
    Ok((process::of_handle::<H>(handle, Status::ChanInvalid)?, handle))
}

/// Connects two endpoints by a channel.
pub(super) fn connect<H: Home>(from: u32, to: u32, kind: Kind) -> Outcome<Begun> {
    let (from, to) = (EndpointId(from), EndpointId(to));
    let mut call = process::of_endpoint::<H>(from)?;
    if call.node().id != from.node() {
        // Neither is the sender's node this process's: whoever's node the receiver is may ask.
        drop(call);
        call = process::of_endpoint::<H>(to)?;
    }
    let node = call.node();
    node.progress();
    let request = node.connect(from, to, kind)?;
    node.progress();
    Ok(Begun::Pending(request))
}

/// Opens the channel of an endpoint.
pub(super) fn open<H: Home>(
    handle: Output<u32>,
    endpoint: u32,
    (kind, direction): (Kind, Direction),
) -> Outcome<Begun> {
    let id = EndpointId(endpoint);
    let mut call = process::of_endpoint::<H>(id)?;
    let node = call.node();
    if handle.is_null() {
        return Err(Status::Parameter);
    }
    let inner = node.own_endpoint(id)?;
    node.progress();
    let opened = node.open_channel(inner, kind, direction, handle);
    if (kind, direction) == (Kind::Packet, Direction::Receive) {
        // Whose packets will be given back next, most likely.
        H::released_by(call.slot);
    }
    opened.map(Begun::from)
}

/// Closes one side of a channel.
pub(super) fn close<H: Home>(handle: u32, (kind, direction): (Kind, Direction)) -> Outcome<Begun> {
    let (mut call, handle) = channel::<H>(handle)?;
    let node = call.node();
    node.progress();
    let closed = node.close_channel(handle, kind, direction);
    // The other end may be this node's, too.
    node.progress();
    closed.map(|()| Begun::Done(0))
}

/// How many entries of a channel can be received without waiting.
pub(super) fn available<H: Home>(handle: u32, kind: Kind) -> Outcome<u32> {
    let (mut call, handle) = channel::<H>(handle)?;
    let node = call.node();
    let channel = node.channels.get(handle).filter(|channel| channel.is(kind, Direction::Receive));
    let channel = channel.ok_or(Status::ChanInvalid)?;
    let (kept, ring) = (u32::from(channel.stash.is_some()), channel.ring);
    node.lengthen(handle);
    let ring = ring.map_or(0, |ring| node.stack.channel_available(ring));
    node.shorten(handle);
    node.turn();
    Ok(kept + ring)
}

/// Sends something, or has a request to do so.
#[inline(never)]
pub(super) fn send<H: Home>(handle: u32, what: Outgoing, whom: For) -> Outcome<Begun> {
    let (mut call, handle) = channel::<H>(handle)?;
    let node = call.node();
    if let Some(sent) = node.send_entry(handle, what) {
        node.turn();
        return sent.map(Begun::Done);
    }
    let (timeout, fails) = waits(node.channels.get(handle));
    if fails {
        return Err(Status::MemLimit);
    }
    whom.begin(call, Operation::Send { channel: handle, what }, timeout)
}

/// Receives something, or has a request to do so.
#[inline(never)]
pub(super) fn receive<H: Home>(handle: u32, what: Incoming, whom: For) -> Outcome<Begun> {
    let (mut call, handle) = channel::<H>(handle)?;
    let looks = whom.looks::<H>();
    if let Some(received) = call.soon(looks, |node| node.receive_entry(handle, what)) {
        call.node().turn();
        return received.map(Begun::Done);
    }
    let (timeout, _) = waits(call.node().channels.get(handle));
    whom.begin(call, Operation::Receive { channel: handle, what }, timeout)
}

/// How long a call may wait for a channel, and whether it fails where there is no room.
fn waits(channel: Option<&Channel>) -> (u32, bool) {
    channel.map_or((0, false), |channel| (channel.timeout, channel.fails_at_limit))
}
