//! Calls: a node that is locked for one, at once or in turn.
#![allow(unsafe_code)]

use std::mem::ManuallyDrop;
use std::time::Duration;

use parking_lot::lock_api::RawMutex as _;

use super::attribute::INFINITE;
use super::home::Home;
use super::id::Handle;
use super::lock::Lock;
use super::node::Node;
use super::request::{Done, Operation};
use super::slot::{GLANCE, Guard, Slot};
use super::status::{Outcome, Status};

/// Nanoseconds of a millisecond.
pub(super) const MILLISECOND: u64 = 1_000_000;

/// A node that a call has locked. It has the slot's lock, as a guard would, and there is a node in the
/// slot.
pub(super) struct Call<H: Home> {
    pub slot: &'static Slot<H>,
}

impl<H: Home> Drop for Call<H> {
    #[inline(always)]
    fn drop(&mut self) {
        self.slot.end_call();
    }
}

impl<H: Home> Slot<H> {
    /// Ends a call: whoever waits for something that has ended is told.
    #[inline(never)]
    fn end_call(&'static self) {
        let call = &mut *ManuallyDrop::new(Call { slot: self });
        if std::mem::take(&mut call.node().news) {
            self.tell();
        }
        // SAFETY: the call that ends has locked it.
        unsafe { self.node.force_unlock() };
    }
}

impl<H: Home> Call<H> {
    #[inline(never)]
    pub fn new(slot: &'static Slot<H>) -> Option<Call<H>> {
        Call::of(slot, slot.lock())
    }

    /// With the slot's lock.
    fn of(slot: &'static Slot<H>, guard: Guard<'static, H>) -> Option<Call<H>> {
        guard.as_ref()?;
        std::mem::forget(guard);
        Some(Call { slot })
    }

    /// The node.
    #[inline]
    pub fn node(&mut self) -> &mut Node<H> {
        // SAFETY: this has the lock, and lends what is behind it to one at a time; `of` has seen that
        // there is a node.
        unsafe { (*self.slot.node.data_ptr()).as_deref_mut().unwrap_unchecked() }
    }

    /// The lock that it has.
    pub fn into_guard(self) -> Guard<'static, H> {
        let slot = ManuallyDrop::new(self).slot;
        // SAFETY: `new` has locked it, and nothing unlocks it but the guard.
        unsafe { slot.node.make_guard_unchecked() }
    }

    /// Tries at once, and so often if the node looks before it sleeps: what comes that soon needs no
    /// request.
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

    /// As [`Call::transfer`], on a channel.
    #[inline(never)]
    pub fn transfer_on(
        mut self,
        channel: Handle,
        operation: Operation,
        waits: bool,
    ) -> Outcome<Done> {
        let channel = self.node().channels.get(channel);
        let (timeout, fails) =
            channel.map_or((0, false), |channel| (channel.timeout, channel.fails_at_limit));
        self.transfer(&operation, fails, waits.then_some(timeout))
    }

    /// Sends or receives something. What has to wait for room `fails`, or there is a request for it; with
    /// a timeout, the call waits for that.
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

    /// Waits for what was begun, if it has not ended. It is taken back if it does not end within so many
    /// milliseconds.
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
        let done = self.soon(if receives && of_call { H::LOOKS } else { 1 }, operation);
        let node = self.node();
        if let Operation::SendMessage { to, .. } = *operation
            && done.status == Status::EndpInvalid
            && to.node() == node.id
            && node.endpoints.find(to).is_some()
        {
            // A node is linked with itself when it first sends to itself.
            node.reach_own(to)?;
            return Ok(Done::goes_on(node.begin(*operation, of_call)?));
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

    /// Tries until what is tried has ended or so many milliseconds are over, and then has what was begun
    /// taken back, by a last attempt that is told so. An attempt sees to all that can be done without
    /// waiting.
    #[inline(never)]
    pub fn until(
        mut self,
        timeout: u32,
        attempt: &mut dyn FnMut(&mut Node<H>, bool) -> Done,
    ) -> Done {
        let (slot, life, look) = (self.slot, self.node().life, self.node().look);
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
            let guard = self.into_guard();
            let left = until - now;
            let look = leads && now.saturating_sub(start) < look;
            let left = if look { left.min(GLANCE) } else { left };
            let left = (until != u64::MAX || look).then(|| Duration::from_nanos(left));
            let guard = match leads {
                true => slot.lead(guard, left, look),
                false => slot.follow(guard, left),
            };
            let Some(call) = Call::of(slot, guard) else { return Status::NodeNotInit.into() };
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
            // Another has to lead.
            node.news = true;
        }
        done
    }
}

/// A node that nobody had locked, for the short way of calls that usually find what they want. It
/// has the slot's lock, as a guard would: one pointer less than with a guard.
pub(super) struct Quickly<H: Home>(&'static Slot<H>);

impl<H: Home> Drop for Quickly<H> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.unlock();
    }
}

impl<H: Home> Slot<H> {
    #[cold]
    #[inline(never)]
    fn unlock(&self) {
        // SAFETY: who drops a `Quickly` has locked it.
        unsafe { self.node.raw().unlock() };
    }
}

impl<H: Home> Quickly<H> {
    #[inline(always)]
    pub fn new(slot: &'static Slot<H>) -> Option<Quickly<H>> {
        // SAFETY: what it locks `drop` unlocks.
        let locked = unsafe { slot.node.raw() }.try_lock();
        if locked { Some(Quickly(slot)) } else { None }
    }

    /// The node, if there is one.
    #[inline(always)]
    pub fn node(&mut self) -> Option<&mut Node<H>> {
        // SAFETY: this has the lock, and lends what is behind it to one at a time.
        unsafe { &mut *self.0.node.data_ptr() }.as_deref_mut()
    }

    /// Ends it.
    #[inline(always)]
    pub fn end(self) {
        // SAFETY: it is unlocked as `drop` would, which is left out: its call would not be inlined.
        let lock = unsafe { self.0.node.raw() };
        std::mem::forget(self);
        if lock.is_passed_on() {
            lock.pass_on();
        }
    }

    /// As [`Quickly::end`], handing on what it came to: a value that need not outlive a call then.
    #[inline(always)]
    pub fn end_with(self, value: u64) -> u64 {
        #[cold]
        #[inline(never)]
        extern "C" fn pass_on(lock: &Lock, value: u64) -> u64 {
            lock.pass_on();
            // Not seen to be what it was, it is not kept by the caller either.
            std::hint::black_box(value)
        }
        // SAFETY: it is unlocked as `drop` would, which is left out.
        let lock = unsafe { self.0.node.raw() };
        std::mem::forget(self);
        if lock.is_passed_on() { pass_on(lock, value) } else { value }
    }

    /// Sees to what else there was to do when something was done with a handle, or none.
    #[inline(never)]
    pub fn follow_up(mut self, handle: Handle) {
        let slot = self.0;
        let Some(node) = self.node() else { return };
        node.follow_up(handle);
        node.turn();
        if std::mem::take(&mut node.news) {
            slot.tell();
        }
    }
}
