//! Waiting for a node: the thread that leads looks for a while and then sleeps on what peers ring.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use narrows::platform::{Platform, Woken};
use narrows::strategy::Notification;

use super::Stack;
use super::core::Core;
use super::lock::{self, Led, Lock};
use super::waits::{Awaited, Waits};
use crate::bells::sets::Sets;

/// How long a leader looks before it sleeps, at most. Meanwhile it has the lock.
const LOOK: Duration = Duration::from_micros(50);
/// A thread that looks for less does not glance first.
const GLANCE: Duration = Duration::from_micros(20);

/// How a look went.
pub(super) enum Looked {
    /// Something may have come.
    Met,
    /// Nothing came for this time.
    For(Duration),
}

pub(super) struct Shared {
    core: Lock<Core>,
    /// Where a peer, or this node's own bell, rings.
    sets: Arc<Sets>,
    /// Whether the node's own threads are to end.
    pub over: AtomicBool,
}

/// The node, for as long as a thread has its lock.
pub(super) type Guard<'a> = lock::Guard<'a, Core>;

impl Led for Core {
    #[inline]
    fn waits(&mut self) -> &mut Waits {
        &mut self.around.waits
    }

    fn arm(&mut self) -> bool {
        let messages = self.counter.coalesce.map_or(1, |(messages, _)| messages);
        self.around.node.arm_for(messages)
    }

    #[inline]
    fn fresh(&self) -> bool {
        self.around.node.fresh()
    }
}

impl Shared {
    pub fn new(core: Core) -> Shared {
        let sets = core.around.node.platform().sets();
        Shared { core: Lock::new(core), sets, over: AtomicBool::new(false) }
    }

    /// The node, as soon as the thread that has it lets go.
    #[inline]
    pub fn enter(&self) -> Guard<'_> {
        self.core.enter()
    }

    /// The node, if nobody has it.
    pub fn try_enter(&self) -> Option<Guard<'_>> {
        self.core.try_enter()
    }

    /// Waits until something may have come, at most `within`: as the leader, if there is none. It
    /// looks first, unless it has `looked` already, for the time given.
    pub fn wait(
        &self,
        core: &mut Guard<'_>,
        what: Awaited,
        within: Option<Duration>,
        looked: Option<Duration>,
    ) {
        if core.around.waits.leader.is_some() {
            return core.sleep(what, true, within);
        }
        let look = |core: &mut Guard<'_>| {
            let window = window(core, within);
            look(core, window)
        };
        match looked.map_or_else(|| look(core), Looked::For) {
            Looked::Met => {}
            Looked::For(window) if within.is_none_or(|within| within > window) => {
                self.lead(core, what, within, window);
            }
            Looked::For(_) => {}
        }
        // Whatever ended the wait may have been room.
        core.around.waits.tell(Awaited::Room);
    }

    /// As [`look`], for a thread that has just found that no message is there: between cores that
    /// are near each other an answer comes sooner than a wait is prepared.
    pub fn meet(&self, core: &mut Guard<'_>, within: Option<Duration>) -> Looked {
        let window = window(core, within);
        let node = &mut core.around.node;
        if window >= GLANCE && !node.fresh() && node.glance() {
            return Looked::Met;
        }
        look(core, window)
    }

    /// Sleeps as the leader, after it has `looked` for that time.
    fn lead(
        &self,
        core: &mut Guard<'_>,
        what: Awaited,
        within: Option<Duration>,
        looked: Duration,
    ) {
        let began = core.around.node.platform().now();
        let at_most = core.counter.coalesce.map(|(_, at_most)| at_most);
        let left = within.map(|within| within.saturating_sub(looked));
        let left = left.into_iter().chain(at_most).min();
        let mut news = false;
        core.lead(what, || news = self.sets.sleep_without(left));
        if news {
            core.around.node.platform().turn();
            core.around.node.poll();
        }
        let core = &mut **core;
        core.around.node.disarm();
        core.look.learn(looked + core.around.node.platform().now().since(began), LOOK);
    }

    /// Waits without the node until something is told, and then for the node.
    pub fn sleep(&self, core: &mut Guard<'_>, what: Awaited, within: Option<Duration>) {
        core.sleep(what, false, within);
    }
}

/// Looks for the time `window` whether something comes, with the lock.
fn look(core: &mut Guard<'_>, window: Duration) -> Looked {
    if window.is_zero() {
        return Looked::For(window);
    }
    let node = &mut core.around.node;
    match node.wait_by(Notification::Spin, Some(window)) {
        Woken::Deadline => Looked::For(window),
        Woken::Event => {
            node.poll();
            Looked::Met
        }
        _ => Looked::Met,
    }
}

/// How long a thread looks that waits at most `within`.
fn window(core: &mut Core, within: Option<Duration>) -> Duration {
    // Not in the way that was agreed with peers: they would choose how long this has the lock.
    let window = match core.stack {
        Stack::Flat if core.counter.coalesce.is_none() => match core.around.node.crowd() {
            true => return Duration::ZERO,
            false => core.look.window(LOOK),
        },
        // An interrupt does not look, and the other threads of its node have work to do.
        _ => return Duration::ZERO,
    };
    within.map_or(window, |within| within.min(window))
}
