//! Queues: opened, closed and looked at.

use std::ffi::c_void;
use std::sync::Arc;

use narrows_host::mqx::{Notification, QueueId};

use super::{code, created, here};
use crate::mqx::code::{Code, Outcome, answer};
use crate::mqx::component::{Function, Notified};
use crate::mqx::{component, settings, task};

/// What a queue has of a function, and what C is told that it has.
fn notification(function: Function, data: *mut c_void) -> (Notified, Option<Notification>) {
    let data = data as usize;
    let run = function.map(|function| -> Notification {
        Arc::new(move || task::notify(|| function(data as *mut c_void)))
    });
    ((function, data), run)
}

/// Opens a queue of the calling task.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_open(number: u16, limit: u16) -> u16 {
    let opened =
        created().and_then(|(component, task)| component.open_queue(&task, number, limit, None));
    answer(opened.map(|queue| queue.0), 0)
}

/// Opens a queue of all tasks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _msgq_open_system(
    number: u16,
    limit: u16,
    function: Function,
    data: *mut c_void,
) -> u16 {
    let opened = created().and_then(|(component, task)| {
        component.open_queue(&task, number, limit, Some(notification(function, data)))
    });
    answer(opened.map(|queue| queue.0), 0)
}

/// Closes a queue, and frees its messages.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_close(queue: u16) -> bool {
    let closed = here().and_then(|(component, task)| {
        task.close(component.own_queue(queue)?)?;
        Ok(true)
    });
    answer(closed, false)
}

/// Messages in a queue, or in all of the calling task's.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_get_count(queue: u16) -> u32 {
    let count = here().and_then(|(component, task)| {
        let queue = match queue {
            0 => QueueId::ANY,
            queue => component.own_queue(queue)?,
        };
        Ok(u32::from(task.count(queue)?))
    });
    answer(count, 0)
}

/// The id of a queue by its number, of this processor if its number is 0.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_get_id(processor: u16, queue: u16) -> u16 {
    let own =
        || component::find().map(|component| component.number).or_else(|_| settings::number());
    let id = |processor: u16, queue: u16| -> Outcome<QueueId> {
        let number = u8::try_from(processor).map_err(|_| Code::INVALID_PROCESSOR_NUMBER)?;
        let queue = u8::try_from(queue).map_err(|_| Code::INVALID_QUEUE_NUMBER)?;
        Ok(QueueId::new(if number == 0 { own()? } else { number }, queue))
    };
    id(processor, queue).map_or(0, |queue| queue.0)
}

/// The task whose queue it is; none, if it is a system queue.
#[unsafe(no_mangle)]
pub extern "C" fn _msgq_get_owner(queue: u16) -> u32 {
    let owner = here().and_then(|(component, task)| {
        let queue = component.own_queue(queue).map_err(|_| Code::INVALID_PROCESSOR_NUMBER)?;
        let owner = task.owner(queue)?;
        Ok(owner.map_or(0, |owner| super::task_id(component, owner)))
    });
    answer(owner, 0)
}

/// Has another function told of the messages of a queue. The last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _msgq_set_notification_function(
    queue: u16,
    new: Function,
    data: *mut c_void,
) -> Function {
    let last = here().and_then(|(component, task)| {
        let (notified, run) = notification(new, data);
        component.notify(&task, component.own_queue(queue)?, notified, run)
    });
    answer(last, (None, 0)).0
}

/// The function that is told of the messages of a queue, and what it is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _msgq_get_notification_function(
    queue: u16,
    to: *mut Function,
    data: *mut *mut c_void,
) -> u32 {
    code(here().and_then(|(component, task)| {
        let notified = component.notified(&task, component.own_queue(queue)?)?;
        if to.is_null() || data.is_null() {
            return Err(Code::INVALID_PARAMETER);
        }
        // SAFETY: neither is null, and so both are valid, as was promised.
        unsafe {
            to.write_unaligned(notified.0);
            data.write_unaligned(notified.1 as *mut c_void);
        }
        Ok(())
    }))
}

/// Whether all queues hang together. Says which does not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _msgq_test(queue: *mut *mut c_void, message: *mut *mut c_void) -> u32 {
    code(here().and_then(|(_, task)| {
        task.test().map_err(|bad| {
            for (to, what) in [(queue, usize::from(bad.0)), (message, 0)] {
                if !to.is_null() {
                    // SAFETY: not null, and so valid, as was promised.
                    unsafe { to.write_unaligned(what as *mut c_void) }
                }
            }
            Code::INVALID_MESSAGE
        })
    }))
}
