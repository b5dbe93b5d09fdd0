//! Strategies as text: reading and writing the words of the module above.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use super::{
    Acknowledgement, COALESCED, FRAGMENT, HYBRID, Notification, POLL, Parts, Placement, Strategy,
    StrategyError, Transfer,
};

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

impl FromStr for Notification {
    type Err = StrategyError;

    fn from_str(word: &str) -> Result<Notification, StrategyError> {
        let (name, value) =
            word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let timed = |usual| value.map_or(Ok(usual), time);
        Ok(match (name, value) {
            ("interrupt", None) => Notification::Interrupt,
            ("spin", None) => Notification::Spin,
            ("poll", _) => Notification::Poll { every: timed(POLL)? },
            ("timer", _) => Notification::Timer { every: timed(POLL)? },
            ("hybrid", _) => Notification::Hybrid { longest: timed(HYBRID)? },
            ("coalesced", None) => {
                let (messages, within) = COALESCED;
                Notification::Coalesced { messages, within }
            }
            ("coalesced", Some(value)) => {
                let (n, within) = value.split_once(':').ok_or(StrategyError::Messages)?;
                let messages = n.parse().map_err(|_| StrategyError::Messages)?;
                Notification::Coalesced { messages, within: time(within)? }
            }
            _ => return Err(StrategyError::Word),
        })
    }
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
                ("internal", true) => s.placement = Placement::Internal,
                ("external", true) => s.placement = Placement::External,
                ("region", false) => {
                    let n = value.parse().map_err(|_| StrategyError::Region)?;
                    s.placement = Placement::Region(n);
                }
                ("ack_interrupt", true) => s.acknowledgement = Acknowledgement::Interrupt,
                ("ack_lazy", true) => s.acknowledgement = Acknowledgement::Lazy,
                ("ack_batched", true) => s.acknowledgement = Acknowledgement::Batched,
                ("granularity", false) => {
                    s.granularity = value.parse().map_err(|_| StrategyError::Granularity)?;
                }
                ("parts", false) => s.parts = value.parse()?,
                ("fragment", false) => {
                    s.fragment = value.parse().map_err(|_| StrategyError::Fragment)?;
                }
                ("callee", false) => s.callee = Some(value.parse()?),
                _ => s.notification = word.parse()?,
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
            Notification::Timer { every: POLL } => f.write_str("timer"),
            Notification::Timer { every } => write!(f, "timer={}", Short(*every)),
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
        write!(f, "{}", self.transfer)?;
        let copied = self.transfer == Transfer::Copy;
        match self.acknowledgement {
            Acknowledgement::Lazy if copied => f.write_str("_lazy")?,
            Acknowledgement::Batched if copied => f.write_str("_batched")?,
            _ => {}
        }
        write!(f, "/{}/{}", self.notification, self.placement)?;
        if !copied && self.acknowledgement != Acknowledgement::Batched {
            write!(f, "/{}", self.acknowledgement)?;
        }
        if let Some(callee) = self.callee.filter(|callee| *callee != self.notification) {
            write!(f, "/callee={callee}")?;
        }
        if self.granularity != 1 {
            write!(f, "/granularity={}", self.granularity)?;
        }
        if self.parts != Parts::WHOLE {
            write!(f, "/parts={}", self.parts)?;
        }
        if self.fragment != FRAGMENT {
            write!(f, "/fragment={}", self.fragment)?;
        }
        Ok(())
    }
}
