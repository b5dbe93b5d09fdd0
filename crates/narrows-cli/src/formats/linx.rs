//! What the test cases of LINX can be told apart by: drivers, stacks, and what helps against
//! bursts.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The five drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
pub enum DriverName {
    /// Shared memory, copied by both cores, acknowledged by an interrupt
    ShmAck,
    /// As that, acknowledged by a state that the sender looks at before it sends again
    ShmNoack,
    /// Copied by the receiver alone, from the sender's signal to its own
    SingleCopy,
    /// Gathered by the receiver's copy engine, acknowledged by an interrupt
    DmaAck,
    /// As that, acknowledged by a state
    DmaNoack,
}

impl DriverName {
    /// All of them.
    pub const ALL: [DriverName; 5] = [
        DriverName::ShmAck,
        DriverName::ShmNoack,
        DriverName::SingleCopy,
        DriverName::DmaAck,
        DriverName::DmaNoack,
    ];

    /// Whether its receiver acknowledges with an interrupt.
    pub(crate) fn acknowledges(self) -> bool {
        !matches!(self, DriverName::ShmNoack | DriverName::DmaNoack)
    }

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            DriverName::ShmAck => "shm-ack",
            DriverName::ShmNoack => "shm-noack",
            DriverName::SingleCopy => "single-copy",
            DriverName::DmaAck => "dma-ack",
            DriverName::DmaNoack => "dma-noack",
        }
    }
}

/// Where the layers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Stack {
    /// The link handler, the connection's receiver and the service routine are processes
    Layered,
    /// All that sends runs in the sender's call, all that receives in the service routine
    Flat,
}

impl Stack {
    /// Both.
    pub const ALL: [Stack; 2] = [Stack::Layered, Stack::Flat];

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Stack::Layered => "layered",
            Stack::Flat => "flat",
        }
    }
}

/// What a receiver does against a burst that leaves its application no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Counter {
    /// The connection's receiver is woken for every 4th frame, and for fewer when the core idles
    Coalesce,
    /// Interrupts are masked while 4 frames wait for the connection's receiver
    Mask,
    /// Interrupts are masked once the service routine has had half of the core for 2 ms
    Quota,
    /// The first interrupt masks the others, and the connection's receiver polls until none is left
    Poll,
    /// At most 8 signals are under way that the application has not used
    Window,
}

impl Counter {
    /// All of them.
    pub const ALL: [Counter; 5] =
        [Counter::Coalesce, Counter::Mask, Counter::Quota, Counter::Poll, Counter::Window];

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Counter::Coalesce => "coalesce",
            Counter::Mask => "mask",
            Counter::Quota => "quota",
            Counter::Poll => "poll",
            Counter::Window => "window",
        }
    }
}
