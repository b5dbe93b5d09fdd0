//! Messages.

use std::ffi::c_void;

use super::super::call::{Call, Quickly};
use super::super::foreign::{Buffer, Bytes, Output};
use super::super::home::Home;
use super::super::id::{EndpointId, Handle};
use super::super::message::received;
use super::super::node::Node;
use super::super::process;
use super::super::request::Operation;
use super::super::status::{Outcome, Status};
use super::super::transfer::Quick;
use super::{Begun, For, Verdict, begin, sent_more, size_of};

/// Sends at once if that can be done; what was said of the sender if not.
#[inline(never)]
fn send_now<H: Home>(
    call: &mut Call<H>,
    (from, to): (EndpointId, EndpointId),
    bytes: &Bytes,
    priority: u32,
) -> Outcome<Option<(u32, bool)>> {
    let node = call.node();
    let said = match node.sender(from, bytes, priority) {
        // The receiver is looked at before what is sent to it.
        Err(Status::MsgSize | Status::Priority) if !node.knows(to) => {
            return Err(Status::EndpInvalid);
        }
        said => said?,
    };
    match node.send_message(to, bytes.get(), priority as u8) {
        Some(Ok(())) => {
            node.remember((from, to));
            node.turn();
            Ok(None)
        }
        Some(Err(Status::EndpInvalid)) if to.node() == node.id => {
            node.endpoints.find(to).ok_or(Status::EndpInvalid)?;
            Ok(Some(said))
        }
        Some(Err(status)) => Err(status),
        None if said.1 => Err(Status::MemLimit),
        None => Ok(Some(said)),
    }
}

/// Makes the way to an own endpoint: the node is linked with itself when it first sends to itself.
#[inline(never)]
fn reach_own<H: Home>(mut call: Call<H>, to: EndpointId) -> Outcome<Call<H>> {
    let node = call.node();
    if to.node() != node.id || node.peers.has(to) {
        return Ok(call);
    }
    // Both ends are this node's: it takes some turns and no waiting.
    for _ in 0..1000 {
        let node = call.node();
        node.progress();
        if node.reach_own(to)? {
            return Ok(call);
        }
    }
    Err(Status::Transmission)
}

/// Sends a message, waiting for room.
#[inline(always)]
pub(super) unsafe extern "C" fn msg_send<H: Home>(
    send_endpoint: u32,
    receive_endpoint: u32,
    buffer: *const c_void,
    buffer_size: usize,
    priority: u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let (verdict, bytes) =
        unsafe { (Verdict::new(status), Bytes::new(buffer.cast(), buffer_size)) };
    let Some(verdict) = verdict else { return };
    let ends = (EndpointId(send_endpoint), EndpointId(receive_endpoint));
    let Some(mut quickly) = process::quickly_at::<H>(ends.0) else {
        return send_long::<H>(ends, None, bytes, priority, verdict);
    };
    let sent = match quickly.node() {
        Some(node) => node.put_message(ends, &bytes, priority),
        None => Quick::Not,
    };
    match sent {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            quickly.end();
        }
        Quick::More(()) => rung_for(ends, quickly, verdict),
        Quick::Not => send_long(ends, Some(quickly), bytes, priority, verdict),
    }
}

#[cold]
#[inline(never)]
extern "C" fn rung_for<H: Home>(
    ends: (EndpointId, EndpointId),
    mut quickly: Quickly<H>,
    verdict: Verdict,
) {
    if let Some(node) = quickly.node() {
        node.ring_for_message(ends);
    }
    sent_more(Handle::NONE.0, quickly, verdict);
}

#[cold]
#[inline(never)]
extern "C" fn send_long<H: Home>(
    ends: (EndpointId, EndpointId),
    quickly: Option<Quickly<H>>,
    bytes: Bytes,
    priority: u32,
    verdict: Verdict,
) {
    drop(quickly);
    verdict.of(send::<H>(ends, bytes, priority, For::Call).map(|_| ()), ());
}

/// Sends, or has a request to do so.
#[inline(never)]
fn send<H: Home>(
    (from, to): (EndpointId, EndpointId),
    bytes: Bytes,
    priority: u32,
    whom: For,
) -> Outcome<Begun> {
    let size = bytes.get().len() as u64;
    let mut call = process::of_endpoint::<H>(from)?;
    let Some((timeout, _)) = send_now(&mut call, (from, to), &bytes, priority)? else {
        return Ok(Begun::Done(size));
    };
    let (call, priority) = (reach_own(call, to)?, priority as u8);
    whom.begin(call, Operation::SendMessage { to, bytes, priority }, timeout)
}

/// Sends a message, without waiting.
#[inline(always)]
pub(super) unsafe extern "C" fn msg_send_i<H: Home>(
    send_endpoint: u32,
    receive_endpoint: u32,
    buffer: *const c_void,
    buffer_size: usize,
    priority: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let ends = (EndpointId(send_endpoint), EndpointId(receive_endpoint));
    let send = || {
        // SAFETY: as was promised.
        let bytes = unsafe { Bytes::new(buffer.cast(), buffer_size) };
        send::<H>(ends, bytes, priority, For::Request)
    };
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &send) };
}

/// The stack's port of an endpoint that receives, and how long it may wait.
#[inline(never)]
fn receiver<H: Home>(node: &Node<H>, id: EndpointId) -> Outcome<(u16, u32)> {
    match node.endpoints.own(id) {
        Some((inner, endpoint)) => Ok((inner, endpoint.attributes.timeout)),
        None if node.peers.has(id) => Err(Status::EndpRemote),
        None => Err(Status::EndpInvalid),
    }
}

/// Receives a message, waiting for it.
#[inline(always)]
pub(super) unsafe extern "C" fn msg_recv<H: Home>(
    receive_endpoint: u32,
    buffer: *mut c_void,
    buffer_size: usize,
    received_size: *mut usize,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let (verdict, mut buffer, size) = unsafe {
        (Verdict::new(status), Buffer::new(buffer.cast(), buffer_size), Output::new(received_size))
    };
    let Some(verdict) = verdict else { return };
    let id = EndpointId(receive_endpoint);
    let quickly = match process::quickly_at::<H>(id) {
        Some(quickly) if !size.is_null() => Some(quickly),
        _ => None,
    };
    let Some(mut quickly) = quickly else {
        return receive_long::<H>(id, buffer, size, verdict, None);
    };
    let taken = match quickly.node() {
        Some(node) => node.collect_message(id, buffer.there()),
        None => Quick::Not,
    };
    match taken {
        Quick::Done(len) if len <= buffer_size => {
            size.put(len);
            verdict.say(Status::Success);
            quickly.end();
        }
        Quick::Done(len) | Quick::More(len) => {
            size.put(len.min(buffer_size));
            received_more(quickly, len > buffer_size, verdict);
        }
        Quick::Not => receive_long(id, buffer, size, verdict, Some(quickly)),
    }
}

#[cold]
#[inline(never)]
extern "C" fn received_more<H: Home>(quickly: Quickly<H>, truncated: bool, verdict: Verdict) {
    quickly.follow_up(Handle::NONE);
    verdict.say(if truncated { Status::MsgTruncated } else { Status::Success });
}

#[cold]
#[inline(never)]
extern "C" fn receive_long<H: Home>(
    id: EndpointId,
    buffer: Buffer,
    size: Output<usize>,
    verdict: Verdict,
    quickly: Option<Quickly<H>>,
) {
    drop(quickly);
    let wanted = !buffer.missing() && !size.is_null();
    let done = receive::<H>(id, buffer, wanted, For::Call).map(Begun::done);
    let (status, len) = size_of(done);
    if done.is_ok() {
        size.put(len);
    }
    verdict.say(status);
}

/// Receives, or has a request to do so.
#[inline(never)]
fn receive<H: Home>(id: EndpointId, mut buffer: Buffer, wanted: bool, whom: For) -> Outcome<Begun> {
    let mut call = process::of_endpoint::<H>(id)?;
    if !wanted {
        return Err(Status::Parameter);
    }
    let (inner, timeout) = receiver(call.node(), id)?;
    let (looks, room) = (whom.looks::<H>(), buffer.room());
    if let Some(taken) = call.soon(looks, |node| node.receive_message(inner, buffer.get())) {
        call.node().turn();
        let done = taken.and_then(|len| received(len, room));
        return done.map(Begun::Done);
    }
    whom.begin(call, Operation::ReceiveMessage { inner, buffer }, timeout)
}

/// Receives a message, without waiting.
#[inline(always)]
pub(super) unsafe extern "C" fn msg_recv_i<H: Home>(
    receive_endpoint: u32,
    buffer: *mut c_void,
    buffer_size: usize,
    request: *mut u32,
    status: *mut u32,
) {
    let id = EndpointId(receive_endpoint);
    let receive = || {
        // SAFETY: as was promised.
        let buffer = unsafe { Buffer::new(buffer.cast(), buffer_size) };
        let wanted = !buffer.missing();
        receive::<H>(id, buffer, wanted, For::Request)
    };
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &receive) };
}

/// How many messages an endpoint can receive without waiting.
#[inline(always)]
pub(super) unsafe extern "C" fn msg_available<H: Home>(
    receive_endpoint: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    let id = EndpointId(receive_endpoint);
    let count = || {
        let mut call = process::of_endpoint::<H>(id)?;
        let node = call.node();
        let (inner, _) = receiver(node, id)?;
        node.progress();
        node.stack.available(inner).map_err(|_| Status::EndpInvalid)
    };
    verdict.of(count(), 0)
}
