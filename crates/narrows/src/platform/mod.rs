//! The contract between the stack and the world: memory, waiting, doorbells, time, rendezvous.
//!
//! A host, a simulated chip and a board each implement [`Platform`] once; everything else in this
//! crate is written against it and is monomorphised, so on a real machine a call costs what the
//! hand-written access would.
//!
//! Two kinds of access exist, because chips without coherent caches need both:
//! - [`Words`]: small shared words (sequence numbers, credits, slots). They bypass caches that are
//!   not coherent, and carry the orderings of the protocol.
//! - [`Memory::read`] and [`OwnMemory::write`]: payload in pool blocks, cached, made visible with
//!   [`OwnMemory::clean`] and [`Memory::invalidate`], which do nothing where caches are coherent.

mod memory;

pub use memory::{Memory, OutOfRange, OwnMemory, Words, WordsMut};

use core::fmt;
use core::ops::{Add, DerefMut};
use core::time::Duration;

use crate::name::Name;
use crate::span::{Edge, Note, Passage, Span};
use crate::strategy::Strategy;

/// A moment on this platform's clock, in nanoseconds since an arbitrary start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub u64);

impl Instant {
    /// Time since `earlier`; zero if that is in the future.
    #[must_use]
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, after: Duration) -> Instant {
        Instant(self.0.saturating_add(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// How to pass the time until a watched word changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Look at the words again and again.
    Spin,
    /// Look at the words again and again before a sleep: as [`Wait::Spin`], but the platform may
    /// say that the deadline passed as soon as it knows that looking is in vain.
    Look,
    /// Look at the words again and again, and leave the core to others between two looks.
    Yield,
    /// Sleep until a peer rings, something happens at the rendezvous, or the deadline.
    Bell,
    /// Sleep until the deadline, whatever peers ring; the rendezvous still wakes.
    Timer,
}

/// Why a wait ended. None of them promises that there is anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A watched word differs from its value.
    Word,
    /// A doorbell was rung.
    Bell,
    /// The rendezvous has news: see [`Platform::event`].
    Event,
    /// The deadline passed.
    Deadline,
}

/// A word of a peer's memory that a wait watches until it holds `value`, or no longer does.
#[derive(Debug)]
pub struct Watch<'a, W> {
    /// The words it is one of.
    pub words: &'a W,
    /// Which of them.
    pub index: u32,
    /// What it is compared with.
    pub value: u32,
    /// Whether it is watched until it holds the value; if not, until it holds another.
    pub until: bool,
}

impl<W> Clone for Watch<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<W> Copy for Watch<'_, W> {}

impl<W: Words> Watch<'_, W> {
    /// Whether what is watched for has come.
    #[inline]
    #[must_use]
    pub fn changed(&self) -> bool {
        (self.words.load_acquire(self.index) == self.value) == self.until
    }
}

/// The two halves of a new link, as the rendezvous delivers them.
pub struct Connected<P: Platform> {
    /// The platform's own name for this link, quoted in [`Event::Lost`].
    pub key: u32,
    /// The peer's name.
    pub name: Name,
    /// Tells one life of the peer from the next under the same name.
    pub incarnation: u64,
    /// This node's half: formatted by [`Layout::format`](crate::memory::Layout::format) before the
    /// peer could see it.
    pub own: P::Own,
    /// The peer's half, read-only.
    pub peer: P::Peer,
    /// The doorbell that wakes the peer.
    pub bell: P::Bell,
}

/// Why a link ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The peer closed the link or its node.
    Closed,
    /// The peer died without a word.
    Died,
    /// The peer wrote something impossible: which check failed.
    Corrupt(crate::memory::Corrupt),
    /// This process is a copy of the one whose link it is: there it goes on.
    Forked,
    /// The peer has no place for one more link. Nothing was delivered.
    Full,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Closed => f.write_str("the peer closed the link"),
            Lost::Died => f.write_str("the peer died without a word"),
            Lost::Corrupt(what) => write!(f, "the peer broke the protocol ({what})"),
            Lost::Forked => {
                f.write_str("this process is a forked copy of the one whose link it is")
            }
            Lost::Full => f.write_str("the peer has no place for one more link"),
        }
    }
}

impl core::error::Error for Lost {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Lost::Corrupt(what) => Some(what),
            _ => None,
        }
    }
}

/// News from the rendezvous.
pub enum Event<P: Platform> {
    /// A link is up.
    Connected(Connected<P>),
    /// The peer of a link is gone.
    Lost {
        /// The link's [`Connected::key`].
        key: u32,
        /// Why: [`Lost::Closed`], [`Lost::Died`], [`Lost::Forked`] or [`Lost::Full`].
        reason: Lost,
    },
}

/// Why a hunt could not begin or went wrong for good. A name that is merely absent is no error:
/// the hunt goes on until its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HuntError {
    /// The node of that name belongs to a user that is not allowed here.
    Forbidden,
    /// The peer speaks another version of the protocol, has another line size, or brings a larger
    /// region than the other takes.
    Incompatible,
    /// This node's tables have no place for one more link.
    TooManyLinks,
    /// The name is this node's own.
    Own,
    /// This process is a copy of the one that opened the node.
    Forked,
    /// Where links lie, or in what carries them, there is no room for one more.
    NoRoom,
    /// The platform refused; its own error number.
    System(i32),
}

impl fmt::Display for HuntError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HuntError::Forbidden => f.write_str(
                "the node of that name belongs to a user that is not allowed here: allow each \
                 other's user on both sides, or hunt another name",
            ),
            HuntError::Incompatible => f.write_str(
                "the node of that name speaks another version of the protocol, has another line \
                 size or one of the two has a larger region than the other takes: build both sides \
                 from the same version and with the same layout",
            ),
            HuntError::TooManyLinks => f.write_str(
                "this node has no place for one more link: close those that have ended, or open \
                 it with more links",
            ),
            HuntError::Own => f.write_str("a node cannot hunt its own name: name its peer"),
            HuntError::Forked => f.write_str(
                "this process is a forked copy of the one that opened the node: open one here",
            ),
            HuntError::NoRoom => f.write_str(
                "the memory that links lie in, or what carries them, has no room for one more: use \
                 fewer links, shorter rings or fewer blocks, or a larger memory",
            ),
            HuntError::System(number) => write!(
                f,
                "the system refused to look for the name, with its error {number}: see what that \
                 means there"
            ),
        }
    }
}

impl core::error::Error for HuntError {}

/// The caller's storage is used up: nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoStorage;

impl core::fmt::Display for NoStorage {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the storage of the platform is used up")
    }
}

impl core::error::Error for NoStorage {}

/// This platform has no copy engine, or the range was not inside the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineError;

impl core::fmt::Display for EngineError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("there is no copy engine, or the range is not inside the region")
    }
}

impl core::error::Error for EngineError {}

/// A flow that a node has opened, as [`Platform::flow`] is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowNote {
    /// The [`Connected::key`] of the link that it goes over.
    pub link: u32,
    /// Where it goes; none if that was said when it was opened.
    pub to: Option<FlowEnd>,
    /// How, or how it was to go where nothing is agreed yet.
    pub strategy: Strategy,
    /// Where it is.
    pub stage: FlowStage,
}

/// Where a flow goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// To a port of the peer's.
    Port(u16),
    /// To a function of the peer's.
    Function(Name),
}

/// Where a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowStage {
    /// The two sides have not agreed on a strategy yet.
    Opening,
    /// It can be used.
    Running,
    /// It is changing its strategy.
    Switching,
    /// Its link has ended.
    Gone,
}

/// A core, its memory and its way to other cores.
pub trait Platform: Sized {
    /// A region of this node's own.
    type Own: OwnMemory;
    /// A region of a peer's, read-only.
    type Peer: Memory;
    /// A peer's doorbell.
    type Bell;
    /// Storage for the stack's tables, given back when dropped.
    type Slice<T>: DerefMut<Target = [T]>;
    /// Storage for the books of a pool, given back when dropped: most often a `Slice<u16>`.
    type Books: DerefMut<Target = [u16]>;

    /// Bytes of a descriptor slot, and what blocks are aligned to: one cache line or two, a power
    /// of two from 32 to 128.
    const LINE: u32;
    /// So often a receiver that looks does so before it reads the clock and waits: looks of a few
    /// microseconds in all. None where looks are better left to [`Platform::wait`].
    const LOOKS: u32 = 0;

    /// Whether messages are stamped when they are received, with [`Span::Receive`]: where what that
    /// takes is charged by its stamps. Elsewhere it would only make receiving slower.
    const RECEIPTS: bool = false;

    /// Storage for a table of `len` entries. Called when a node opens, when a link comes up and
    /// when a hunt has failed, never for a message. A table that grows is moved: the smaller one is
    /// dropped when it has been.
    ///
    /// # Errors
    /// No room is left: the table stays as it was.
    fn storage<T>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<Self::Slice<T>, NoStorage>;

    /// Storage for bytes, all zero: of a platform that can, where they take no memory until they
    /// are written. Called as [`Platform::storage`].
    ///
    /// # Errors
    /// As [`Platform::storage`].
    fn zeroed(&self, len: usize) -> Result<Self::Slice<u8>, NoStorage> {
        self.storage(len, |_| 0)
    }

    /// Storage for the books of the pool in a region of this node's, all zero. A platform whose
    /// nodes can be looked at while they run keeps them where others may read them. Called as
    /// [`Platform::storage`], when a link comes up.
    ///
    /// # Errors
    /// No room is left.
    fn books(&self, own: &Self::Own, len: usize) -> Result<Self::Books, NoStorage>;

    /// Waits until a word of `set` is as [`Watch`] says, something else wakes it, or the deadline:
    /// see [`Wait`]. The first of the set is the likeliest to change. Only [`Wait::Spin`] and
    /// [`Wait::Yield`] look at the words; a node that sleeps has looked before, behind the fence
    /// that arming needs, and a bell rung since then ends the wait at once.
    fn wait<'a, S>(&self, set: S, how: Wait, deadline: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, <Self::Peer as Memory>::Words>> + Clone,
        <Self::Peer as Memory>::Words: 'a;

    /// A number of the core that this runs on, one for each core that two nodes may have in common;
    /// 0 where they have none, or it is not known.
    fn core_number(&self) -> u32 {
        0
    }

    /// Orders every store before it against every load after it.
    fn fence(&self);

    /// Rings a peer's doorbell. Bells coalesce: two rings may wake once.
    fn ring(&self, bell: &Self::Bell);

    /// Whether ringing this doorbell sends what the node has published, as over frames. If not,
    /// the peer can see it already.
    fn sends_by_ring(&self, bell: &Self::Bell) -> bool {
        let _ = bell;
        false
    }

    /// The time.
    fn now(&self) -> Instant;

    /// Whether stamps are kept: while they are not, the stack may leave some out. It changes behind
    /// [`Node::platform_mut`](crate::endpoint::Node::platform_mut) alone.
    fn tracing(&self) -> bool {
        true
    }

    /// Notes that a span begins or ends; `id` tells calls apart. Cheap when spans are off.
    fn stamp(&self, span: Span, edge: Edge, id: u32);

    /// Notes what happens to messages. The stack asks [`Platform::tracing`] before.
    fn note(&self, note: &Note) {
        let _ = note;
    }

    /// Notes that a message is about to be sent ([`Note::Sent`]), for platforms that keep what
    /// messages carry: `carried` fills a buffer of the passage's length with it, and says whether
    /// it could.
    fn note_sent(&self, passage: Passage, carried: &mut dyn FnMut(&mut [u8]) -> bool) {
        let _ = carried;
        self.note(&Note::Sent(passage));
    }

    /// Notes what has become of the flow at this place of the node's table; nothing if there is
    /// none there any more. For platforms whose nodes can be looked at. Called when a flow is
    /// opened or closed, when it changes its strategy, and when its link ends, never for a message.
    fn flow(&self, place: u16, flow: Option<&FlowNote>) {
        let _ = (place, flow);
    }

    /// Starts looking for a node by name; the link arrives as an [`Event::Connected`].
    ///
    /// # Errors
    /// See [`HuntError`].
    fn hunt(&self, name: &Name) -> Result<(), HuntError>;

    /// Gives up a hunt that has not succeeded.
    fn give_up(&self, name: &Name);

    /// Whether it is known, without a look at the rendezvous, that [`Platform::event`] has news: a
    /// node that sends, and does nothing else, asks when it rings.
    fn has_event(&self) -> bool {
        false
    }

    /// The next news from the rendezvous, without waiting.
    fn event(&self) -> Option<Result<Event<Self>, (Name, HuntError)>>;

    /// Tells the peer that the link of this key is closed, and forgets it.
    fn close(&self, key: u32);

    /// Whether this process is a copy of the one that opened the platform. A copy says so by
    /// [`Lost::Forked`] of each link; whatever it reads of its memory until then means nothing.
    fn is_copy(&self) -> bool {
        false
    }

    /// Closes a link that this node has no place for, and tells the peer so where it can.
    fn refuse(&self, key: u32) {
        self.close(key);
    }

    /// Whether this platform has a copy engine.
    fn has_engine(&self) -> bool {
        false
    }

    /// Has the copy engine write `from` to own memory, in descriptors of `fragment` bytes, and
    /// waits until it is done.
    ///
    /// # Errors
    /// See [`EngineError`].
    fn engine_store(
        &self,
        _own: &Self::Own,
        _offset: u32,
        _from: &[u8],
        _fragment: u32,
    ) -> Result<(), EngineError> {
        Err(EngineError)
    }

    /// Has the copy engine read a peer's memory to `to`, in descriptors of `fragment` bytes, and
    /// waits until it is done.
    ///
    /// # Errors
    /// See [`EngineError`].
    fn engine_fetch(
        &self,
        _peer: &Self::Peer,
        _offset: u32,
        _to: &mut [u8],
        _fragment: u32,
    ) -> Result<(), EngineError> {
        Err(EngineError)
    }
}

/// Resolved words of a platform's own memory.
pub type OwnWords<P> = <<P as Platform>::Own as Memory>::Words;
/// Resolved words of a peer's memory.
pub type PeerWords<P> = <<P as Platform>::Peer as Memory>::Words;
