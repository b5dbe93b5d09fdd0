//! What both sides of a batch share, so that the same loops run between two processes of this
//! machine and between two cores of a simulated chip.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::fence;
use std::time::Duration;

use narrows::memory::Layout;
use narrows::platform::Platform;
use narrows::strategy::Placement;
use narrows_host::Host;

use super::bells::Bells;
use super::raw::{self, Area, Line, Mapping, SLOT_PAYLOAD};

/// Words, slots, buffers for payload, and bells.
pub trait Shared: Copy {
    /// A word.
    type Word: Copy;
    /// Buffers of one size.
    type Buffers: Buffers;

    /// Slots of each ring, a power of two.
    fn slots(self) -> u64;

    /// The first word of a line.
    fn line(self, line: Line) -> Self::Word;

    /// The first word of a line that the other side writes, in memory that this side may not write
    /// where there is a difference.
    fn seen(self, line: Line) -> Self::Word {
        self.line(line)
    }

    /// The sequence number of the slot that message `turn` uses.
    fn sequence(self, ring: Area, turn: u64) -> Self::Word;

    /// Stores a word behind everything that was written before; with `fence`, at once.
    fn store(self, word: Self::Word, value: u64, fence: bool);

    /// Looks at a word until `done` likes it, and returns it. `pauses` are between two looks;
    /// `patience` says now and then whether to go on.
    ///
    /// # Errors
    /// What `patience` says.
    fn wait(
        self,
        word: Self::Word,
        pauses: u8,
        done: impl Fn(u64) -> bool,
        patience: impl Fn() -> io::Result<()>,
    ) -> io::Result<u64>;

    /// Copies a payload into the slot of message `turn`.
    fn fill_slot(self, ring: Area, turn: u64, payload: &[u8; SLOT_PAYLOAD]);

    /// Copies the payload of message `turn` out of its slot.
    fn drain_slot(self, ring: Area, turn: u64, payload: &mut [u8; SLOT_PAYLOAD]);

    /// Asks for the slot of message `turn`, to be written soon.
    fn prefetch_slot(self, _: Area, _: u64) {}

    /// At most `most` buffers of `bytes`; none if not even one fits.
    fn buffers(self, area: Area, bytes: usize, most: usize) -> Option<Self::Buffers>;

    /// Buffers as a node's pool usually has them: of a size that `bytes` fit into, and as many.
    fn pool(self, area: Area, bytes: usize) -> Option<Self::Buffers>;

    /// Rings the other side.
    ///
    /// # Errors
    /// What the system says of it.
    fn ring(self) -> io::Result<()>;

    /// Sleeps until rung.
    ///
    /// # Errors
    /// Anything but exactly one ring came.
    fn listen(self) -> io::Result<()>;

    /// Sleeps until rung, on all that is watched where there is a difference; then the ring is
    /// left.
    ///
    /// # Errors
    /// No ring came.
    fn sleep(self) -> io::Result<()> {
        self.listen()
    }

    /// Has this core keep its timer tick while it sleeps, if it has one.
    ///
    /// # Errors
    /// The system has no timer for that.
    fn hold_tick(self) -> io::Result<()> {
        Ok(())
    }

    /// Takes this many rings that were left.
    ///
    /// # Errors
    /// Another number came.
    fn take(self, _: u64) -> io::Result<()> {
        Ok(())
    }

    /// Does `work`, in which a wait for a bell ends when `patience` does.
    ///
    /// # Errors
    /// What `work` says.
    fn guarded<R>(self, patience: Duration, work: impl FnOnce() -> io::Result<R>) -> io::Result<R>;

    /// As [`Shared::guarded`], and this side can [sleep](Shared::sleep) meanwhile.
    ///
    /// # Errors
    /// As [`Shared::guarded`].
    fn watched<R>(self, patience: Duration, work: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.guarded(patience, work)
    }
}

/// Equal buffers that both sides reach, used round and round.
pub trait Buffers: Sized {
    /// How many there are.
    fn count(&self) -> u64;

    /// The same, read in memory that this side may not write where there is a difference.
    #[must_use]
    fn seen(self) -> Self {
        self
    }

    /// Asks for the buffer of message `turn`, to be written soon.
    fn prefetch(&self, _: u64) {}

    /// Copies private bytes into the buffer of message `turn`.
    fn write(&self, turn: u64, from: &[u8]);

    /// Copies the buffer of message `turn` into private memory.
    fn read(&self, turn: u64, to: &mut [u8]);
}

/// Two processes of this machine.
#[derive(Clone, Copy)]
pub struct Processes<'a> {
    pub mapping: &'a Mapping,
    pub bells: &'a Bells,
}

/// Polls between two looks at the clock.
const POLLS_PER_LOOK: u32 = 1 << 12;

impl<'a> Shared for Processes<'a> {
    type Word = &'a AtomicU64;
    type Buffers = raw::Buffers<'a>;

    #[inline(always)]
    fn slots(self) -> u64 {
        raw::SLOTS
    }

    #[inline(always)]
    fn line(self, line: Line) -> &'a AtomicU64 {
        self.mapping.line(line)
    }

    #[inline(always)]
    fn seen(self, line: Line) -> &'a AtomicU64 {
        self.mapping.seen(line)
    }

    #[inline(always)]
    fn sequence(self, ring: Area, turn: u64) -> &'a AtomicU64 {
        self.mapping.sequence(ring, turn)
    }

    /// The other side's acquiring load in `wait` sees all that was written before this.
    #[inline(always)]
    fn store(self, word: &AtomicU64, value: u64, at_once: bool) {
        word.store(value, Release);
        if at_once {
            fence(SeqCst);
        }
    }

    #[inline(always)]
    fn wait(
        self,
        word: &AtomicU64,
        pauses: u8,
        done: impl Fn(u64) -> bool,
        patience: impl Fn() -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut polls = 0u32;
        loop {
            let value = word.load(Acquire);
            if done(value) {
                return Ok(value);
            }
            for _ in 0..pauses {
                std::hint::spin_loop();
            }
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(POLLS_PER_LOOK) {
                patience()?;
            }
        }
    }

    #[inline(always)]
    fn fill_slot(self, ring: Area, turn: u64, payload: &[u8; SLOT_PAYLOAD]) {
        self.mapping.fill_slot(ring, turn, payload);
    }

    #[inline(always)]
    fn drain_slot(self, ring: Area, turn: u64, payload: &mut [u8; SLOT_PAYLOAD]) {
        self.mapping.drain_slot(ring, turn, payload);
    }

    #[inline(always)]
    fn prefetch_slot(self, ring: Area, turn: u64) {
        self.mapping.prefetch_slot(ring, turn);
    }

    fn buffers(self, area: Area, bytes: usize, most: usize) -> Option<raw::Buffers<'a>> {
        self.mapping.buffers(area, bytes, most)
    }

    fn pool(self, area: Area, bytes: usize) -> Option<raw::Buffers<'a>> {
        let standard = Layout::standard(Host::LINE).ok();
        let class = standard.as_ref().and_then(|layout| {
            let all = layout.classes().iter().filter(|one| one.placement == Placement::External);
            all.filter(|one| one.size as usize >= bytes).min_by_key(|one| one.size)
        });
        // Longer than any of its blocks: one.
        let (size, count) = class.map_or((bytes, 1), |class| (class.size as usize, class.count));
        self.mapping.blocks(area, bytes, size, count.into())
    }

    #[inline(always)]
    fn ring(self) -> io::Result<()> {
        self.bells.ring()
    }

    #[inline(always)]
    fn listen(self) -> io::Result<()> {
        self.bells.listen()
    }

    #[inline(always)]
    fn sleep(self) -> io::Result<()> {
        self.bells.sleep()
    }

    #[inline(always)]
    fn hold_tick(self) -> io::Result<()> {
        self.bells.hold_tick()
    }

    fn take(self, rings: u64) -> io::Result<()> {
        self.bells.take(rings)
    }

    fn guarded<R>(self, patience: Duration, work: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.bells.guarded(patience, work)
    }

    fn watched<R>(self, patience: Duration, work: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.bells.watched(patience, work)
    }
}

impl Buffers for raw::Buffers<'_> {
    #[inline(always)]
    fn count(&self) -> u64 {
        raw::Buffers::count(self)
    }

    fn seen(self) -> Self {
        raw::Buffers::seen(self)
    }

    #[inline(always)]
    fn prefetch(&self, turn: u64) {
        raw::Buffers::prefetch(self, turn);
    }

    #[inline(always)]
    fn write(&self, turn: u64, from: &[u8]) {
        raw::Buffers::write(self, turn, from);
    }

    #[inline(always)]
    fn read(&self, turn: u64, to: &mut [u8]) {
        raw::Buffers::read(self, turn, to);
    }
}
