//! Queues: messages in the order of their urgency, and of equals the one that came first.

use super::pool::{Block, Place};
use super::{QueueError, Task};
use crate::link::route::{NONE, Row};

/// Whose a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Task(Task),
    System,
}

/// A queue that is open. `N` is what its owner wants to be told with.
pub(super) struct Queue<N> {
    pub owner: Owner,
    limit: u16,
    row: Row,
    pub count: u16,
    pub notification: Option<N>,
    /// Messages of which the owner was not told.
    pub untold: u16,
}

impl<N> Queue<N> {
    /// A queue that takes `limit` messages, or as many as there are if that is 0.
    pub fn new(owner: Owner, limit: u16, notification: Option<N>) -> Queue<N> {
        let limit = if limit == 0 { NONE } else { limit };
        Queue { owner, limit, row: Row::EMPTY, count: 0, notification, untold: 0 }
    }

    pub fn is_full(&self) -> bool {
        self.count >= self.limit
    }

    /// Whether a task may receive of it.
    pub fn of(&self, task: Task) -> Result<(), QueueError> {
        if self.owner == Owner::Task(task) { Ok(()) } else { Err(QueueError::NotOwner) }
    }

    /// Puts a block in its place.
    pub fn push<B>(&mut self, own: u16, blocks: &mut [Block<B>], at: u16) {
        self.row.insert(blocks, at);
        blocks[usize::from(at)].place = Place::Queued(own);
        self.count += 1;
        self.untold += u16::from(self.notification.is_some());
    }

    /// Takes the first block, which is a task's then.
    pub fn pop<B>(&mut self, blocks: &mut [Block<B>]) -> Option<u16> {
        let at = self.row.pop(blocks)?;
        blocks[usize::from(at)].place = Place::Held;
        self.count -= 1;
        Some(at)
    }

    /// The first block.
    pub fn first(&self) -> Option<u16> {
        self.row.first()
    }

    /// Whether its messages hang together: as many as it counts, in order, each in this queue.
    pub fn is_sound<B>(&self, own: u16, blocks: &[Block<B>]) -> bool {
        let mut at = self.row.first().unwrap_or(NONE);
        let (mut last, mut urgency) = (None, Some(u8::MAX));
        for _ in 0..self.count {
            let Some(block) = blocks.get(usize::from(at)) else { return false };
            let bits = block.header.control.bits();
            if block.place != Place::Queued(own) || bits > urgency {
                return false;
            }
            (last, at, urgency) = (Some(at), block.next, bits);
        }
        at == NONE && last == self.row.last()
    }
}
