//! The functions of `mqx.h`, `mqx_message.h` and `mqx_narrows.h`. What they do is in `docs/MQX.md`.
//!
//! # Safety
//!
//! Of every function here: a pointer is null or valid for what the function does with it while the
//! call lasts. Pointers to messages and ids of pools are never looked through: whatever they are,
//! they are looked up.
#![allow(unsafe_code, clippy::missing_safety_doc)]

mod pool;
mod queue;
mod receive;
mod send;
mod task;

pub use pool::*;
pub use queue::*;
pub use receive::*;
pub use send::*;
pub use task::*;

use std::rc::Rc;

use narrows_host::mqx::Task;

use super::code::{Code, Outcome};
use super::component::{self, Component};
use super::task::of;

/// The component and the calling task.
fn here() -> Outcome<(&'static Component, Rc<Task>)> {
    let component = component::find()?;
    Ok((component, of(component)))
}

/// The same, where the component is created if there is none.
fn created() -> Outcome<(&'static Component, Rc<Task>)> {
    let component = component::create()?;
    Ok((component, of(component)))
}

/// What a call returns that returns its code instead of setting it.
fn code(outcome: Outcome<()>) -> u32 {
    outcome.err().unwrap_or(Code::OK).0
}
