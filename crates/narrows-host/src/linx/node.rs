//! Nodes, as applications have them.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::endpoint::Endpoint;
use super::shared::Shared;
use super::sync::Mutex;
use super::waits::Awaited;
use super::{Error, Stack, registry, siblings, threads};
use crate::OpenError;

/// A node; it ends with the last of its endpoints and copies.
#[derive(Clone)]
pub struct Node {
    pub(super) owned: Arc<Owned>,
}

/// What ends with a node.
pub(super) struct Owned {
    pub shared: Arc<Shared>,
    pub stack: Stack,
    pub threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for Owned {
    fn drop(&mut self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        if !threads.is_empty() {
            threads::stop(&self.shared, threads);
        }
        siblings::remove(&self.shared);
    }
}

impl Node {
    pub(super) fn new(shared: Arc<Shared>, stack: Stack) -> Result<Node, Error> {
        let threads = match stack {
            Stack::Flat => Vec::new(),
            Stack::Layered => threads::start(&shared).map_err(|_| Error::Resources)?,
        };
        Ok(Node { owned: Arc::new(Owned { shared, stack, threads: Mutex::new(threads) }) })
    }

    /// Opens an endpoint, which others hunt as `node/name`; one without a name cannot be hunted.
    ///
    /// # Errors
    /// [`Error::Open`] if it is not a name, [`Error::Handler`] if it is taken or there is no room.
    pub fn open(&self, name: Option<&str>) -> Result<Endpoint, Error> {
        let parse = |text: &str| registry::key(text).ok_or_else(|| OpenError::Name(text.into()));
        let key = name.map(parse).transpose()?;
        let spid = self.owned.shared.enter().open(key, name.unwrap_or_default())?;
        Ok(Endpoint::new(self.clone(), spid))
    }

    /// Stops the link handler of a layered node, as an operating system stops a process, or starts
    /// it again: signals that are sent meanwhile, at most [`OUTBOX`](super::OUTBOX), wait for it,
    /// and a thread that sends more waits too. For measuring what bursts cost whom; nothing, if the
    /// node is flat.
    pub fn stop_handler(&self, stopped: bool) {
        let mut core = self.owned.shared.enter();
        core.stopped = stopped;
        core.around.waits.tell(Awaited::Outgoing);
    }
}
