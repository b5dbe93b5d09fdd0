//! Scalar channels.

use super::super::call::Quickly;
use super::super::control::Kind;
use super::super::foreign::Output;
use super::super::home::Home;
use super::super::id::Handle;
use super::super::process;
use super::super::request::Operation;
use super::super::status::{Outcome, Status};
use super::super::transfer::Quick;
use super::channel::{available, channel, close, connect, open, waits};
use super::{Direction, Verdict, begin, ended, sent_more};

/// Connects two endpoints by a scalar channel.
#[inline(always)]
pub(super) unsafe extern "C" fn sclchan_connect_i<H: Home>(
    send_endpoint: u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let connect = || connect::<H>(send_endpoint, receive_endpoint, Kind::Scalar);
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &connect) };
}

/// Opens the receiving side of a scalar channel.
#[inline(always)]
pub(super) unsafe extern "C" fn sclchan_recv_open_i<H: Home>(
    receive_handle: *mut u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let handle = unsafe { Output::new(receive_handle) };
    let open = || open::<H>(handle, receive_endpoint, Kind::Scalar, Direction::Receive);
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &open) };
}

/// Opens the sending side of a scalar channel.
#[inline(always)]
pub(super) unsafe extern "C" fn sclchan_send_open_i<H: Home>(
    send_handle: *mut u32,
    send_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let handle = unsafe { Output::new(send_handle) };
    let open = || open::<H>(handle, send_endpoint, Kind::Scalar, Direction::Send);
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &open) };
}

#[inline(always)]
unsafe fn send<H: Home>(handle: u32, value: u64, len: u32, status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    let Some(mut quickly) = process::quickly_for::<H>(handle) else {
        return send_long::<H>(handle, value, verdict, len);
    };
    let sent = match quickly.node() {
        Some(node) => node.put_word(Handle(handle), value, len),
        None => Quick::Not,
    };
    match sent {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            quickly.end();
        }
        Quick::More(()) => sent_more(handle, quickly, verdict),
        Quick::Not => send_after(handle, value, verdict, quickly, len),
    }
}

#[cold]
#[inline(never)]
extern "C" fn send_after<H: Home>(
    handle: u32,
    value: u64,
    verdict: Verdict,
    quickly: Quickly<H>,
    len: u32,
) {
    drop(quickly);
    send_long::<H>(handle, value, verdict, len);
}

#[cold]
#[inline(never)]
extern "C" fn send_long<H: Home>(handle: u32, value: u64, verdict: Verdict, len: u32) {
    verdict.of(send_in_turn::<H>(handle, value, len), ());
}

#[inline(never)]
fn send_in_turn<H: Home>(handle: u32, value: u64, len: u32) -> Outcome<()> {
    let (mut call, handle) = channel::<H>(handle)?;
    let node = call.node();
    if let Some(sent) = node.send_scalar(handle, value, len) {
        node.turn();
        return ended(call, sent);
    }
    let (timeout, fails) = waits(node.channels.get(handle));
    if fails {
        return Err(Status::MemLimit);
    }
    let request = node.begin(Operation::SendScalar { channel: handle, value, len }, true)?;
    call.until_ended(request, timeout).map(|_| ())
}

#[inline(always)]
unsafe fn receive<H: Home>(handle: u32, len: u32, status: *mut u32) -> u64 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    let Some(mut quickly) = process::quickly_for::<H>(handle) else {
        return receive_long::<H>(handle, verdict, len);
    };
    let taken = match quickly.node() {
        Some(node) => node.take_word(Handle(handle), len),
        None => Quick::Not,
    };
    match taken {
        Quick::Done(word) => {
            verdict.say(Status::Success);
            quickly.end_with(word)
        }
        Quick::More(word) => received_more(handle, verdict, quickly, word),
        Quick::Not => receive_after(handle, verdict, quickly, len),
    }
}

#[cold]
#[inline(never)]
extern "C" fn received_more<H: Home>(
    handle: u32,
    verdict: Verdict,
    quickly: Quickly<H>,
    word: u64,
) -> u64 {
    quickly.follow_up(Handle(handle));
    verdict.say(Status::Success);
    // As in `Quickly::end_with`.
    std::hint::black_box(word)
}

#[cold]
#[inline(never)]
extern "C" fn receive_after<H: Home>(
    handle: u32,
    verdict: Verdict,
    quickly: Quickly<H>,
    len: u32,
) -> u64 {
    drop(quickly);
    receive_long::<H>(handle, verdict, len)
}

#[cold]
#[inline(never)]
extern "C" fn receive_long<H: Home>(handle: u32, verdict: Verdict, len: u32) -> u64 {
    verdict.of(receive_in_turn::<H>(handle, len), 0)
}

#[inline(never)]
fn receive_in_turn<H: Home>(handle: u32, len: u32) -> Outcome<u64> {
    let (mut call, handle) = channel::<H>(handle)?;
    if let Some(received) = call.soon(H::LOOKS, |node| node.receive_scalar(handle, len)) {
        call.node().turn();
        return ended(call, received);
    }
    let node = call.node();
    let (timeout, _) = waits(node.channels.get(handle));
    let request = node.begin(Operation::ReceiveScalar { channel: handle, len }, true)?;
    call.until_ended(request, timeout)
}

/// As [`send`], once for all sizes but the largest.
#[inline(never)]
unsafe extern "C" fn send_short<H: Home>(handle: u32, value: u64, len: u32, status: *mut u32) {
    // SAFETY: as was promised.
    unsafe { send::<H>(handle, value, len, status) };
}

/// As [`receive`], once for all sizes but the largest.
#[inline(never)]
unsafe extern "C" fn receive_short<H: Home>(handle: u32, len: u32, status: *mut u32) -> u64 {
    // SAFETY: as was promised.
    unsafe { receive::<H>(handle, len, status) }
}

macro_rules! scalars {
    ($($send:ident by $put:ident, $receive:ident by $take:ident: $word:ty, $bits:literal;)*) => {
        $(
            #[doc = concat!("Sends a scalar of ", $bits, " bits, waiting for room.")]
            #[inline(always)]
            pub(super) unsafe extern "C" fn $send<H: Home>(send_handle: u32, dataword: $word, status: *mut u32) {
                let len = size_of::<$word>() as u32;
                // SAFETY: as was promised.
                unsafe { $put::<H>(send_handle, u64::from(dataword), len, status) };
            }

            #[doc = concat!("Receives a scalar of ", $bits, " bits, waiting for it.")]
            #[inline(always)]
            pub(super) unsafe extern "C" fn $receive<H: Home>(receive_handle: u32, status: *mut u32) -> $word {
                // SAFETY: as was promised.
                unsafe { $take::<H>(receive_handle, size_of::<$word>() as u32, status) as $word }
            }
        )*
    };
}

scalars! {
    sclchan_send_uint64 by send, sclchan_recv_uint64 by receive: u64, "64";
    sclchan_send_uint32 by send_short, sclchan_recv_uint32 by receive_short: u32, "32";
    sclchan_send_uint16 by send_short, sclchan_recv_uint16 by receive_short: u16, "16";
    sclchan_send_uint8 by send_short, sclchan_recv_uint8 by receive_short: u8, "8";
}

/// How many scalars can be received without waiting.
#[inline(always)]
pub(super) unsafe extern "C" fn sclchan_available<H: Home>(
    receive_handle: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    let verdict = unsafe { Verdict::new(status) };
    verdict.map_or(0, |verdict| verdict.of(available::<H>(receive_handle, Kind::Scalar), 0))
}

/// Closes the receiving side of a scalar channel.
#[inline(always)]
pub(super) unsafe extern "C" fn sclchan_recv_close_i<H: Home>(
    receive_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe {
        begin::<H>(status, request, &|| {
            close::<H>(receive_handle, Kind::Scalar, Direction::Receive)
        })
    };
}

/// Closes the sending side of a scalar channel.
#[inline(always)]
pub(super) unsafe extern "C" fn sclchan_send_close_i<H: Home>(
    send_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe {
        begin::<H>(status, request, &|| close::<H>(send_handle, Kind::Scalar, Direction::Send))
    };
}
