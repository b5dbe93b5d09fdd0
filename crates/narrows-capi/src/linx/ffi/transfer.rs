//! Sending and receiving.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use narrows_host::linx::{Select, Spid};

use super::{Outcome, Variable, answer, find};
use crate::linx::handle::{Errno, errno};

/// A filter longer than this is none.
const LONGEST_FILTER: u32 = 1 << 16;
/// The time that never passes.
const FOREVER: u32 = u32::MAX;

/// Sends a signal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_send(linx: *mut c_void, sig: *mut *mut c_void, to: u32) -> c_int {
    // SAFETY: as was promised.
    unsafe { linx_send_w_s(linx, sig, 0, to) }
}

/// Sends a signal as if another had sent it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_send_w_s(
    linx: *mut c_void,
    sig: *mut *mut c_void,
    from: u32,
    to: u32,
) -> c_int {
    // SAFETY: as was promised.
    let sent = unsafe { send(linx, sig, from, to, Ok(())) };
    answer(sent.map(|()| 0), -1)
}

/// Sends a signal, unless something speaks against it. Either way it is consumed.
///
/// # Safety
/// See the module page.
#[inline(always)]
unsafe fn send(
    linx: *mut c_void,
    sig: *mut *mut c_void,
    from: u32,
    to: u32,
    may: Outcome<()>,
) -> Outcome<()> {
    let handle = find(linx)?;
    // SAFETY: as was promised.
    let variable = unsafe { Variable::new(sig) }?;
    let signal = handle.disown(variable.get())?;
    variable.put(0);
    may?;
    let endpoint = &handle.endpoint;
    let from = if from == 0 { endpoint.spid() } else { Spid(from) };
    let len = signal.bytes().len();
    endpoint.send_as(from, Spid(to), signal).map_err(|(error, _)| errno(&error))?;
    handle.sent(len);
    Ok(())
}

/// Ends a list of options, and asks for a signal to be sent out of band.
const END: i32 = 0;
const OUT_OF_BAND: i32 = 1;

/// Whether a signal can be sent with a list of options.
///
/// # Safety
/// Null, or pairs of an option and its value, and [`END`] behind them.
unsafe fn possible(mut options: *const i32) -> Outcome<()> {
    if options.is_null() {
        return Ok(());
    }
    loop {
        // SAFETY: the end was not read yet, as was promised.
        let option = unsafe { options.read_unaligned() };
        if option == END {
            return Ok(());
        }
        // SAFETY: behind every other there is a value.
        let value = unsafe { options.add(1).read_unaligned() };
        match (option, value) {
            (OUT_OF_BAND, 0) => {}
            // All signals between two endpoints take one way, in order.
            (OUT_OF_BAND, 1) => return Err(Errno(libc::ENOSYS)),
            _ => return Err(Errno(libc::EINVAL)),
        }
        // SAFETY: behind a value there is the next option.
        options = unsafe { options.add(2) };
    }
}

/// As `linx_send_w_s`, with options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_send_w_opt(
    linx: *mut c_void,
    sig: *mut *mut c_void,
    from: u32,
    to: u32,
    taglist: *mut i32,
) -> c_int {
    // SAFETY: as was promised.
    let sent = unsafe { send(linx, sig, from, to, possible(taglist)) };
    answer(sent.map(|()| 0), -1)
}

/// A filter of C's.
///
/// # Safety
/// Null, or a count and as many numbers as that says.
unsafe fn filter(sig_sel: *const u32) -> Outcome<Select> {
    if sig_sel.is_null() {
        return Ok(Select::any());
    }
    // SAFETY: there is a count, as was promised.
    let count = unsafe { sig_sel.read_unaligned() } as i32;
    let len = count.unsigned_abs();
    if len > LONGEST_FILTER {
        return Err(Errno(libc::EINVAL));
    }
    // SAFETY: `len` numbers follow the first, as the caller promised.
    let number = |at: usize| unsafe { sig_sel.add(1 + at).read_unaligned() };
    let numbers: Vec<u32> = (0..len as usize).map(number).collect();
    Ok(match count {
        0 => Select::any(),
        1.. => Select::only(&numbers),
        _ => Select::except(&numbers),
    })
}

/// # Safety
/// See the module page.
unsafe fn receive(
    linx: *mut c_void,
    sig: *mut *mut c_void,
    within: Option<Duration>,
    sig_sel: *const u32,
    from: u32,
) -> c_int {
    // SAFETY: as was promised.
    let received = unsafe { Variable::new(sig) }.and_then(|variable| {
        // Whatever goes wrong, a closed endpoint among it: nothing was received.
        variable.put(0);
        let handle = find(linx)?;
        // SAFETY: as was promised.
        let select = unsafe { filter(sig_sel) }?;
        let select = if from == 0 { select } else { select.from(Spid(from)) };
        let Some(signal) = handle.endpoint.receive(&select, within) else {
            // Another thread may have closed it.
            return if handle.endpoint.is_closed() { Err(Errno(libc::EBADF)) } else { Ok(0) };
        };
        let len = signal.bytes().len();
        handle.received(len);
        variable.put(handle.own(signal));
        Ok(len as c_int)
    });
    answer(received, -1)
}

fn limit(tmo: u32) -> Option<Duration> {
    (tmo != FOREVER).then(|| Duration::from_millis(tmo.into()))
}

/// Receives a signal, however long that takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_receive(
    linx: *mut c_void,
    sig: *mut *mut c_void,
    sig_sel: *const u32,
) -> c_int {
    // SAFETY: as was promised.
    unsafe { receive(linx, sig, None, sig_sel, 0) }
}

/// Receives a signal, if one comes in time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_receive_w_tmo(
    linx: *mut c_void,
    sig: *mut *mut c_void,
    tmo: u32,
    sig_sel: *const u32,
) -> c_int {
    // SAFETY: as was promised.
    unsafe { receive(linx, sig, limit(tmo), sig_sel, 0) }
}

/// Receives a signal of one sender, if one comes in time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_receive_from(
    linx: *mut c_void,
    sig: *mut *mut c_void,
    tmo: u32,
    sig_sel: *const u32,
    from: u32,
) -> c_int {
    // SAFETY: as was promised.
    unsafe { receive(linx, sig, limit(tmo), sig_sel, from) }
}
