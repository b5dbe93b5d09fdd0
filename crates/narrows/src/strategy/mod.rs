//! What can be chosen for a flow, and how a choice is written down.
//!
//! As text a strategy is its choices joined by `/`, the driver first; what is not named keeps its
//! default: `in_place/spin/internal`, `copy_lazy/poll=5ms`, `copy_engine/fragment=4096`. The
//! drivers that copy are named together with their acknowledgement: `copy` (by interrupt),
//! `copy_lazy`, `copy_batched`. Both ends of a flow learn of messages alike, unless the callee's
//! notification is named beside: `copy/poll=5ms/callee=interrupt`.

mod parts;
mod text;
mod words;

pub use parts::Parts;
pub use words::{DRIVERS, NOTIFICATIONS, OTHERS, PLACEMENTS};

use core::fmt;
use core::time::Duration;

use crate::memory::Ack;

/// The kind of memory that carries the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Small, fast, scarce: on-chip memory; on a host, a small pool reused last in, first out.
    Internal,
    /// Large and slow: SDRAM; on a host, a large pool cycled first in, first out.
    External,
    /// A region of the platform's own, by number (0 to 5).
    Region(u8),
}

impl Placement {
    pub(crate) fn code(self) -> u32 {
        match self {
            Placement::Internal => 0,
            Placement::External => 1,
            Placement::Region(n) => 2 + u32::from(n),
        }
    }
    pub(crate) fn from_code(code: u32) -> Option<Placement> {
        match code {
            0 => Some(Placement::Internal),
            1 => Some(Placement::External),
            2..=7 => Some(Placement::Region((code - 2) as u8)),
            _ => None,
        }
    }
}

/// How the payload gets from the sender's buffer to the receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transfer {
    /// Copied into the sender's pool, copied out by the receiver.
    Copy,
    /// Made in the sender's pool, copied out by the receiver.
    SingleCopy,
    /// Made in the sender's pool, read there by the receiver; the block goes back when the receiver
    /// is done. A peer may write to what is being read: the stack's own readers copy each part
    /// before they use it, so a hostile peer can feed them nonsense and nothing worse.
    InPlace,
    /// Moved into and out of the pool by the copy engine (DMA), a descriptor per fragment.
    CopyEngine,
}

impl Transfer {
    /// Whether a payload is made in the sender's pool, so that nothing is copied in.
    #[must_use]
    pub fn made_in_pool(self) -> bool {
        matches!(self, Transfer::SingleCopy | Transfer::InPlace)
    }

    /// Whether a payload is read where it is, so that nothing is copied out.
    #[must_use]
    pub fn read_in_place(self) -> bool {
        matches!(self, Transfer::InPlace)
    }
}

/// How a receiver learns that something came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notification {
    /// It sleeps; the first message rings it.
    Interrupt,
    /// It looks all the time.
    Spin,
    /// It looks every `every` and sleeps between; nobody rings.
    Poll {
        /// The period of the look.
        every: Duration,
    },
    /// It looks whenever a timer ends that always runs, whether or not anything is awaited: at each
    /// whole multiple of `every` of its platform's clock. Nobody rings.
    Timer {
        /// From one end of the timer to the next.
        every: Duration,
    },
    /// It looks for a while that adapts to how prompt the answers are, at most `longest`, then
    /// sleeps.
    Hybrid {
        /// The longest look before sleeping.
        longest: Duration,
    },
    /// It sleeps; the n-th message rings it, or `within` runs out.
    Coalesced {
        /// Messages a bell stands for.
        messages: u16,
        /// The longest sleep.
        within: Duration,
    },
}

impl Notification {
    /// From one look of its own to the next, at most; zero where it is told, or looks all the time.
    #[must_use]
    pub fn pause(self) -> Duration {
        match self {
            Notification::Poll { every } | Notification::Timer { every } => every,
            Notification::Coalesced { within, .. } => within,
            Notification::Interrupt | Notification::Spin | Notification::Hybrid { .. } => {
                Duration::ZERO
            }
        }
    }

    fn check(self) -> Result<(), StrategyError> {
        match self {
            Notification::Poll { every: t }
            | Notification::Timer { every: t }
            | Notification::Coalesced { within: t, .. }
            | Notification::Hybrid { longest: t }
                if t.is_zero() || t > Duration::from_secs(3600) =>
            {
                Err(StrategyError::Time)
            }
            Notification::Coalesced { messages: 0, .. } => Err(StrategyError::Messages),
            _ => Ok(()),
        }
    }

    /// The code, the messages and the time that go to the peer.
    fn encode(self) -> (u8, u16, u64) {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        match self {
            Notification::Interrupt => (0, 0, 0),
            Notification::Spin => (1, 0, 0),
            Notification::Poll { every } => (2, 0, nanos(every)),
            Notification::Hybrid { longest } => (3, 0, nanos(longest)),
            Notification::Coalesced { messages, within } => (4, messages, nanos(within)),
            Notification::Timer { every } => (5, 0, nanos(every)),
        }
    }

    fn decode(code: u8, messages: u16, time: u64) -> Option<Notification> {
        let time = Duration::from_nanos(time);
        Some(match code {
            0 => Notification::Interrupt,
            1 => Notification::Spin,
            2 => Notification::Poll { every: time },
            3 => Notification::Hybrid { longest: time },
            4 => Notification::Coalesced { messages, within: time },
            5 => Notification::Timer { every: time },
            _ => return None,
        })
    }
}

/// How a receiver gives credit back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acknowledgement {
    /// At once, ringing the sender's bell for each message.
    Interrupt,
    /// At once, in a status word that the sender looks at before its next send.
    Lazy,
    /// In batches, and before the receiver waits.
    Batched,
}

/// The choices of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Strategy {
    /// Which memory.
    pub placement: Placement,
    /// Which way.
    pub transfer: Transfer,
    /// How the caller learns of responses, and the callee of requests unless that is said below.
    pub notification: Notification,
    /// How the callee learns of requests, or the receiver of messages where the flow leads to a
    /// port; none if as [`Strategy::notification`] says.
    pub callee: Option<Notification>,
    /// How credit comes back.
    pub acknowledgement: Acknowledgement,
    /// Requests in one message, at least 1.
    pub granularity: u16,
    /// How the program that calls cuts a request into calls of its own. Nothing of it goes to the
    /// peer.
    pub parts: Parts,
    /// Bytes of one descriptor of the copy engine, at least 64.
    pub fragment: u32,
}

/// What a word of a strategy stands for without a figure.
const HYBRID: Duration = Duration::from_micros(50);
const POLL: Duration = Duration::from_millis(1);
const COALESCED: (u16, Duration) = (8, Duration::from_millis(1));
const FRAGMENT: u32 = 8192;

impl Default for Strategy {
    fn default() -> Strategy {
        Strategy::DEFAULT
    }
}

impl Acknowledgement {
    pub(crate) fn wanted(self) -> Ack {
        match self {
            Acknowledgement::Interrupt => Ack::Interrupt,
            Acknowledgement::Lazy => Ack::Lazy,
            Acknowledgement::Batched => Ack::Batched,
        }
    }
}

/// Bytes of a strategy, and those of them that one has which names no notification of the callee's:
/// the others are 0 then.
pub const ENCODED: usize = 32;
pub(crate) const SHORT: usize = 24;

impl Strategy {
    pub(crate) const DEFAULT: Strategy = Strategy {
        placement: Placement::External,
        transfer: Transfer::Copy,
        notification: Notification::Hybrid { longest: HYBRID },
        callee: None,
        acknowledgement: Acknowledgement::Batched,
        granularity: 1,
        parts: Parts::WHOLE,
        fragment: FRAGMENT,
    };

    /// How the callee learns of requests, or a port's receiver of messages.
    #[must_use]
    pub fn at_callee(&self) -> Notification {
        self.callee.unwrap_or(self.notification)
    }

    /// The bytes that go to the peer: docs/WIRE.md, control messages.
    #[must_use]
    pub fn encode(&self) -> [u8; ENCODED] {
        let (notification, messages, time) = self.notification.encode();
        let mut bytes = [0; ENCODED];
        bytes[0] = self.transfer as u8;
        bytes[1] = self.placement.code() as u8;
        bytes[2] = self.acknowledgement.wanted() as u8;
        bytes[3] = notification;
        bytes[4..6].copy_from_slice(&messages.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.granularity.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.fragment.to_le_bytes());
        bytes[16..24].copy_from_slice(&time.to_le_bytes());
        if let Some(callee) = self.callee {
            let (notification, messages, time) = callee.encode();
            bytes[12] = notification + 1;
            bytes[14..16].copy_from_slice(&messages.to_le_bytes());
            bytes[24..32].copy_from_slice(&time.to_le_bytes());
        }
        bytes
    }

    /// Reads [`Strategy::encode`]'s bytes; none if they are not a strategy.
    #[must_use]
    pub fn decode(bytes: &[u8; ENCODED]) -> Option<Strategy> {
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let time = |at: usize| {
            let mut time = [0; 8];
            time.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(time)
        };
        let strategy = Strategy {
            transfer: match bytes[0] {
                0 => Transfer::Copy,
                1 => Transfer::SingleCopy,
                2 => Transfer::InPlace,
                3 => Transfer::CopyEngine,
                _ => return None,
            },
            placement: Placement::from_code(bytes[1].into())?,
            acknowledgement: match bytes[2] {
                0 => Acknowledgement::Batched,
                1 => Acknowledgement::Lazy,
                2 => Acknowledgement::Interrupt,
                _ => return None,
            },
            notification: Notification::decode(bytes[3], short(4), time(16))?,
            callee: match bytes[12] {
                0 => None,
                code => Some(Notification::decode(code - 1, short(14), time(24))?),
            },
            granularity: short(6),
            parts: Parts::WHOLE,
            fragment: u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]),
        };
        strategy.check().ok()
    }

    /// The strategy itself, if its figures are possible; without the callee's notification if that
    /// is the caller's.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(self) -> Result<Strategy, StrategyError> {
        self.notification.check()?;
        self.at_callee().check()?;
        match self {
            _ if Placement::from_code(self.placement.code()) != Some(self.placement) => {
                Err(StrategyError::Region)
            }
            _ if self.granularity == 0 => Err(StrategyError::Granularity),
            _ if !self.parts.is_possible() => Err(StrategyError::Parts),
            _ if self.granularity > 1 && self.parts != Parts::WHOLE => Err(StrategyError::Both),
            _ if self.fragment < 64 => Err(StrategyError::Fragment),
            _ => {
                let callee = self.callee.filter(|callee| *callee != self.notification);
                Ok(Strategy { callee, ..self })
            }
        }
    }
}

/// What is wrong with a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StrategyError {
    /// A word that names no choice.
    Word,
    /// A period or limit of zero or over an hour, or not a time.
    Time,
    /// Regions are numbered 0 to 5.
    Region,
    /// Coalescing needs at least one message.
    Messages,
    /// Granularity is 1 to 65535.
    Granularity,
    /// Parts are 2 to 65535, of which 1 to all may be under way.
    Parts,
    /// Requests are merged or cut.
    Both,
    /// A fragment is at least 64 bytes.
    Fragment,
}

impl fmt::Display for StrategyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StrategyError::Word => {
                "a strategy is words joined by '/': copy, copy_lazy, copy_batched, single_copy, \
                 in_place or copy_engine; interrupt, spin, poll=TIME, timer=TIME, hybrid=TIME or \
                 coalesced=N:TIME; internal, external or region=N; ack_interrupt, ack_lazy or \
                 ack_batched; granularity=K; parts=P or parts=P:W; fragment=BYTES; \
                 callee=interrupt, callee=spin and so on"
            }
            StrategyError::Time => {
                "a time in a strategy is like 50us, 5ms or 1s: above zero, at most an hour"
            }
            StrategyError::Region => "region=N needs N from 0 to 5",
            StrategyError::Messages => "coalesced=N:TIME needs N from 1 to 65535",
            StrategyError::Granularity => "granularity=K needs K from 1 to 65535",
            StrategyError::Parts => {
                "parts=P:W needs P from 2 to 65535 and W from 1 to P; parts=P is parts=P:1"
            }
            StrategyError::Both => {
                "granularity=K merges requests and parts=P cuts them: name one of the two"
            }
            StrategyError::Fragment => "fragment=BYTES needs at least 64 bytes",
        })
    }
}

impl core::error::Error for StrategyError {}
