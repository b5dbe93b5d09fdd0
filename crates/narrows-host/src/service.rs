//! Services: what nodes say that they offer, for others to find without knowing the node.
//!
//! A service has a name and a text, which says what a program that uses it has to know. Both are a
//! note in the domain's directory, as is a node's own name: nobody is asked. Notes are trusted as
//! far as names are.
//!
//! ```
//! use narrows_host::Options;
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let dsp = Options::new("dsp").directory(dir).node()?;
//! dsp.platform().offer(&"square".parse()?, "u32 in, u64 out")?;
//!
//! let gpp = Options::new("gpp").directory(dir).node()?;
//! let offers = gpp.platform().offers();
//! assert_eq!(offers[0].node.as_str(), "dsp");
//! assert_eq!(offers[0].text, "u32 in, u64 out");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Weak};

use narrows::link::Name;
use rustix::io::Errno;

use crate::Host;
use crate::rendezvous::door::Door;
use crate::rendezvous::notes::LONGEST;
pub use crate::rendezvous::notes::Offer;

/// Why a service is not offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OfferError {
    /// The text is longer than a note can be.
    Long {
        /// Bytes.
        limit: usize,
    },
    /// The directory cannot be written to.
    System(Errno),
}

impl fmt::Display for OfferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OfferError::Long { limit } => {
                write!(f, "the text of a service has at most {limit} bytes: say less in it")
            }
            OfferError::System(error) => write!(
                f,
                "the directory of the domain cannot be written to: {error}: see whose it is, and \
                 whether its file system is full"
            ),
        }
    }
}

impl Error for OfferError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            OfferError::System(error) => Some(error),
            _ => None,
        }
    }
}

/// Has a node's waits end when services come, until it is dropped.
pub struct OfferWatch {
    door: Weak<Door>,
}

impl OfferWatch {
    /// As [`Host::offers_heard`] of the node.
    #[must_use]
    pub fn heard(&self) -> u32 {
        self.door.upgrade().map_or(0, |door| door.offers_heard())
    }
}

impl Drop for OfferWatch {
    fn drop(&mut self) {
        if let Some(door) = self.door.upgrade() {
            door.with(|rendezvous| rendezvous.watch_offers_no_more());
        }
    }
}

impl Host {
    /// Offers a service of this name until the node ends, or says something else of it.
    ///
    /// # Errors
    /// See [`OfferError`].
    pub fn offer(&self, service: &Name, text: &str) -> Result<(), OfferError> {
        // In front of it there is the node's name.
        let limit = LONGEST - Name::MAX - 1;
        if text.len() > limit {
            return Err(OfferError::Long { limit });
        }
        self.at_door(|rendezvous| rendezvous.offer_service(service, text))
            .map_err(OfferError::System)
    }

    /// Bytes of the longest message that any link of this node can carry from it.
    #[must_use]
    pub fn longest_message(&self) -> u32 {
        self.at_door(|rendezvous| rendezvous.longest())
    }

    /// Offers a service no more.
    pub fn withdraw(&self, service: &Name) {
        self.at_door(|rendezvous| rendezvous.withdraw_service(service));
    }

    /// Has this node's waits end when services come, until the result is dropped: see
    /// [`Host::offers_heard`]. The services that are there are to be looked at after this.
    ///
    /// ```
    /// # use narrows_host::Options;
    /// # let dir = tempfile::tempdir()?;
    /// # let open = |name| Options::new(name).directory(dir.path()).node();
    /// let (mut gpp, dsp) = (open("gpp")?, open("dsp")?);
    /// let watch = gpp.platform().watch_offers()?;
    /// let before = watch.heard();
    /// dsp.platform().offer(&"square".parse()?, "u32 in, u64 out")?;
    /// while watch.heard() == before {
    ///     gpp.wait_any(None);
    ///     gpp.poll();
    /// }
    /// assert_eq!(gpp.platform().offers()[0].service.as_str(), "square");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The system has no room for it.
    pub fn watch_offers(&self) -> std::io::Result<OfferWatch> {
        self.at_door(|rendezvous| rendezvous.watch_offers())?;
        Ok(OfferWatch { door: Arc::downgrade(self.door()) })
    }

    /// A number that changes when services come, while they are [watched](Host::watch_offers): so a
    /// node that looked at them before looks again. As of all that comes, this hears of it when it
    /// waits or is polled.
    #[inline]
    #[must_use]
    pub fn offers_heard(&self) -> u32 {
        self.door().offers_heard()
    }

    /// The services that nodes of this user offer in the domain, in the order of their names; not
    /// those of nodes that are dead.
    #[must_use]
    pub fn offers(&self) -> Vec<Offer> {
        self.at_door(|rendezvous| rendezvous.offers())
    }
}
