//! Pools, and the messages that are taken from them.

use std::ffi::{CStr, c_char, c_void};

use narrows_host::mqx::HEAD;

use super::{code, created, here};
use crate::mqx::code::{Code, Outcome, answer, set};
use crate::mqx::{component, place};

/// Bytes behind the header of messages of `size` bytes.
fn data(size: u16) -> Outcome<u32> {
    u32::from(size).checked_sub(HEAD as u32).ok_or(Code::MESSAGE_SIZE_TOO_SMALL)
}

/// The most messages of a pool: those that it begins with, if it does not grow.
fn limit(initial: u16, grow: u16, limit: u16) -> u16 {
    if grow == 0 { initial } else { limit }
}

/// Creates the component, unless there is one.
#[unsafe(no_mangle)]
pub extern "C" fn _msg_create_component() -> u32 {
    code(component::create().map(|_| ()))
}

/// Makes a pool.
#[unsafe(no_mangle)]
pub extern "C" fn _msgpool_create(size: u16, initial: u16, grow: u16, most: u16) -> *mut c_void {
    let made = data(size).and_then(|bytes| {
        let (component, _) = created()?;
        component.create_pool(bytes, (initial, grow, limit(initial, grow, most)))
    });
    answer(made, 0) as *mut c_void
}

/// Makes a pool for all tasks, which do not name it.
#[unsafe(no_mangle)]
pub extern "C" fn _msgpool_create_system(size: u16, initial: u16, grow: u16, most: u16) -> bool {
    let made = data(size).and_then(|bytes| {
        let (component, _) = created()?;
        let most = limit(initial, grow, most);
        component.processor.create_system_pool(bytes, initial, grow, most)?;
        Ok(true)
    });
    answer(made, false)
}

/// Ends a pool, all of whose messages are free.
#[unsafe(no_mangle)]
pub extern "C" fn _msgpool_destroy(pool: *mut c_void) -> u32 {
    code(here().and_then(|(component, _)| component.destroy_pool(pool as usize)))
}

/// Takes a message of a pool.
#[unsafe(no_mangle)]
pub extern "C" fn _msg_alloc(pool: *mut c_void) -> *mut c_void {
    let taken = here().and_then(|(component, task)| {
        let at = Some(pool as usize).filter(|at| *at != 0).ok_or(Code::INVALID_POOL_ID)?;
        component.alloc(&task, at, 0)
    });
    answer(taken, 0) as *mut c_void
}

/// Takes the smallest message of the system pools that has `size` bytes, its header among them.
#[unsafe(no_mangle)]
pub extern "C" fn _msg_alloc_system(size: u16) -> *mut c_void {
    let taken = here().and_then(|(component, task)| {
        // Less than a header is given a header, and nothing else.
        component.alloc(&task, 0, data(size).unwrap_or(0))
    });
    answer(taken, 0) as *mut c_void
}

/// Frees a message.
#[unsafe(no_mangle)]
pub extern "C" fn _msg_free(message: *mut c_void) {
    let freed = here().and_then(|(component, task)| component.free(&task, message as usize));
    answer(freed, ());
}

/// Messages of a pool that are free; of all system pools, if it is null.
#[unsafe(no_mangle)]
pub extern "C" fn _msg_available(pool: *mut c_void) -> u32 {
    // Without a component there are none, and that is no error.
    let Ok((component, _)) = here() else { return 0 };
    let processor = &component.processor;
    if pool.is_null() {
        return processor.available_system();
    }
    let free = component
        .pool(pool as usize)
        .and_then(|pool| processor.available(pool).map(u32::from).ok_or(Code::INVALID_POOL_ID));
    answer(free, 0)
}

/// Swaps the bytes of each field of a message's header.
#[unsafe(no_mangle)]
pub extern "C" fn _msg_swap_endian_header(message: *mut c_void) {
    let swapped =
        here().and_then(|(component, _)| component.with(message as usize, place::swap_header));
    answer(swapped, ());
}

/// Swaps the bytes of fields behind a message's header: as many bytes for each as the list says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _msg_swap_endian_data(fields: *mut c_char, message: *mut c_void) {
    if fields.is_null() {
        set(Code::INVALID_PARAMETER);
        return;
    }
    // SAFETY: a list that ends with a zero, as was promised.
    let fields = unsafe { CStr::from_ptr(fields) }.to_bytes();
    let swapped = here().and_then(|(component, _)| {
        component.with(message as usize, |whole| place::swap_data(whole, fields))
    });
    answer(swapped, ());
}
