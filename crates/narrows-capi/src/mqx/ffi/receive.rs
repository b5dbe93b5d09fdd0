//! Receiving. The message is the calling task's then.

use std::ffi::c_void;
use std::time::Duration;

use narrows_host::mqx::{Message, QueueError, QueueId, TICK, Task};

use super::here;
use crate::mqx::code::{Code, Outcome, answer};
use crate::mqx::component::Component;
use crate::mqx::{place, task};

/// Makes a message C's that one may have been received.
fn given(component: &Component, task: &Task, message: Option<Message>) -> Outcome<usize> {
    let message = message.ok_or(Code::MESSAGE_NOT_AVAILABLE)?;
    Ok(component.own(message, None, task.number()))
}

fn receive(queue: u16, within: Option<Duration>) -> *mut c_void {
    let received = || {
        if task::is_notified() {
            return Err(Code::CANNOT_CALL_FUNCTION_FROM_ISR);
        }
        let (component, task) = here()?;
        let queue = match queue {
            0 => QueueId::ANY,
            queue => component.own_queue(queue)?,
        };
        let message = match task.receive(queue, within) {
            // Nobody waits for a system queue.
            Err(QueueError::NotOwner) => task.poll(queue)?,
            other => other?,
        };
        given(component, &task, message)
    };
    answer(received(), 0) as *mut c_void
}

/// Waits for a message for this many milliseconds, or for good if that is 0.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_receive(queue: u16, milliseconds: u32) -> *mut c_void {
    receive(queue, (milliseconds > 0).then(|| Duration::from_millis(milliseconds.into())))
}

/// Waits for a message for this many ticks, or for good if that is 0.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_receive_ticks(queue: u16, ticks: u32) -> *mut c_void {
    receive(queue, (ticks > 0).then(|| TICK * ticks))
}

/// The first message of a queue, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_poll(queue: u16) -> *mut c_void {
    let polled = here().and_then(|(component, task)| {
        let message = task.poll(component.own_queue(queue)?)?;
        given(component, &task, message)
    });
    answer(polled, 0) as *mut c_void
}

/// Where the first message of a queue is, which stays in it.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_peek(queue: u16) -> *mut c_void {
    let seen = here().and_then(|(component, task)| {
        let seen = task.look(component.own_queue(queue)?, |header, whole| {
            place::write(header, whole);
            whole.as_mut_ptr() as usize
        });
        seen?.ok_or(Code::MESSAGE_NOT_AVAILABLE)
    });
    answer(seen, 0) as *mut c_void
}
