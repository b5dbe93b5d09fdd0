//! Sending. A send that fails has freed its message, unless that is none or its priority is none.

use std::ffi::c_void;

use narrows_host::mqx::{HEAD, Header, Message, QueueId, Task};

use super::here;
use crate::mqx::code::{self, Code, Outcome, answer, of_send};
use crate::mqx::component::Component;
use crate::mqx::place;

/// The highest priority.
const MOST: u32 = 15;

/// Sends a message that was C's, to where its header says when `change` has had it.
fn send(
    component: &Component,
    task: &Task,
    mut message: Message,
    change: impl FnOnce(&mut Header),
) -> Outcome<()> {
    let mut header = place::read(message.whole()).ok_or(Code::MESSAGE_SIZE_TOO_SMALL)?;
    change(&mut header);
    if header.target.processor() == 0 {
        header.target = QueueId::new(component.number, header.target.queue());
    }
    message.header = header;
    task.send(message).map_err(|(why, _freed)| of_send(why, header.target))
}

/// Sends a message of C's.
fn sent(message: *mut c_void, change: impl FnOnce(&mut Header)) -> bool {
    let sent = here().and_then(|(component, task)| {
        let message = component.disown(message as usize)?;
        send(component, &task, message, change)
    });
    answer(sent.map(|()| true), false)
}

/// Sends a message to where its header says.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_send(message: *mut c_void) -> bool {
    sent(message, |_| ())
}

/// Sends a message before all that are not urgent.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_send_urgent(message: *mut c_void) -> bool {
    sent(message, |header| header.control.urgent = true)
}

/// Sends a message with a priority.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_send_priority(message: *mut c_void, priority: u32) -> bool {
    if priority > MOST {
        return answer(Err(Code::INVALID_MESSAGE_PRIORITY), false);
    }
    sent(message, |header| header.control.priority = priority as u8)
}

/// Sends a message to another queue than its header says.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_send_queue(message: *mut c_void, queue: u16) -> bool {
    sent(message, |header| header.target = QueueId(queue))
}

/// Sends a message to each of some queues: copies of a pool, of the system pools if it is null, to
/// all but the last. To how many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _msgq_send_broadcast(
    message: *mut c_void,
    queues: *mut u16,
    pool: *mut c_void,
) -> u32 {
    let sent = here().and_then(|(component, task)| {
        let size = component.with(message as usize, |whole| place::read(whole))?;
        if queues.is_null() {
            return Err(Code::INVALID_PARAMETER);
        }
        let list = || {
            // SAFETY: a list that ends with 0, which was not read yet, as was promised.
            (0..).map(|n| unsafe { queues.add(n).read_unaligned() }).take_while(|id| *id != 0)
        };
        let all: Vec<QueueId> = list().map(QueueId).collect();
        let Some(header) = size else { return refuse(component, message as usize, &all) };
        broadcast(component, &task, message as usize, header, &all, pool as usize)
    });
    answer(sent, 0)
}

/// A message whose size is no size goes nowhere, as with any send.
fn refuse(component: &Component, at: usize, queues: &[QueueId]) -> Outcome<u32> {
    if queues.is_empty() {
        return Ok(0);
    }
    drop(component.disown(at)?);
    Err(Code::MESSAGE_SIZE_TOO_SMALL)
}

fn broadcast(
    component: &Component,
    task: &Task,
    at: usize,
    header: Header,
    queues: &[QueueId],
    pool: usize,
) -> Outcome<u32> {
    let Some((&last, others)) = queues.split_last() else { return Ok(0) };
    let mut message = component.disown(at)?;
    let (mut count, mut to) = (0, last);
    for &queue in others {
        match copy(component, task, &mut message, header.size, pool) {
            // Queues that take none are told of by the count alone.
            Ok(copy) => {
                count += u32::from(send(component, task, copy, |copy| copy.target = queue).is_ok());
            }
            Err(why) => {
                code::set(why);
                to = queue;
                break;
            }
        }
    }
    count += u32::from(send(component, task, message, |message| message.target = to).is_ok());
    Ok(count)
}

/// A copy of a message, of a pool.
fn copy(
    component: &Component,
    task: &Task,
    message: &mut Message,
    bytes: u32,
    pool: usize,
) -> Outcome<Message> {
    let mut copy = component.disown(component.alloc(task, pool, bytes)?)?;
    let end = HEAD + bytes as usize;
    let from = message.whole().get(..end).ok_or(Code::MESSAGE_SIZE_TOO_SMALL)?;
    copy.whole().get_mut(..end).ok_or(Code::MESSAGE_SIZE_TOO_SMALL)?.copy_from_slice(from);
    Ok(copy)
}
