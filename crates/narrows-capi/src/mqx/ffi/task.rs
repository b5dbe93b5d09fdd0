//! The calling task, and what MQX has no word for.

use std::time::Duration;

use super::{created, here};
use crate::mqx::code::{self, Code};
use crate::mqx::component::{self, Component};

/// What C has of a task: its processor and its number there.
pub(super) fn task_id(component: &Component, number: u32) -> u32 {
    u32::from(component.number) << 16 | number & 0xffff
}

/// The calling task's id.
#[unsafe(no_mangle)]
pub extern "C" fn _task_get_id() -> u32 {
    here().map_or(0, |(component, task)| task_id(component, task.number()))
}

/// The calling task's code.
#[unsafe(no_mangle)]
pub extern "C" fn _task_get_error() -> u32 {
    code::get().0
}

/// Where the calling task's code is.
#[unsafe(no_mangle)]
pub extern "C" fn _task_get_error_ptr() -> *mut u32 {
    code::place()
}

/// Sets the calling task's code, unless one is set already; `MQX_OK` resets it. What it was.
#[unsafe(no_mangle)]
pub extern "C" fn _task_set_error(error: u32) -> u32 {
    code::set(Code(error)).0
}

/// Waits until a neighbour is linked with, for this many milliseconds, or for good if that is 0.
#[unsafe(no_mangle)]
pub extern "C" fn narrows_mqx_wait(neighbour: u16, milliseconds: u32) -> u32 {
    super::code(created().and_then(|(component, _)| {
        let number = u8::try_from(neighbour).map_err(|_| Code::INVALID_PROCESSOR_NUMBER)?;
        let within = (milliseconds > 0).then(|| Duration::from_millis(milliseconds.into()));
        let linked = component.processor.wait_for(number, within);
        let known = component.is_neighbour(number);
        let missing = if known { Code::RECEIVE_TIMEOUT } else { Code::INVALID_PROCESSOR_NUMBER };
        linked.map_err(|_| missing)
    }))
}

/// Messages that this processor dropped, because nobody was to be told.
#[unsafe(no_mangle)]
pub extern "C" fn narrows_mqx_lost() -> u32 {
    component::find().map_or(0, |component| component.processor.counts().lost() as u32)
}
