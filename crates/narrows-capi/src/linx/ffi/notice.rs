//! What comes later: endpoints that are looked for, ends of others, timeouts.

use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

use narrows_host::linx::Spid;

use super::{Outcome, answer, consumed, find, text};
use crate::linx::handle::{Errno, Handle, errno};

/// Numbers of the signals that are sent where none was given.
const TMO_SIG: u32 = 249;
const HUNT_SIG: u32 = 251;
const ATTACH_SIG: u32 = 252;

/// Looks for an endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_hunt(
    linx: *mut c_void,
    name: *const c_char,
    hunt_sig: *mut *mut c_void,
) -> c_int {
    let hunted = find(linx).and_then(|handle| {
        // SAFETY: as was promised. The signal is consumed whatever becomes of the hunt.
        let (signal, name) = unsafe { (consumed(&handle, hunt_sig, HUNT_SIG)?, text(name)?) };
        handle.endpoint.hunt(name, signal).map_err(|error| errno(&error))
    });
    answer(hunted.map(|()| 0), -1)
}

/// Looks for an endpoint; only its own endpoint can own a hunt.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_hunt_from(
    linx: *mut c_void,
    name: *const c_char,
    hunt_sig: *mut *mut c_void,
    from: u32,
) -> c_int {
    if let Ok(handle) = find(linx)
        && from != 0
        && handle.endpoint.spid() != Spid(from)
    {
        // SAFETY: as was promised. As with every hunt, the signal is consumed.
        let signal = unsafe { consumed(&handle, hunt_sig, HUNT_SIG) };
        return answer(signal.and(Err(Errno(libc::EOPNOTSUPP))), -1);
    }
    // SAFETY: as was promised.
    unsafe { linx_hunt(linx, name, hunt_sig) }
}

/// Has a signal come when an endpoint is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_attach(linx: *mut c_void, sig: *mut *mut c_void, spid: u32) -> u32 {
    let attached = find(linx).and_then(|handle| {
        // SAFETY: as was promised.
        let signal = unsafe { consumed(&handle, sig, ATTACH_SIG) }?;
        handle.endpoint.attach(Spid(spid), signal).map_err(|error| errno(&error))
    });
    answer(attached, 0)
}

/// Takes back what a reference of C's stands for, and makes it stand for nothing.
///
/// # Safety
/// See the module page.
unsafe fn take_back(
    linx: *mut c_void,
    reference: *mut u32,
    act: impl FnOnce(&Handle, u32) -> Outcome<()>,
) -> c_int {
    let done = find(linx).and_then(|handle| {
        if reference.is_null() {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: not null, and so valid, as was promised.
        let number = unsafe { reference.read_unaligned() };
        act(&handle, number)?;
        // SAFETY: as above.
        unsafe { reference.write_unaligned(0) };
        Ok(0)
    });
    answer(done, -1)
}

/// Ends an attach.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_detach(linx: *mut c_void, attref: *mut u32) -> c_int {
    let detach =
        |handle: &Handle, number| handle.endpoint.detach(number).map_err(|error| errno(&error));
    // SAFETY: as was promised.
    unsafe { take_back(linx, attref, detach) }
}

/// Has a signal come after a while.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_request_tmo(
    linx: *mut c_void,
    tmo: u32,
    sig: *mut *mut c_void,
) -> u32 {
    let requested = find(linx).and_then(|handle| {
        // SAFETY: as was promised.
        let signal = unsafe { consumed(&handle, sig, TMO_SIG) }?;
        let after = Duration::from_millis(tmo.into());
        handle.endpoint.request(after, signal).ok_or(Errno(libc::ENOMEM))
    });
    answer(requested, 0)
}

/// Has a timeout come after another while.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_modify_tmo(linx: *mut c_void, tmoref: *mut u32, tmo: u32) -> c_int {
    let modified = find(linx).and_then(|handle| {
        if tmoref.is_null() {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: not null, and so valid, as was promised.
        let number = unsafe { tmoref.read_unaligned() };
        if handle.endpoint.modify(number, Duration::from_millis(tmo.into())) {
            return Ok(0);
        }
        // SAFETY: as above.
        unsafe { tmoref.write_unaligned(0) };
        Err(Errno(libc::EINVAL))
    });
    answer(modified, -1)
}

/// Would have a signal come when a link is made. There is nobody here who makes links.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_request_new_link(linx: *mut c_void, _token: u32) -> u32 {
    answer(find(linx).and(Err(Errno(libc::ENOSYS))), 0)
}

/// Would take such a request back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_cancel_new_link(linx: *mut c_void, _nlref: *mut u32) -> c_int {
    answer(find(linx).and(Err(Errno(libc::ENOSYS))), -1)
}

/// Takes a timeout back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_cancel_tmo(linx: *mut c_void, tmoref: *mut u32) -> c_int {
    let cancel = |handle: &Handle, number| {
        handle.endpoint.cancel(number).map(drop).ok_or(Errno(libc::EINVAL))
    };
    // SAFETY: as was promised.
    unsafe { take_back(linx, tmoref, cancel) }
}
