//! What a caller asks of the callee's process itself, beside the work of the library: calls of
//! three functions whose names begin with `narrows.`.
//!
//! | function | request | response |
//! |---|---|---|
//! | [`CPU`] | nothing | processor time of the process in nanoseconds, 8 bytes |
//! | [`TRACE`] | a [`TraceOrder`] | a [`Page`], or nothing |
//! | [`MODE`] | a [`Mode`] as text | nothing |
//!
//! An order takes effect after its answer and before the next request. All figures are
//! little-endian.

pub mod linx;
pub mod mcapi;

use crate::rig::service::linx::Order as LinxOrder;
use crate::rig::service::mcapi::Order;
use narrows::span::{Edge, Span};
use narrows::strategy::Strategy;
use narrows_host::Record;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Asks for the processor time of the callee's process.
pub const CPU: &str = "narrows.cpu";
/// Turns stamps on and off and fetches them.
pub const TRACE: &str = "narrows.trace";
/// Says what the callee serves next.
pub const MODE: &str = "narrows.mode";

/// The port at which the callee sends messages back.
pub const ECHO_PORT: u16 = 1;
/// The port at which the callee reads messages and sends nothing back but a receipt.
pub const SINK_PORT: u16 = 2;
/// The first of the ports of [`Mode::Ports`].
pub const MANY_PORTS: u16 = 8;
/// The most ports of [`Mode::Ports`].
pub const MOST_PORTS: u16 = 1024;
/// How long an answer takes in [`Mode::Late`].
pub const LATE: Duration = Duration::from_millis(1);
/// The tag of the message that ends all modes of messages.
pub const LAST: u16 = u16::MAX;

/// What the callee serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Calls of the library.
    Calls,
    /// Messages to [`ECHO_PORT`], which it sends back by the strategy, and nothing else until one
    /// with the tag [`LAST`] comes, which it sends back like any other.
    Messages(Strategy),
    /// As [`Mode::Messages`], to so many ports from [`MANY_PORTS`] on, each in its turn.
    Ports(u16, Strategy),
    /// As [`Mode::Messages`], each sent back [`LATE`] after it came.
    Late(Strategy),
    /// Messages to [`SINK_PORT`], every byte of which it reads, and nothing else until one with the
    /// tag [`LAST`] comes, which it answers with a [`Receipt`](crate::rig::sink::Receipt).
    Sink(Strategy),
    /// As [`Mode::Sink`], with all messages that are there received at a time.
    SinkAll(Strategy),
    /// An [order](Order) of `bench mcapi`, and calls when it is done.
    Mcapi(Order),
    /// An order of the LINX test cases, and calls when it is done.
    Linx(LinxOrder),
    /// Batches of [`crate::rig::limit`], and calls when there is no batch for two milliseconds.
    Limits,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mode::Calls => f.write_str("calls"),
            Mode::Messages(strategy) => write!(f, "messages {strategy}"),
            Mode::Ports(count, strategy) => write!(f, "ports {count} {strategy}"),
            Mode::Late(strategy) => write!(f, "late {strategy}"),
            Mode::Sink(strategy) => write!(f, "sink {strategy}"),
            Mode::SinkAll(strategy) => write!(f, "sink-all {strategy}"),
            Mode::Mcapi(order) => write!(f, "mcapi {order}"),
            Mode::Linx(order) => write!(f, "linx {order}"),
            Mode::Limits => f.write_str("limits"),
        }
    }
}

impl FromStr for Mode {
    type Err = ();

    fn from_str(text: &str) -> Result<Mode, ()> {
        match text.split_once(' ') {
            None if text == "calls" => Ok(Mode::Calls),
            None if text == "limits" => Ok(Mode::Limits),
            Some(("messages", strategy)) => strategy.parse().map(Mode::Messages).map_err(|_| ()),
            Some(("ports", rest)) => {
                let (count, strategy) = rest.split_once(' ').ok_or(())?;
                let count = count.parse().ok().filter(|count| (1..=MOST_PORTS).contains(count));
                Ok(Mode::Ports(count.ok_or(())?, strategy.parse().map_err(|_| ())?))
            }
            Some(("late", strategy)) => strategy.parse().map(Mode::Late).map_err(|_| ()),
            Some(("sink", strategy)) => strategy.parse().map(Mode::Sink).map_err(|_| ()),
            Some(("sink-all", strategy)) => strategy.parse().map(Mode::SinkAll).map_err(|_| ()),
            Some(("mcapi", order)) => order.parse().map(Mode::Mcapi),
            Some(("linx", order)) => order.parse().map(Mode::Linx),
            _ => Err(()),
        }
    }
}

/// What to do with the stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceOrder {
    /// Forget all and begin.
    On,
    /// Stop, and keep what there is for [`TraceOrder::Page`].
    Off,
    /// Answer with the kept stamps from this one on, as many as fit.
    Page(u32),
}

impl TraceOrder {
    /// The request.
    pub fn to_bytes(self) -> [u8; 5] {
        let (code, [a, b, c, d]) = match self {
            TraceOrder::On => (0, [0; 4]),
            TraceOrder::Off => (1, [0; 4]),
            TraceOrder::Page(from) => (2, from.to_le_bytes()),
        };
        [code, a, b, c, d]
    }

    /// Reads a request.
    pub fn from_bytes(bytes: [u8; 5]) -> Option<TraceOrder> {
        let [code, from @ ..] = bytes;
        match code {
            0 => Some(TraceOrder::On),
            1 => Some(TraceOrder::Off),
            2 => Some(TraceOrder::Page(u32::from_le_bytes(from))),
            _ => None,
        }
    }
}

/// The answer to [`TraceOrder::Page`]: how many stamps are kept, how many more were overwritten,
/// then the stamps asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Stamps that are kept.
    pub kept: u32,
    /// Older ones that had to make room.
    pub overwritten: u64,
    /// Those asked for.
    pub records: Vec<Record>,
}

const PAGE_HEAD: usize = 12;
const RECORD: usize = 16;

impl Page {
    /// Records that fit into a response of so many bytes.
    pub fn fits(bytes: usize) -> usize {
        bytes.saturating_sub(PAGE_HEAD) / RECORD
    }

    /// The response.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PAGE_HEAD + self.records.len() * RECORD);
        bytes.extend(self.kept.to_le_bytes());
        bytes.extend(self.overwritten.to_le_bytes());
        for record in &self.records {
            bytes.extend(record.ticks.to_le_bytes());
            bytes.extend(record.id.to_le_bytes());
            bytes.extend([record.span as u8, u8::from(record.edge == Edge::Leave), 0, 0]);
        }
        bytes
    }

    /// Reads a response.
    pub fn from_bytes(bytes: &[u8]) -> Option<Page> {
        let (kept, rest) = bytes.split_first_chunk()?;
        let (overwritten, rest) = rest.split_first_chunk()?;
        let (records, rest) = rest.as_chunks::<RECORD>();
        let records: Option<Vec<Record>> = records.iter().map(record).collect();
        Some(Page {
            kept: u32::from_le_bytes(*kept),
            overwritten: u64::from_le_bytes(*overwritten),
            records: records.filter(|_| rest.is_empty())?,
        })
    }
}

fn record(bytes: &[u8; RECORD]) -> Option<Record> {
    let (ticks, rest) = bytes.split_first_chunk()?;
    let (id, rest) = rest.split_first_chunk()?;
    let [span, edge, ..] = *rest else { return None };
    Some(Record {
        ticks: u64::from_le_bytes(*ticks),
        id: u32::from_le_bytes(*id),
        span: *Span::ALL.get(usize::from(span))?,
        edge: match edge {
            0 => Edge::Enter,
            1 => Edge::Leave,
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::service::mcapi::{Batch, Traffic};

    #[test]
    fn orders_go_there_and_back() {
        for order in [TraceOrder::On, TraceOrder::Off, TraceOrder::Page(70_000)] {
            assert_eq!(TraceOrder::from_bytes(order.to_bytes()), Some(order));
        }
        assert_eq!(TraceOrder::from_bytes([3; 5]), None);
        let strategy = "in_place/poll=5ms/internal".parse().unwrap();
        let of_messages = [
            Mode::Messages(strategy),
            Mode::Ports(1024, strategy),
            Mode::Late(strategy),
            Mode::Sink(strategy),
            Mode::SinkAll(strategy),
        ];
        let of_mcapi = [
            Order::Open { node: 4095, look: 50 },
            Order::Batch(Batch { traffic: Traffic::Stream, bytes: 65536, count: 7 }),
            Order::Close,
        ];
        let of_mcapi = of_mcapi.map(Mode::Mcapi);
        for mode in [Mode::Calls, Mode::Limits].into_iter().chain(of_messages).chain(of_mcapi) {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        for text in
            ["", "call", "messages", "messages x", "ports copy", "ports 0 copy", "ports 1025 copy"]
                .into_iter()
                .chain(["mcapi", "mcapi open 1", "mcapi packet 65537 1", "mcapi stream 0 1"])
        {
            assert_eq!(text.parse::<Mode>(), Err(()), "{text}");
        }
    }

    #[test]
    fn pages_go_there_and_back_and_nonsense_is_none() {
        let record = |span, edge| Record { ticks: 1 << 40, id: 0x10002, span, edge };
        let records = vec![record(Span::PhaseC, Edge::Leave), record(Span::Memory, Edge::Enter)];
        let page = Page { kept: 2, overwritten: 1 << 33, records };
        let mut bytes = page.to_bytes();
        assert_eq!(Page::fits(bytes.len()), 2);
        assert_eq!(Page::from_bytes(&bytes).as_ref(), Some(&page));
        assert_eq!(Page::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Page::from_bytes(&bytes[..11]), None);
        bytes[PAGE_HEAD + 12] = Span::ALL.len() as u8;
        assert_eq!(Page::from_bytes(&bytes), None);
    }
}
