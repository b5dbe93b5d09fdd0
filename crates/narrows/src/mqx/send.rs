//! Sending: to a queue here the message itself, to another processor by the relay.

use super::pool::{Place, Trip};
use super::{Control, Message, PoolId, Processor, QueueId, SendError, Supply, index};

/// How a broadcast ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// Queues to which the message, or a copy, was sent.
    pub sent: usize,
    /// The first that it was not sent to, and why; the message is still the sender's then.
    pub failed: Option<(QueueId, SendError)>,
}

impl<S: Supply, N: Clone> Processor<S, N> {
    /// Sends a message to the queue that its header names, with the urgency that it names
    /// (`_msgq_send`). The task that receives it has it then.
    ///
    /// # Errors
    /// See [`SendError`]; the message is still the sender's.
    pub fn send(&mut self, message: Message) -> Result<(), SendError> {
        let at = self.pools.held(message)?;
        let block = &self.pools.blocks[index(at)];
        let header = block.header;
        let urgency = header.control.bits().ok_or(SendError::Priority)?;
        if header.size > block.room {
            return Err(SendError::Size);
        }
        let to = header.target.processor();
        if to == 0 || to == self.number {
            let queue = self.place(header.target).ok_or(SendError::UnknownQueue)?;
            if self.queues[queue].as_ref().is_some_and(|queue| queue.is_full()) {
                return Err(SendError::Full);
            }
            self.counts.local += 1;
            self.enqueue(queue, at);
            return Ok(());
        }
        if usize::from(to) >= self.numbers.len() {
            return Err(SendError::NoRoute);
        }
        let link = self.choose(to, None).ok_or(SendError::NoRoute)?;
        if header.size > self.links[link].longest {
            return Err(SendError::Size);
        }
        if self.outgoing >= self.limits.outgoing {
            return Err(SendError::Full);
        }
        self.relay.push(link, 0, urgency, at).map_err(|_| SendError::Full)?;
        let block = &mut self.pools.blocks[index(at)];
        block.place = Place::Away;
        block.trip = Trip { origin: self.number, life: self.life, ..Trip::default() };
        self.outgoing += 1;
        self.counts.sent += 1;
        Ok(())
    }

    /// The same with a priority, 0 to 15 (`_msgq_send_priority`).
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_priority(&mut self, message: Message, priority: u8) -> Result<(), SendError> {
        self.header_mut(message)?.control = Control { priority, urgent: false };
        self.send(message)
    }

    /// The same before all that is not urgent (`_msgq_send_urgent`).
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_urgent(&mut self, message: Message) -> Result<(), SendError> {
        self.header_mut(message)?.control.urgent = true;
        self.send(message)
    }

    /// Sends a message to each queue of a list: copies of a pool to all but the last, which gets
    /// the message itself (`_msgq_send_broadcast`). Ends with the first that it cannot be sent to.
    ///
    /// # Errors
    /// [`SendError::Invalid`] or [`SendError::Queued`]: nothing was sent.
    pub fn send_broadcast(
        &mut self,
        message: Message,
        targets: &[QueueId],
        pool: PoolId,
    ) -> Result<Broadcast, SendError> {
        self.pools.held(message)?;
        let mut sent = 0;
        for (n, &target) in targets.iter().enumerate() {
            let last = n + 1 == targets.len();
            let one = if last { Ok(message) } else { self.copy(message, pool) };
            let done = one.and_then(|one| {
                self.header_mut(one)?.target = target;
                self.send(one).inspect_err(|_| {
                    if !last {
                        let _ = self.free(one);
                    }
                })
            });
            if let Err(why) = done {
                return Ok(Broadcast { sent, failed: Some((target, why)) });
            }
            sent += 1;
        }
        Ok(Broadcast { sent, failed: None })
    }

    /// A copy of a message, of a pool.
    fn copy(&mut self, message: Message, pool: PoolId) -> Result<Message, SendError> {
        let copy = self.alloc(pool).map_err(|_| SendError::Full)?;
        match self.pools.copy(message.block, copy.block) {
            Ok(()) => Ok(copy),
            Err(_) => {
                self.free(copy)?;
                Err(SendError::Size)
            }
        }
    }

    /// Over which link a message goes to a processor.
    pub(super) fn choose(&self, to: u8, came: Option<usize>) -> Option<usize> {
        self.table.choose(to, came, |link| self.links[link].is_up())
    }
}
