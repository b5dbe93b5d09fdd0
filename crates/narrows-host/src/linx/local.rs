//! What an endpoint has on its node: its queue and its attaches, and its timeouts.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use narrows::link::LinkId;
use narrows::linx::Spid;
use narrows::platform::Instant;

use super::signal::Signal;

/// A signal that waits at an endpoint, and the link whose window it takes up.
pub(super) struct Queued {
    pub signal: Signal,
    pub via: Option<(u16, LinkId)>,
}

/// A timeout that an endpoint asked for; its signal bears its number.
pub(super) struct Timer {
    pub owner: Spid,
    pub at: Instant,
    pub signal: Signal,
}

/// An endpoint of this node.
pub(super) struct Local {
    pub spid: Spid,
    pub queue: VecDeque<Queued>,
    /// Attaches, by the number of their signals, and by the link handler's.
    pub attaches: Vec<(u32, u32)>,
    /// Readable while something is in the queue, for a thread that waits for a descriptor.
    pub ready: Option<OwnedFd>,
}

impl Local {
    pub fn put(&mut self, queued: Queued) {
        self.queue.push_back(queued);
        if let Some(ready) = &self.ready {
            // A counter that is full is readable.
            let _ = rustix::io::write(ready, &1_u64.to_ne_bytes());
        }
    }

    pub fn remove(&mut self, at: usize) -> Option<Queued> {
        let queued = self.queue.remove(at)?;
        if let Some(ready) = self.ready.as_ref().filter(|_| self.queue.is_empty()) {
            let _ = rustix::io::read(ready, &mut [0; 8]);
        }
        Some(queued)
    }

    /// Takes a signal that waits though what it was asked for by is taken back.
    pub fn unmark(&mut self, mark: u32) -> Option<Signal> {
        let at = self.queue.iter().position(|queued| queued.signal.mark() == mark)?;
        Some(self.remove(at)?.signal)
    }
}
