//! What names processors, queues, pools and messages.

use core::fmt;

/// A message queue anywhere: its processor in the upper eight bits, its number there in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub u16);

impl QueueId {
    /// No queue (`MSGQ_NULL_QUEUE_ID`); where messages are received, any queue of the task
    /// (`MSGQ_ANY_QUEUE`).
    pub const ANY: QueueId = QueueId(0);

    /// The queue of this number on a processor (`_msgq_get_id`).
    #[must_use]
    pub fn new(processor: u8, queue: u8) -> QueueId {
        QueueId(u16::from_be_bytes([processor, queue]))
    }

    /// Its processor; 0 stands for whichever uses the id.
    #[must_use]
    pub fn processor(self) -> u8 {
        self.0.to_be_bytes()[0]
    }

    /// Its number on its processor.
    #[must_use]
    pub fn queue(self) -> u8 {
        self.0.to_be_bytes()[1]
    }
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queue {} of processor {}", self.queue(), self.processor())
    }
}

/// A task of a processor, by a number that its surroundings gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Task(pub u32);

/// A pool of messages, until it is destroyed. Then it names nothing, and so does every copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolId {
    pub(super) at: u16,
    pub(super) life: u32,
}

/// A message, until it is freed. Then it names nothing, and so does every copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    pub(super) block: u16,
    pub(super) life: u32,
}
