//! Memory to make messages and requests in.

use std::ffi::{c_int, c_void};

use narrows::endpoint::SendError;

use super::{Out, at_once, within};
use crate::native::code::{answer, hurried};
use crate::native::table::{self, Over};

/// Hands out memory to make a message or request in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_reserve(
    flow: *mut c_void,
    length: usize,
    memory: *mut *mut c_void,
    timeout: i64,
) -> c_int {
    // SAFETY: as was promised.
    let out = unsafe { Out::new(memory) };
    answer(out.and_then(|out| {
        table::flow(flow as usize, |Over { node, flow, memory }| {
            let within = within(timeout);
            let mut reserved = node.flow(flow.id).reserve(length);
            if matches!(reserved, Err(SendError::PoolEmpty)) && !at_once(within) {
                // What this waits for is free again behind it.
                let waited = node.flow(flow.id).loan(length, within).map(drop);
                hurried(within, waited.map_err(Into::into))?;
                reserved = node.flow(flow.id).reserve(length);
            }
            out.put(memory.make(node, (flow.id, flow.link), reserved?)? as *mut c_void);
            Ok(())
        })
    }))
}

/// Sends memory as a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_commit(
    flow: *mut c_void,
    memory: *mut c_void,
    from: u16,
    timeout: i64,
) -> c_int {
    answer(table::flow(flow as usize, |over| {
        let Over { node, flow, memory: all } = over;
        let within = within(timeout);
        all.spend(memory as usize, flow.id, |reserved| {
            let sent = match at_once(within) {
                true => node.flow(flow.id).try_send(from, reserved),
                false => node.flow(flow.id).send(from, reserved, within),
            };
            Ok(sent?)
        })
    }))
}

/// Takes memory back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_cancel(flow: *mut c_void, memory: *mut c_void) -> c_int {
    answer(table::flow(flow as usize, |over| {
        over.memory.cancel(over.node, memory as usize, over.flow.id)
    }))
}
