//! This machine as a place of nodes.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{LazyLock, Once, OnceLock};
use std::time::Instant;

use narrows::link::Name;
use narrows::memory::Layout;
use narrows_host::{Bell, Host, Options, PeerRegion};

use super::home::Home;
use super::process::{Process, Processes};
use super::slot::Slot;

/// Processes of this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Here;

/// The process's nodes. A child that was forked has none: it starts with a new one of these, since
/// the locks of the old are as other threads left them.
static PROCESS: AtomicPtr<Process<Here>> = AtomicPtr::new((&raw const NOTHING).cast_mut());

/// The slot of the node that last gave a packet back the long way, one of [`PROCESS`]'s.
static RELEASING: AtomicPtr<Slot<Here>> = AtomicPtr::new((&raw const NOTHING.slots[0]).cast_mut());

/// What there is before the first node.
static NOTHING: Process<Here> = Process::new();

thread_local! {
    /// The node that this thread initialised.
    static BOUND: Cell<Option<(usize, u64)>> = const { Cell::new(None) };
}

extern "C" fn in_child() {
    PROCESS.store((&raw const NOTHING).cast_mut(), Ordering::Release);
    RELEASING.store((&raw const NOTHING.slots[0]).cast_mut(), Ordering::Release);
    BOUND.set(None);
}

impl Home for Here {
    type Platform = Host;
    /// Packets are read where their sender put them, in memory that is mapped.
    type Lent = ();

    const LOOKS: u32 = 64;

    fn now() -> u64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed().as_nanos() as u64
    }

    fn open(name: &Name, layout: Layout, wakes: &OnceLock<Bell>) -> Option<Host> {
        let bell = match wakes.get() {
            Some(bell) => bell,
            None => {
                let bell = Bell::new().ok()?;
                wakes.get_or_init(|| bell)
            }
        };
        let host = Options::new(name.as_str()).domain("mcapi").layout(layout).open().ok()?;
        host.listen(bell).ok()?;
        Some(host)
    }

    fn lend(peer: &PeerRegion, layout: &Layout) -> Option<((), usize)> {
        Some(((), peer.at(0, layout.size())?.expose_provenance()))
    }

    #[inline(always)]
    fn bring((): &(), _: &PeerRegion, _: u32, _: u32) {}
}

impl Processes for Here {
    const HELPED: bool = true;

    // Inlined within this crate without being told to be, which would make `PROCESS` known outside
    // of it and a load further away; and so is `releasing`.
    fn process() -> &'static Process<Here> {
        // Acquire: pairs with the release in `make`. What it points to is made.
        let at = PROCESS.load(Ordering::Acquire);
        // SAFETY: `NOTHING`, or what was leaked; and nobody ever has it mutably.
        unsafe {
            std::hint::assert_unchecked(!at.is_null());
            &*at
        }
    }

    #[cold]
    fn make() -> &'static Process<Here> {
        static FORKS: Once = Once::new();
        // SAFETY: the function is there as long as the library is, and calls nothing that a child
        // must not.
        FORKS.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
        });
        let nothing = (&raw const NOTHING).cast_mut();
        if !std::ptr::eq(Here::process(), nothing) {
            return Here::process();
        }
        // Made by the compiler, and copied.
        #[allow(clippy::declare_interior_mutable_const)]
        const NEW: Process<Here> = Process::new();
        let new = Box::into_raw(Box::new(NEW));
        // Release: pairs with the acquire in `process`. Acquire: as there, if another thread was
        // first.
        if PROCESS.compare_exchange(nothing, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: made just now, and nobody has seen it; what is in it has nothing yet that has
            // to be dropped.
            drop(unsafe { Box::from_raw(new.cast::<MaybeUninit<Process<Here>>>()) });
        }
        Here::process()
    }

    fn bound() -> Option<(usize, u64)> {
        BOUND.get()
    }

    fn bind(to: Option<(usize, u64)>) {
        BOUND.set(to);
    }

    fn releasing() -> Option<&'static Slot<Here>> {
        // Acquire: as in `process`.
        let at = RELEASING.load(Ordering::Acquire);
        // SAFETY: a slot of `NOTHING` or of what was leaked; and nobody ever has it mutably.
        unsafe {
            std::hint::assert_unchecked(!at.is_null());
            Some(&*at)
        }
    }

    fn released_by(slot: &'static Slot<Here>) {
        RELEASING.store(std::ptr::from_ref(slot).cast_mut(), Ordering::Release);
    }
}
