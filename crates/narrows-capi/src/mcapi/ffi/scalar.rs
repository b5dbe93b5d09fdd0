//! Scalar channels.

use super::super::id::Handle;
use super::super::node::Quick;
use super::super::process::{self, Processes};
use super::super::request::{Incoming, Operation, Outgoing};
use super::super::slot::Locked;
use super::super::status::{Outcome, Status};
use super::{Verdict, sent_more};

#[inline(always)]
unsafe fn send<H: Processes>(handle: u32, value: u64, len: u32, status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    let Some(mut locked) = process::quickly_for::<H>(handle) else {
        return send_long::<H>(handle, value, verdict, None, len);
    };
    let sent = match locked.node() {
        Some(node) => node.put_word(Handle(handle), value, len),
        None => Quick::Not,
    };
    match sent {
        Quick::Done(()) => {
            verdict.say(Status::Success);
            locked.end();
        }
        Quick::More(()) => sent_more(handle, locked, verdict),
        Quick::Not => send_long(handle, value, verdict, Some(locked), len),
    }
}

#[cold]
#[inline(never)]
extern "C" fn send_long<H: Processes>(
    handle: u32,
    value: u64,
    verdict: Verdict,
    locked: Option<Locked<H>>,
    len: u32,
) {
    if let Some(mut locked) = locked
        && let Some(node) = locked.node()
    {
        match node.put_word_anew(Handle(handle), value, len) {
            Quick::Not => {}
            Quick::Done(()) => {
                verdict.say(Status::Success);
                return locked.end();
            }
            Quick::More(()) => return sent_more(handle, locked, verdict),
        }
    }
    let channel = Handle(handle);
    let operation = Operation::Send { channel, what: Outgoing::Scalar { value, len } };
    verdict.of(|| transfer::<H>(channel, operation).map(drop));
}

/// Sends or receives a scalar, and waits for that.
fn transfer<H: Processes>(channel: Handle, operation: Operation) -> Outcome<u64> {
    process::any::<H>()?;
    let call = process::with_handle::<H>(channel).ok_or(Status::ChanInvalid)?;
    call.transfer_on(&operation, true)?.outcome()
}

#[inline(always)]
unsafe fn receive<H: Processes>(handle: u32, len: u32, status: *mut u32) -> u64 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    let Some(mut locked) = process::quickly_for::<H>(handle) else {
        return receive_long::<H>(handle, verdict, None, len);
    };
    let taken = match locked.node() {
        Some(node) => node.take_word(Handle(handle), len),
        None => Quick::Not,
    };
    match taken {
        Quick::Done(word) => {
            verdict.say(Status::Success);
            locked.end_with(word)
        }
        Quick::More(word) => received_more(handle, verdict, locked, word),
        Quick::Not => receive_long(handle, verdict, Some(locked), len),
    }
}

#[cold]
#[inline(never)]
extern "C" fn received_more<H: Processes>(
    handle: u32,
    verdict: Verdict,
    locked: Locked<H>,
    word: u64,
) -> u64 {
    locked.follow_up(Handle(handle));
    verdict.say(Status::Success);
    // As in `Locked::end_with`.
    std::hint::black_box(word)
}

#[cold]
#[inline(never)]
extern "C" fn receive_long<H: Processes>(
    handle: u32,
    verdict: Verdict,
    locked: Option<Locked<H>>,
    len: u32,
) -> u64 {
    drop(locked);
    let channel = Handle(handle);
    let operation = Operation::Receive { channel, what: Incoming::Scalar { len } };
    verdict.value(0, || transfer::<H>(channel, operation))
}

/// As [`send`], once for all sizes but the largest.
#[inline(never)]
unsafe extern "C" fn send_short<H: Processes>(handle: u32, value: u64, len: u32, status: *mut u32) {
    // SAFETY: as was promised.
    unsafe { send::<H>(handle, value, len, status) };
}

/// As [`receive`], once for all sizes but the largest.
#[inline(never)]
unsafe extern "C" fn receive_short<H: Processes>(handle: u32, len: u32, status: *mut u32) -> u64 {
    // SAFETY: as was promised.
    unsafe { receive::<H>(handle, len, status) }
}

macro_rules! scalars {
    ($($send:ident by $put:ident, $receive:ident by $take:ident: $word:ty, $bits:literal;)*) => {
        $(
            #[doc = concat!("Sends a scalar of ", $bits, " bits, waiting for room.")]
            #[inline(always)]
            pub(super) unsafe extern "C" fn $send<H: Processes>(
                send_handle: u32,
                dataword: $word,
                status: *mut u32,
            ) {
                let len = size_of::<$word>() as u32;
                // SAFETY: as was promised.
                unsafe { $put::<H>(send_handle, u64::from(dataword), len, status) };
            }

            #[doc = concat!("Receives a scalar of ", $bits, " bits, waiting for it.")]
            #[inline(always)]
            pub(super) unsafe extern "C" fn $receive<H: Processes>(
                receive_handle: u32,
                status: *mut u32,
            ) -> $word {
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
