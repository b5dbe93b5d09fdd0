//! This machine as a place of nodes.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{LazyLock, Once, OnceLock};
use std::time::Instant;

use narrows::link::Name;
use narrows::memory::Layout;
use narrows::platform::Memory as _;
use narrows_host::{Bell, Host, Options, PeerRegion};

use super::home::Home;
use super::process::{Process, Processes};
use super::slot::Slot;

/// What copies of packets begin at multiples of, in bytes.
const LINE: usize = 64;

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
    /// Packets are read where their sender put them, in memory that is mapped, unless the program
    /// is to have copies.
    type Lent = Option<Copies>;

    const LOOKS: u32 = 64;

    fn now() -> u64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed().as_nanos() as u64
    }

    fn open(name: &Name, layout: Layout, wakes: &OnceLock<Bell>) -> Option<Host> {
        copies()?;
        let bell = match wakes.get() {
            Some(bell) => bell,
            None => {
                let bell = Bell::new().ok()?;
                wakes.get_or_init(|| bell)
            }
        };
        // The thread that drives all nodes of the process links this one too.
        let options = Options::new(name.as_str()).domain("mcapi").background(false);
        let host = options.layout(layout).open().ok()?;
        host.listen(bell).ok()?;
        Some(host)
    }

    fn lend(peer: &PeerRegion, layout: &Layout) -> Option<(Option<Copies>, usize)> {
        if copies()? {
            let copies = Copies::new(layout.size() as usize)?;
            let at = copies.start.as_ptr().expose_provenance();
            return Some((Some(copies), at));
        }
        Some((None, peer.at(0, layout.size())?.expose_provenance()))
    }

    const BROUGHT_SHORT: bool = false;

    fn takes_short(copies: &Option<Copies>) -> bool {
        copies.is_none()
    }

    fn bring(copies: &Option<Copies>, peer: &PeerRegion, offset: u32, len: u32) {
        if let Some(copies) = copies {
            copies.bring(peer, offset, len);
        }
    }
}

/// The variable of the environment that says whether received packets are copies.
const PACKETS: &str = "NARROWS_MCAPI_PACKETS";

/// Whether received packets are copies, which the program may write to. None if the environment
/// says something that is neither.
fn copies() -> Option<bool> {
    match std::env::var_os(PACKETS).as_deref().map(OsStr::as_encoded_bytes) {
        None | Some(b"in_place") => Some(false),
        Some(b"copied") => Some(true),
        Some(_) => None,
    }
}

/// Memory of this process's own that is laid out as a peer's: a packet is copied to where it is
/// there. Its pages are made as they are used.
pub(super) struct Copies {
    start: NonNull<u8>,
    layout: std::alloc::Layout,
}

// SAFETY: memory that belongs to no thread.
unsafe impl Send for Copies {}
// SAFETY: it is written by `bring` alone, whose caller has the node's lock.
unsafe impl Sync for Copies {}

impl Copies {
    fn new(len: usize) -> Option<Copies> {
        let layout = std::alloc::Layout::from_size_align(len.max(LINE), LINE).ok()?;
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        Some(Copies { start, layout })
    }

    fn bring(&self, peer: &PeerRegion, offset: u32, len: u32) {
        let (offset, len) = (offset as usize, len as usize);
        if offset.checked_add(len).is_none_or(|end| end > self.layout.size()) {
            return;
        }
        // SAFETY: the range is inside, as has just been seen, and nobody else has it: the program
        // has not been given this packet yet.
        let to = unsafe { std::slice::from_raw_parts_mut(self.start.add(offset).as_ptr(), len) };
        // It cannot fail: the packet was seen to be inside the peer's memory.
        let _ = peer.read(offset as u32, to);
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // SAFETY: made with this layout, and the node that lends it gives it up when the program
        // has no packet of it.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
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
        // Release: pairs with the acquire in `process`. Acquire: as in `process`, for where another
        // thread was first.
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
