//! Scalar channels.

use super::super::control::Kind;
use super::super::foreign::Output;
use super::super::id::Handle;
use super::super::node::Node;
use super::super::process;
use super::super::request::Operation;
use super::super::status::{Outcome, Status};
use super::packet::{available, close, connect, open, waits};
use super::{Direction, Verdict, begin, channel, ended};

/// Connects two endpoints by a scalar channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcapi_sclchan_connect_i(
    send_endpoint: u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    let connect = || connect(send_endpoint, receive_endpoint, Kind::Scalar);
    // SAFETY: as was promised.
    unsafe { begin(status, request, &connect) };
}

/// Opens the receiving side of a scalar channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcapi_sclchan_recv_open_i(
    receive_handle: *mut u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let handle = unsafe { Output::new(receive_handle) };
    let open = || open(handle, receive_endpoint, Kind::Scalar, Direction::Receive);
    // SAFETY: as was promised.
    unsafe { begin(status, request, &open) };
}

/// Opens the sending side of a scalar channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcapi_sclchan_send_open_i(
    send_handle: *mut u32,
    send_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let handle = unsafe { Output::new(send_handle) };
    let open = || open(handle, send_endpoint, Kind::Scalar, Direction::Send);
    // SAFETY: as was promised.
    unsafe { begin(status, request, &open) };
}

#[inline(always)]
fn send(handle: u32, value: u64, len: u32) -> Outcome<()> {
    let put = |node: &mut Node| node.put_word(Handle(handle), value, len);
    match process::quickly_for(Handle(handle), put) {
        Some(()) => Ok(()),
        None => send_in_turn(handle, value, len),
    }
}

#[inline(never)]
fn send_in_turn(handle: u32, value: u64, len: u32) -> Outcome<()> {
    let (mut call, handle) = channel(handle)?;
    let node = call.node()?;
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
fn receive(handle: u32, len: u32) -> Outcome<u64> {
    let take = |node: &mut Node| node.take_word(Handle(handle), len);
    match process::quickly_for(Handle(handle), take) {
        Some(word) => Ok(word),
        None => receive_in_turn(handle, len),
    }
}

#[inline(never)]
fn receive_in_turn(handle: u32, len: u32) -> Outcome<u64> {
    let (mut call, handle) = channel(handle)?;
    if let Some(received) = call.soon(|node| node.receive_scalar(handle, len))? {
        call.node()?.turn();
        return ended(call, received);
    }
    let node = call.node()?;
    let (timeout, _) = waits(node.channels.get(handle));
    let request = node.begin(Operation::ReceiveScalar { channel: handle, len }, true)?;
    call.until_ended(request, timeout)
}

macro_rules! scalars {
    ($($send:ident $receive:ident $word:ty, $bits:literal;)*) => {
        $(
            #[doc = concat!("Sends a scalar of ", $bits, " bits, waiting for room.")]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $send(send_handle: u32, dataword: $word, status: *mut u32) {
                // SAFETY: as was promised.
                let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
                let len = size_of::<$word>() as u32;
                verdict.of(send(send_handle, u64::from(dataword), len), ());
            }

            #[doc = concat!("Receives a scalar of ", $bits, " bits, waiting for it.")]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $receive(receive_handle: u32, status: *mut u32) -> $word {
                // SAFETY: as was promised.
                let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
                let len = size_of::<$word>() as u32;
                verdict.of(receive(receive_handle, len), 0) as $word
            }
        )*
    };
}

scalars! {
    mcapi_sclchan_send_uint64 mcapi_sclchan_recv_uint64 u64, "64";
    mcapi_sclchan_send_uint32 mcapi_sclchan_recv_uint32 u32, "32";
    mcapi_sclchan_send_uint16 mcapi_sclchan_recv_uint16 u16, "16";
    mcapi_sclchan_send_uint8 mcapi_sclchan_recv_uint8 u8, "8";
}

/// How many scalars can be received without waiting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcapi_sclchan_available(receive_handle: u32, status: *mut u32) -> u32 {
    // SAFETY: as was promised.
    let verdict = unsafe { Verdict::new(status) };
    verdict.map_or(0, |verdict| verdict.of(available(receive_handle, Kind::Scalar), 0))
}

/// Closes the receiving side of a scalar channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcapi_sclchan_recv_close_i(
    receive_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { begin(status, request, &|| close(receive_handle, Kind::Scalar, Direction::Receive)) };
}

/// Closes the sending side of a scalar channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcapi_sclchan_send_close_i(
    send_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { begin(status, request, &|| close(send_handle, Kind::Scalar, Direction::Send)) };
}
