//! The functions of `narrows.h`. What they do is there, and in `docs/C.md`.
//!
//! # Safety
//!
//! Of every function here: a pointer that is no handle is null or valid for what the function does
//! with it while the call lasts, and memory that it writes to is nobody else's meanwhile. A handle,
//! and memory that the library has handed out, is never looked through: it is looked up.
#![allow(unsafe_code, clippy::missing_safety_doc)]

mod call;
mod flow;
mod message;
mod node;
mod own;
mod peer;
mod serve;
mod service;
mod topic;

pub use call::*;
pub use flow::*;
pub use message::*;
pub use node::*;
pub use own::*;
pub use peer::*;
pub use serve::*;
pub use service::*;
pub use topic::*;

pub use super::served::Body;
pub use super::spans::{Phases, Times};

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::time::Duration;

use super::code::{self, Code, Fault, Outcome, at_once};

/// A place for a result.
struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// # Safety
    /// See the module page.
    unsafe fn new(to: *mut T) -> Outcome<Out<T>> {
        NonNull::new(to).map(Out).ok_or(Code::Argument.into())
    }

    fn put(&self, value: T) {
        // SAFETY: valid for writes, as was promised to `new`; C may not have aligned it.
        unsafe { self.0.write_unaligned(value) }
    }
}

/// A length of C's: the room before, and what there is after.
struct Length(Out<usize>);

impl Length {
    /// # Safety
    /// See the module page.
    unsafe fn new(at: *mut usize) -> Outcome<Length> {
        // SAFETY: as was promised.
        unsafe { Out::new(at) }.map(Length)
    }

    fn get(&self) -> usize {
        let Out(at) = self.0;
        // SAFETY: valid for reads, as was promised to `new`.
        unsafe { at.read_unaligned() }
    }

    fn put(&self, len: usize) {
        self.0.put(len);
    }

    /// The error for a buffer that is too short. The length becomes what is `needed`.
    fn short(&self, needed: usize) -> Outcome {
        let room = self.get();
        self.put(needed);
        let text = format_args!(
            "the buffer has {room} bytes and {needed} are needed: try again with more"
        );
        Err(Fault::said(Code::Short, text))
    }
}

/// Bytes of C's.
///
/// # Safety
/// See the module page.
unsafe fn bytes<'a>(from: *const c_void, len: usize) -> Outcome<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if from.is_null() || isize::try_from(len).is_err() {
        return Err(Code::Argument.into());
    }
    // SAFETY: valid for reads of that many bytes, as was promised, and no more than there can be.
    Ok(unsafe { std::slice::from_raw_parts(from.cast(), len) })
}

/// Room of C's.
///
/// # Safety
/// See the module page.
unsafe fn room<'a>(to: *mut c_void, len: usize) -> Outcome<&'a mut [u8]> {
    if len == 0 {
        return Ok(&mut []);
    }
    if to.is_null() || isize::try_from(len).is_err() {
        return Err(Code::Argument.into());
    }
    // SAFETY: nobody else's memory of that many bytes, as was promised, and no more than there can
    // be.
    Ok(unsafe { std::slice::from_raw_parts_mut(to.cast(), len) })
}

/// A string of C's, none if null. What is no text is `wrong`.
///
/// # Safety
/// See the module page: null, or ended by a zero.
unsafe fn text<'a>(from: *const c_char, wrong: Code) -> Outcome<Option<&'a str>> {
    if from.is_null() {
        return Ok(None);
    }
    // SAFETY: as was promised.
    let text = unsafe { CStr::from_ptr(from) };
    let said = |_| Fault::said(wrong, format_args!("'{}' is no UTF-8", text.to_string_lossy()));
    text.to_str().map(Some).map_err(said)
}

/// A string of C's that has to be there.
///
/// # Safety
/// As for [`text`].
unsafe fn name<'a>(from: *const c_char) -> Outcome<&'a str> {
    // SAFETY: as was promised.
    unsafe { text(from, Code::Name) }?.ok_or(Code::Argument.into())
}

/// Bytes of a name with its zero: `NARROWS_NAME_ROOM`.
const NAME_ROOM: usize = narrows::link::Name::MAX + 1;

/// Room of C's for a name.
///
/// # Safety
/// As for [`room`].
unsafe fn name_room<'a>(to: *mut c_char) -> Outcome<&'a mut [u8]> {
    // SAFETY: as was promised.
    unsafe { room(to.cast(), NAME_ROOM) }
}

/// Writes a name, and zeroes behind it.
fn put_name(to: &mut [u8], name: &str) {
    to.fill(0);
    for (to, byte) in to.iter_mut().zip(name.bytes()) {
        *to = byte;
    }
}

/// A size of options beyond this is none.
const MOST: usize = 4096;

/// Options of C's, which begin with their size and end their last member at `end`: what follows
/// that in memory is nobody's. If there are none, the usual ones.
///
/// # Safety
/// See the module page. Any bits are a `T`.
unsafe fn known<T: Copy>(options: *const T, end: usize, usual: T, called: &str) -> Outcome<T> {
    if options.is_null() {
        return Ok(usual);
    }
    // SAFETY: it is valid, and its size is its first member, whatever else there is of it.
    let size = unsafe { options.cast::<usize>().read_unaligned() };
    let wrong = |what: &str| Fault::said(Code::Argument, format_args!("{called}: {what}"));
    if !(end..=MOST).contains(&size) {
        let macro_name = called.to_ascii_uppercase();
        return Err(wrong(&format!("its size is not set: begin with {macro_name}")));
    }
    // SAFETY: that many bytes are there, as C says.
    let all = unsafe { bytes(options.cast::<c_void>(), size) }?;
    // A program of a later version may ask for what this one does not know.
    let unknown = all.get(size_of::<T>()..).unwrap_or_default();
    if unknown.iter().any(|byte| *byte != 0) {
        return Err(wrong("it asks for what this version of the library does not know"));
    }
    let mut known = usual;
    // SAFETY: all members end by `end`, there is as much in both, and any bits are a `T`.
    unsafe {
        std::ptr::copy_nonoverlapping(options.cast::<u8>(), (&raw mut known).cast::<u8>(), end);
    }
    Ok(known)
}

/// A time of C's.
#[inline]
fn within(timeout: i64) -> Option<Duration> {
    let nanoseconds = u64::try_from(timeout).unwrap_or(0);
    (timeout != i64::MAX).then(|| Duration::from_nanos(nanoseconds))
}

/// The sentence of an error's number.
#[unsafe(no_mangle)]
pub extern "C" fn narrows_error_text(error: c_int) -> *const c_char {
    code::sentence(error).as_ptr()
}

/// The sentence of the calling thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn narrows_last_error_text() -> *const c_char {
    code::last()
}
