//! Packet channels.

use std::ffi::c_void;

use super::super::call::Quickly;
use super::super::control::Kind;
use super::super::foreign::{Bytes, Output};
use super::super::home::Home;
use super::super::id::Handle;
use super::super::process;
use super::super::status::{Outcome, Status};
use super::super::transfer::{Incoming, Outgoing, Quick};
use super::{
    Begun, Direction, For, Verdict, available, begin, channel, close_i, connect_i, given, open_i,
    sent_more,
};

/// Connects two endpoints by a packet channel.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_connect_i<H: Home>(
    send_endpoint: u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { connect_i::<H>(send_endpoint, receive_endpoint, request, status, Kind::Packet) };
}

/// Opens the receiving side of a packet channel.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_recv_open_i<H: Home>(
    receive_handle: *mut u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let what = (Kind::Packet, Direction::Receive);
    // SAFETY: as was promised.
    unsafe { open_i::<H>(receive_handle, receive_endpoint, request, status, what) };
}

/// Opens the sending side of a packet channel.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_send_open_i<H: Home>(
    send_handle: *mut u32,
    send_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let what = (Kind::Packet, Direction::Send);
    // SAFETY: as was promised.
    unsafe { open_i::<H>(send_handle, send_endpoint, request, status, what) };
}

/// Sends a packet, without waiting.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_send_i<H: Home>(
    send_handle: u32,
    buffer: *const c_void,
    size: usize,
    request: *mut u32,
    status: *mut u32,
) {
    let send = || {
        // SAFETY: as was promised.
        let bytes = unsafe { Bytes::new(buffer.cast(), size) };
        send::<H>(send_handle, bytes, For::Request)
    };
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &send) };
}

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
    verdict.of(send::<H>(handle, bytes, For::Call).map(|_| ()), ());
}

/// Sends, or has a request to do so.
fn send<H: Home>(handle: u32, bytes: Bytes, whom: For) -> Outcome<Begun> {
    given::<H>(!bytes.missing())?;
    channel::send::<H>(handle, Outgoing::Packet(bytes), whom)
}

/// Receives a packet, without waiting.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_recv_i<H: Home>(
    receive_handle: u32,
    buffer: *mut *mut c_void,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let out = unsafe { Output::new(buffer) };
    let receive = || receive::<H>(receive_handle, out, !out.is_null(), For::Request);
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &receive) };
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
    drop(quickly);
    let wanted = !out.is_null() && !size.is_null();
    let received = receive::<H>(handle, out, wanted, For::Call).map(Begun::done);
    if let Ok(len) = received {
        size.put(len as usize);
    }
    verdict.of(received.map(|_| ()), ());
}

/// Receives, or has a request to do so.
fn receive<H: Home>(
    handle: u32,
    out: Output<*mut c_void>,
    wanted: bool,
    whom: For,
) -> Outcome<Begun> {
    given::<H>(wanted)?;
    channel::receive::<H>(handle, Incoming::Packet(out), whom)
}

/// How many packets can be received without waiting.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_available<H: Home>(
    receive_handle: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    unsafe { available::<H>(receive_handle, Kind::Packet, status) }
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
    drop(quickly);
    verdict.of(release_in_turn::<H>(at), ());
}

#[inline(never)]
fn release_in_turn<H: Home>(at: usize) -> Outcome<()> {
    if process::is_empty::<H>() {
        return Err(Status::NodeNotInit);
    }
    if at == 0 {
        return Err(Status::Parameter);
    }
    process::release::<H>(|node| node.release_packet(at)).ok_or(Status::BufInvalid)
}

/// Whether a received packet was given back.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_release_test<H: Home>(
    buffer: *const c_void,
    status: *mut u32,
) -> u8 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    let test = || {
        if process::is_empty::<H>() {
            return Err(Status::NodeNotInit);
        }
        if buffer.is_null() {
            return Err(Status::Parameter);
        }
        let at = buffer.addr();
        let found = process::any::<H, _>(|node| {
            let lender = node.peers.lenders.iter().find(|lender| lender.contains(at))?;
            Some(if lender.has(at) { Err(Status::Pending) } else { Ok(1) })
        });
        found.unwrap_or(Err(Status::BufInvalid))
    };
    verdict.of(test(), 0)
}

/// Closes the receiving side of a packet channel.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_recv_close_i<H: Home>(
    receive_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let what = (Kind::Packet, Direction::Receive);
    // SAFETY: as was promised.
    unsafe { close_i::<H>(receive_handle, request, status, what) };
}

/// Closes the sending side of a packet channel.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_send_close_i<H: Home>(
    send_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let what = (Kind::Packet, Direction::Send);
    // SAFETY: as was promised.
    unsafe { close_i::<H>(send_handle, request, status, what) };
}

const _: () = assert!(size_of::<Handle>() == 4);
