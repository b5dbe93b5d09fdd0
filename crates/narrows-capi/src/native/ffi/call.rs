//! Calls of functions on the other core.

use std::ffi::{c_int, c_void};

use narrows::endpoint::CallError;

use super::{Length, Out, at_once, bytes, room, within};
use crate::native::code::{Code, Outcome, answer, hurried};
use crate::native::table::{self, Over};

/// `narrows_started`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Started {
    flow: *mut c_void,
    number: u64,
}

/// Whether two ranges have a byte in common.
fn overlap(request: &[u8], response: *const c_void, room: usize) -> bool {
    let (a, b) = (request.as_ptr() as usize, response as usize);
    a < b.saturating_add(room) && b < a.saturating_add(request.len())
}

/// Calls a function and waits for its response.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_call(
    flow: *mut c_void,
    request: *const c_void,
    request_length: usize,
    response: *mut c_void,
    length: *mut usize,
    timeout: i64,
) -> c_int {
    let call = || {
        // SAFETY: as was promised.
        let (request, length) = unsafe { (bytes(request, request_length)?, Length::new(length)?) };
        // The response may go where the request is: then that is not looked at again.
        let copy = overlap(request, response, length.get()).then(|| request.to_vec());
        let request = copy.as_deref().unwrap_or(request);
        // SAFETY: as above; the request is elsewhere.
        let response = unsafe { room(response, length.get()) }?;
        table::flow(flow as usize, |Over { node, flow, .. }| {
            let within = within(timeout);
            match node.flow(flow.id).call(request, response, within) {
                Ok(len) => {
                    length.put(len);
                    Ok(())
                }
                Err(CallError::Short { needed }) => {
                    flow.started += 1;
                    length.short(needed)
                }
                // What stayed outstanding when the peer died is never finished.
                Err(CallError::Outstanding) => {
                    node.link(flow.link).check()?;
                    Err(CallError::Outstanding.into())
                }
                Err(error) => hurried(within, Err(error.into())),
            }
        })
    };
    answer(call())
}

/// Starts a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_start(
    flow: *mut c_void,
    request: *const c_void,
    request_length: usize,
    started: *mut Started,
) -> c_int {
    // SAFETY: as was promised.
    let (request, out) = unsafe { (bytes(request, request_length), Out::new(started).ok()) };
    answer(request.and_then(|request| {
        let number = table::flow(flow as usize, |Over { node, flow, .. }| {
            node.flow(flow.id).start(request)?;
            flow.started += 1;
            Ok(flow.started - 1)
        })?;
        if let Some(out) = out {
            out.put(Started { flow, number });
        }
        Ok(())
    }))
}

/// Starts a call with a request that was made where it is sent from.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_start_with(
    flow: *mut c_void,
    memory: *mut c_void,
    started: *mut Started,
) -> c_int {
    // SAFETY: as was promised.
    let out = unsafe { Out::new(started).ok() };
    let number = table::flow(flow as usize, |over| {
        let Over { node, flow, memory: all } = over;
        let id = flow.id;
        all.spend(memory as usize, id, |reserved| Ok(node.flow(id).start(reserved)?))?;
        flow.started += 1;
        Ok(flow.started - 1)
    });
    answer(number.map(|number| {
        if let Some(out) = out {
            out.put(Started { flow, number });
        }
    }))
}

/// Finishes the oldest call of a flow, if it is the one of this number.
fn finish(
    Over { node, flow, .. }: Over<'_>,
    number: Option<u64>,
    (response, length): (&mut [u8], &Length),
    timeout: i64,
) -> Outcome {
    let oldest = flow.finished;
    match number {
        Some(number) if number < oldest || number >= flow.started => {
            return Err(Code::Finished.into());
        }
        Some(number) if number > oldest => return Err(Code::Order.into()),
        _ => {}
    }
    let within = within(timeout);
    let finished = if at_once(within) {
        match node.flow(flow.id).try_finish(response) {
            // A program that never waits hears of ends of links all the same.
            Ok(None) => {
                node.poll();
                node.flow(flow.id).try_finish(response)
            }
            other => other,
        }
    } else {
        node.flow(flow.id).finish(response, within).map(Some)
    };
    match finished {
        Ok(None) => Err(Code::Again.into()),
        Ok(Some(completed)) => {
            flow.finished += 1;
            length.put(completed.len);
            Ok(())
        }
        Err(CallError::Short { needed }) => length.short(needed),
        Err(error) => {
            if let CallError::Failed(_) = error {
                flow.finished += 1;
            }
            Err(error.into())
        }
    }
}

/// Finishes the oldest call of a flow, if it is the one that is meant, into C's memory.
///
/// # Safety
/// See the module page.
unsafe fn finish_into(
    flow: *mut c_void,
    number: Option<u64>,
    (response, length): (*mut c_void, *mut usize),
    timeout: i64,
) -> c_int {
    let finish = || {
        // SAFETY: as was promised.
        let length = unsafe { Length::new(length) }?;
        // SAFETY: as above.
        let response = unsafe { room(response, length.get()) }?;
        table::flow(flow as usize, |over| finish(over, number, (response, &length), timeout))
    };
    answer(finish())
}

/// Finishes a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_finish(
    started: Started,
    response: *mut c_void,
    length: *mut usize,
    timeout: i64,
) -> c_int {
    // SAFETY: as was promised.
    unsafe { finish_into(started.flow, Some(started.number), (response, length), timeout) }
}

/// Finishes the oldest call of a flow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_finish_next(
    flow: *mut c_void,
    response: *mut c_void,
    length: *mut usize,
    timeout: i64,
) -> c_int {
    // SAFETY: as was promised.
    unsafe { finish_into(flow, None, (response, length), timeout) }
}

/// How many calls are started and not finished.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_outstanding(flow: *mut c_void, count: *mut usize) -> c_int {
    // SAFETY: as was promised.
    let out = unsafe { Out::new(count) };
    answer(out.and_then(|out| {
        table::flow(flow as usize, |Over { flow, .. }| {
            out.put(flow.started.saturating_sub(flow.finished) as usize);
            Ok(())
        })
    }))
}
