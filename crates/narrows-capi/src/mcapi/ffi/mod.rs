//! The functions of `mcapi.h`, by their `names`. What they do is in `docs/MCAPI.md`.
//!
//! Those that are called most have a short way, in `message`, `packet` and `scalar`. The others are `stubs`:
//! an `entry` each says what they need, and `perform` sees to it, has it `begin`, waits for it and says how it
//! ended. So it does for the first when their short way leads nowhere. `several` are requests that are waited
//! for together; what is done before there is a node is in `node`.
//!
//! # Safety
//!
//! Of every function here: a pointer is null or valid for what the function does with it, for as long
//! as the call lasts; buffers and places for results that are given to a function ending in `_i`, for
//! as long as its request does.
// What calls have besides their short way is in functions that do not unwind either, so that it is
// jumped to, and that take what a call was given in the same order, so that it stays where it is.
// All functions are of a place, also those that do not ask for its nodes.
#![allow(
    unsafe_code,
    clippy::missing_safety_doc,
    clippy::extra_unused_type_parameters,
    improper_ctypes_definitions
)]

mod begin;
mod entry;
mod message;
mod names;
mod node;
mod packet;
mod perform;
mod scalar;
mod several;
mod stubs;

pub use names::*;
pub use node::{Info, NodeAttributes};

use message::*;
use node::*;
use packet::*;
use scalar::*;
use stubs::*;

use std::ptr::NonNull;

use super::call::Quickly;
use super::home::Home;
use super::id::Handle;
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

    #[inline(always)]
    fn word(self) -> entry::Word {
        self.0.as_ptr().cast()
    }

    #[inline]
    fn say(self, status: Status) {
        // SAFETY: valid for writes, as was promised to `new`; C may not have aligned it.
        unsafe { self.0.write_unaligned(status as u32) };
    }

    /// Says how a call ended.
    #[inline]
    fn of(self, outcome: Outcome<()>) {
        self.say(outcome.err().unwrap_or(Status::Success));
    }
}

/// Ends a call that went the short way, with something else to do.
#[cold]
#[inline(never)]
extern "C" fn sent_more<H: Home>(handle: u32, quickly: Quickly<H>, verdict: Verdict) {
    quickly.follow_up(Handle(handle));
    verdict.say(Status::Success);
}
