//! Messages.

use std::ffi::c_void;

use super::super::call::Call;
use super::super::foreign::{Buffer, Bytes, Output};
use super::super::id::{EndpointId, Handle};
use super::super::node::Quick;
use super::super::process::{self, Processes};
use super::super::request::{Done, Operation};
use super::super::slot::Locked;
use super::super::status::{Outcome, Status};
use super::{Verdict, begin, sent_more};

/// Sends a message, waiting for room.
#[inline(always)]
pub(super) unsafe extern "C" fn msg_send<H: Processes>(
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
    let Some(mut locked) = process::quickly_at::<H>(ends.0) else {
        return send_long::<H>(ends, None, bytes, priority, verdict);
    };
    let sent = match locked.node() {
        Some(node) => node.put_message(ends, &bytes, priority),
        None => Quick::Not,
    };
    match sent {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            locked.end();
        }
        Quick::More(()) => rung_for(ends, locked, verdict),
        Quick::Not => send_long(ends, Some(locked), bytes, priority, verdict),
    }
}

#[cold]
#[inline(never)]
extern "C" fn rung_for<H: Processes>(
    ends: (EndpointId, EndpointId),
    mut locked: Locked<H>,
    verdict: Verdict,
) {
    if let Some(node) = locked.node() {
        node.ring_for_message(ends);
    }
    sent_more(Handle::NONE.0, locked, verdict);
}

#[cold]
#[inline(never)]
extern "C" fn send_long<H: Processes>(
    ends: (EndpointId, EndpointId),
    locked: Option<Locked<H>>,
    bytes: Bytes,
    priority: u32,
    verdict: Verdict,
) {
    if let Some(mut locked) = locked
        && let Some(node) = locked.node()
        && node.send_anew(ends, &bytes, priority)
    {
        return sent_more(Handle::NONE.0, locked, verdict);
    }
    verdict.of(|| send::<H>(ends, bytes, priority, true)?.outcome().map(drop));
}

/// Sends a message. If that has to wait for room, there is a request for it, and a call that
/// `waits` waits for its end. A receiver that was not got is looked for.
fn send<H: Processes>(
    ends: (EndpointId, EndpointId),
    bytes: Bytes,
    priority: u32,
    waits: bool,
) -> Outcome<Done> {
    match send_known::<H>(ends, bytes, priority, waits) {
        Err(Status::EndpInvalid) | Ok(Done { status: Status::EndpInvalid, .. }) => {
            send_learnt::<H>(ends, bytes, priority, waits)
        }
        sent => sent,
    }
}

#[cold]
#[inline(never)]
fn send_learnt<H: Processes>(
    ends: (EndpointId, EndpointId),
    bytes: Bytes,
    priority: u32,
    waits: bool,
) -> Outcome<Done> {
    match process::near_endpoint::<H>(ends.0)?.learn(ends.1) {
        true => send_known::<H>(ends, bytes, priority, waits),
        false => Err(Status::EndpInvalid),
    }
}

#[inline(always)]
fn send_known<H: Processes>(
    (from, to): (EndpointId, EndpointId),
    bytes: Bytes,
    priority: u32,
    waits: bool,
) -> Outcome<Done> {
    let mut call = process::near_endpoint::<H>(from)?;
    let node = call.node();
    let (timeout, fails) = match node.sender(from, &bytes, priority) {
        // The receiver is looked at before what is sent to it.
        Err(Status::MsgSize | Status::Priority) if !node.knows(to) => {
            return Err(Status::EndpInvalid);
        }
        said => said?,
    };
    let operation = Operation::SendMessage { to, bytes, priority: priority as u8 };
    call.transfer(&operation, fails, waits.then_some(timeout))
}

pub(super) unsafe extern "C" fn msg_send_i<H: Processes>(
    send_endpoint: u32,
    receive_endpoint: u32,
    buffer: *const c_void,
    buffer_size: usize,
    priority: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let ends = (EndpointId(send_endpoint), EndpointId(receive_endpoint));
    // SAFETY: as was promised.
    unsafe {
        let bytes = Bytes::new(buffer.cast(), buffer_size);
        begin::<H>(request, status, || send::<H>(ends, bytes, priority, false));
    }
}

/// Receives a message, waiting for it.
#[inline(always)]
pub(super) unsafe extern "C" fn msg_recv<H: Processes>(
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
    let locked = match process::quickly_at::<H>(id) {
        Some(locked) if !size.is_null() => Some(locked),
        _ => None,
    };
    let Some(mut locked) = locked else {
        return receive_long::<H>(id, buffer, size, verdict, None);
    };
    let slot = locked.slot();
    let taken = match locked.node() {
        Some(node) if node.alone || process::owns(slot) => node.collect_message(id, buffer.there()),
        _ => Quick::Not,
    };
    match taken {
        Quick::Done(len) if len <= buffer_size => {
            size.put(len);
            verdict.say(Status::Success);
            locked.end();
        }
        Quick::Done(len) | Quick::More(len) => {
            size.put(len.min(buffer_size));
            received_more(locked, len > buffer_size, verdict);
        }
        Quick::Not => receive_long(id, buffer, size, verdict, Some(locked)),
    }
}

#[cold]
#[inline(never)]
extern "C" fn received_more<H: Processes>(locked: Locked<H>, truncated: bool, verdict: Verdict) {
    locked.follow_up(Handle::NONE);
    verdict.say(if truncated { Status::MsgTruncated } else { Status::Success });
}

#[cold]
#[inline(never)]
extern "C" fn receive_long<H: Processes>(
    id: EndpointId,
    buffer: Buffer,
    size: Output<usize>,
    verdict: Verdict,
    locked: Option<Locked<H>>,
) {
    drop(locked);
    let received = process::of_owner::<H>(id).and_then(|call| match size.is_null() {
        true => Err(Status::Parameter),
        false => receive(call, id, buffer, true),
    });
    let done = Done::from(received);
    if done.has_size() {
        size.put(done.value as usize);
    }
    verdict.say(done.status);
}

/// Receives a message. If none is there, there is a request for it, and a call that `waits` waits
/// for its end.
fn receive<H: Processes>(
    mut call: Call<H>,
    id: EndpointId,
    buffer: Buffer,
    waits: bool,
) -> Outcome<Done> {
    if buffer.missing() {
        return Err(Status::Parameter);
    }
    let (inner, timeout) = call.node().receiver(id)?;
    let operation = Operation::ReceiveMessage { inner, buffer };
    call.transfer(&operation, false, waits.then_some(timeout))
}

pub(super) unsafe extern "C" fn msg_recv_i<H: Processes>(
    receive_endpoint: u32,
    buffer: *mut c_void,
    buffer_size: usize,
    request: *mut u32,
    status: *mut u32,
) {
    let id = EndpointId(receive_endpoint);
    // SAFETY: as was promised.
    unsafe {
        let buffer = Buffer::new(buffer.cast(), buffer_size);
        begin::<H>(request, status, || receive(process::of_owner::<H>(id)?, id, buffer, false));
    }
}

pub(super) unsafe extern "C" fn msg_available<H: Processes>(
    receive_endpoint: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    verdict.value(0, || {
        let id = EndpointId(receive_endpoint);
        let mut call = process::of_owner::<H>(id)?;
        let node = call.node();
        let (inner, _) = node.receiver(id)?;
        node.progress();
        // Each look takes a batch off a ring.
        let mut count = 0;
        loop {
            let there = node.stack.available(inner).map_err(|_| Status::EndpInvalid)?;
            if there == count {
                return Ok(count);
            }
            count = there;
        }
    })
}
