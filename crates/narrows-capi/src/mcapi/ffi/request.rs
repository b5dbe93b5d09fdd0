//! Requests: test, wait, wait for any, cancel.

use super::super::foreign::{Output, Variable};
use super::super::id::Handle;
use super::super::node::Node;
use super::super::process;
use super::super::request::{Done, Named};
use super::super::status::{Outcome, Status};
use super::{Verdict, ended, size_of};

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
    unsafe fn new(request: *mut u32, size: *mut usize) -> Outcome<Asked> {
        if process::is_empty() {
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
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcapi_test(request: *mut u32, size: *mut usize, status: *mut u32) -> u8 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return FALSE };
    let test = || -> Outcome<Option<Status>> {
        // SAFETY: as was promised.
        let asked = unsafe { Asked::new(request, size) }?;
        let done = match Named::of(asked.variable.get()) {
            Named::None => Some(Err(Status::RequestInvalid)),
            Named::Ended(how) => Some(how),
            Named::Kept(handle) => {
                let mut call = process::of_handle(handle, Status::RequestInvalid)?;
                let done = call.node()?.ended_by_now(handle);
                call.end();
                done
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

/// Notes that this thread waits for a request.
fn wait_for(node: &mut Node, request: Handle) -> Outcome<()> {
    node.requests.wait(request).then_some(()).ok_or(Status::WaitPending)
}

/// Waits until a request is finished.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcapi_wait(
    request: *mut u32,
    size: *mut usize,
    timeout: u32,
    status: *mut u32,
) -> u8 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return FALSE };
    let wait = || -> Outcome<Status> {
        // SAFETY: as was promised.
        let asked = unsafe { Asked::new(request, size) }?;
        let handle = match Named::of(asked.variable.get()) {
            Named::None => return Err(Status::RequestInvalid),
            Named::Ended(how) => return Ok(asked.over(how)),
            Named::Kept(handle) => handle,
        };
        let mut call = process::of_handle(handle, Status::RequestInvalid)?;
        wait_for(call.node()?, handle)?;
        let attempt = |node: &mut Node| node.ended_by_now(handle).map(Ok);
        let done = call.until(timeout, attempt, |node| node.requests.wait_no_more(handle))?;
        Ok(asked.over(done))
    };
    let (Ok(how) | Err(how)) = wait();
    verdict.say(how);
    if how == Status::Success { TRUE } else { FALSE }
}

/// Requests that are waited for together, those that were cancelled left out.
struct Several {
    all: Vec<(u32, Variable, Handle)>,
}

impl Several {
    /// Takes note of what C gives; the one that has ended already, if one has.
    fn gather(given: Vec<Variable>) -> Result<Several, (u32, Outcome<u64>)> {
        let mut all = Vec::new();
        for (index, variable) in (0..).zip(given) {
            match Named::of(variable.get()) {
                Named::None => return Err((index, Err(Status::RequestInvalid))),
                Named::Ended(Err(Status::RequestCancelled)) => {}
                Named::Ended(how) => return Err((index, how)),
                Named::Kept(handle) => all.push((index, variable, handle)),
            }
        }
        Ok(Several { all })
    }

    fn of(&self, slot: Option<usize>) -> impl Iterator<Item = &(u32, Variable, Handle)> {
        self.all.iter().filter(move |(_, _, handle)| handle.slot() == slot)
    }

    /// The first that has ended among those of one node; those that were cancelled are left out from
    /// then on.
    fn ended(&mut self, node: &mut Node, slot: Option<usize>) -> Option<(u32, Done)> {
        let mut found = None;
        self.all.retain(|(index, _, handle)| {
            if found.is_some() || handle.slot() != slot {
                return true;
            }
            match node.ended_by_now(*handle) {
                None => true,
                Some(Err(Status::RequestCancelled)) => false,
                Some(done) => {
                    found = Some((*index, done));
                    true
                }
            }
        });
        found
    }

    /// Waits for the first of one node's, at most so long.
    fn wait_in(&mut self, slot: Option<usize>, timeout: u32) -> Outcome<Option<(u32, Done)>> {
        let Some(handle) = self.of(slot).next().map(|(_, _, handle)| *handle) else {
            return Ok(None);
        };
        let mut call = process::of_handle(handle, Status::RequestInvalid)?;
        let node = call.node()?;
        let handles: Vec<Handle> = self.of(slot).map(|(_, _, handle)| *handle).collect();
        for (at, handle) in handles.iter().enumerate() {
            if let Err(status) = wait_for(node, *handle) {
                handles.iter().take(at).for_each(|handle| node.requests.wait_no_more(*handle));
                return Err(status);
            }
        }
        let free = |node: &mut Node| {
            handles.iter().for_each(|handle| node.requests.wait_no_more(*handle));
        };
        let attempt = |node: &mut Node| {
            let found = self.ended(node, slot);
            let over = found.is_some() || self.of(slot).next().is_none();
            over.then(|| {
                free(node);
                Ok(found)
            })
        };
        match call.until(timeout, attempt, free) {
            Err(Status::Timeout) => Ok(None),
            other => other,
        }
    }

    fn wait(&mut self, timeout: u32) -> Outcome<(u32, Done)> {
        let start = std::time::Instant::now();
        loop {
            let Some(first) = self.all.first().map(|(_, _, handle)| handle.slot()) else {
                return Err(Status::RequestCancelled);
            };
            let of_one = self.all.iter().all(|(_, _, handle)| handle.slot() == first);
            let slots: Vec<_> = match of_one {
                true => vec![first],
                false => (0..Handle::SLOTS as usize).map(Some).collect(),
            };
            for slot in slots {
                let turn = if of_one { timeout } else { timeout.min(TURN) };
                if let Some(found) = self.wait_in(slot, turn)? {
                    return Ok(found);
                }
            }
            let passed = start.elapsed().as_millis() >= u128::from(timeout);
            if timeout != super::super::attribute::INFINITE && passed && !self.all.is_empty() {
                return Err(Status::Timeout);
            }
        }
    }
}

/// Waits until one of several requests is finished: its index.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcapi_wait_any(
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
        if process::is_empty() {
            return Err(Status::NodeNotInit);
        }
        if number == 0 || requests.is_null() || size.is_null() {
            return Err(Status::Parameter);
        }
        // SAFETY: so many pointers are there, each null or a request's.
        let given = (0..number).map(|at| unsafe { Variable::new(*requests.add(at)) });
        let given = given.collect::<Option<Vec<_>>>().ok_or(Status::Parameter)?;
        let (index, done) = match Several::gather(given.clone()) {
            Err(ended) => ended,
            Ok(mut several) => several.wait(timeout)?,
        };
        let variable = *given.get(index as usize).ok_or(Status::General)?;
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
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcapi_cancel(request: *mut u32, status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    let cancel = || {
        if process::is_empty() {
            return Err(Status::NodeNotInit);
        }
        // SAFETY: as was promised.
        let variable = unsafe { Variable::new(request) }.ok_or(Status::Parameter)?;
        let Named::Kept(handle) = Named::of(variable.get()) else {
            return Err(Status::RequestInvalid);
        };
        let mut call = process::of_handle(handle, Status::RequestInvalid)?;
        let node = call.node()?;
        let cancelled = node.cancel(handle).then_some(()).ok_or(Status::RequestInvalid);
        if cancelled.is_ok() {
            variable.put(Named::ended(Err(Status::RequestCancelled)));
        }
        ended(call, cancelled)
    };
    verdict.of(cancel(), ());
}
