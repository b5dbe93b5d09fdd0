//! Scalar channels.

use super::super::call::Quickly;
use super::super::control::Kind;
use super::super::home::Home;
use super::super::id::Handle;
use super::super::process;
use super::super::status::Status;
use super::super::transfer::{Incoming, Outgoing, Quick};
use super::{
    Begun, Direction, For, Verdict, available, channel, close_i, connect_i, open_i, sent_more,
};

/// Connects two endpoints by a scalar channel.
#[inline(always)]
pub(super) unsafe extern "C" fn sclchan_connect_i<H: Home>(
    send_endpoint: u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { connect_i::<H>(send_endpoint, receive_endpoint, request, status, Kind::Scalar) };
}

/// Opens the receiving side of a scalar channel.
#[inline(always)]
pub(super) unsafe extern "C" fn sclchan_recv_open_i<H: Home>(
    receive_handle: *mut u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let what = (Kind::Scalar, Direction::Receive);
    // SAFETY: as was promised.
    unsafe { open_i::<H>(receive_handle, receive_endpoint, request, status, what) };
}

/// Opens the sending side of a scalar channel.
#[inline(always)]
pub(super) unsafe extern "C" fn sclchan_send_open_i<H: Home>(
    send_handle: *mut u32,
    send_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let what = (Kind::Scalar, Direction::Send);
    // SAFETY: as was promised.
    unsafe { open_i::<H>(send_handle, send_endpoint, request, status, what) };
}

#[inline(always)]
unsafe fn send<H: Home>(handle: u32, value: u64, len: u32, status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    let Some(mut quickly) = process::quickly_for::<H>(handle) else {
        return send_long::<H>(handle, value, verdict, None, len);
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
        Quick::Not => send_long(handle, value, verdict, Some(quickly), len),
    }
}

#[cold]
#[inline(never)]
extern "C" fn send_long<H: Home>(
    handle: u32,
    value: u64,
    verdict: Verdict,
    quickly: Option<Quickly<H>>,
    len: u32,
) {
    drop(quickly);
    let sent = channel::send::<H>(handle, Outgoing::Scalar { value, len }, For::Call);
    verdict.of(sent.map(|_| ()), ());
}

#[inline(always)]
unsafe fn receive<H: Home>(handle: u32, len: u32, status: *mut u32) -> u64 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    let Some(mut quickly) = process::quickly_for::<H>(handle) else {
        return receive_long::<H>(handle, verdict, None, len);
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
        Quick::Not => receive_long(handle, verdict, Some(quickly), len),
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
extern "C" fn receive_long<H: Home>(
    handle: u32,
    verdict: Verdict,
    quickly: Option<Quickly<H>>,
    len: u32,
) -> u64 {
    drop(quickly);
    let received = channel::receive::<H>(handle, Incoming::Scalar { len }, For::Call);
    verdict.of(received.map(Begun::done), 0)
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
    unsafe { available::<H>(receive_handle, Kind::Scalar, status) }
}

/// Closes the receiving side of a scalar channel.
#[inline(always)]
pub(super) unsafe extern "C" fn sclchan_recv_close_i<H: Home>(
    receive_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let what = (Kind::Scalar, Direction::Receive);
    // SAFETY: as was promised.
    unsafe { close_i::<H>(receive_handle, request, status, what) };
}

/// Closes the sending side of a scalar channel.
#[inline(always)]
pub(super) unsafe extern "C" fn sclchan_send_close_i<H: Home>(
    send_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let what = (Kind::Scalar, Direction::Send);
    // SAFETY: as was promised.
    unsafe { close_i::<H>(send_handle, request, status, what) };
}
