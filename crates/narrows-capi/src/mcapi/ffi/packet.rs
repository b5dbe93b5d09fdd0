//! Packet channels.

use std::ffi::c_void;

use super::super::call::Quickly;
use super::super::control::Kind;
use super::super::foreign::{Bytes, Output};
use super::super::home::Home;
use super::super::id::Handle;
use super::super::process;
use super::super::request::Operation;
use super::super::status::{Outcome, Status};
use super::super::transfer::Quick;
use super::channel::{available, channel, close, connect, open, waits};
use super::{Direction, Started, Verdict, begin, ended, given, sent_more};

/// Connects two endpoints by a packet channel.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_connect_i<H: Home>(
    send_endpoint: u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let connect = || connect::<H>(send_endpoint, receive_endpoint, Kind::Packet);
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &connect) };
}

/// Opens the receiving side of a packet channel.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_recv_open_i<H: Home>(
    receive_handle: *mut u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let handle = unsafe { Output::new(receive_handle) };
    let open = || open::<H>(handle, receive_endpoint, Kind::Packet, Direction::Receive);
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &open) };
}

/// Opens the sending side of a packet channel.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_send_open_i<H: Home>(
    send_handle: *mut u32,
    send_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let handle = unsafe { Output::new(send_handle) };
    let open = || open::<H>(handle, send_endpoint, Kind::Packet, Direction::Send);
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &open) };
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
        Ok(start_to_send::<H>(send_handle, bytes, false)?.leave())
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
    verdict.of(send_in_turn::<H>(handle, bytes), ());
}

fn send_in_turn<H: Home>(handle: u32, bytes: Bytes) -> Outcome<()> {
    start_to_send::<H>(handle, bytes, true)?.wait().map(|_| ())
}

/// Sends, or has a request to do so, which may be of a call that waits for it.
#[inline(never)]
fn start_to_send<H: Home>(handle: u32, bytes: Bytes, of_call: bool) -> Outcome<Started<H>> {
    given::<H>(!bytes.missing())?;
    let (mut call, handle) = channel::<H>(handle)?;
    let node = call.node();
    if let Some(sent) = node.send_packet(handle, bytes.get()) {
        node.turn();
        return ended(call, sent.map(|()| Started::Done(bytes.get().len() as u64)));
    }
    let (timeout, fails) = waits(node.channels.get(handle));
    if fails {
        return Err(Status::MemLimit);
    }
    let request = node.begin(Operation::SendPacket { channel: handle, bytes }, of_call)?;
    Ok(Started::Pending(call, request, timeout))
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
    let receive = || Ok(start_to_receive::<H>(receive_handle, out, !out.is_null(), false)?.leave());
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
        return receive_long::<H>(receive_handle, out, size, verdict);
    }
    let Some(mut quickly) = process::quickly_for::<H>(receive_handle) else {
        return receive_long::<H>(receive_handle, out, size, verdict);
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
        Quick::Not => receive_after(receive_handle, out, size, verdict, quickly),
    }
}

#[cold]
#[inline(never)]
extern "C" fn receive_after<H: Home>(
    handle: u32,
    out: Output<*mut c_void>,
    size: Output<usize>,
    verdict: Verdict,
    quickly: Quickly<H>,
) {
    drop(quickly);
    receive_long::<H>(handle, out, size, verdict);
}

#[cold]
#[inline(never)]
extern "C" fn receive_long<H: Home>(
    handle: u32,
    out: Output<*mut c_void>,
    size: Output<usize>,
    verdict: Verdict,
) {
    let wanted = !out.is_null() && !size.is_null();
    let received = start_to_receive::<H>(handle, out, wanted, true).and_then(Started::wait);
    if let Ok(len) = received {
        size.put(len as usize);
    }
    verdict.of(received.map(|_| ()), ());
}

/// Receives, or has a request to do so, which may be of a call that waits for it.
#[inline(never)]
fn start_to_receive<H: Home>(
    handle: u32,
    out: Output<*mut c_void>,
    wanted: bool,
    of_call: bool,
) -> Outcome<Started<H>> {
    given::<H>(wanted)?;
    let (mut call, handle) = channel::<H>(handle)?;
    let looks = if of_call { H::LOOKS } else { 1 };
    if let Some(received) = call.soon(looks, |node| node.receive_packet(handle, out)) {
        call.node().turn();
        return ended(call, received.map(Started::Done));
    }
    let node = call.node();
    let (timeout, _) = waits(node.channels.get(handle));
    let operation = Operation::ReceivePacket { channel: handle, out };
    let request = node.begin(operation, of_call)?;
    Ok(Started::Pending(call, request, timeout))
}

/// How many packets can be received without waiting.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_available<H: Home>(
    receive_handle: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    let verdict = unsafe { Verdict::new(status) };
    verdict.map_or(0, |verdict| verdict.of(available::<H>(receive_handle, Kind::Packet), 0))
}

/// Gives a received packet back.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_release<H: Home>(buffer: *const c_void, status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    let at = buffer.addr();
    let Some(mut quickly) = process::quickly_releasing::<H>() else {
        return release_long::<H>(at, verdict);
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
        Quick::Not => release_after(at, verdict, quickly),
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
extern "C" fn release_after<H: Home>(at: usize, verdict: Verdict, quickly: Quickly<H>) {
    drop(quickly);
    release_long::<H>(at, verdict);
}

#[cold]
#[inline(never)]
extern "C" fn release_long<H: Home>(at: usize, verdict: Verdict) {
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
    // SAFETY: as was promised.
    unsafe {
        begin::<H>(status, request, &|| {
            close::<H>(receive_handle, Kind::Packet, Direction::Receive)
        })
    };
}

/// Closes the sending side of a packet channel.
#[inline(always)]
pub(super) unsafe extern "C" fn pktchan_send_close_i<H: Home>(
    send_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe {
        begin::<H>(status, request, &|| close::<H>(send_handle, Kind::Packet, Direction::Send))
    };
}

const _: () = assert!(size_of::<Handle>() == 4);
