//! The functions of `mcapi.h`: each looks at its arguments, has the node do what is wanted, and says
//! how that ended. What they do is in `docs/MCAPI.md`.
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

mod channel;
mod endpoint;
mod message;
mod names;
mod node;
mod packet;
mod request;
mod scalar;

pub use names::*;
pub use node::{Info, NodeAttributes};

use endpoint::*;
use message::*;
use node::*;
use packet::*;
use request::*;
use scalar::*;

use std::ptr::NonNull;

use super::call::{Call, Quickly};
use super::control::Kind;
use super::endpoint::Direction;
use super::foreign::{Output, Variable};
use super::home::Home;
use super::id::Handle;
use super::process;
use super::request::{Done, Named, Operation, TRUNCATED};
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

    /// Says how a call ended, and gives what it returns.
    #[inline]
    fn of<T>(self, outcome: Outcome<T>, otherwise: T) -> T {
        match outcome {
            Ok(value) => {
                self.say(Status::Success);
                value
            }
            Err(status) => {
                self.say(status);
                otherwise
            }
        }
    }
}

/// What a call that does not wait came to.
enum Begun {
    Done(u64),
    Pending(Handle),
}

impl Begun {
    /// How an operation ended that a call has waited for.
    #[inline]
    fn done(self) -> u64 {
        match self {
            Begun::Done(size) => size,
            Begun::Pending(_) => 0,
        }
    }
}

impl From<Option<Handle>> for Begun {
    fn from(request: Option<Handle>) -> Begun {
        request.map_or(Begun::Done(0), Begun::Pending)
    }
}

/// Who wants an operation done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    /// A call that waits until it is.
    Call,
    /// A request, which goes on when the call has ended.
    Request,
}

impl For {
    /// How often is looked before there is a request.
    #[inline]
    fn looks<H: Home>(self) -> u32 {
        match self {
            For::Call => H::LOOKS,
            For::Request => 1,
        }
    }

    /// Has a request for what could not be done at once, and waits for it if it is a call's: so many
    /// milliseconds at most.
    #[inline(never)]
    fn begin<H: Home>(
        self,
        mut call: Call<H>,
        operation: Operation,
        timeout: u32,
    ) -> Outcome<Begun> {
        let request = call.node().begin(operation, self == For::Call)?;
        match self {
            For::Call => call.until_ended(request, timeout).map(Begun::Done),
            For::Request => Ok(Begun::Pending(request)),
        }
    }
}

/// A call that does not wait: whatever it comes to, there is a request that says so.
unsafe fn begin<H: Home>(status: *mut u32, request: *mut u32, act: &dyn Fn() -> Outcome<Begun>) {
    // SAFETY: as was promised.
    let (verdict, request) = unsafe { (Verdict::new(status), Variable::new(request)) };
    let Some(verdict) = verdict else { return };
    if process::is_empty::<H>() {
        return verdict.say(Status::NodeNotInit);
    }
    let Some(request) = request else { return verdict.say(Status::Parameter) };
    match act() {
        Ok(Begun::Pending(handle)) => {
            request.put(handle.0);
            verdict.say(Status::Pending);
        }
        Ok(Begun::Done(size)) => {
            request.put(Named::ended(Ok(size)));
            verdict.say(size_of(Ok(size)).0);
        }
        Err(Status::NodeNotInit) => verdict.say(Status::NodeNotInit),
        Err(status) => {
            request.put(Named::ended(Err(status)));
            verdict.say(status);
        }
    }
}

/// Connects two endpoints by a channel, without waiting.
#[inline(never)]
unsafe extern "C" fn connect_i<H: Home>(
    from: u32,
    to: u32,
    request: *mut u32,
    status: *mut u32,
    kind: Kind,
) {
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &|| channel::connect::<H>(from, to, kind)) };
}

/// Opens the channel of an endpoint, without waiting.
#[inline(never)]
unsafe extern "C" fn open_i<H: Home>(
    handle: *mut u32,
    endpoint: u32,
    request: *mut u32,
    status: *mut u32,
    what: (Kind, Direction),
) {
    // SAFETY: as was promised.
    let handle = unsafe { Output::new(handle) };
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &|| channel::open::<H>(handle, endpoint, what)) };
}

/// Closes one side of a channel, without waiting.
#[inline(never)]
unsafe extern "C" fn close_i<H: Home>(
    handle: u32,
    request: *mut u32,
    status: *mut u32,
    what: (Kind, Direction),
) {
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &|| channel::close::<H>(handle, what)) };
}

/// How many entries of a channel can be received without waiting.
#[inline(never)]
unsafe extern "C" fn available<H: Home>(handle: u32, kind: Kind, status: *mut u32) -> u32 {
    // SAFETY: as was promised.
    let verdict = unsafe { Verdict::new(status) };
    verdict.map_or(0, |verdict| verdict.of(channel::available::<H>(handle, kind), 0))
}

/// Ends a call that went the short way, with something else to do.
#[cold]
#[inline(never)]
extern "C" fn sent_more<H: Home>(handle: u32, quickly: Quickly<H>, verdict: Verdict) {
    quickly.follow_up(Handle(handle));
    verdict.say(Status::Success);
}

/// How an operation ended, and its size.
#[inline]
fn size_of(done: Done) -> (Status, usize) {
    match done {
        Ok(size) if size & TRUNCATED != 0 => (Status::MsgTruncated, (size & !TRUNCATED) as usize),
        Ok(size) => (Status::Success, size as usize),
        Err(status) => (status, 0),
    }
}

/// Whether all the pointers are there: looked at after the node, and before whatever else is given.
#[inline]
fn given<H: Home>(all: bool) -> Outcome<()> {
    match all {
        true => Ok(()),
        false if process::is_empty::<H>() => Err(Status::NodeNotInit),
        false => Err(Status::Parameter),
    }
}
