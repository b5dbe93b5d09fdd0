//! Waiting for any of several requests, which may be of several nodes of the process.
//!
//! If all that are pending are of one node, the call waits in that node. Otherwise it waits in each
//! of their nodes in turn, for a moment, until one has ended.

use super::super::attribute::INFINITE;
use super::super::call::{Call, MILLISECOND};
use super::super::foreign::Variables;
use super::super::id::Handle;
use super::super::node::Node;
use super::super::process::{self, Processes};
use super::super::request::Done;
use super::super::status::Status;

/// No index.
const NONE: u32 = u32::MAX;
/// How long one node is waited for where requests of several are waited for, in milliseconds.
const TURN: u32 = 1;

/// What is done with each of several requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Finds one whose number says how it ended, or that it is none.
    Find,
    /// Notes in the node that the call waits for each; finds one that it cannot wait for.
    Wait,
    /// Finds one that the node says has ended; notes which were cancelled.
    Report,
    /// Notes in the node that the call waits for none any more.
    Leave,
}

/// Requests that are waited for together.
pub(super) struct Several {
    all: Variables,
    /// The index of the request that was found, or [`NONE`].
    pub index: u32,
    /// What that request came to, or else the call.
    pub done: Done,
    /// The slots of the nodes that requests are pending at, a bit each.
    slots: u32,
}

impl Several {
    pub fn new(all: Variables) -> Several {
        Several { all, index: NONE, done: Status::Pending.into(), slots: 0 }
    }

    /// Notes that no request was found, and what the call came to.
    fn none(&mut self, status: Status) {
        (self.index, self.done) = (NONE, status.into());
    }

    /// Takes a step with each request before an index until one is found, leaving out those that
    /// were cancelled. [`Step::Find`] goes over all; the others over those of one slot, whose node
    /// this is.
    #[inline(never)]
    fn go_over<H: Processes>(
        &mut self,
        step: Step,
        before: u32,
        slot: usize,
        mut node: Option<&mut Node<H>>,
    ) {
        if step != Step::Leave {
            self.none(Status::Pending);
            self.slots = 0;
        }
        for (index, variable) in (0..before).zip(self.all.iter()) {
            let mut done = Done::of(variable.get());
            let handle = Handle(done.value as u32);
            let at = handle.slot().unwrap_or(0);
            if step != Step::Find {
                if !done.is_pending() || at != slot {
                    continue;
                }
                done = match (step, &mut node) {
                    (Step::Report, Some(node)) => node.requests.report(handle),
                    (Step::Wait, Some(node)) => node.requests.wait(handle).into(),
                    (_, Some(node)) => {
                        node.requests.wait_no_more(handle);
                        continue;
                    }
                    (_, None) => Status::RequestInvalid.into(),
                };
            }
            match (step, done.status) {
                (_, Status::Pending) => self.slots |= 1 << at,
                (Step::Wait, Status::Success) | (Step::Find, Status::RequestCancelled) => {}
                (Step::Report, Status::RequestInvalid) => {
                    variable.put(Done::from(Status::RequestCancelled).number());
                }
                _ => {
                    (self.index, self.done) = (index, done);
                    return;
                }
            }
        }
    }

    /// Waits until a request of one node has ended, for `timeout` milliseconds at most. Pending if
    /// none ended, or all were cancelled.
    #[inline(never)]
    fn wait_in<H: Processes>(&mut self, slot: usize, timeout: u32) {
        if process::any::<H>().is_err() {
            return self.none(Status::NodeNotInit);
        }
        let mut call = H::process().slots.get(slot).and_then(Call::<H>::new);
        self.go_over(Step::Wait, NONE, slot, call.as_mut().map(Call::node));
        let Some(mut call) = call else { return };
        if !self.done.is_pending() {
            self.go_over(Step::Leave, self.index, slot, Some(call.node()));
            if self.done.status != Status::RequestInvalid {
                self.index = NONE;
            }
            return;
        }
        let done = call.until(timeout, &mut |node, over| {
            if !over {
                self.go_over(Step::Report, NONE, slot, Some(node));
                if self.done.is_pending() {
                    node.progress();
                    self.go_over(Step::Report, NONE, slot, Some(node));
                }
            }
            let over = over || !self.done.is_pending() || self.slots == 0;
            if over {
                self.go_over(Step::Leave, NONE, slot, Some(node));
            }
            Done::from(if over { Status::Success } else { Status::Pending })
        });
        if done.status == Status::NodeNotInit {
            self.none(Status::NodeNotInit);
        }
    }

    /// Waits until a request has ended, for `timeout` milliseconds at most.
    pub fn wait<H: Processes>(&mut self, timeout: u32) {
        let start = H::now();
        let mut late = false;
        loop {
            self.go_over::<H>(Step::Find, NONE, 0, None);
            let slots = self.slots;
            if !self.done.is_pending() {
                return;
            }
            if slots == 0 {
                self.all.iter().for_each(|variable| variable.put(Done::NONE));
                return self.none(Status::RequestCancelled);
            }
            if late {
                return self.none(Status::Timeout);
            }
            let turn = if slots.is_power_of_two() { timeout } else { timeout.min(TURN) };
            for slot in (0..Handle::SLOTS).filter(|slot| slots & 1 << slot != 0) {
                self.wait_in::<H>(slot as usize, turn);
                if !self.done.is_pending() {
                    return;
                }
            }
            let passed = H::now().saturating_sub(start);
            late = timeout != INFINITE && passed >= u64::from(timeout) * MILLISECOND;
        }
    }
}
