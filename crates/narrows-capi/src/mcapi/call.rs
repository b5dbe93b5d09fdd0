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
use super::request::Done;
use super::slot::{Guard, Slot};
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
    #[inline]
    pub fn soon<T>(
        &mut self,
        looks: u32,
        mut attempt: impl FnMut(&mut Node<H>) -> Option<T>,
    ) -> Option<T> {
        let node = self.node();
        let looks = if node.look == 0 { 1 } else { looks };
        let mut look = || {
            std::hint::spin_loop();
            attempt(node)
        };
        (0..looks).find_map(|_| look())
    }

    /// Tries until there is an outcome or so many milliseconds are over, and then has `give_up`
    /// take back what was begun. `attempt` sees to all that can be done without waiting.
    pub fn until<T>(
        self,
        timeout: u32,
        mut attempt: impl FnMut(&mut Node<H>) -> Option<Outcome<T>>,
        mut give_up: impl FnMut(&mut Node<H>),
    ) -> Outcome<T> {
        let mut outcome = Err(Status::Timeout);
        let mut over = |node: &mut Node<H>| match attempt(node) {
            Some(done) => {
                outcome = done;
                true
            }
            None => false,
        };
        self.wait(timeout, &mut over, &mut give_up)?;
        outcome
    }

    /// Waits until `over` says that it is, or so many milliseconds are over, and then has `give_up`
    /// take back what was begun.
    fn wait(
        mut self,
        timeout: u32,
        over: &mut dyn FnMut(&mut Node<H>) -> bool,
        give_up: &mut dyn FnMut(&mut Node<H>),
    ) -> Outcome<()> {
        let (slot, life, look) = (self.slot, self.node().life, self.node().look);
        if over(self.node()) {
            return Ok(());
        }
        let start = H::now();
        let until = (timeout != INFINITE).then(|| start + u64::from(timeout) * MILLISECOND);
        let mut leads = false;
        let outcome = loop {
            let (node, now) = (self.node(), H::now());
            if until.is_some_and(|until| now >= until) {
                give_up(node);
                break Err(Status::Timeout);
            }
            if !leads && !node.led {
                leads = true;
                node.led = true;
            }
            if std::mem::take(&mut node.news) {
                slot.tell();
            }
            let guard = self.into_guard();
            let left = until.map(|until| Duration::from_nanos(until - now));
            let guard = match leads {
                true => slot.lead(guard, left, now.saturating_sub(start) < look),
                false => slot.follow(guard, left),
            };
            self = Call::of(slot, guard).ok_or(Status::NodeNotInit)?;
            if self.node().life != life {
                return Err(Status::NodeNotInit);
            }
            if over(self.node()) {
                break Ok(());
            }
        };
        if leads {
            let node = self.node();
            node.led = false;
            // Another has to lead.
            node.news = true;
        }
        outcome
    }

    /// Waits for a request of the call's own.
    pub fn until_ended(self, request: Handle, timeout: u32) -> Done {
        let attempt = |node: &mut Node<H>| node.ended_by_now(request);
        self.until(timeout, attempt, |node| {
            node.cancel(request);
        })
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
