//! Calls: each locks a node, does its work there, and waits in the node's slot if it has to.
#![allow(unsafe_code)]

use std::time::Duration;

use super::attribute::INFINITE;
use super::helper::TURN;
use super::id::{EndpointId, Handle};
use super::node::Node;
use super::request::{Done, Operation};
use super::slot::{GLANCE, Locked, Slot};
use super::status::{Outcome, Status};
use super::table::{Processes, drive_others, nodes};

/// Nanoseconds of a millisecond.
pub(super) const MILLISECOND: u64 = 1_000_000;

/// How long the node of an endpoint that was passed on has to say where it is, in milliseconds.
const LEARNT_WITHIN: u32 = 1000;

/// The longest that a thread which waits leaves the process's other nodes to themselves, in
/// nanoseconds. The helper drives them as often, so a thread that has waited long leaves them to
/// it: of many threads that wait, each would drive all others.
const LONGEST_TURN: u64 = TURN.as_nanos() as u64;

/// A node that a call has locked.
pub(super) struct Call<H: Processes>(Locked<H>);

impl<H: Processes> Call<H> {
    /// Locks a slot. None if there is no node.
    #[inline(never)]
    pub fn new(slot: &'static Slot<H>) -> Option<Call<H>> {
        Call::of(slot.enter()?)
    }

    fn of(mut locked: Locked<H>) -> Option<Call<H>> {
        locked.node()?;
        Some(Call(locked))
    }

    /// The node.
    #[inline]
    pub fn node(&mut self) -> &mut Node<H> {
        // SAFETY: `of` has seen that there is a node, and nothing here takes it out of its slot.
        unsafe { self.0.node().unwrap_unchecked() }
    }

    /// The slot that the node is in.
    #[inline]
    pub fn slot(&self) -> &'static Slot<H> {
        self.0.slot()
    }

    /// The slot, still locked.
    pub fn into_locked(self) -> Locked<H> {
        self.0
    }

    /// Tries at once: `looks` times if threads of the node look before they sleep, else once. What
    /// comes that soon needs no request.
    #[inline(never)]
    fn soon(&mut self, looks: u32, operation: &Operation) -> Done {
        let node = self.node();
        let mut looks = if node.look == 0 { 1 } else { looks };
        loop {
            std::hint::spin_loop();
            let done = match *operation {
                // What is waited for is looked for most.
                Operation::Receive { channel, what } => node.receive_entry(channel, what, false),
                _ => node.try_once(operation, false),
            };
            looks -= 1;
            if looks == 0 || !done.is_pending() {
                return done;
            }
        }
    }

    /// As [`Call::transfer`], on a channel, which says what becomes of what has to wait.
    #[inline(never)]
    pub fn transfer_on(mut self, operation: &Operation, waits: bool) -> Outcome<Done> {
        let channels = &self.node().channels;
        let channel = operation.channel().and_then(|handle| channels.get(handle));
        let (timeout, fails) =
            channel.map_or((0, false), |channel| (channel.timeout, channel.fails_at_limit));
        self.transfer(operation, fails, waits.then_some(timeout))
    }

    /// Sends or receives something. If that has to wait, there is a request for it, or `MEM_LIMIT`
    /// where it `fails` instead. With a timeout, the call waits for the end of the request.
    #[inline(never)]
    pub fn transfer(
        mut self,
        operation: &Operation,
        fails: bool,
        timeout: Option<u32>,
    ) -> Outcome<Done> {
        let begun = self.begin(operation, fails, timeout.is_some())?;
        Ok(match timeout {
            Some(timeout) => self.finish(begun, timeout),
            None => begun,
        })
    }

    /// Has the node learn where an endpoint is that was passed on to it, if it does not know. False
    /// if it knew, or there is none.
    #[cold]
    pub fn learn(mut self, id: EndpointId) -> bool {
        let node = self.node();
        if !node.may_learn(id) {
            return false;
        }
        let request = node.look_for_endpoint(id);
        request.is_ok_and(|request| {
            self.finish(Done::goes_on(request), LEARNT_WITHIN).status == Status::Success
        })
    }

    /// Waits for what was begun, if it has not ended. It is taken back if it does not end within
    /// `timeout` milliseconds.
    #[inline(never)]
    pub fn finish(self, begun: Done, timeout: u32) -> Done {
        if !begun.is_pending() {
            return begun;
        }
        let request = Handle(begun.value as u32);
        self.until(timeout, &mut |node, over| {
            if over {
                node.cancel(request);
                return Status::Pending.into();
            }
            node.ended_by_now(request)
        })
    }

    /// Sends or receives something, or has a request to do so if that has to wait.
    #[inline(never)]
    fn begin(&mut self, operation: &Operation, fails: bool, of_call: bool) -> Outcome<Done> {
        let receives =
            matches!(operation, Operation::ReceiveMessage { .. } | Operation::Receive { .. });
        let mut done = self.soon(if receives && of_call { H::LOOKS } else { 1 }, operation);
        let node = self.node();
        if let Operation::SendMessage { to, .. } = *operation
            && done.status == Status::EndpInvalid
            && to.node() == node.id
            && node.endpoints.find(to).is_some()
        {
            // A node is linked with itself when it first sends to itself.
            node.reach_own(to)?;
            done = node.try_once(operation, false);
        }
        if !done.is_pending() {
            node.turn();
            return Ok(done);
        }
        if fails {
            return Err(Status::MemLimit);
        }
        Ok(Done::goes_on(node.begin(*operation, of_call)?))
    }

    /// Calls `attempt` until what it tries has ended, and sleeps between. After `timeout`
    /// milliseconds it is called once more, with true, to take back what was begun. An attempt does
    /// all that can be done without waiting.
    #[inline(never)]
    pub fn until(
        mut self,
        timeout: u32,
        attempt: &mut dyn FnMut(&mut Node<H>, bool) -> Done,
    ) -> Done {
        let (slot, life, look) = (self.slot(), self.node().life, self.node().look);
        let done = attempt(self.node(), false);
        if !done.is_pending() {
            return done;
        }
        let start = H::now();
        let until = match timeout {
            INFINITE => u64::MAX,
            _ => start + u64::from(timeout) * MILLISECOND,
        };
        let mut leads = false;
        let done = loop {
            let (node, now) = (self.node(), H::now());
            if now >= until {
                attempt(node, true);
                break Status::Timeout.into();
            }
            if !leads && !node.led {
                leads = true;
                node.led = true;
            }
            if std::mem::take(&mut node.news) {
                slot.tell();
            }
            let locked = self.into_locked();
            let left = until - now;
            let waited = now.saturating_sub(start);
            let look = leads && waited < look;
            let turn = (waited / 4).clamp(MILLISECOND, LONGEST_TURN);
            let drives = leads
                && !look
                && nodes::<H>() > 1
                && (turn < LONGEST_TURN || !H::process().helper.runs());
            let left = match () {
                () if look => left.min(GLANCE),
                () if drives => {
                    drive_others(Some(slot));
                    left.min(turn)
                }
                () => left,
            };
            let left = (until != u64::MAX || look || drives).then(|| Duration::from_nanos(left));
            let locked = match leads {
                true => slot.lead(locked, left, look),
                false => slot.follow(locked, left),
            };
            let Some(call) = Call::of(locked) else { return Status::NodeNotInit.into() };
            self = call;
            if self.node().life != life {
                return Status::NodeNotInit.into();
            }
            let done = attempt(self.node(), false);
            if !done.is_pending() {
                break done;
            }
        };
        if leads {
            let node = self.node();
            node.led = false;
            // Another thread has to lead.
            node.news = true;
        }
        done
    }
}

impl<H: Processes> Locked<H> {
    /// Sees to what else there was to do when something was done with a handle, or none.
    #[inline(never)]
    pub fn follow_up(mut self, handle: Handle) {
        let Some(node) = self.node() else { return };
        node.follow_up(handle);
        node.turn();
    }
}
