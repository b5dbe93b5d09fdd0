//! The table of a process's nodes, and what is done to all of them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::helper::Helper;
use super::home::Home;
use super::id::Handle;
use super::slot::{NOBODY, Slot, waits_in};

/// Places for nodes. There is one for every number that the upper bits of a handle can be; the
/// first [`Handle::SLOTS`] are used.
pub(super) const SLOTS: usize = 1 << 6;

/// The nodes of a process.
pub struct Process<H: Home> {
    pub(super) slots: [Slot<H>; SLOTS],
    /// The slot of the node that was initialised last of those whose numbers end in the same bits.
    pub(super) near: [AtomicU32; SLOTS],
    pub(super) lives: AtomicU64,
    pub(super) nodes: AtomicU32,
    /// One node is opened at a time.
    pub(super) opening: Mutex<()>,
    pub(super) helper: Helper,
}

impl<H: Home> Process<H> {
    /// A process without nodes.
    #[must_use]
    pub const fn new() -> Process<H> {
        let slots = [const { Slot::new() }; SLOTS];
        let (lives, nodes) = (AtomicU64::new(1), AtomicU32::new(0));
        let near = [const { AtomicU32::new(0) }; SLOTS];
        Process { slots, near, lives, nodes, opening: Mutex::new(()), helper: Helper::new() }
    }

    /// Ends all nodes: for a process that has ended, and made no call since.
    #[cfg(feature = "elsewhere")]
    pub fn end(&'static self) {
        for slot in self.used() {
            drop(slot.lock().place().take());
        }
    }

    /// Whether this thread waits in a node of it, and so calls from within a signal's handler.
    pub(super) fn is_waited_in(&self) -> bool {
        waits_in(self.used())
    }

    /// The slots that nodes can have.
    pub(super) fn used(&self) -> &[Slot<H>] {
        self.slots.get(..Handle::SLOTS as usize).unwrap_or_default()
    }
}

impl<H: Home> Default for Process<H> {
    fn default() -> Process<H> {
        Process::new()
    }
}

/// What a place of nodes knows of its processes and of their threads.
pub trait Processes: Home {
    /// Whether a thread drives nodes whose program makes no call.
    const HELPED: bool = false;

    /// The nodes of the process that calls.
    fn process() -> &'static Process<Self>;

    /// As [`Processes::process`], before a node is opened.
    fn make() -> &'static Process<Self> {
        Self::process()
    }

    /// The node that the calling thread initialised: its slot and its life.
    fn bound() -> Option<(usize, u64)>;

    /// Notes which node the calling thread initialised.
    fn bind(to: Option<(usize, u64)>);

    /// The slot of the node that last gave a packet back the long way, or any other.
    fn releasing() -> Option<&'static Slot<Self>>;

    /// Notes which node gave a packet back.
    fn released_by(slot: &'static Slot<Self>);
}

/// Whether the calling thread may do what an owner may with the node of this slot: it is bound to
/// it, or to none.
#[inline(always)]
pub(super) fn owns<H: Processes>(slot: &'static Slot<H>) -> bool {
    H::bound().is_none() || !is_strange(slot)
}

/// Whether the calling thread is bound to another node than that of this slot.
#[inline(never)]
fn is_strange<H: Processes>(slot: &'static Slot<H>) -> bool {
    let Some((at, life)) = H::bound() else { return false };
    let Some(own) = H::process().slots.get(at) else { return false };
    // Relaxed: nobody but this thread makes its own node another, and one that it does not see end
    // might have ended later.
    let lives = own.life.load(Ordering::Relaxed) == life;
    lives && own.id.load(Ordering::Relaxed) != NOBODY && !std::ptr::eq(own, slot)
}

/// How many nodes the process has.
#[inline]
pub(super) fn nodes<H: Processes>() -> u32 {
    H::process().nodes.load(Ordering::Relaxed)
}

/// Sees to what waits in the nodes of the process of which nobody has the lock, other than the one
/// of a slot: a thread that waits in one drives all.
#[cold]
pub(super) fn drive_others<H: Processes>(own: Option<&'static Slot<H>>) {
    for slot in H::process().used() {
        let is_own = own.is_some_and(|own| std::ptr::eq(slot, own));
        if slot.id.load(Ordering::Relaxed) == NOBODY || is_own {
            continue;
        }
        if let Some(mut locked) = slot.try_lock()
            && let Some(node) = locked.node()
        {
            node.progress();
            node.credit_shorts();
        }
    }
}
