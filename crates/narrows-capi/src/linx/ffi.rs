//! The functions of `linx.h`. What they do is in `docs/LINX.md`.
//!
//! # Safety
//!
//! Of every function here: a pointer is null or valid for what the function does with it while the
//! call lasts. A handle and the pointer to a signal are never looked through: whatever they are, they
//! are looked up.
#![allow(unsafe_code, clippy::missing_safety_doc)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

use narrows_host::linx::{Select, Signal, Spid};

use super::handle::{self, Errno, Handle, Outcome, errno};

/// Numbers of the signals that are sent where none was given.
const TMO_SIG: u32 = 249;
const HUNT_SIG: u32 = 251;
const ATTACH_SIG: u32 = 252;
/// A filter longer than this is none.
const LONGEST_FILTER: u32 = 1 << 16;
/// The time that never passes.
const FOREVER: u32 = u32::MAX;

/// A variable of C's that holds the pointer to a signal.
struct Variable(*mut *mut c_void);

impl Variable {
    /// None if null.
    ///
    /// # Safety
    /// See the module page.
    unsafe fn new(at: *mut *mut c_void) -> Outcome<Variable> {
        if at.is_null() { Err(Errno(libc::EINVAL)) } else { Ok(Variable(at)) }
    }

    /// Where the signal is.
    fn get(&self) -> usize {
        // SAFETY: not null, and so valid, as was promised to `new`.
        unsafe { self.0.read_unaligned() as usize }
    }

    fn put(&self, place: usize) {
        // SAFETY: not null, and so valid, as was promised to `new`.
        unsafe { self.0.write_unaligned(place as *mut c_void) }
    }
}

fn fail(why: Errno) {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = why.0 }
}

/// What a call returns: what it came to, or `failed` and an error number.
fn answer<T>(outcome: Outcome<T>, failed: T) -> T {
    outcome.unwrap_or_else(|why| {
        fail(why);
        failed
    })
}

fn find(linx: *mut c_void) -> Outcome<Arc<Handle>> {
    handle::find(linx as usize)
}

/// A string of C's, as text.
///
/// # Safety
/// See the module page: null, or ended by a zero.
unsafe fn text<'a>(name: *const c_char) -> Outcome<&'a str> {
    if name.is_null() {
        return Err(Errno(libc::EINVAL));
    }
    // SAFETY: as was promised.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_str().map_err(|_| Errno(libc::EINVAL))
}

/// A signal that a call consumes, or the one that is sent where none is given.
///
/// # Safety
/// See the module page.
unsafe fn consumed(handle: &Handle, sig: *mut *mut c_void, usual: u32) -> Outcome<Signal> {
    // SAFETY: as was promised.
    let variable = unsafe { Variable::new(sig) }.ok().filter(|variable| variable.get() != 0);
    match variable {
        None => Ok(Signal::with(usual, &[])),
        Some(variable) => {
            let signal = handle.disown(variable.get())?;
            variable.put(0);
            Ok(signal)
        }
    }
}

/// Opens an endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_open(
    name: *const c_char,
    options: u32,
    arg: *mut c_void,
) -> *mut c_void {
    let usual = options == 0 && arg.is_null();
    let opened = || {
        // SAFETY: as was promised.
        let name = unsafe { text(name) }?;
        if usual { handle::open(name) } else { Err(Errno(libc::EINVAL)) }
    };
    answer(opened(), 0) as *mut c_void
}

/// Closes an endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_close(linx: *mut c_void) -> c_int {
    answer(handle::close(linx as usize).map(|()| 0), -1)
}

/// An endpoint's own address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_get_spid(linx: *mut c_void) -> u32 {
    answer(find(linx).map(|handle| handle.endpoint.spid().0), 0)
}

/// A descriptor that is readable while something waits to be received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_get_descriptor(linx: *mut c_void) -> c_int {
    let descriptor =
        find(linx).and_then(|handle| handle.endpoint.descriptor().map_err(|error| errno(&error)));
    answer(descriptor, -1)
}

/// Makes a signal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_alloc(linx: *mut c_void, size: c_int, sig_no: u32) -> *mut c_void {
    let made = find(linx).and_then(|handle| {
        let len = usize::try_from(size).map_err(|_| Errno(libc::EMSGSIZE))?;
        let signal = Signal::new(len, sig_no).ok_or(Errno(libc::EMSGSIZE))?;
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

/// Who sent a signal; the endpoint itself, if nobody has.
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

/// Makes a signal shorter, or longer within its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_set_sigsize(
    linx: *mut c_void,
    sig: *mut *mut c_void,
    sigsize: c_int,
) -> c_int {
    let fits = |signal: &mut Signal| usize::try_from(sigsize).is_ok_and(|len| signal.resize(len));
    // SAFETY: as was promised.
    let resized = unsafe { look(linx, sig, |_, signal| fits(signal)) };
    let resized = resized.and_then(|fits| if fits { Ok(0) } else { Err(Errno(libc::EMSGSIZE)) });
    answer(resized, -1)
}

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
    // SAFETY: so many numbers follow, as was promised.
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

/// Takes a timeout back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_cancel_tmo(linx: *mut c_void, tmoref: *mut u32) -> c_int {
    let cancel = |handle: &Handle, number| {
        handle.endpoint.cancel(number).map(drop).ok_or(Errno(libc::EINVAL))
    };
    // SAFETY: as was promised.
    unsafe { take_back(linx, tmoref, cancel) }
}
