//! Opening, closing and waiting.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;
use std::os::fd::{AsFd as _, AsRawFd as _};

use super::{Out, bytes, name, text, within};
use crate::native::code::{Code, Fault, Outcome, answer};
use crate::native::node::Settings;
use crate::native::table;

/// `narrows_options`.
#[repr(C)]
pub struct Options {
    size: usize,
    domain: *const c_char,
    directory: *const c_char,
    longest_message: usize,
    flags: u32,
}

const NO_THREAD: u32 = 1;
const MEASURE: u32 = 2;
const COPY_ENGINE: u32 = 4;
/// Where the last member ends: what follows it in memory is nobody's.
const END: usize = offset_of!(Options, flags) + size_of::<u32>();
/// A size beyond this is none.
const MOST: usize = 4096;

/// What C says of a node.
///
/// # Safety
/// See the module page.
unsafe fn settings<'a>(options: *const Options) -> Outcome<Settings<'a>> {
    let usual = Settings {
        domain: None,
        directory: None,
        longest: 0,
        background: true,
        measure: false,
        engine: false,
    };
    if options.is_null() {
        return Ok(usual);
    }
    // SAFETY: it is valid, and its size is its first member, whatever else there is of it.
    let size = unsafe { options.cast::<usize>().read_unaligned() };
    let wrong = |what: &str| Fault::said(Code::Argument, format_args!("narrows_options: {what}"));
    if !(END..=MOST).contains(&size) {
        return Err(wrong("its size is not set: begin with NARROWS_OPTIONS"));
    }
    // SAFETY: that many bytes are there, as C says.
    let all = unsafe { bytes(options.cast::<c_void>(), size) }?;
    // A program of a later version may ask for what this one does not know.
    let unknown = all.get(size_of::<Options>()..).unwrap_or_default();
    if unknown.iter().any(|byte| *byte != 0) {
        return Err(wrong("it asks for what this version of the library does not know"));
    }
    let mut known = Options {
        size,
        domain: std::ptr::null(),
        directory: std::ptr::null(),
        longest_message: 0,
        flags: 0,
    };
    // SAFETY: all members end by `END`, and there is as much in both.
    unsafe {
        std::ptr::copy_nonoverlapping(options.cast::<u8>(), (&raw mut known).cast::<u8>(), END);
    }
    let flags = known.flags;
    if flags & !(NO_THREAD | MEASURE | COPY_ENGINE) != 0 {
        return Err(wrong("it has a flag that this version of the library does not know"));
    }
    Ok(Settings {
        // SAFETY: strings, as was promised.
        domain: unsafe { text(known.domain, Code::Name) }?,
        // SAFETY: as above.
        directory: unsafe { text(known.directory, Code::Argument) }?,
        longest: known.longest_message,
        background: flags & NO_THREAD == 0,
        measure: flags & MEASURE != 0,
        engine: flags & COPY_ENGINE != 0,
    })
}

/// Opens a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_open(
    called: *const c_char,
    options: *const Options,
    node: *mut *mut c_void,
) -> c_int {
    let open = || {
        // SAFETY: as was promised.
        let (node, called, settings) =
            unsafe { (Out::new(node)?, name(called)?, settings(options)?) };
        node.put(table::open(called, &settings)? as *mut c_void);
        Ok(())
    };
    answer(open())
}

/// Closes a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_close(node: *mut c_void) -> c_int {
    answer(table::close(node as usize))
}

/// Waits for anything, and takes it in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_wait(node: *mut c_void, timeout: i64) -> c_int {
    answer(table::node(node as usize, |state| {
        state.node.wait_any(within(timeout));
        state.node.poll();
        Ok(())
    }))
}

/// Ends a node's wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_wake(node: *mut c_void) -> c_int {
    answer(table::wake(node as usize))
}

/// A descriptor to sleep on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_descriptor(node: *mut c_void, descriptor: *mut c_int) -> c_int {
    // SAFETY: as was promised.
    let out = unsafe { Out::new(descriptor) };
    answer(out.and_then(|out| {
        table::node(node as usize, |state| {
            out.put(state.node.platform().as_fd().as_raw_fd());
            Ok(())
        })
    }))
}

/// Asks to be rung, before a sleep on the descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_arm(node: *mut c_void) -> c_int {
    answer(table::node(node as usize, |state| {
        if state.node.arm() { Err(Code::Again.into()) } else { Ok(()) }
    }))
}

/// Takes in what came, after a sleep on the descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_hear(node: *mut c_void) -> c_int {
    answer(table::node(node as usize, |state| {
        state.node.disarm();
        state.node.platform().hear();
        state.node.poll();
        Ok(())
    }))
}

/// How many links are up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_peers(node: *mut c_void, count: *mut usize) -> c_int {
    // SAFETY: as was promised.
    let out = unsafe { Out::new(count) };
    answer(out.and_then(|out| {
        table::node(node as usize, |state| {
            state.node.poll();
            out.put(state.node.links().count());
            Ok(())
        })
    }))
}

/// Opens a port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_open_port(node: *mut c_void, port: u16) -> c_int {
    answer(table::node(node as usize, |state| Ok(state.node.open(port)?)))
}

/// Closes a port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_close_port(node: *mut c_void, port: u16) -> c_int {
    answer(table::node(node as usize, |state| state.close_port(port)))
}
