//! Messages.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::super::call::Quickly;
use super::super::foreign::{Buffer, Bytes, Output};
use super::super::home::Home;
use super::super::id::{EndpointId, Handle};
use super::super::process;
use super::super::status::Status;
use super::super::transfer::Quick;
use super::entry::{Args, Argument, Entry, Of, What};
use super::perform::{enter, perform};
use super::{Verdict, sent_more};

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
    (from, to): (EndpointId, EndpointId),
    quickly: Option<Quickly<H>>,
    bytes: Bytes,
    priority: u32,
    verdict: Verdict,
) {
    const ENTRY: &Entry = &Entry::new(What::SendMessage, Of::Endpoint, 5);
    if let Some(mut quickly) = quickly
        && let Some(node) = quickly.node()
        && node.send_anew((from, to), &bytes, priority)
    {
        return sent_more(Handle::NONE.0, quickly, verdict);
    }
    let (buffer, size) = (bytes.address().word(), bytes.len().word());
    let (from, to, priority) = (from.0.word(), to.0.word(), priority.word());
    let none = null_mut();
    let args = Args([from, to, buffer, size, priority, verdict.word(), none, none]);
    // SAFETY: as was promised.
    unsafe { perform::<H>(&args, ENTRY) };
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
    const ENTRY: &Entry = &Entry::new(What::ReceiveMessage, Of::Endpoint, 4).needs(3, 3);
    drop(quickly);
    let (to, room) = (buffer.address().word(), buffer.room().word());
    // SAFETY: as was promised.
    unsafe { enter::<H>(id.0.word(), to, room, size.address().word(), verdict.word(), ENTRY) };
}
