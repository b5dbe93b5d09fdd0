//! What the machine itself allows between two processes, without any messaging: the figures
//! that every other bench is divided by.
//!
//! Both processes map the same anonymous memory and hold the same two eventfds. The *caller*
//! measures; the *callee* waits, asleep, for the next batch. Batches are short, so a bench can
//! take turns with them in the same two processes, on the same two cores. Each side pins itself
//! before the first batch; nothing here does.
//!
//! ```no_run
//! use std::process::Command;
//! use std::time::Duration;
//! use narrows_cli::rig::limit::{Kind, Limits};
//!
//! // In the caller:
//! let (mut limits, argument) = Limits::create()?;
//! let mut callee = Command::new("narrows");
//! callee.args(["callee", "--limits", &argument]);
//! let mut child = limits.lend(|| callee.spawn())?;
//! let ns = limits.caller_batch(Kind::LineEachWay, 0, 1_000)?; // one figure
//! let all = limits.sample(Kind::Copy, 4096, 30)?; // thirty, for a median
//! drop(limits); // lets the callee go
//! child.wait()?;
//!
//! // In the callee, before it opens anything else:
//! let mut callee = Limits::inherit(&argument)?;
//! callee.serve(Duration::from_secs(60))?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A counterpart that dies, stops or answers nonsense makes the batch fail within the
//! [patience](Limits::set_patience); it cannot make this side wait for ever, nor reach memory
//! outside the mapping.

mod bells;
mod callee;
mod caller;
mod clock;
mod guard;
mod laps;
mod raw;
pub(crate) mod shared;
mod side;
mod turns;

#[cfg(test)]
mod tests;

use std::io;
use std::time::Duration;

pub use callee::{Callee, Served};
pub use caller::Limits;
pub use clock::{Clock, Timer};
pub use laps::{LAP, Laps, stream_lap};
pub(crate) use raw::{Area, Line};
pub use raw::{MAX_BYTES, SLOT_PAYLOAD};
pub(crate) use turns::{Turns, fill, intact};

/// The most iterations of one batch.
pub const MAX_ITERATIONS: u64 = 1 << 24;
const PATIENCE: Duration = Duration::from_secs(5);
/// Iterations before the clock starts: they bring both cores out of sleep and the memory in.
const WARM_UP: u64 = 64;

/// What can be measured. Times are nanoseconds per iteration, of round trips the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Round trip; each side writes a line of its own. The floor where every word has one writer.
    LineEachWay,
    /// As `LineEachWay`, where each side reads the other's line in memory that it may not write.
    LineReadOnly,
    /// As `LineEachWay`, with a random time to [think](Laps::think) between, which is not counted.
    LineThinking,
    /// As `LineThinking`, read as by `LineReadOnly`.
    ThinkingReadOnly,
    /// Round trip; each side writes the slots of a ring of its own in turn. Takes no size.
    SlotEachWay,
    /// Round trip; both sides write the same line in turn.
    SharedLine,
    /// Round trip; the payload is copied in and, on the other core, out; a line answers.
    Copy,
    /// Round trip; as `Copy`, and the callee copies the payload back the same way.
    CopyBothWays,
    /// As `CopyBothWays`, by way of as many buffers in turn as a pool has blocks of that size.
    CopyInTurn,
    /// As `CopyInTurn`; only the caller's copying in is counted.
    CopyIn,
    /// One way; the payload is copied in and, on the other core, out, several being under way.
    CopyRate,
    /// As `CopyRate`, where the callee reads the payload in memory that it may not write.
    CopyRateReadOnly,
    /// One way; [`SLOT_PAYLOAD`] bytes in a slot of one line, through a ring. Takes no size.
    SlotRate,
    /// As `SlotRate`, with a full fence behind each message, as a receiver that may sleep needs.
    SlotRateFenced,
    /// Round trip of bare blocking reads and writes of two eventfds.
    Eventfd,
    /// As `Eventfd`, each side asleep in a wait on a set that has its eventfd, edge-triggered,
    /// unread.
    EventfdWatched,
    /// As `Eventfd`, where each core keeps its timer tick while it sleeps.
    EventfdTicking,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::LineEachWay,
        Self::LineReadOnly,
        Self::LineThinking,
        Self::ThinkingReadOnly,
        Self::SlotEachWay,
        Self::SharedLine,
        Self::Copy,
        Self::CopyBothWays,
        Self::CopyInTurn,
        Self::CopyIn,
        Self::CopyRate,
        Self::CopyRateReadOnly,
        Self::SlotRate,
        Self::SlotRateFenced,
        Self::Eventfd,
        Self::EventfdWatched,
        Self::EventfdTicking,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::LineEachWay => "line each way",
            Self::LineReadOnly => "line each way, read-only",
            Self::LineThinking => "line each way, thinking",
            Self::ThinkingReadOnly => "line each way, read-only, thinking",
            Self::SlotEachWay => "slot ring each way",
            Self::SharedLine => "line both write",
            Self::Copy => "copy, answered by a line",
            Self::CopyBothWays => "copy both ways",
            Self::CopyInTurn => "copy both ways, by buffers in turn",
            Self::CopyIn => "copying in, by buffers in turn",
            Self::CopyRate => "copy, one way",
            Self::CopyRateReadOnly => "copy, one way, read-only",
            Self::SlotRate => "slot ring, one way",
            Self::SlotRateFenced => "slot ring, one way, fenced",
            Self::Eventfd => "eventfd",
            Self::EventfdWatched => "eventfd, watched",
            Self::EventfdTicking => "eventfd, ticking",
        }
    }

    /// Whether the callee copies the payload back.
    pub(crate) fn comes_back(self) -> bool {
        matches!(self, Self::SlotEachWay | Self::CopyBothWays | Self::CopyInTurn | Self::CopyIn)
    }

    /// Whether a chip cannot have it: its memory has no pages, its bells are in no set and its
    /// cores have neither a store buffer nor a tick.
    pub(crate) fn is_of_hosts(self) -> bool {
        matches!(
            self,
            Self::LineReadOnly
                | Self::ThinkingReadOnly
                | Self::CopyRateReadOnly
                | Self::SlotRateFenced
                | Self::EventfdWatched
                | Self::EventfdTicking
        )
    }

    /// Whether the number of bytes matters.
    pub fn has_payload(self) -> bool {
        matches!(
            self,
            Self::Copy
                | Self::CopyBothWays
                | Self::CopyInTurn
                | Self::CopyIn
                | Self::CopyRate
                | Self::CopyRateReadOnly
        )
    }

    /// Iterations that make a batch of a fraction of a millisecond to a few milliseconds: long
    /// enough to time, short enough to fall between two disturbances.
    pub fn iterations(self, bytes: usize) -> u64 {
        match self {
            Self::LineEachWay
            | Self::LineReadOnly
            | Self::LineThinking
            | Self::ThinkingReadOnly
            | Self::SlotEachWay
            | Self::SharedLine => 1_000,
            Self::CopyRate | Self::CopyRateReadOnly if bytes <= 64 => 16_384,
            // The first lap is slower: buffers that have not been used for a while are not in a
            // cache.
            Self::CopyRate | Self::CopyRateReadOnly => 4 * stream_lap(bytes),
            Self::Copy | Self::CopyBothWays | Self::CopyInTurn | Self::CopyIn => {
                ((2 << 20) / (bytes as u64).max(1)).clamp(32, 1_000)
            }
            Self::SlotRate | Self::SlotRateFenced => 16_384,
            Self::Eventfd | Self::EventfdWatched | Self::EventfdTicking => 100,
        }
    }

    /// Bytes of private memory that an iteration reads or fills.
    pub(crate) fn bytes(self, asked: usize) -> io::Result<usize> {
        match self {
            Self::SlotRate | Self::SlotRateFenced | Self::SlotEachWay => Ok(SLOT_PAYLOAD),
            _ if !self.has_payload() => Ok(0),
            _ if asked <= MAX_BYTES => Ok(asked),
            _ => Err(turns::too_long(asked)),
        }
    }

    fn from_code(code: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u64 == code)
    }
}

/// How both sides poll. Nothing else moves a floor as much, by half and more, so the lowest of
/// several is quoted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Pause instructions between two polls.
    pub pauses: u8,
    /// Whether a full fence, which empties the store buffer, follows each word published.
    pub fence: bool,
}

impl Pace {
    /// Those that [`Limits::settle`] tries. The plain ones come first; the rest differ by how
    /// late the second poll is: a poll just before the answer arrives delays it.
    pub const TRIED: [Self; 9] = [
        Self::of(0, false),
        Self::of(1, false),
        Self::of(3, false),
        Self::of(0, true),
        Self::of(1, true),
        Self::of(3, true),
        Self::of(5, true),
        Self::of(8, true),
        Self::of(16, true),
    ];

    const fn of(pauses: u8, fence: bool) -> Self {
        Self { pauses, fence }
    }
}
