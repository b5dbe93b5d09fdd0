//! The functions of `linx.h`. What they do is in `docs/LINX.md`.
//!
//! # Safety
//!
//! Of every function here: a pointer is null or valid for what the function does with it while the
//! call lasts. A handle and the pointer to a signal are never looked through: whatever they are,
//! they are looked up.
#![allow(unsafe_code, clippy::missing_safety_doc)]

mod information;
mod notice;
mod signal;
mod transfer;

pub use information::*;
pub use notice::*;
pub use signal::*;
pub use transfer::*;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use narrows_host::linx::Signal;

use super::handle::{self, Errno, Handle, Outcome, errno};

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
