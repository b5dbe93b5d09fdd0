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
    let sent = find(linx).and_then(|handle| {
        // SAFETY: as was promised.
        let variable = unsafe { Variable::new(sig) }?;
        let signal = handle.disown(variable.get())?;
        variable.put(0);
        let endpoint = &handle.endpoint;
        let from = if from == 0 { endpoint.spid() } else { Spid(from) };
        endpoint.send_as(from, Spid(to), signal).map_err(|(error, _)| errno(&error))
    });
    answer(sent.map(|()| 0), -1)
}

/// A filter of C's.
///
/// # Safety
/// Null, or a count and as many numbers as that says.
unsafe fn filter(sig_sel: *const u32) -> Outcome<Select> {
    if sig_sel.is_null() {
        return Err(Errno(libc::EINVAL));
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
    let received = find(linx).and_then(|handle| {
        // SAFETY: as was promised.
        let (variable, select) = unsafe { (Variable::new(sig)?, filter(sig_sel)?) };
        let select = if from == 0 { select } else { select.from(Spid(from)) };
        variable.put(0);
        let Some(signal) = handle.endpoint.receive(&select, within) else { return Ok(0) };
        let len = signal.bytes().len();
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
