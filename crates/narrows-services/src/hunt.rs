//! Services and topics by a pattern of their names.

use std::time::Duration;

use narrows_host::service::Offer;

use crate::deadline::Deadline;
use crate::error::Error;
use crate::lookout::Lookout;
use crate::node::Node;
use crate::signature::LOOK;

/// Services of others by a pattern. In one, `*` stands for any characters, `?` for one, `[a-f]` for
/// one of some, and `{left,right}` for one of some texts; all else for itself.
///
/// ```
/// # use narrows_services::{Error, Node, Options};
/// # let dir = tempfile::tempdir()?;
/// # let open = |name: &str| Node::with(Options::new(name).directory(dir.path()));
/// let camera = open("camera")?;
/// let left = camera.publisher::<[u8]>("camera.left")?;
/// let right = camera.publisher::<[u8]>("camera.right")?;
///
/// let viewer = open("viewer")?;
/// let found = viewer.hunt("camera.*", None)?;
/// let names: Vec<_> = found.iter().map(|offer| offer.service.as_str()).collect();
/// assert_eq!(names, ["camera.left", "camera.right"]);
/// assert!(viewer.services_matching("microphone.*")?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Node {
    /// Those that there are whose names match a pattern, in the order of their names.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn services_matching(&self, pattern: &str) -> Result<Vec<Offer>, Error> {
        let mut offers = self.services()?;
        offers.retain(|offer| fast_glob::glob_match(pattern, offer.service.as_str()));
        Ok(offers)
    }

    /// The same, once there is one: this waits for it.
    ///
    /// # Errors
    /// [`Error::Busy`]; [`Error::NotFound`] if there is none in time.
    pub fn hunt(&self, pattern: &str, within: Option<Duration>) -> Result<Vec<Offer>, Error> {
        let deadline = Deadline::within(within);
        let mut lookout = Lookout::new();
        loop {
            lookout.looks();
            if let Some(found) = self.hunted(pattern, deadline)? {
                return Ok(found);
            }
            let mut node = self.below()?;
            lookout.rests(&node, LOOK);
            node.wait_any(lookout.left(deadline));
            node.poll();
        }
    }

    /// A look of a hunt: what it found, if anything.
    ///
    /// # Errors
    /// As [`Node::hunt`].
    pub(crate) fn hunted(
        &self,
        pattern: &str,
        deadline: Deadline,
    ) -> Result<Option<Vec<Offer>>, Error> {
        let found = self.services_matching(pattern)?;
        if found.is_empty() && deadline.is_over() {
            return Err(Error::NotFound(pattern.to_owned()));
        }
        Ok((!found.is_empty()).then_some(found))
    }
}
