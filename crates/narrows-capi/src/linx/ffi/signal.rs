//! Signals of a handle: made, freed and looked at.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use narrows_host::linx::Signal;

use super::{Outcome, Variable, answer, fail, find};
use crate::linx::handle::{Errno, Handle};

/// Makes a signal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_alloc(linx: *mut c_void, size: c_int, sig_no: u32) -> *mut c_void {
    let made = find(linx).and_then(|handle| {
        let len = usize::try_from(size).map_err(|_| Errno(libc::EMSGSIZE))?;
        let signal = handle.endpoint.signal(len, sig_no).ok_or(Errno(libc::EMSGSIZE))?;
        Ok(handle.own(signal))
    });
    answer(made, 0) as *mut c_void
}

/// As `linx_alloc`: all signals are from memory that endpoints share as far as they can.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_s_alloc(
    linx: *mut c_void,
    size: c_int,
    sig_no: u32,
    flags: u32,
) -> *mut c_void {
    if flags != 0 {
        fail(Errno(libc::EINVAL));
        return null_mut();
    }
    // SAFETY: as was promised.
    unsafe { linx_alloc(linx, size, sig_no) }
}

/// Frees a signal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_free_buf(linx: *mut c_void, sig: *mut *mut c_void) -> c_int {
    let freed = find(linx).and_then(|handle| {
        // SAFETY: as was promised.
        let variable = unsafe { Variable::new(sig) }?;
        handle.disown(variable.get())?;
        variable.put(0);
        Ok(0)
    });
    answer(freed, -1)
}

/// Looks at a signal of a handle's.
///
/// # Safety
/// See the module page.
unsafe fn look<R>(
    linx: *mut c_void,
    sig: *mut *mut c_void,
    act: impl FnOnce(&Handle, &mut Signal) -> R,
) -> Outcome<R> {
    let handle = find(linx)?;
    // SAFETY: as was promised.
    let variable = unsafe { Variable::new(sig) }?;
    handle.with(variable.get(), |signal| act(&handle, signal))
}

/// The sender of a signal; the endpoint itself, if nobody has sent it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_sender(linx: *mut c_void, sig: *mut *mut c_void) -> u32 {
    // SAFETY: as was promised.
    answer(unsafe { look(linx, sig, |_, signal| signal.sender().0) }, 0)
}

/// Bytes of a signal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_sigsize(linx: *mut c_void, sig: *mut *mut c_void) -> c_int {
    // SAFETY: as was promised. A signal's length fits.
    answer(unsafe { look(linx, sig, |_, signal| signal.bytes().len() as c_int) }, -1)
}

/// The attribute that says whether a signal was sent out of band.
const OUT_OF_BAND: u32 = 1;

/// An attribute of a signal: none was sent out of band.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_sigattr(
    linx: *const c_void,
    sig: *const *const c_void,
    attr: u32,
    value: *mut *mut c_void,
) -> c_int {
    // SAFETY: as was promised. The signal is looked up only, and the variable not written to.
    let there = unsafe { look(linx.cast_mut(), sig.cast_mut().cast(), |_, _| ()) };
    let told = there.and_then(|()| {
        if attr != OUT_OF_BAND || value.is_null() {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: not null, and so there is a byte, as was promised.
        unsafe { value.cast::<u8>().write(!0) };
        Ok(0)
    });
    answer(told, -1)
}

/// Makes a signal shorter or longer. A longer one may be elsewhere then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_set_sigsize(
    linx: *mut c_void,
    sig: *mut *mut c_void,
    sigsize: c_int,
) -> c_int {
    let resized = find(linx).and_then(|handle| {
        // SAFETY: as was promised.
        let variable = unsafe { Variable::new(sig) }?;
        let len = usize::try_from(sigsize).unwrap_or(usize::MAX);
        variable.put(handle.resize(variable.get(), len)?);
        Ok(0)
    });
    answer(resized, -1)
}
