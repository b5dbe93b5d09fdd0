//! Doorbells: an event counter that a peer writes and this node sleeps on.

pub(crate) mod aio;
pub(crate) mod carry;
pub(crate) mod idle;
pub(crate) mod set;
pub(crate) mod sets;
pub(crate) mod timer;

use std::fmt;
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io;

use crate::closing::Foreign;
use carry::Carries;

/// A doorbell: the end that is rung, or the one that is slept on.
pub struct Bell {
    counter: OwnedFd,
    how: How,
}

/// How a bell is rung.
#[derive(Clone)]
enum How {
    /// By a write to its counter.
    Write,
    /// As another user's, which could make it one that blocks its writer.
    Others,
    /// By telling this, which wakes the thread that sleeps on the counter if it has to.
    Tell(Arc<dyn Carries>),
}

impl Bell {
    /// A bell that nobody else has yet.
    ///
    /// # Errors
    /// What the system says if it has no room for it.
    pub fn new() -> io::Result<Bell> {
        let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Bell { counter, how: How::Write })
    }

    /// Takes a descriptor that a peer sent, another user's perhaps, if it is what it should be:
    /// writing to a pipe or a file could block, or do worse.
    ///
    /// # Errors
    /// What the system says if it does not say what the descriptor is.
    pub(crate) fn received(descriptor: Foreign, others: bool) -> io::Result<Option<Bell>> {
        let Some(counter) = descriptor.counter()? else { return Ok(None) };
        rustix::fs::fcntl_setfl(&counter, OFlags::NONBLOCK)?;
        let how = if others { How::Others } else { How::Write };
        Ok(Some(Bell { counter, how }))
    }

    /// The same bell once more.
    ///
    /// # Errors
    /// What the system says if it has no room for it.
    pub(crate) fn share(&self) -> io::Result<Bell> {
        let counter = io::fcntl_dupfd_cloexec(&self.counter, 0)?;
        Ok(Bell { counter, how: self.how.clone() })
    }

    /// The same bell, for the node whose link this end carries: what the node rings for is sent at
    /// once.
    pub(crate) fn told(self, carries: Arc<dyn Carries>) -> Bell {
        Bell { how: How::Tell(carries), ..self }
    }

    /// Forgets how often it was rung.
    pub(crate) fn hear(&self) {
        let _ = io::read(&self.counter, &mut [0; 8]);
    }

    /// Rings. A counter that is full has not been heard yet, so nothing is lost.
    #[inline]
    pub fn ring(&self) {
        match &self.how {
            // Nothing can be done about what fails here: it is the peer that does not hear.
            How::Write => {
                let _ = io::retry_on_intr(|| io::write(&self.counter, &1u64.to_ne_bytes()));
            }
            how => self.ring_otherwise(how),
        }
    }

    /// Whether ringing it sends what the node has published.
    pub(crate) fn sends(&self) -> bool {
        matches!(self.how, How::Tell(_))
    }

    #[cold]
    fn ring_otherwise(&self, how: &How) {
        match how {
            How::Tell(carries) => carries.push(),
            How::Others | How::Write => drop(aio::add(self.counter.as_fd())),
        }
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bell").field("counter", &self.counter).finish_non_exhaustive()
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.counter.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ringing_another_users_bell_does_not_block_whatever_its_owner_does_to_it() {
        let theirs = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let bell = Bell::received(Foreign::new(theirs.try_clone().unwrap()), true);
        let bell = bell.unwrap().unwrap();
        let mut count = [0; 8];
        // More often than results are kept for.
        (0..200).for_each(|_| bell.ring());
        assert_eq!(rustix::io::read(&theirs, &mut count).unwrap(), 8);
        assert_eq!(u64::from_ne_bytes(count), 200);

        rustix::fs::fcntl_setfl(&theirs, OFlags::empty()).unwrap();
        rustix::io::write(&theirs, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        let (told, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            (0..200).for_each(|_| bell.ring());
            told.send(()).unwrap();
        });
        ended.recv_timeout(std::time::Duration::from_secs(20)).expect("it came back");
    }
}
