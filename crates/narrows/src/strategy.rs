//! What can be chosen for a flow, and how a choice is written down.
//!
//! As text a strategy is its choices joined by `/`, the driver first; what is not named keeps its
//! default: `in_place/spin/internal`, `copy_lazy/poll=5ms`, `copy_engine/fragment=4096`. The
//! drivers that copy are named together with their acknowledgement: `copy` (by interrupt),
//! `copy_lazy`, `copy_batched`.

use core::fmt;
use core::str::FromStr;
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
    /// Made in the sender's pool, read there by the receiver.
    InPlace,
    /// Moved into and out of the pool by the copy engine (DMA), a descriptor per fragment.
    CopyEngine,
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
    /// How the receivers of both directions learn of messages.
    pub notification: Notification,
    /// How credit comes back.
    pub acknowledgement: Acknowledgement,
    /// Requests in one message, at least 1.
    pub granularity: u16,
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

/// Bytes of a strategy in a control message.
pub(crate) const ENCODED: usize = 24;

impl Strategy {
    pub(crate) const DEFAULT: Strategy = Strategy {
        placement: Placement::External,
        transfer: Transfer::Copy,
        notification: Notification::Hybrid { longest: HYBRID },
        acknowledgement: Acknowledgement::Batched,
        granularity: 1,
        fragment: FRAGMENT,
    };

    /// The bytes that go to the peer: docs/WIRE.md, control messages.
    pub(crate) fn encode(&self) -> [u8; ENCODED] {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        let (notification, messages, time) = match self.notification {
            Notification::Interrupt => (0, 0, 0),
            Notification::Spin => (1, 0, 0),
            Notification::Poll { every } => (2, 0, nanos(every)),
            Notification::Hybrid { longest } => (3, 0, nanos(longest)),
            Notification::Coalesced { messages, within } => (4, messages, nanos(within)),
        };
        let mut bytes = [0; ENCODED];
        bytes[0] = self.transfer as u8;
        bytes[1] = self.placement.code() as u8;
        bytes[2] = self.acknowledgement.wanted() as u8;
        bytes[3] = notification;
        bytes[4..6].copy_from_slice(&messages.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.granularity.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.fragment.to_le_bytes());
        bytes[16..24].copy_from_slice(&time.to_le_bytes());
        bytes
    }

    /// Reads [`Strategy::encode`]'s bytes; none if they are not a strategy.
    pub(crate) fn decode(bytes: &[u8; ENCODED]) -> Option<Strategy> {
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let mut time = [0; 8];
        time.copy_from_slice(&bytes[16..24]);
        let time = Duration::from_nanos(u64::from_le_bytes(time));
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
            notification: match bytes[3] {
                0 => Notification::Interrupt,
                1 => Notification::Spin,
                2 => Notification::Poll { every: time },
                3 => Notification::Hybrid { longest: time },
                4 => Notification::Coalesced { messages: short(4), within: time },
                _ => return None,
            },
            granularity: short(6),
            fragment: u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]),
        };
        strategy.check().ok()
    }

    /// The strategy itself, if its figures are possible.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(self) -> Result<Strategy, StrategyError> {
        match self.notification {
            Notification::Poll { every: t }
            | Notification::Coalesced { within: t, .. }
            | Notification::Hybrid { longest: t }
                if t.is_zero() || t > Duration::from_secs(3600) =>
            {
                Err(StrategyError::Time)
            }
            Notification::Coalesced { messages: 0, .. } => Err(StrategyError::Messages),
            _ if Placement::from_code(self.placement.code()) != Some(self.placement) => {
                Err(StrategyError::Region)
            }
            _ if self.granularity == 0 => Err(StrategyError::Granularity),
            _ if self.fragment < 64 => Err(StrategyError::Fragment),
            _ => Ok(self),
        }
    }
}

/// What is wrong with a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// A fragment is at least 64 bytes.
    Fragment,
}

impl fmt::Display for StrategyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StrategyError::Word => {
                "a strategy is words joined by '/': copy, copy_lazy, copy_batched, single_copy, \
                 in_place or copy_engine; interrupt, spin, poll=TIME, hybrid=TIME or \
                 coalesced=N:TIME; internal, external or region=N; ack_interrupt, ack_lazy or \
                 ack_batched; granularity=K; fragment=BYTES"
            }
            StrategyError::Time => {
                "a time in a strategy is like 50us, 5ms or 1s: above zero, at most an hour"
            }
            StrategyError::Region => "region=N needs N from 0 to 5",
            StrategyError::Messages => "coalesced=N:TIME needs N from 1 to 65535",
            StrategyError::Granularity => "granularity=K needs K from 1 to 65535",
            StrategyError::Fragment => "fragment=BYTES needs at least 64 bytes",
        })
    }
}

impl core::error::Error for StrategyError {}

fn time(text: &str) -> Result<Duration, StrategyError> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| StrategyError::Time)?;
    let nanos = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(StrategyError::Time),
    };
    number.checked_mul(nanos).map(Duration::from_nanos).ok_or(StrategyError::Time)
}

impl FromStr for Strategy {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Strategy, StrategyError> {
        let mut s = Strategy::default();
        for word in text.split('/') {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let plain = value.is_empty() && !word.contains('=');
            let mut driver = |transfer, acknowledgement| {
                s.transfer = transfer;
                s.acknowledgement = acknowledgement;
            };
            match (name, plain) {
                ("copy", true) => driver(Transfer::Copy, Acknowledgement::Interrupt),
                ("copy_lazy", true) => driver(Transfer::Copy, Acknowledgement::Lazy),
                ("copy_batched", true) => driver(Transfer::Copy, Acknowledgement::Batched),
                ("single_copy", true) => driver(Transfer::SingleCopy, Acknowledgement::Batched),
                ("in_place", true) => driver(Transfer::InPlace, Acknowledgement::Batched),
                ("copy_engine", true) => driver(Transfer::CopyEngine, Acknowledgement::Batched),
                ("interrupt", true) => s.notification = Notification::Interrupt,
                ("spin", true) => s.notification = Notification::Spin,
                ("poll", true) => {
                    s.notification = Notification::Poll { every: POLL };
                }
                ("poll", false) => s.notification = Notification::Poll { every: time(value)? },
                ("hybrid", true) => s.notification = Strategy::default().notification,
                ("hybrid", false) => {
                    s.notification = Notification::Hybrid { longest: time(value)? }
                }
                ("coalesced", true) => {
                    let (messages, within) = COALESCED;
                    s.notification = Notification::Coalesced { messages, within };
                }
                ("coalesced", false) => {
                    let (n, within) = value.split_once(':').ok_or(StrategyError::Messages)?;
                    let messages = n.parse().map_err(|_| StrategyError::Messages)?;
                    let within = time(within)?;
                    s.notification = Notification::Coalesced { messages, within };
                }
                ("internal", true) => s.placement = Placement::Internal,
                ("external", true) => s.placement = Placement::External,
                ("region", false) => {
                    let n = value.parse().ok().filter(|n| *n < 6).ok_or(StrategyError::Region)?;
                    s.placement = Placement::Region(n);
                }
                ("ack_interrupt", true) => s.acknowledgement = Acknowledgement::Interrupt,
                ("ack_lazy", true) => s.acknowledgement = Acknowledgement::Lazy,
                ("ack_batched", true) => s.acknowledgement = Acknowledgement::Batched,
                ("granularity", false) => {
                    s.granularity = value.parse().map_err(|_| StrategyError::Granularity)?;
                }
                ("fragment", false) => {
                    s.fragment = value.parse().map_err(|_| StrategyError::Fragment)?;
                }
                _ => return Err(StrategyError::Word),
            }
        }
        s.check()
    }
}

struct Short(Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        let fits =
            units.into_iter().find(|(size, _)| nanos >= *size && nanos.is_multiple_of(*size));
        let (size, unit) = fits.unwrap_or((1, "ns"));
        write!(f, "{}{unit}", nanos / size)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::Internal => f.write_str("internal"),
            Placement::External => f.write_str("external"),
            Placement::Region(n) => write!(f, "region={n}"),
        }
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transfer::Copy => "copy",
            Transfer::SingleCopy => "single_copy",
            Transfer::InPlace => "in_place",
            Transfer::CopyEngine => "copy_engine",
        })
    }
}

impl fmt::Display for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notification::Interrupt => f.write_str("interrupt"),
            Notification::Spin => f.write_str("spin"),
            Notification::Poll { every: POLL } => f.write_str("poll"),
            Notification::Poll { every } => write!(f, "poll={}", Short(*every)),
            Notification::Hybrid { longest: HYBRID } => f.write_str("hybrid"),
            Notification::Hybrid { longest } => write!(f, "hybrid={}", Short(*longest)),
            Notification::Coalesced { messages, within } if (*messages, *within) == COALESCED => {
                f.write_str("coalesced")
            }
            Notification::Coalesced { messages, within } => {
                write!(f, "coalesced={messages}:{}", Short(*within))
            }
        }
    }
}

impl fmt::Display for Acknowledgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Acknowledgement::Interrupt => "ack_interrupt",
            Acknowledgement::Lazy => "ack_lazy",
            Acknowledgement::Batched => "ack_batched",
        })
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = match self.transfer {
            Transfer::Copy => Acknowledgement::Interrupt,
            _ => Acknowledgement::Batched,
        };
        write!(f, "{}", self.transfer)?;
        let copied = self.transfer == Transfer::Copy;
        match self.acknowledgement {
            Acknowledgement::Lazy if copied => f.write_str("_lazy")?,
            Acknowledgement::Batched if copied => f.write_str("_batched")?,
            _ => {}
        }
        write!(f, "/{}/{}", self.notification, self.placement)?;
        if !copied && self.acknowledgement != usual {
            write!(f, "/{}", self.acknowledgement)?;
        }
        if self.granularity != 1 {
            write!(f, "/granularity={}", self.granularity)?;
        }
        if self.fragment != FRAGMENT {
            write!(f, "/fragment={}", self.fragment)?;
        }
        Ok(())
    }
}
