//! Opening, closing and waiting.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;
use std::os::fd::{AsFd as _, AsRawFd as _};

use super::{Out, known, name, text, within};
use crate::native::code::{Code, Fault, Outcome, answer};
use crate::native::node::Settings;
use crate::native::table;

/// `narrows_options`.
#[derive(Clone, Copy)]
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

/// What C says of a node.
///
/// # Safety
/// See the module page.
unsafe fn settings<'a>(options: *const Options) -> Outcome<Settings<'a>> {
    let usual = Options {
        size: 0,
        domain: std::ptr::null(),
        directory: std::ptr::null(),
        longest_message: 0,
        flags: 0,
    };
    // SAFETY: as was promised, and any bits are such options.
    let known = unsafe { known(options, END, usual, "narrows_options") }?;
    let flags = known.flags;
    if flags & !(NO_THREAD | MEASURE | COPY_ENGINE) != 0 {
        let what = "narrows_options: it has a flag that this version of the library does not know";
        return Err(Fault::said(Code::Argument, what));
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
    answer(table::node(node as usize, |state| state.wait(within(timeout))))
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
            out.put(state.node()?.platform().as_fd().as_raw_fd());
            Ok(())
        })
    }))
}

/// Asks to be rung, before a sleep on the descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_arm(node: *mut c_void) -> c_int {
    answer(table::node(node as usize, |state| state.arm()))
}

/// Takes in what came, after a sleep on the descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_hear(node: *mut c_void) -> c_int {
    answer(table::node(node as usize, |state| {
        let mut node = state.node()?;
        node.disarm();
        node.platform().hear();
        node.poll();
        drop(node);
        state.attend()?;
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
            let mut node = state.node()?;
            node.poll();
            out.put(node.links().count());
            Ok(())
        })
    }))
}

/// Opens a port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_open_port(node: *mut c_void, port: u16) -> c_int {
    answer(table::node(node as usize, |state| Ok(state.node()?.open(port)?)))
}

/// Closes a port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_close_port(node: *mut c_void, port: u16) -> c_int {
    answer(table::node(node as usize, |state| state.close_port(port)))
}
