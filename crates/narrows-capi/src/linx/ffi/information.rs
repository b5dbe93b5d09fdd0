//! What is known of endpoints, and of the library.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;

use narrows_host::linx::{About, Spid};

use super::{Outcome, answer, find};
use crate::linx::handle::{Errno, Handle, errno};

/// The parts of the library's version.
const VERSION: [&str; 3] = [
    env!("CARGO_PKG_VERSION_MAJOR"),
    env!("CARGO_PKG_VERSION_MINOR"),
    env!("CARGO_PKG_VERSION_PATCH"),
];

/// The library's version: as text, where there is room for 14 bytes, and as a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_get_version(buf: *mut c_char) -> c_int {
    let [major, minor, patch] = VERSION.map(|part| part.parse::<c_int>().unwrap_or(0));
    if !buf.is_null() {
        let text = format!("{major}.{minor}.{patch}\0");
        for (at, byte) in text.bytes().take(14).enumerate() {
            // SAFETY: there is room for 14 bytes, as was promised.
            unsafe { buf.add(at).write(byte as c_char) };
        }
    }
    major << 24 | minor << 8 | patch
}

/// What is known of an endpoint.
fn about(handle: &Handle, spid: u32) -> Outcome<About> {
    handle.endpoint.about(Spid(spid)).map_err(|error| errno(&error))
}

/// The name that an endpoint was opened as.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_get_name(
    linx: *mut c_void,
    spid: u32,
    name: *mut *mut c_char,
) -> c_int {
    let found = find(linx).and_then(|handle| {
        if name.is_null() {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: not null, and so valid, as was promised.
        unsafe { name.write_unaligned(null_mut()) };
        let about = about(&handle, spid)?;
        let text = CString::new(about.name).map_err(|_| Errno(libc::EINVAL))?;
        // SAFETY: the text is ended by a zero.
        let copy = unsafe { libc::strdup(text.as_ptr()) };
        if copy.is_null() {
            return Err(Errno(libc::ENOMEM));
        }
        // SAFETY: as above.
        unsafe { name.write_unaligned(copy) };
        Ok(0)
    });
    answer(found, -1)
}

/// Frees what a call gave, and forgets where it was.
///
/// # Safety
/// See the module page: null, or holds null or what such a call gave.
unsafe fn free<T>(linx: *mut c_void, what: *mut *mut T) -> c_int {
    let freed = find(linx).and_then(|_| {
        if what.is_null() {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: not null, and so valid; what it holds is of `malloc`, as was promised.
        unsafe {
            libc::free(what.read_unaligned().cast());
            what.write_unaligned(null_mut());
        }
        Ok(0)
    });
    answer(freed, -1)
}

/// Frees a name that `linx_get_name` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_free_name(linx: *mut c_void, name: *mut *mut c_char) -> c_int {
    // SAFETY: as was promised.
    unsafe { free(linx, name) }
}

/// The process that an endpoint is in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_get_owner(linx: *mut c_void, spid: u32) -> libc::pid_t {
    let owner = find(linx).and_then(|handle| about(&handle, spid));
    answer(owner.map(|about| about.process as libc::pid_t), -1)
}

/// `struct linx_info_stat`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Stat {
    spid: u32,
    sent_local: u64,
    received_local: u64,
    sent_local_bytes: u64,
    received_local_bytes: u64,
    /// To and from other computers: none.
    remote: [u64; 4],
    sent: u64,
    received: u64,
    sent_bytes: u64,
    received_bytes: u64,
    queued_bytes: u64,
    queued: u64,
}

fn stat(handle: &Handle) -> Stat {
    let [sent, sent_bytes, received, received_bytes] = handle.counts();
    let (queued, queued_bytes) = handle.endpoint.queued();
    Stat {
        spid: handle.endpoint.spid().0,
        sent_local: sent,
        received_local: received,
        sent_local_bytes: sent_bytes,
        received_local_bytes: received_bytes,
        remote: [0; 4],
        sent,
        received,
        sent_bytes,
        received_bytes,
        queued_bytes: queued_bytes as u64,
        queued: queued as u64,
    }
}

/// What an endpoint of this process has sent and received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_get_stat(linx: *mut c_void, spid: u32, to: *mut *mut Stat) -> c_int {
    let found = |handle: &Handle| -> Outcome<Stat> {
        match crate::linx::handle::of(Spid(spid)) {
            Some(own) => Ok(stat(&own)),
            // Another process's counts are known there alone.
            None => about(handle, spid).and(Err(Errno(libc::ENOSYS))),
        }
    };
    let given = find(linx).and_then(|handle| {
        if to.is_null() {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: not null, and so valid, as was promised.
        unsafe { to.write_unaligned(null_mut()) };
        let stat = found(&handle)?;
        // SAFETY: any size may be asked for.
        let place = unsafe { libc::malloc(size_of::<Stat>()) }.cast::<Stat>();
        if place.is_null() {
            return Err(Errno(libc::ENOMEM));
        }
        // SAFETY: the memory is new, as large, and aligned for everything; `to` is as above.
        unsafe {
            place.write(stat);
            to.write_unaligned(place);
        }
        Ok(0)
    });
    answer(given, -1)
}

/// Frees what `linx_get_stat` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linx_free_stat(linx: *mut c_void, stat: *mut *mut Stat) -> c_int {
    // SAFETY: as was promised.
    unsafe { free(linx, stat) }
}
