//! What tasks do with queues: open, receive, look, close.

use super::queue::{Owner, Queue};
use super::{Message, Processor, QueueError, QueueId, Supply, Task, index};

impl<S: Supply, N: Clone> Processor<S, N> {
    /// Opens a queue of a task: the one of this number, or any if it is 0 (`_msgq_open`). It takes
    /// `limit` messages, or as many as there are if that is 0.
    ///
    /// # Errors
    /// [`QueueError::InUse`] or [`QueueError::TooMany`].
    pub fn open(&mut self, task: Task, number: u8, limit: u16) -> Result<QueueId, QueueError> {
        self.open_for(Owner::Task(task), number, limit, None)
    }

    /// Opens a queue that any task and any interrupt may take messages of, and that notifies the
    /// program that opened it of each message (`_msgq_open_system`).
    ///
    /// # Errors
    /// [`QueueError::InUse`] or [`QueueError::TooMany`].
    pub fn open_system(
        &mut self,
        number: u8,
        limit: u16,
        notification: Option<N>,
    ) -> Result<QueueId, QueueError> {
        self.open_for(Owner::System, number, limit, notification)
    }

    fn open_for(
        &mut self,
        owner: Owner,
        number: u8,
        limit: u16,
        notification: Option<N>,
    ) -> Result<QueueId, QueueError> {
        let at = match number {
            0 => self.queues.iter().position(Option::is_none).ok_or(QueueError::TooMany)?,
            number => usize::from(number) - 1,
        };
        let place = self.queues.get_mut(at).ok_or(QueueError::TooMany)?;
        if place.is_some() {
            return Err(QueueError::InUse);
        }
        *place = Some(Queue::new(owner, limit, notification));
        Ok(QueueId::new(self.number, at as u8 + 1))
    }

    /// Closes a queue (`_msgq_close`): the task's own, or a system queue. Its messages are freed.
    ///
    /// # Errors
    /// [`QueueError::NotOpen`] or [`QueueError::NotOwner`].
    pub fn close(&mut self, task: Task, id: QueueId) -> Result<(), QueueError> {
        let at = self.place(id).ok_or(QueueError::NotOpen)?;
        let mine = |queue: &Queue<N>| queue.owner == Owner::System || queue.of(task).is_ok();
        if !self.queues[at].as_ref().is_some_and(mine) {
            return Err(QueueError::NotOwner);
        }
        while let Some(block) = self.pop(at) {
            self.put(block);
        }
        self.queues[at] = None;
        Ok(())
    }

    /// Has another notification for the messages of a queue from now on, or none
    /// (`_msgq_set_notification_function`). Returns the last.
    ///
    /// # Errors
    /// [`QueueError::NotOpen`].
    pub fn set_notification(
        &mut self,
        id: QueueId,
        notification: Option<N>,
    ) -> Result<Option<N>, QueueError> {
        let at = self.place(id).ok_or(QueueError::NotOpen)?;
        let queue = self.queues[at].as_mut().ok_or(QueueError::NotOpen)?;
        queue.untold = 0;
        Ok(core::mem::replace(&mut queue.notification, notification))
    }

    /// The notification of a message that came into a queue since the last one of it: to be asked
    /// after a send or [`Processor::serve`] until there is none, and run when nothing of the
    /// processor is in use.
    pub fn notice(&mut self) -> Option<N> {
        if !self.untold {
            return None;
        }
        let queue = self.queues.iter_mut().flatten().find(|queue| queue.untold > 0);
        let Some(queue) = queue else {
            self.untold = false;
            return None;
        };
        queue.untold -= 1;
        queue.notification.clone()
    }

    /// The first message of a task's queue, or the most urgent of all of them if the id is
    /// [`QueueId::ANY`]: what `_msgq_receive` waits for.
    ///
    /// # Errors
    /// [`QueueError::NotOpen`] or [`QueueError::NotOwner`].
    pub fn receive(&mut self, task: Task, id: QueueId) -> Result<Option<Message>, QueueError> {
        let at = if id == QueueId::ANY {
            let Some(at) = self.fullest(task)? else { return Ok(None) };
            at
        } else {
            let at = self.place(id).ok_or(QueueError::NotOpen)?;
            self.queues[at].as_ref().ok_or(QueueError::NotOpen)?.of(task)?;
            at
        };
        Ok(self.pop(at).map(|at| self.pools.name(at)))
    }

    /// The queue of a task with its most urgent message.
    fn fullest(&self, task: Task) -> Result<Option<usize>, QueueError> {
        let (mut any, mut best) = (false, None);
        for (at, queue) in self.queues.iter().enumerate() {
            let Some(queue) = queue.as_ref().filter(|queue| queue.of(task).is_ok()) else {
                continue;
            };
            any = true;
            let Some(first) = queue.first() else { continue };
            let urgency = self.pools.blocks[index(first)].header.control.bits();
            if best.is_none_or(|(most, _)| urgency > most) {
                best = Some((urgency, at));
            }
        }
        if any { Ok(best.map(|(_, at)| at)) } else { Err(QueueError::NotOpen) }
    }

    /// The first message of a queue, the task's own or a system queue (`_msgq_poll`).
    ///
    /// # Errors
    /// [`QueueError::NotOpen`] or [`QueueError::NotOwner`].
    pub fn poll(&mut self, task: Task, id: QueueId) -> Result<Option<Message>, QueueError> {
        let at = self.place(id).ok_or(QueueError::NotOpen)?;
        let queue = self.queues[at].as_ref().ok_or(QueueError::NotOpen)?;
        if queue.owner != Owner::System {
            queue.of(task)?;
        }
        Ok(self.pop(at).map(|at| self.pools.name(at)))
    }

    /// The memory of the first message of a queue, which stays in it, and how much of it is the
    /// message (`_msgq_peek`).
    ///
    /// # Errors
    /// [`QueueError::NotOpen`].
    pub fn peek(
        &mut self,
        id: QueueId,
    ) -> Result<Option<(&mut S::Buffer, super::Header)>, QueueError> {
        let at = self.place(id).ok_or(QueueError::NotOpen)?;
        let first = self.queues[at].as_ref().and_then(Queue::first);
        let block = first.map(|first| &mut self.pools.blocks[index(first)]);
        Ok(block.and_then(|block| Some((block.buffer.as_mut()?, block.header))))
    }

    /// The task whose queue it is, if it is no system queue (`_msgq_get_owner`).
    ///
    /// # Errors
    /// [`QueueError::NotOpen`].
    pub fn owner(&self, id: QueueId) -> Result<Option<Task>, QueueError> {
        let at = self.place(id).ok_or(QueueError::NotOpen)?;
        match self.queues[at].as_ref().ok_or(QueueError::NotOpen)?.owner {
            Owner::Task(task) => Ok(Some(task)),
            Owner::System => Ok(None),
        }
    }

    /// Messages in a queue, or in all of a task's if the id is [`QueueId::ANY`]
    /// (`_msgq_get_count`).
    ///
    /// # Errors
    /// [`QueueError::NotOpen`].
    pub fn count(&self, task: Task, id: QueueId) -> Result<u16, QueueError> {
        if id == QueueId::ANY {
            let queues = self.queues.iter().flatten();
            return Ok(queues.filter(|queue| queue.of(task).is_ok()).map(|q| q.count).sum());
        }
        let at = self.place(id).ok_or(QueueError::NotOpen)?;
        Ok(self.queues[at].as_ref().map_or(0, |queue| queue.count))
    }

    /// The id of a queue by its number, on a processor or on this one if that is 0
    /// (`_msgq_get_id`).
    pub fn id(&self, processor: u8, queue: u8) -> QueueId {
        QueueId::new(if processor == 0 { self.number } else { processor }, queue)
    }

    /// Whether all queues hang together (`_msgq_test`).
    ///
    /// # Errors
    /// The first that does not.
    pub fn test(&self) -> Result<(), QueueId> {
        for (at, queue) in self.queues.iter().enumerate() {
            if queue.as_ref().is_some_and(|q| !q.is_sound(at as u16, &self.pools.blocks)) {
                return Err(QueueId::new(self.number, at as u8 + 1));
            }
        }
        Ok(())
    }

    fn pop(&mut self, at: usize) -> Option<u16> {
        self.queues[at].as_mut()?.pop(&mut self.pools.blocks)
    }
}
