//! Requests: test, wait, wait for any, cancel.

use super::super::attribute::INFINITE;
use super::super::call::{Call, MILLISECOND};
use super::super::foreign::{Output, Variable, Variables};
use super::super::home::Home;
use super::super::id::Handle;
use super::super::node::Node;
use super::super::process;
use super::super::request::{Done, Named, Report};
use super::super::status::{Outcome, Status};
use super::{Verdict, size_of};

const TRUE: u8 = 1;
const FALSE: u8 = 0;
/// No index.
const NONE: u32 = u32::MAX;
/// How long one node is waited for where requests of several are waited for, in milliseconds.
const TURN: u32 = 1;

/// What C gives to wait for a request, and where it wants the size.
struct Asked {
    variable: Variable,
    size: Output<usize>,
}

impl Asked {
    /// # Safety
    /// See the module page.
    unsafe fn new<H: Home>(request: *mut u32, size: *mut usize) -> Outcome<Asked> {
        if process::is_empty::<H>() {
            return Err(Status::NodeNotInit);
        }
        // SAFETY: as was promised.
        let (variable, size) = unsafe { (Variable::new(request), Output::new(size)) };
        let variable = variable.filter(|_| !size.is_null()).ok_or(Status::Parameter)?;
        Ok(Asked { variable, size })
    }

    /// Reports how the request ended.
    fn over(&self, done: Done) -> Status {
        let (status, size) = size_of(done);
        if matches!(status, Status::Success | Status::MsgTruncated) {
            self.size.put(size);
        }
        if status != Status::RequestInvalid {
            self.variable.put(Named::NONE);
        }
        status
    }
}

/// Whether a request is finished.
#[inline(always)]
pub(super) unsafe extern "C" fn test<H: Home>(
    request: *mut u32,
    size: *mut usize,
    status: *mut u32,
) -> u8 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return FALSE };
    let test = || -> Outcome<Option<Status>> {
        // SAFETY: as was promised.
        let asked = unsafe { Asked::new::<H>(request, size) }?;
        let done = match Named::of(asked.variable.get()) {
            Named::None => Some(Err(Status::RequestInvalid)),
            Named::Ended(how) => Some(how),
            Named::Kept(handle) => {
                let mut call = process::of_handle::<H>(handle, Status::RequestInvalid)?;
                call.node().ended_by_now(handle)
            }
        };
        Ok(done.map(|done| asked.over(done)))
    };
    match test() {
        Ok(None) => {
            verdict.say(Status::Pending);
            FALSE
        }
        Ok(Some(status)) | Err(status) => {
            verdict.say(status);
            TRUE
        }
    }
}

/// Waits until a request is finished.
#[inline(always)]
pub(super) unsafe extern "C" fn wait<H: Home>(
    request: *mut u32,
    size: *mut usize,
    timeout: u32,
    status: *mut u32,
) -> u8 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return FALSE };
    let wait = || -> Outcome<Status> {
        // SAFETY: as was promised.
        let asked = unsafe { Asked::new::<H>(request, size) }?;
        let handle = match Named::of(asked.variable.get()) {
            Named::None => return Err(Status::RequestInvalid),
            Named::Ended(how) => return Ok(asked.over(how)),
            Named::Kept(handle) => handle,
        };
        let mut call = process::of_handle::<H>(handle, Status::RequestInvalid)?;
        call.node().requests.wait(handle)?;
        let attempt =
            |node: &mut Node<H>| node.ended_by_now(handle).map(|done| Ok(was_there(done)));
        let done = call.until(timeout, attempt, |node| node.requests.wait_no_more(handle))?;
        Ok(asked.over(done))
    };
    let (Ok(how) | Err(how)) = wait();
    verdict.say(how);
    if how == Status::Success { TRUE } else { FALSE }
}

/// How a request ended that was there when the wait for it began: if it is none any more, somebody
/// cancelled it.
fn was_there(done: Done) -> Done {
    match done {
        Err(Status::RequestInvalid) => Err(Status::RequestCancelled),
        other => other,
    }
}

/// What C's variable holds for a request that was cancelled.
fn cancelled() -> u32 {
    Named::ended(Err(Status::RequestCancelled))
}

/// Requests that are waited for together.
#[derive(Clone, Copy)]
struct Several(Variables);

impl Several {
    /// Goes over those that are kept, in one slot if that is said, until `stop`: whether it did. Those
    /// that were cancelled are left out.
    #[inline(never)]
    fn any(self, slot: Option<usize>, stop: &mut dyn FnMut(u32, Variable, Handle) -> bool) -> bool {
        (0..).zip(self.0.iter()).any(|(index, variable)| match Named::of(variable.get()) {
            Named::Kept(handle) if slot.is_none() || handle.slot() == slot => {
                stop(index, variable, handle)
            }
            _ => false,
        })
    }

    /// The first that is over without a look at its node.
    fn over(self) -> Option<(u32, Done)> {
        let ended = |variable: Variable| match Named::of(variable.get()) {
            Named::None => Some(Err(Status::RequestInvalid)),
            Named::Ended(Err(Status::RequestCancelled)) | Named::Kept(_) => None,
            Named::Ended(how) => Some(how),
        };
        (0..).zip(self.0.iter()).find_map(|(index, variable)| Some((index, ended(variable)?)))
    }

    /// The first that has ended among those of one node.
    #[inline(never)]
    fn ended<H: Home>(self, node: &mut Node<H>, slot: usize) -> Option<(u32, Done)> {
        let mut found = None;
        self.any(Some(slot), &mut |index, variable, handle| {
            match node.requests.report(handle) {
                Report::Pending => {}
                Report::Done(done) => found = Some((index, done)),
                Report::Unknown => variable.put(cancelled()),
            }
            found.is_some()
        });
        found
    }

    /// Waits for the first of one node's, at most so long; none if none ended, or all were cancelled.
    #[inline(never)]
    fn wait_in<H: Home>(self, slot: usize, timeout: u32) -> Outcome<Option<(u32, Done)>> {
        let mut call: Option<Call<H>> = None;
        let mut failed = None;
        self.any(Some(slot), &mut |index, _, handle| {
            if call.is_none() {
                call = process::of_handle(handle, Status::RequestInvalid)
                    .map_err(|status| failed = Some((index, status)))
                    .ok();
            }
            if let Some(call) = &mut call
                && let Err(status) = call.node().requests.wait(handle)
            {
                failed = Some((index, status));
            }
            failed.is_some()
        });
        let Some(mut call) = call else {
            return match failed {
                Some((_, Status::NodeNotInit)) => Err(Status::NodeNotInit),
                failed => Ok(failed.map(|(index, status)| (index, Err(status)))),
            };
        };
        let free = |node: &mut Node<H>, before: u32| {
            self.any(Some(slot), &mut |index, _, handle| {
                if index < before {
                    node.requests.wait_no_more(handle);
                }
                false
            });
        };
        if let Some((index, status)) = failed {
            free(call.node(), index);
            return match status {
                Status::RequestInvalid => Ok(Some((index, Err(status)))),
                other => Err(other),
            };
        }
        let attempt = |node: &mut Node<H>| {
            let found = self.ended(node, slot).or_else(|| {
                node.progress();
                self.ended(node, slot)
            });
            let over = found.is_some() || !self.any(Some(slot), &mut |_, _, _| true);
            over.then(|| {
                free(node, NONE);
                Ok(found)
            })
        };
        match call.until(timeout, attempt, |node| free(node, NONE)) {
            Err(Status::Timeout) => Ok(None),
            other => other,
        }
    }

    fn wait<H: Home>(self, timeout: u32) -> Outcome<(u32, Done)> {
        let start = H::now();
        loop {
            if let Some(over) = self.over() {
                return Ok(over);
            }
            // Of which slots they are, a bit each.
            let mut slots = 0u32;
            self.any(None, &mut |_, _, handle| {
                slots |= 1 << handle.slot().unwrap_or(0);
                false
            });
            if slots == 0 {
                self.0.iter().for_each(|variable| variable.put(Named::NONE));
                return Err(Status::RequestCancelled);
            }
            let turn = if slots.is_power_of_two() { timeout } else { timeout.min(TURN) };
            for slot in (0..Handle::SLOTS).filter(|slot| slots & 1 << slot != 0) {
                if let Some(found) = self.wait_in::<H>(slot as usize, turn)? {
                    return Ok(found);
                }
            }
            let passed = H::now().saturating_sub(start) >= u64::from(timeout) * MILLISECOND;
            if timeout != INFINITE && passed && self.any(None, &mut |_, _, _| true) {
                return Err(Status::Timeout);
            }
        }
    }
}

/// Waits until one of several requests is finished: its index.
#[inline(always)]
pub(super) unsafe extern "C" fn wait_any<H: Home>(
    number: usize,
    requests: *mut *mut u32,
    size: *mut usize,
    timeout: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    let (verdict, size) = unsafe { (Verdict::new(status), Output::new(size)) };
    let Some(verdict) = verdict else { return NONE };
    let wait = || -> Outcome<(u32, Asked, Done)> {
        if process::is_empty::<H>() {
            return Err(Status::NodeNotInit);
        }
        // SAFETY: as was promised.
        let given = unsafe { Variables::new(requests, number) }.filter(|_| !size.is_null());
        let given = given.ok_or(Status::Parameter)?;
        let (index, done) = Several(given).wait::<H>(timeout)?;
        let variable = given.get(index as usize).ok_or(Status::General)?;
        Ok((index, Asked { variable, size }, done))
    };
    match wait() {
        Ok((index, asked, done)) => {
            verdict.say(asked.over(done));
            index
        }
        Err(status) => {
            verdict.say(status);
            NONE
        }
    }
}

/// Takes a request back that is not finished.
#[inline(always)]
pub(super) unsafe extern "C" fn cancel<H: Home>(request: *mut u32, status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    let cancel = || {
        if process::is_empty::<H>() {
            return Err(Status::NodeNotInit);
        }
        // SAFETY: as was promised.
        let variable = unsafe { Variable::new(request) }.ok_or(Status::Parameter)?;
        let Named::Kept(handle) = Named::of(variable.get()) else {
            return Err(Status::RequestInvalid);
        };
        let mut call = process::of_handle::<H>(handle, Status::RequestInvalid)?;
        let node = call.node();
        let taken = node.cancel(handle).then_some(()).ok_or(Status::RequestInvalid);
        if taken.is_ok() {
            variable.put(cancelled());
        }
        taken
    };
    verdict.of(cancel(), ());
}
