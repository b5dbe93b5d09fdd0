//! Serving calls of others.

use std::ffi::{c_char, c_int, c_void};

use super::{Body, Out, Times, name, within};
use crate::native::code::{Code, answer, hurried};
use crate::native::node;
use crate::native::served::Offered;
use crate::native::table;

/// Offers a function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_offer(
    node: *mut c_void,
    called: *const c_char,
    function: Option<Body>,
    user: *mut c_void,
) -> c_int {
    let offer = || {
        // SAFETY: as was promised.
        let called = unsafe { name(called) }?;
        let body = function.ok_or(Code::Argument)?;
        table::node(node as usize, |state| {
            state.offer(None, node::name(called)?, Offered::new(body, user as usize))
        })
    };
    answer(offer())
}

/// Serves calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_serve(
    node: *mut c_void,
    timeout: i64,
    served: *mut usize,
) -> c_int {
    // SAFETY: as was promised.
    let out = unsafe { Out::new(served).ok() };
    answer(table::node(node as usize, |state| {
        let within = within(timeout);
        let count = hurried(within, state.serve(within))?;
        if let Some(out) = &out {
            out.put(count);
        }
        Ok(())
    }))
}

/// Phase C of the calls that were served.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_served(node: *mut c_void, span: *mut Times) -> c_int {
    // SAFETY: as was promised.
    let out = unsafe { Out::new(span) };
    answer(out.and_then(|out| {
        table::node(node as usize, |state| {
            out.put(state.spans()?.served());
            Ok(())
        })
    }))
}
