//! Packet channels.

use std::ffi::c_void;

use super::super::foreign::{Bytes, Output};
use super::super::id::Handle;
use super::super::node::Quick;
use super::super::process::{self, Processes};
use super::super::request::{Done, Incoming, Operation, Outgoing};
use super::super::slot::Locked;
use super::super::status::{Outcome, Status};
use super::{Verdict, begin, sent_more};

/// Sends a packet, waiting for room.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_send<H: Processes>(
    send_handle: u32,
    buffer: *const c_void,
    size: usize,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let (verdict, bytes) = unsafe { (Verdict::new(status), Bytes::new(buffer.cast(), size)) };
    let Some(verdict) = verdict else { return };
    let Some(mut locked) = process::quickly_for::<H>(send_handle) else {
        return send_long::<H>(send_handle, bytes, verdict);
    };
    let sent = match locked.node() {
        Some(node) => node.put_short(Handle(send_handle), &bytes),
        None => Quick::Not,
    };
    match sent {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            locked.end();
        }
        Quick::More(()) => sent_more(send_handle, locked, verdict),
        Quick::Not => send_after(send_handle, bytes, verdict, locked),
    }
}

#[cold]
#[inline(never)]
extern "C" fn send_after<H: Processes>(
    handle: u32,
    bytes: Bytes,
    verdict: Verdict,
    mut locked: Locked<H>,
) {
    let done = match locked.node() {
        Some(node) => node.put_block(Handle(handle), &bytes),
        None => Quick::Not,
    };
    match done {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            locked.end();
        }
        Quick::More(()) => sent_more(handle, locked, verdict),
        Quick::Not => {
            drop(locked);
            send_long::<H>(handle, bytes, verdict);
        }
    }
}

#[cold]
#[inline(never)]
extern "C" fn send_long<H: Processes>(handle: u32, bytes: Bytes, verdict: Verdict) {
    verdict.of(|| send::<H>(Handle(handle), bytes, true)?.outcome().map(drop));
}

/// Sends a packet. If that has to wait for room, there is a request for it, and a call that `waits`
/// waits for its end.
fn send<H: Processes>(channel: Handle, bytes: Bytes, waits: bool) -> Outcome<Done> {
    process::any::<H>()?;
    if bytes.missing() {
        return Err(Status::Parameter);
    }
    let call = process::with_handle::<H>(channel).ok_or(Status::ChanInvalid)?;
    call.transfer_on(&Operation::Send { channel, what: Outgoing::Packet(bytes) }, waits)
}

pub(super) unsafe extern "C" fn pktchan_send_i<H: Processes>(
    send_handle: u32,
    buffer: *const c_void,
    size: usize,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe {
        let bytes = Bytes::new(buffer.cast(), size);
        begin::<H>(request, status, || send::<H>(Handle(send_handle), bytes, false));
    }
}

/// Receives a packet, waiting for it.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_recv<H: Processes>(
    receive_handle: u32,
    buffer: *mut *mut c_void,
    received_size: *mut usize,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let (verdict, out, size) =
        unsafe { (Verdict::new(status), Output::new(buffer), Output::new(received_size)) };
    let Some(verdict) = verdict else { return };
    if out.is_null() || size.is_null() {
        return receive_long::<H>(receive_handle, out, size, verdict, None);
    }
    let Some(mut locked) = process::quickly_for::<H>(receive_handle) else {
        return receive_long::<H>(receive_handle, out, size, verdict, None);
    };
    let done = match locked.node() {
        Some(node) => node.take_block(Handle(receive_handle), out, size),
        None => Quick::Not,
    };
    match done {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            locked.end();
        }
        Quick::More(()) => sent_more(receive_handle, locked, verdict),
        Quick::Not => receive_long(receive_handle, out, size, verdict, Some(locked)),
    }
}

#[cold]
#[inline(never)]
extern "C" fn receive_long<H: Processes>(
    handle: u32,
    out: Output<*mut c_void>,
    size: Output<usize>,
    verdict: Verdict,
    locked: Option<Locked<H>>,
) {
    drop(locked);
    verdict.of(|| {
        let done = receive::<H>(Handle(handle), out, size.is_null(), true)?;
        size.put(done.outcome()? as usize);
        Ok(())
    });
}

/// Receives a packet, unless a pointer is `missing` or `out` is null. If no packet is there, there
/// is a request for it, and a call that `waits` waits for its end.
fn receive<H: Processes>(
    channel: Handle,
    out: Output<*mut c_void>,
    missing: bool,
    waits: bool,
) -> Outcome<Done> {
    process::any::<H>()?;
    if missing || out.is_null() {
        return Err(Status::Parameter);
    }
    let call = process::with_handle::<H>(channel).ok_or(Status::ChanInvalid)?;
    call.transfer_on(&Operation::Receive { channel, what: Incoming::Packet(out) }, waits)
}

pub(super) unsafe extern "C" fn pktchan_recv_i<H: Processes>(
    receive_handle: u32,
    buffer: *mut *mut c_void,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe {
        let out = Output::new(buffer);
        begin::<H>(request, status, || receive::<H>(Handle(receive_handle), out, false, false));
    }
}

/// Gives a received packet back.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_release<H: Processes>(
    buffer: *const c_void,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    let at = buffer.addr();
    let Some(mut locked) = process::quickly_releasing::<H>() else {
        return release_long::<H>(at, verdict, None);
    };
    let done = match locked.node() {
        Some(node) => node.put_back(at),
        None => Quick::Not,
    };
    match done {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            locked.end();
        }
        Quick::More(()) => released_more(locked, verdict),
        Quick::Not => release_long(at, verdict, Some(locked)),
    }
}

#[cold]
#[inline(never)]
extern "C" fn released_more<H: Processes>(mut locked: Locked<H>, verdict: Verdict) {
    if let Some(node) = locked.node() {
        node.give_all();
    }
    sent_more(Handle::NONE.0, locked, verdict);
}

#[cold]
#[inline(never)]
extern "C" fn release_long<H: Processes>(at: usize, verdict: Verdict, locked: Option<Locked<H>>) {
    drop(locked);
    verdict.say(released::<H>(at, true).status);
}

/// Whether a received packet was given back, or gives it back.
fn released<H: Processes>(at: usize, give_back: bool) -> Done {
    let released = process::any::<H>().and_then(|()| match at {
        0 => Err(Status::Parameter),
        _ => Ok(process::packet::<H>(at, give_back)),
    });
    Done::from(released)
}

/// Whether a received packet was given back.
pub(super) unsafe extern "C" fn pktchan_release_test<H: Processes>(
    buffer: *const c_void,
    status: *mut u32,
) -> u8 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    let Done { status, value } = released::<H>(buffer.addr(), false);
    verdict.say(status);
    value as u8
}

const _: () = assert!(size_of::<Handle>() == 4);
