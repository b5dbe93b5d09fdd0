//! Endpoints by their addresses: what is known of one, and how one is reached whose address an
//! application was handed.

use std::time::Duration;

use narrows::linx::{HandlerError, Spid};

use super::endpoint::Endpoint;
use super::registry::About;
use super::shared::Guard;
use super::waits::Awaited;
use super::{Error, siblings};

/// How often a thread that waits for an endpoint looks for it, at first and at last.
const REACH: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

impl Endpoint {
    /// Sees to it that the node knows an address that it may have been handed, by linking with its
    /// node and asking for it there.
    #[inline]
    pub(super) fn reach(&self, core: &mut Guard<'_>, spid: Spid) -> Result<(), Error> {
        match core.handler.check(spid) {
            Err(HandlerError::Unknown) => self.reach_anew(core, spid),
            known => Ok(known?),
        }
    }

    #[inline(never)]
    fn reach_anew(&self, core: &mut Guard<'_>, spid: Spid) -> Result<(), Error> {
        let seeker = core.seek(spid)?;
        let [mut pause, longest] = REACH;
        let reached = loop {
            match core.handler.check(spid) {
                Err(HandlerError::Unknown) => {}
                known => break known.map_err(Error::from),
            }
            if core.is_closed(self.spid()) {
                break Err(Error::Closed);
            }
            if !core.may_be_found(spid) {
                break Err(HandlerError::Gone.into());
            }
            // It may be on a node of this process that no thread is in.
            siblings::serve(self.shared());
            if self.layered() {
                self.shared().sleep(core, Awaited::Room, Some(pause));
            } else {
                self.shared().wait(core, Awaited::Room, Some(pause), None);
                if core.around.waits.leader.is_none() {
                    core.pump();
                }
            }
            pause = (2 * pause).min(longest);
        };
        let core = &mut **core;
        let _ = core.handler.close(&mut core.around, seeker);
        core.around.waits.appoint();
        reached
    }

    /// Whether an address is of an endpoint that is there.
    ///
    /// # Errors
    /// [`HandlerError::Gone`] or [`HandlerError::Unknown`].
    pub fn check(&self, spid: Spid) -> Result<(), HandlerError> {
        self.shared().enter().handler.check(spid)
    }

    /// What is known of an endpoint of the domain by its address.
    ///
    /// # Errors
    /// As [`Endpoint::check`].
    pub fn about(&self, spid: Spid) -> Result<About, Error> {
        let mut core = self.shared().enter();
        match core.registry.about(spid) {
            Some(about) => Ok(about),
            None => Err(core.handler.check(spid).err().unwrap_or(HandlerError::Gone).into()),
        }
    }
}
