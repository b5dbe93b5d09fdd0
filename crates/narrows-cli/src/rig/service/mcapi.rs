//! What the caller has the other side do.

use std::fmt;
use std::str::FromStr;

/// The longest message or packet.
pub const LONGEST: usize = 65536;
/// Bytes of an exchange of [`Traffic::Stream`].
pub const TOTAL: usize = 16384;

/// What goes between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// A scalar of 64 bits there and back.
    Scalar,
    /// A message there and back.
    Message,
    /// A packet there, read where it is and sent back from there.
    Packet,
    /// Packets one way, 16 KiB of them, and a scalar back when the last has been read.
    Stream,
}

impl Traffic {
    const ALL: [Traffic; 4] = [Traffic::Scalar, Traffic::Message, Traffic::Packet, Traffic::Stream];

    /// The name in orders and reports.
    pub fn name(self) -> &'static str {
        match self {
            Traffic::Scalar => "scalar",
            Traffic::Message => "message",
            Traffic::Packet => "packet",
            Traffic::Stream => "stream",
        }
    }
}

/// Exchanges that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// What each is.
    pub traffic: Traffic,
    /// Bytes of a message or packet.
    pub bytes: usize,
    /// How many exchanges.
    pub count: u64,
}

impl Batch {
    /// Packets of an exchange one way.
    pub fn packets(&self) -> usize {
        TOTAL / self.bytes.max(1)
    }
}

/// What the other side is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Open a node that is linked with the caller's.
    Open {
        /// The number of the caller's node.
        node: u32,
        /// How long waits look before they sleep, in microseconds.
        look: u32,
    },
    /// Take part in a batch.
    Batch(Batch),
    /// End the node.
    Close,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Open { node, look } => write!(f, "open {node} {look}"),
            Order::Batch(batch) => {
                write!(f, "{} {} {}", batch.traffic.name(), batch.bytes, batch.count)
            }
            Order::Close => f.write_str("close"),
        }
    }
}

impl FromStr for Order {
    type Err = ();

    fn from_str(text: &str) -> Result<Order, ()> {
        let mut words = text.split(' ');
        let mut word = || words.next().ok_or(());
        let order = match word()? {
            "open" => Order::Open { node: number(word()?)?, look: number(word()?)? },
            "close" => Order::Close,
            name => {
                let traffic = Traffic::ALL.into_iter().find(|traffic| traffic.name() == name);
                let (traffic, bytes, count) = (traffic.ok_or(())?, word()?, word()?);
                let bytes = number(bytes).ok().filter(|bytes| (1..=LONGEST).contains(bytes));
                Order::Batch(Batch { traffic, bytes: bytes.ok_or(())?, count: number(count)? })
            }
        };
        words.next().is_none().then_some(order).ok_or(())
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, ()> {
    text.parse().map_err(|_| ())
}
