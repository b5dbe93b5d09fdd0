//! Packet channels.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::super::call::Quickly;
use super::super::foreign::{Bytes, Output};
use super::super::home::Home;
use super::super::id::Handle;
use super::super::process;
use super::super::status::Status;
use super::super::transfer::Quick;
use super::entry::{Argument, Entry, Of, What};
use super::perform::enter;
use super::{Verdict, sent_more};

/// Sends a packet, waiting for room.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_send<H: Home>(
    send_handle: u32,
    buffer: *const c_void,
    size: usize,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let (verdict, bytes) = unsafe { (Verdict::new(status), Bytes::new(buffer.cast(), size)) };
    let Some(verdict) = verdict else { return };
    let Some(mut quickly) = process::quickly_for::<H>(send_handle) else {
        return send_long::<H>(send_handle, bytes, verdict);
    };
    let sent = match quickly.node() {
        Some(node) => node.put_short(Handle(send_handle), &bytes),
        None => Quick::Not,
    };
    match sent {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            quickly.end();
        }
        Quick::More(()) => sent_more(send_handle, quickly, verdict),
        Quick::Not => send_after(send_handle, bytes, verdict, quickly),
    }
}

#[cold]
#[inline(never)]
extern "C" fn send_after<H: Home>(
    handle: u32,
    bytes: Bytes,
    verdict: Verdict,
    mut quickly: Quickly<H>,
) {
    let done = match quickly.node() {
        Some(node) => node.put_block(Handle(handle), &bytes),
        None => Quick::Not,
    };
    match done {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            quickly.end();
        }
        Quick::More(()) => sent_more(handle, quickly, verdict),
        Quick::Not => {
            drop(quickly);
            send_long::<H>(handle, bytes, verdict);
        }
    }
}

#[cold]
#[inline(never)]
extern "C" fn send_long<H: Home>(handle: u32, bytes: Bytes, verdict: Verdict) {
    const ENTRY: &Entry = &Entry::new(What::SendPacket, Of::Handle, 3);
    let (buffer, size) = (bytes.address().word(), bytes.len().word());
    // SAFETY: as was promised.
    unsafe { enter::<H>(handle.word(), buffer, size, verdict.word(), null_mut(), ENTRY) };
}

/// Receives a packet, waiting for it.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_recv<H: Home>(
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
    let Some(mut quickly) = process::quickly_for::<H>(receive_handle) else {
        return receive_long::<H>(receive_handle, out, size, verdict, None);
    };
    let done = match quickly.node() {
        Some(node) => node.take_block(Handle(receive_handle), out, size),
        None => Quick::Not,
    };
    match done {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            quickly.end();
        }
        Quick::More(()) => sent_more(receive_handle, quickly, verdict),
        Quick::Not => receive_long(receive_handle, out, size, verdict, Some(quickly)),
    }
}

#[cold]
#[inline(never)]
extern "C" fn receive_long<H: Home>(
    handle: u32,
    out: Output<*mut c_void>,
    size: Output<usize>,
    verdict: Verdict,
    quickly: Option<Quickly<H>>,
) {
    const ENTRY: &Entry = &Entry::new(What::ReceivePacket, Of::Handle, 3).needs(1, 2);
    drop(quickly);
    let (out, size) = (out.address().word(), size.address().word());
    // SAFETY: as was promised.
    unsafe { enter::<H>(handle.word(), out, size, verdict.word(), null_mut(), ENTRY) };
}

/// Gives a received packet back.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_release<H: Home>(buffer: *const c_void, status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    let at = buffer.addr();
    let Some(mut quickly) = process::quickly_releasing::<H>() else {
        return release_long::<H>(at, verdict, None);
    };
    let done = match quickly.node() {
        Some(node) => node.put_back(at),
        None => Quick::Not,
    };
    match done {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            quickly.end();
        }
        Quick::More(()) => released_more(quickly, verdict),
        Quick::Not => release_long(at, verdict, Some(quickly)),
    }
}

#[cold]
#[inline(never)]
extern "C" fn released_more<H: Home>(mut quickly: Quickly<H>, verdict: Verdict) {
    if let Some(node) = quickly.node() {
        node.give_all();
    }
    sent_more(Handle::NONE.0, quickly, verdict);
}

#[cold]
#[inline(never)]
extern "C" fn release_long<H: Home>(at: usize, verdict: Verdict, quickly: Option<Quickly<H>>) {
    const ENTRY: &Entry = &Entry::new(What::ReleasePacket, Of::Process, 1).needs(0, 0);
    drop(quickly);
    let none = null_mut();
    // SAFETY: as was promised.
    unsafe { enter::<H>(at.word(), verdict.word(), none, none, none, ENTRY) };
}

const _: () = assert!(size_of::<Handle>() == 4);
