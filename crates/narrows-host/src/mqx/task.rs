//! What a thread does with a processor, and the messages that it has.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use narrows::mqx::{self, Broadcast, Header};

use super::memory::Memory;
use super::{
    Inner, MessageError, Notification, PoolError, PoolId, QueueError, QueueId, SendError, Shared,
    TICK,
};

/// A task: what a thread opens queues and receives messages as.
pub struct Task {
    shared: Arc<Shared>,
    task: mqx::Task,
}

/// What names a message, whichever task has it, until it is freed.
pub use narrows::mqx::Message as Name;

/// A message that a task has. Its bytes are as many as its header says, or as there are. It is
/// freed when it is dropped (`_msg_free`).
pub struct Message {
    /// Size, target, source and urgency.
    pub header: Header,
    /// Its memory; nothing once it was sent.
    bytes: Option<Memory>,
    name: mqx::Message,
    shared: Arc<Shared>,
}

impl Deref for Message {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        let bytes = self.bytes.as_ref().map(Memory::bytes).unwrap_or_default();
        bytes.get(..self.header.size as usize).unwrap_or(bytes)
    }
}

impl DerefMut for Message {
    fn deref_mut(&mut self) -> &mut [u8] {
        let bytes = self.bytes.as_mut().map(Memory::bytes_mut).unwrap_or_default();
        let size = bytes.len().min(self.header.size as usize);
        bytes.get_mut(..size).unwrap_or_default()
    }
}

impl Message {
    /// All its memory, with the [`HEAD`](super::HEAD) bytes in front of it, which belong to the
    /// task that has it and go nowhere. It stays where it is while the message is in this process.
    pub fn whole(&mut self) -> &mut [u8] {
        self.bytes.as_mut().map(Memory::whole).unwrap_or_default()
    }

    /// What it is known by when others have it.
    #[must_use]
    pub fn name(&self) -> Name {
        self.name
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").field("header", &self.header).finish_non_exhaustive()
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Some(bytes) = self.bytes.take() {
            self.shared.with(|inner| {
                inner.put(self.name, bytes, self.header);
                let _ = inner.core.free(self.name);
            });
        }
    }
}

impl Inner {
    /// Takes the bytes of a message out of its block, for a task.
    fn take(&mut self, shared: &Arc<Shared>, name: mqx::Message) -> Result<Message, MessageError> {
        let header = self.core.header(name)?;
        let bytes = std::mem::take(self.core.buffer(name)?);
        Ok(Message { header, bytes: Some(bytes), name, shared: Arc::clone(shared) })
    }

    /// Puts them back.
    fn put(&mut self, name: mqx::Message, bytes: Memory, header: Header) {
        if let Ok(buffer) = self.core.buffer(name) {
            *buffer = bytes;
        }
        if let Ok(its) = self.core.header_mut(name) {
            *its = header;
        }
    }
}

impl Task {
    pub(super) fn new(shared: Arc<Shared>, number: u32) -> Task {
        Task { shared, task: mqx::Task(number) }
    }

    /// Takes a message of a pool (`_msg_alloc`).
    ///
    /// # Errors
    /// See [`PoolError`].
    pub fn alloc(&self, pool: PoolId) -> Result<Message, PoolError> {
        let mut inner = self.shared.lock();
        let name = inner.core.alloc(pool)?;
        inner.take(&self.shared, name).map_err(|_| PoolError::Unknown)
    }

    /// Takes the smallest message of the system pools with this many bytes (`_msg_alloc_system`).
    ///
    /// # Errors
    /// See [`PoolError`].
    pub fn alloc_system(&self, bytes: u32) -> Result<Message, PoolError> {
        let mut inner = self.shared.lock();
        let name = inner.core.alloc_system(bytes)?;
        inner.take(&self.shared, name).map_err(|_| PoolError::Unknown)
    }

    /// Opens a queue of this task (`_msgq_open`): see [`mqx::Processor::open`].
    ///
    /// # Errors
    /// See [`QueueError`].
    pub fn open(&self, number: u8, limit: u16) -> Result<QueueId, QueueError> {
        self.shared.lock().core.open(self.task, number, limit)
    }

    /// Opens a system queue (`_msgq_open_system`): see [`mqx::Processor::open_system`].
    ///
    /// # Errors
    /// See [`QueueError`].
    pub fn open_system(
        &self,
        number: u8,
        limit: u16,
        notification: Option<Notification>,
    ) -> Result<QueueId, QueueError> {
        self.shared.lock().core.open_system(number, limit, notification)
    }

    /// Has another notification for a queue (`_msgq_set_notification_function`).
    ///
    /// # Errors
    /// See [`QueueError`].
    pub fn set_notification(
        &self,
        queue: QueueId,
        notification: Option<Notification>,
    ) -> Result<Option<Notification>, QueueError> {
        self.shared.lock().core.set_notification(queue, notification)
    }

    /// Closes a queue, and frees its messages (`_msgq_close`).
    ///
    /// # Errors
    /// See [`QueueError`].
    pub fn close(&self, queue: QueueId) -> Result<(), QueueError> {
        self.shared.with(|inner| inner.core.close(self.task, queue))
    }

    /// Sends a message to the queue that its header names, here or anywhere (`_msgq_send`,
    /// `_msgq_send_priority` and `_msgq_send_urgent`, by its header's urgency).
    ///
    /// # Errors
    /// Why not, and the message.
    pub fn send(&self, mut message: Message) -> Result<(), (SendError, Message)> {
        let Some(bytes) = message.bytes.take() else { return Ok(()) };
        let sent = self.shared.with(|inner| {
            inner.put(message.name, bytes, message.header);
            inner.core.send(message.name).map_err(|why| (why, inner.buffer_of(message.name)))
        });
        sent.map_err(|(why, bytes)| {
            message.bytes = bytes;
            (why, message)
        })
    }

    /// Sends a message to each of some queues (`_msgq_send_broadcast`): see
    /// [`mqx::Processor::send_broadcast`]. The message comes back if it was not sent.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_broadcast(
        &self,
        mut message: Message,
        queues: &[QueueId],
        pool: PoolId,
    ) -> Result<(Broadcast, Option<Message>), SendError> {
        let Some(bytes) = message.bytes.take() else { return Err(SendError::Invalid) };
        let (done, bytes) = self.shared.with(|inner| {
            inner.put(message.name, bytes, message.header);
            let done = inner.core.send_broadcast(message.name, queues, pool);
            (done, inner.buffer_of(message.name))
        });
        message.bytes = bytes;
        let kept = message.bytes.is_some().then_some(message);
        Ok((done?, kept))
    }

    /// Waits for a message of a queue of this task, or of any of them with [`QueueId::ANY`]
    /// (`_msgq_receive`). Nothing, if none came in time.
    ///
    /// # Errors
    /// See [`QueueError`].
    pub fn receive(
        &self,
        queue: QueueId,
        within: Option<Duration>,
    ) -> Result<Option<Message>, QueueError> {
        let got = self.shared.wait(within, |inner| {
            match inner.core.receive(self.task, queue) {
                Ok(None) => None,
                Ok(Some(name)) => Some(inner.take(&self.shared, name).map_err(|_| {
                    // It is in no queue any more, and it is this task's.
                    QueueError::NotOpen
                })),
                Err(why) => Some(Err(why)),
            }
        });
        got.transpose()
    }

    /// The same, waiting for this many ticks (`_msgq_receive_ticks`), or for good if that is 0.
    ///
    /// # Errors
    /// See [`QueueError`].
    pub fn receive_ticks(&self, queue: QueueId, ticks: u32) -> Result<Option<Message>, QueueError> {
        self.receive(queue, (ticks > 0).then_some(TICK * ticks))
    }

    /// The next message of a queue of this task or a system queue, if there is one (`_msgq_poll`).
    ///
    /// # Errors
    /// See [`QueueError`].
    pub fn poll(&self, queue: QueueId) -> Result<Option<Message>, QueueError> {
        let mut inner = self.shared.lock();
        let Some(name) = inner.core.poll(self.task, queue)? else { return Ok(None) };
        Ok(inner.take(&self.shared, name).ok())
    }

    /// A copy of the first message of a queue, which stays in it (`_msgq_peek`).
    ///
    /// # Errors
    /// See [`QueueError`].
    pub fn peek(&self, queue: QueueId) -> Result<Option<(Header, Vec<u8>)>, QueueError> {
        let mut inner = self.shared.lock();
        let first = inner.core.peek(queue)?;
        Ok(first.map(|(memory, header)| {
            let bytes = memory.bytes();
            let size = bytes.len().min(header.size as usize);
            (header, bytes.get(..size).unwrap_or_default().to_vec())
        }))
    }

    /// Looks at the first message of a queue of this task or a system queue, as
    /// [`Message::whole`] shows it. It stays in the queue. Nothing else happens to the processor
    /// meanwhile.
    ///
    /// # Errors
    /// See [`QueueError`].
    pub fn look<R>(
        &self,
        queue: QueueId,
        act: impl FnOnce(&Header, &mut [u8]) -> R,
    ) -> Result<Option<R>, QueueError> {
        let mut inner = self.shared.lock();
        if inner.core.owner(queue)?.is_some_and(|owner| owner != self.task) {
            return Err(QueueError::NotOwner);
        }
        let first = inner.core.peek(queue)?;
        Ok(first.map(|(memory, header)| act(&header, memory.whole())))
    }

    /// Its number on its processor.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.task.0
    }

    /// The number of the task whose queue it is, if it is no system queue (`_msgq_get_owner`).
    ///
    /// # Errors
    /// [`QueueError::NotOpen`].
    pub fn owner(&self, queue: QueueId) -> Result<Option<u32>, QueueError> {
        Ok(self.shared.lock().core.owner(queue)?.map(|task| task.0))
    }

    /// Whether a message of this name is with a task.
    ///
    /// # Errors
    /// It was freed, or sent: see [`MessageError`].
    pub fn held(&self, name: Name) -> Result<(), MessageError> {
        self.shared.lock().core.header(name).map(|_| ())
    }

    /// Closes all queues of this task, as when it ends.
    pub fn end(&self) {
        self.shared.with(|inner| {
            for number in 1..=u8::MAX {
                let queue = inner.core.id(0, number);
                if inner.core.owner(queue) == Ok(Some(self.task)) {
                    let _ = inner.core.close(self.task, queue);
                }
            }
        });
    }

    /// Messages in a queue, or in all of this task's with [`QueueId::ANY`] (`_msgq_get_count`).
    ///
    /// # Errors
    /// See [`QueueError`].
    pub fn count(&self, queue: QueueId) -> Result<u16, QueueError> {
        self.shared.lock().core.count(self.task, queue)
    }

    /// The id of a queue of a processor, of this one if that is 0 (`_msgq_get_id`).
    pub fn id(&self, processor: u8, queue: u8) -> QueueId {
        self.shared.lock().core.id(processor, queue)
    }

    /// Whether all queues hang together (`_msgq_test`).
    ///
    /// # Errors
    /// The first that does not.
    pub fn test(&self) -> Result<(), QueueId> {
        self.shared.lock().core.test()
    }
}

impl Inner {
    /// The bytes of a message that is still the caller's.
    fn buffer_of(&mut self, name: mqx::Message) -> Option<Memory> {
        self.core.buffer(name).ok().map(std::mem::take)
    }
}
