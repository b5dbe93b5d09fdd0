//! Services: what nodes say that they offer, for others to find without knowing the node.
//!
//! A service has a name and a text, which says what whoever uses it has to know. Both are a note in
//! the domain's directory, as is a node's own name: nobody is asked. Notes are trusted as far as
//! names are.
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

use narrows::link::Name;
use rustix::io::Errno;

use crate::Host;
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

impl Error for OfferError {}

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

    /// Offers a service no more.
    pub fn withdraw(&self, service: &Name) {
        self.at_door(|rendezvous| rendezvous.withdraw_service(service));
    }

    /// The services that nodes of this user offer in the domain, in the order of their names; not
    /// those of nodes that are dead.
    #[must_use]
    pub fn offers(&self) -> Vec<Offer> {
        self.at_door(|rendezvous| rendezvous.offers())
    }
}
