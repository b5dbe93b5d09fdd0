//! The C functions that have no short way, and what the others do when theirs leads nowhere: one function
//! sees to all of them, from the checks to the status.

use std::ptr::null_mut;

use super::super::attribute::{GET_SOURCE, INFINITE};
use super::super::foreign::Variables;
use super::super::home::Home;
use super::super::id::{EndpointId, Handle, NodeId};
use super::super::node::Node;
use super::super::process;
use super::super::request::Done;
use super::super::status::Status;
use super::Verdict;
use super::begin::{begin, named};
use super::entry::{Args, Entry, Of, What, Word};
use super::node::REGULAR;
use super::several::Several;

/// A function of no more than five arguments: of those it has not, null is given.
#[inline(never)]
pub(super) unsafe extern "C" fn enter<H: Home>(
    a: Word,
    b: Word,
    c: Word,
    d: Word,
    e: Word,
    entry: &Entry,
) -> u64 {
    let none = null_mut();
    // SAFETY: as was promised.
    unsafe { perform::<H>(&Args([a, b, c, d, e, none, none, none]), entry) }
}

/// Does what a function is for, and says how it ended.
#[inline(never)]
pub(super) unsafe fn perform<H: Home>(args: &Args, entry: &Entry) -> u64 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(args.get(entry.status).cast()) }) else {
        return i64::from(entry.failed.min(0)) as u64;
    };
    let request = match entry.begins {
        // SAFETY: as was promised.
        true => unsafe { args.variable(entry.status - 1) },
        false => None,
    };
    let done = if process::is_empty::<H>() {
        Status::NodeNotInit.into()
    } else if entry.begins && request.is_none() {
        Status::Parameter.into()
    } else {
        // SAFETY: as was promised.
        unsafe { act::<H>(args, entry) }
    };
    if let Some(request) = request
        && done.status != Status::NodeNotInit
    {
        request.put(done.number());
    }
    verdict.say(done.status);
    done.value.wrapping_add_signed(entry.failed.into())
}

/// What a function comes to: finds its node, begins what it is for, waits for it, and gives what it
/// came to.
#[inline(always)]
unsafe fn act<H: Home>(args: &Args, entry: &Entry) -> Done {
    let [one, other] = entry.needs;
    let (one, other) = (args.get(one).is_null(), args.get(other).is_null());
    // SAFETY: as was promised.
    let sent = unsafe { args.bytes(1) };
    let missing = one || other || entry.what == What::SendPacket && sent.missing();
    let mut key = Handle(args.word(0));
    let call = match entry.of {
        Of::Thread => process::of_thread::<H>(),
        Of::Endpoint => process::near_endpoint(EndpointId(args.word(entry.endpoint))),
        Of::Ends => process::of_ends(EndpointId(args.word(0)), EndpointId(args.word(1))),
        _ if missing => return Status::Parameter.into(),
        Of::Handle => process::with_handle(key),
        Of::Process => {
            return match entry.what {
                // SAFETY: as was promised.
                What::WaitAny => unsafe { wait_any::<H>(args) },
                what => process::packet::<H>(args.size(0), what == What::ReleasePacket),
            };
        }
        Of::Request => {
            // SAFETY: as was promised.
            let number = unsafe { args.variable(0) };
            let done = Done::of(number.map_or(Done::NONE, |variable| variable.get()));
            if !done.is_pending() {
                return match entry.what {
                    What::Cancel => Status::RequestInvalid.into(),
                    // SAFETY: as was promised.
                    _ => unsafe { give(args, entry, done) },
                };
            }
            key = Handle(done.value as u32);
            process::with_handle(key)
        }
    };
    let Some(mut call) = call else {
        return Done::from(match entry.of {
            Of::Handle => Status::ChanInvalid,
            Of::Request => Status::RequestInvalid,
            _ => Status::NodeNotInit,
        });
    };
    if missing {
        return Status::Parameter.into();
    }
    if entry.what == What::Finalize {
        return process::finalize(call);
    }
    let mut timeout = INFINITE;
    // SAFETY: as was promised.
    let mut done = match unsafe { begin(&mut call, args, entry, key, &mut timeout) } {
        Ok(done) => done,
        Err(status) => status.into(),
    };
    if done.is_pending() && !entry.begins && entry.what != What::Test {
        let request = Handle(done.value as u32);
        done = call.until(timeout, &mut |node, over| wait_for(node, over, entry.what, request));
    } else {
        drop(call);
    }
    if !entry.gives {
        return done;
    }
    // SAFETY: as was promised.
    unsafe { give(args, entry, done) }
}

/// How what a call waits for is by now; or has it taken back, if the wait is `over`.
#[inline(never)]
fn wait_for<H: Home>(node: &mut Node<H>, over: bool, what: What, request: Handle) -> Done {
    match (what, over) {
        (What::NodeAttribute, true) => node.give_up(NodeId(request.0)),
        (What::NodeAttribute, false) => {
            return Done::from(match node.link_to(NodeId(request.0)) {
                Ok(None) => Status::Pending,
                Ok(Some(_)) => Status::Success,
                Err(_) => Status::NodeInvalid,
            });
        }
        (What::Wait, true) => node.requests.wait_no_more(request),
        (_, true) => {
            node.cancel(request);
        }
        (_, false) => {
            let done = node.ended_by_now(request);
            // It was there when the wait began: if it is none any more, somebody cancelled it.
            return match done.status {
                Status::RequestInvalid if what == What::Wait => Status::RequestCancelled.into(),
                _ => done,
            };
        }
    }
    Status::Pending.into()
}

/// Gives the caller what something came to.
#[inline(never)]
unsafe fn give(args: &Args, entry: &Entry, done: Done) -> Done {
    // SAFETY: as was promised; a value of eight bytes is two words.
    let (value, source, size) = unsafe {
        (args.output::<u32>(entry.needs[0]), args.output::<u64>(2), args.output(entry.needs[1]))
    };
    let mut done = done;
    let well = done.status == Status::Success;
    match entry.what {
        What::GetAttribute if well && args.word(1) == GET_SOURCE => source.put(done.value),
        What::GetAttribute if well => value.put(done.value as u32),
        What::NodeAttribute if well => value.put(REGULAR),
        What::GetAttribute if done.status == Status::Timeout => done = Status::Transmission.into(),
        What::NodeAttribute if done.status == Status::Timeout => done = Status::NodeInvalid.into(),
        What::Get if well => done.value = named(args).map_or(0, |id| id.0.into()),
        What::ReceiveMessage | What::ReceivePacket | What::Test | What::Wait => {
            if done.has_size() {
                size.put(done.value as usize);
            }
            if matches!(entry.what, What::ReceiveMessage | What::ReceivePacket) {
                return done;
            }
            let over = !matches!(
                done.status,
                Status::Pending
                    | Status::Timeout
                    | Status::WaitPending
                    | Status::NodeNotInit
                    | Status::RequestInvalid
            );
            if over {
                // SAFETY: as was promised.
                unsafe { args.variable(0) }.inspect(|at| at.put(Done::NONE));
            }
            done.value = match entry.what {
                What::Test if done.is_pending() => u64::MAX,
                What::Wait if well => 1,
                _ => 0,
            };
        }
        _ => {}
    }
    done
}

/// Waits for any of several requests: its index and one, which is returned.
#[inline]
unsafe fn wait_any<H: Home>(args: &Args) -> Done {
    // SAFETY: as was promised.
    let Some(all) = (unsafe { Variables::new(args.get(1).cast(), args.size(0)) }) else {
        return Status::Parameter.into();
    };
    let mut several = Several::new(all);
    several.wait::<H>(args.word(3));
    let Several { index, done, .. } = several;
    let Some(variable) = all.get(index as usize) else { return done.status.into() };
    if done.has_size() {
        // SAFETY: as was promised.
        unsafe { args.output::<usize>(2) }.put(done.value as usize);
    }
    if done.status != Status::RequestInvalid {
        variable.put(Done::NONE);
    }
    Done { status: done.status, value: u64::from(index) + 1 }
}
