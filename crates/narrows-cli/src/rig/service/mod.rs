//! What a caller asks of the callee's process itself, beside the work of the library: calls of
//! three functions whose names begin with `narrows.`.
//!
//! | function | request | response |
//! |---|---|---|
//! | [`CPU`] | nothing | processor time of the process in nanoseconds, 8 bytes |
//! | [`TRACE`] | a [`TraceOrder`] | a [`Page`], or nothing |
//! | [`MODE`] | a [`Mode`] | nothing |
//!
//! Orders are JSON. An order takes effect after its answer and before the next request. All figures
//! are little-endian.

pub mod linx;
pub mod mcapi;
pub mod susan;

use crate::rig::service::linx::Order as LinxOrder;
use crate::rig::service::mcapi::Order;
use crate::rig::service::susan::Order as SusanOrder;
use narrows::span::{Edge, Span};
use narrows::strategy::Strategy;
use narrows_host::Record;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Calls of the library.
    Calls,
    /// Messages to [`ECHO_PORT`], which it sends back by the strategy, and nothing else until one
    /// with the tag [`LAST`] comes, which it sends back like any other.
    Messages(#[serde(with = "by_name")] Strategy),
    /// As [`Mode::Messages`], to this many ports from [`MANY_PORTS`] on, each in its turn.
    Ports(u16, #[serde(with = "by_name")] Strategy),
    /// As [`Mode::Messages`], each sent back [`LATE`] after it came.
    Late(#[serde(with = "by_name")] Strategy),
    /// Messages to [`SINK_PORT`], every byte of which it reads, and nothing else until one with the
    /// tag [`LAST`] comes, which it answers with a [`Receipt`](crate::rig::sink::Receipt).
    Sink(#[serde(with = "by_name")] Strategy),
    /// As [`Mode::Sink`], with all messages that are there received at a time.
    SinkAll(#[serde(with = "by_name")] Strategy),
    /// An [order](Order) of `bench mcapi`, and calls when it is done.
    Mcapi(Order),
    /// An order of the LINX test cases, and calls when it is done.
    Linx(LinxOrder),
    /// An order of `bench susan`, and calls when it is done.
    Susan(SusanOrder),
    /// Batches of [`crate::rig::limit`], and calls when there is no batch for two milliseconds.
    Limits,
}

impl Mode {
    /// Whether the other side can do it.
    fn is_possible(&self) -> bool {
        match self {
            Mode::Ports(count, _) => (1..=MOST_PORTS).contains(count),
            Mode::Mcapi(order) => order.is_possible(),
            Mode::Susan(order) => order.is_possible(),
            _ => true,
        }
    }
}

/// The request of an order.
pub fn to_bytes(order: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(order).expect("an order has no map and cannot fail by itself")
}

/// Reads a [`Mode`] that the other side can do.
pub fn mode(request: &[u8]) -> Option<Mode> {
    serde_json::from_slice(request).ok().filter(Mode::is_possible)
}

/// Strategies in orders are their names.
mod by_name {
    use super::{Deserialize, Deserializer, Serializer, Strategy};
    use serde::de::Error;

    pub fn serialize<S: Serializer>(strategy: &Strategy, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(strategy)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Strategy, D::Error> {
        String::deserialize(from)?.parse().map_err(Error::custom)
    }
}

/// What to do with the stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceOrder {
    /// Forget all and begin.
    On,
    /// Stop, and keep what there is for [`TraceOrder::Page`].
    Off,
    /// Answer with the kept stamps from this one on, as many as fit.
    Page(u32),
}

/// Reads a [`TraceOrder`].
pub fn trace(request: &[u8]) -> Option<TraceOrder> {
    serde_json::from_slice(request).ok()
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
    /// Records that fit into a response of this many bytes.
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
    use crate::formats::linx::{Counter, DriverName, Stack};
    use crate::rig::service::mcapi::{Batch, Traffic};
    use crate::rig::susan::Find;
    use linx::How;
    use susan::Part;

    #[test]
    fn orders_go_there_and_back() {
        for order in [TraceOrder::On, TraceOrder::Off, TraceOrder::Page(70_000)] {
            assert_eq!(trace(&to_bytes(&order)), Some(order));
        }
        assert_eq!(trace(&[3; 5]), None);
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
        let (counter, driver) = (Some(Counter::Mask), Some(DriverName::DmaNoack));
        let of_linx = [
            LinxOrder::Open(7, How::default()),
            LinxOrder::Open(8, How { mtu: Some(512), counter, driver, longest: 4096 }),
            LinxOrder::Serve(Stack::Layered, 100),
            LinxOrder::Echo(Stack::Flat, 9),
            LinxOrder::Close,
        ];
        let of_linx = of_linx.map(Mode::Linx);
        let part = Part {
            width: 65536,
            rows: 9,
            keep: (0, 9),
            finds: [Some(Find::Edges), None, Some(Find::Smoothing)],
            threshold: 255,
            computes: true,
            count: u32::MAX,
        };
        let of_susan = [SusanOrder::Open(4095), SusanOrder::Take(part), SusanOrder::Close];
        assert!(of_susan.iter().all(|order| to_bytes(&Mode::Susan(*order)).len() < 400));
        for mode in [Mode::Calls, Mode::Limits]
            .into_iter()
            .chain(of_messages)
            .chain(of_mcapi)
            .chain(of_linx)
            .chain(of_susan.map(Mode::Susan))
        {
            assert_eq!(super::mode(&to_bytes(&mode)), Some(mode));
        }
        let batch =
            |bytes| Mode::Mcapi(Order::Batch(Batch { traffic: Traffic::Stream, bytes, count: 1 }));
        let take = |part| Mode::Susan(SusanOrder::Take(part));
        let wrong = [
            take(Part { width: 0, ..part }),
            take(Part { width: 65537, ..part }),
            take(Part { keep: (0, 10), ..part }),
            take(Part { keep: (5, 4), ..part }),
        ];
        for mode in [Mode::Ports(0, strategy), Mode::Ports(1025, strategy), batch(0), batch(65537)]
            .into_iter()
            .chain(wrong)
        {
            assert_eq!(super::mode(&to_bytes(&mode)), None, "{mode:?}");
        }
        for text in ["", "calls", "\"Call\"", "{\"Messages\":\"x\"}", "\"Calls\" and more"] {
            assert_eq!(super::mode(text.as_bytes()), None, "{text}");
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
