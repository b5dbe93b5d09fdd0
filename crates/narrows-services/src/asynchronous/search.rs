//! How a client comes to a flow, a step at a time and without waiting.

use std::time::{Duration, Instant};

use narrows::endpoint::{FlowError, FlowId};
use narrows::link::{LinkId, Name};

use crate::client::Find;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::lookout::Lookout;
use crate::signature::{LOOK, Signature};

enum Stage {
    Looks,
    /// It asks a node to open a flow.
    Opens(LinkId, FlowId),
}

/// A search for a service. Dropped, it leaves nothing behind.
pub(super) struct Search<'a> {
    find: &'a Find,
    signature: &'a Signature,
    room: usize,
    stage: Stage,
    lookout: Lookout,
    hunted: Option<Name>,
}

impl<'a> Search<'a> {
    pub(super) fn new(find: &'a Find, signature: &'a Signature, room: usize) -> Search<'a> {
        let lookout = Lookout::new();
        Search { find, signature, room, stage: Stage::Looks, lookout, hunted: None }
    }

    /// How long until the next step is due, whatever comes.
    pub(super) fn due_in(&self) -> Option<Duration> {
        match self.stage {
            Stage::Looks => Deadline::at(self.lookout.due()).left(),
            Stage::Opens(..) => None,
        }
    }

    /// Goes on. The link and the flow, once there are both.
    ///
    /// # Errors
    /// See [`Error`].
    pub(super) fn step(&mut self) -> Result<Option<(LinkId, FlowId)>, Error> {
        let service = || self.signature.service().to_string();
        let mut node = self.find.node().below()?;
        node.poll();
        let now = Instant::now();
        if let Stage::Looks = self.stage
            && self.lookout.due().is_some_and(|at| now >= at)
        {
            self.lookout.looks();
            let Some(offer) = self.signature.offer_of(&node)? else {
                self.lookout.rests(&node, LOOK);
                return Ok(None);
            };
            self.lookout.again(now + LOOK);
            let link = node.try_hunt(&offer).map_err(|error| Error::Link(service(), error))?;
            self.hunted = link.is_none().then_some(offer);
            let Some(link) = link else { return Ok(None) };
            self.signature.fits_link(&mut node, link, self.find.how())?;
            let room = u32::try_from(self.room).unwrap_or(u32::MAX);
            let (function, strategy) = (self.signature.function(), self.find.how());
            match node.begin_flow(link, function, strategy, room) {
                Ok(flow) => self.stage = Stage::Opens(link, flow),
                Err(FlowError::Gone(_)) => {}
                Err(error) => return Err(Error::Flow(service(), error)),
            }
        }
        let Stage::Opens(link, flow) = self.stage else { return Ok(None) };
        match node.flow(flow).is_ready() {
            Ok(false) => Ok(None),
            Ok(true) => {
                self.stage = Stage::Looks;
                Ok(Some((link, flow)))
            }
            Err(error) => {
                let _ = node.flow(flow).close();
                self.stage = Stage::Looks;
                self.lookout.again(now + LOOK);
                match error {
                    // The node is dead, or has come back and does not serve yet.
                    FlowError::NotFound | FlowError::Gone(_) => Ok(None),
                    error => Err(Error::Flow(service(), error)),
                }
            }
        }
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        // One that is dropped in the node's own function leaves all to the node.
        if let Some(hunted) = &self.hunted
            && let Ok(mut node) = self.find.node().below()
        {
            node.give_up(hunted);
        }
        if let Stage::Opens(_, flow) = self.stage {
            self.find.node().close_flow(Some(flow));
        }
    }
}
