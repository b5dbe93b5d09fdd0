//! Requests: looked at, waited for and taken back.

use super::super::call::Call;
use super::super::foreign::{Output, Variable, Variables};
use super::super::id::Handle;
use super::super::process::{self, Processes};
use super::super::request::Done;
use super::super::status::{Outcome, Status};
use super::Verdict;
use super::several::Several;

/// How the request ended that a variable holds, or what its node says if that is still to be asked.
/// A request that has ended is none any more.
fn ask<H: Processes>(
    request: Option<Variable>,
    size: Output<usize>,
    node: impl FnOnce(Call<H>, Handle) -> Outcome<Done>,
) -> Outcome<Done> {
    process::any::<H>()?;
    let request = request.filter(|_| !size.is_null()).ok_or(Status::Parameter)?;
    let mut done = Done::of(request.get());
    if done.is_pending() {
        let handle = Handle(done.value as u32);
        let call = process::with_handle::<H>(handle).ok_or(Status::RequestInvalid)?;
        done = node(call, handle)?;
    }
    if done.has_size() {
        size.put(done.value as usize);
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
        request.put(Done::NONE);
    }
    Ok(done)
}

pub(super) unsafe extern "C" fn test<H: Processes>(
    request: *mut u32,
    size: *mut usize,
    status: *mut u32,
) -> u8 {
    // SAFETY: as was promised.
    let (verdict, request, size) =
        unsafe { (Verdict::new(status), Variable::new(request), Output::new(size)) };
    let Some(verdict) = verdict else { return 0 };
    let done = Done::from(ask::<H>(request, size, |mut call, request| {
        Ok(call.node().ended_by_now(request))
    }));
    verdict.say(done.status);
    u8::from(!done.is_pending())
}

pub(super) unsafe extern "C" fn wait<H: Processes>(
    request: *mut u32,
    size: *mut usize,
    timeout: u32,
    status: *mut u32,
) -> u8 {
    // SAFETY: as was promised.
    let (verdict, request, size) =
        unsafe { (Verdict::new(status), Variable::new(request), Output::new(size)) };
    let Some(verdict) = verdict else { return 0 };
    let done = Done::from(ask::<H>(request, size, |mut call, request| {
        call.node().requests.wait(request)?;
        Ok(call.until(timeout, &mut |node, over| {
            if over {
                node.requests.wait_no_more(request);
                return Status::Pending.into();
            }
            let done = node.ended_by_now(request);
            // It was there when the wait began: if it is none any more, somebody cancelled it.
            match done.status {
                Status::RequestInvalid => Status::RequestCancelled.into(),
                _ => done,
            }
        }))
    }));
    verdict.say(done.status);
    u8::from(done.status == Status::Success)
}

pub(super) unsafe extern "C" fn wait_any<H: Processes>(
    number: usize,
    requests: *mut *mut u32,
    size: *mut usize,
    timeout: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    let (verdict, size) = unsafe { (Verdict::new(status), Output::new(size)) };
    let Some(verdict) = verdict else { return u32::MAX };
    let all = process::any::<H>().and_then(|()| {
        // SAFETY: as was promised.
        let all = unsafe { Variables::new(requests, number) };
        all.filter(|_| !size.is_null()).ok_or(Status::Parameter)
    });
    let all = match all {
        Ok(all) => all,
        Err(status) => {
            verdict.say(status);
            return u32::MAX;
        }
    };
    let mut several = Several::new(all);
    several.wait::<H>(timeout);
    let Several { index, done, .. } = several;
    if let Some(request) = all.get(index as usize) {
        if done.has_size() {
            size.put(done.value as usize);
        }
        if done.status != Status::RequestInvalid {
            request.put(Done::NONE);
        }
    }
    verdict.say(done.status);
    index
}

pub(super) unsafe extern "C" fn cancel<H: Processes>(request: *mut u32, status: *mut u32) {
    // SAFETY: as was promised.
    let (verdict, request) = unsafe { (Verdict::new(status), Variable::new(request)) };
    let Some(verdict) = verdict else { return };
    verdict.of(|| {
        process::any::<H>()?;
        let request = request.ok_or(Status::Parameter)?;
        let done = Done::of(request.get());
        let handle = Handle(done.value as u32);
        let call = if done.is_pending() { process::with_handle::<H>(handle) } else { None };
        let mut call = call.ok_or(Status::RequestInvalid)?;
        if !call.node().cancel(handle) {
            return Err(Status::RequestInvalid);
        }
        // Before a thread that waits for it is told, which writes to the variable as well.
        request.put(Done::from(Status::RequestCancelled).number());
        Ok(())
    });
}
