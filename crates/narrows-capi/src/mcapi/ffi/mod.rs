//! The functions of `mcapi.h`, by their `names`. What they do is in `docs/MCAPI.md`.
//!
//! Each is a plain function in the file of its group: `node`, `endpoint`, `message`, `packet`,
//! `scalar`, `channel` (connecting, opening and closing) and `request`, with `several` for waiting
//! for several requests. A function checks its pointers, finds the node that it is for, has the
//! node do the work, waits if it is one that waits, and writes the status. Those that are called
//! most try the short way first, and do the same only if that leads nowhere.
//!
//! # Safety
//!
//! Of every function here: a pointer is null or valid for what the function does with it, for as
//! long as the call lasts; buffers and places for results that are given to a function ending in
//! `_i`, for as long as its request does.
// What calls have besides their short way is in functions that do not unwind either, so that it is
// jumped to, and that take what a call was given in the same order, so that it stays where it is.
// All functions are of a place, also those that do not ask for its nodes.
#![allow(
    unsafe_code,
    clippy::missing_safety_doc,
    clippy::extra_unused_type_parameters,
    improper_ctypes_definitions
)]

mod channel;
mod endpoint;
mod message;
mod names;
mod node;
mod packet;
mod request;
mod scalar;
mod several;

pub use names::*;
pub use node::{Info, NodeAttributes};

use channel::*;
use endpoint::*;
use message::*;
use node::*;
use packet::*;
use request::*;
use scalar::*;

use std::ptr::NonNull;

use super::foreign::Variable;
use super::id::Handle;
use super::process::{self, Processes};
use super::request::Done;
use super::slot::Locked;
use super::status::{Outcome, Status};

/// Where a call says how it ended.
#[derive(Clone, Copy)]
struct Verdict(NonNull<u32>);

impl Verdict {
    /// None if null: nothing is done then.
    ///
    /// # Safety
    /// See the module page.
    #[inline]
    unsafe fn new(status: *mut u32) -> Option<Verdict> {
        NonNull::new(status).map(Verdict)
    }

    #[inline]
    fn say(self, status: Status) {
        // SAFETY: valid for writes, as was promised to `new`; C may not have aligned it.
        unsafe { self.0.write_unaligned(status as u32) };
    }

    /// Does what a call is for, and says how it ended. Returns what it came to, or `failed`.
    #[inline]
    fn value<T>(self, failed: T, work: impl FnOnce() -> Outcome<T>) -> T {
        let (status, value) = match work() {
            Ok(value) => (Status::Success, value),
            Err(status) => (status, failed),
        };
        self.say(status);
        value
    }

    /// As [`Verdict::value`], for a call that returns nothing.
    #[inline]
    fn of(self, work: impl FnOnce() -> Outcome<()>) {
        self.value((), work);
    }
}

/// Begins what a call whose name ends in `_i` is for. Whatever that came to, its request says the
/// same as its status, unless there is no node that could have a request.
///
/// # Safety
/// See the module page.
#[inline]
unsafe fn begin<H: Processes>(
    request: *mut u32,
    status: *mut u32,
    work: impl FnOnce() -> Outcome<Done>,
) {
    // SAFETY: as was promised.
    let (verdict, request) = unsafe { (Verdict::new(status), Variable::new(request)) };
    let Some(verdict) = verdict else { return };
    let begun = process::any::<H>().and_then(|()| match request {
        Some(_) => work(),
        None => Err(Status::Parameter),
    });
    let done = Done::from(begun);
    if let Some(request) = request
        && done.status != Status::NodeNotInit
    {
        request.put(done.number());
    }
    verdict.say(done.status);
}

/// Ends a call that went the short way, with something else to do.
#[cold]
#[inline(never)]
extern "C" fn sent_more<H: Processes>(handle: u32, locked: Locked<H>, verdict: Verdict) {
    locked.follow_up(Handle(handle));
    verdict.say(Status::Success);
}
