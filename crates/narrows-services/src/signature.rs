//! A function's name and types, without Rust types: what programs in other languages use too.

use std::time::{Duration, Instant};

use narrows::endpoint::{FlowError, FlowId};
use narrows::link::{LinkId, Name};
use narrows::strategy::Strategy;

use crate::deadline::Deadline;
use crate::error::Error;
use crate::lookout::Lookout;
use crate::typed::{Payload, described, fixed, hash};

/// How often it is looked whether a service is there, where nobody tells.
pub(crate) const LOOK: Duration = Duration::from_millis(10);
/// The characters that a function's name has more than its service's.
const SUFFIX: usize = 9;

/// The name of a service.
pub(crate) fn name_of(service: &str) -> Result<Name, Error> {
    let name = service.parse().ok();
    name.filter(|_| service.len() <= Name::MAX - SUFFIX).ok_or_else(|| Error::Name(service.into()))
}

/// Whether a text may describe a type.
pub(crate) fn check_description(text: &str) -> Result<(), Error> {
    let none = text.is_empty() || text.contains(char::is_whitespace);
    if none { Err(Error::Description(text.into())) } else { Ok(()) }
}

/// A service that is a function: its name, and what it takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    service: Name,
    /// What its note says.
    types: String,
    /// Bytes of each request and each response at least.
    least: [usize; 2],
    function: Name,
}

impl Signature {
    /// Of a service of this name, whose request and response are described so, as [`described`]
    /// does it.
    ///
    /// # Errors
    /// [`Error::Name`]; [`Error::Description`] if a description is empty or has a space.
    pub fn new(service: &str, request: &str, response: &str) -> Result<Signature, Error> {
        check_description(request)?;
        check_description(response)?;
        let name = name_of(service)?;
        let types = format!("call {request} {response}");
        let function = format!("{service}-{:08x}", hash(&types));
        let function = function.parse().map_err(|_| Error::Name(service.into()))?;
        let least = [request, response].map(fixed);
        Ok(Signature { service: name, types, least, function })
    }

    /// Of a service of this name that takes a `Q` and gives an `R`.
    pub(crate) fn of<Q, R>(service: &str) -> Result<Signature, Error>
    where
        Q: Payload + ?Sized,
        R: Payload + ?Sized,
    {
        Signature::new(service, &described::<Q>(), &described::<R>())
    }

    /// The name of the service.
    #[must_use]
    pub fn service(&self) -> &Name {
        &self.service
    }

    /// The name of the function in its node. It ends with a hash of the types, so that a node that
    /// has others does not find it.
    #[must_use]
    pub fn function(&self) -> &Name {
        &self.function
    }

    /// Whether its requests or responses fit a message of `limit` bytes.
    fn fits(&self, response: bool, own: bool, limit: u32) -> Result<(), Error> {
        let (bytes, limit) = (self.least[usize::from(response)], limit as usize);
        if bytes <= limit {
            return Ok(());
        }
        Err(Error::Long { service: self.service.to_string(), response, own, bytes, limit })
    }

    /// Whether its requests and responses fit the messages of a link.
    ///
    /// # Errors
    /// [`Error::Long`].
    #[inline]
    pub(crate) fn fits_link(
        &self,
        node: &mut narrows_host::Node,
        link: LinkId,
        strategy: Strategy,
    ) -> Result<(), Error> {
        // If the link has ended, the call that opens a flow is told so.
        let Ok((own, theirs)) = node.link(link).layouts() else { return Ok(()) };
        self.fits(false, true, own.longest(strategy.placement))?;
        self.fits(true, false, theirs.longest(strategy.placement))
    }

    /// Notes that a node has it. The node is to serve [`Signature::function`].
    ///
    /// # Errors
    /// [`Error::Offer`]; [`Error::Long`] if no link of the node can carry a response.
    #[inline]
    pub fn offer(&self, node: &mut narrows_host::Node) -> Result<(), Error> {
        self.fits(true, true, node.platform().longest_message())?;
        node.platform().offer(&self.service, &self.types).map_err(Error::Offer)
    }

    /// A node that has it, if there is one.
    ///
    /// # Errors
    /// [`Error::Types`].
    #[inline]
    pub(crate) fn offer_of(&self, node: &narrows_host::Node) -> Result<Option<Name>, Error> {
        let mut offers = node.platform().offers().into_iter();
        let Some(offer) = offers.find(|offer| offer.service == self.service) else {
            return Ok(None);
        };
        if offer.text == self.types {
            return Ok(Some(offer.node));
        }
        let (service, node) = (self.service.to_string(), offer.node.to_string());
        Err(Error::Types { service, node, there: offer.text, here: self.types.clone() })
    }

    /// Looks for a node that has it until the time is over, and opens a flow of calls to it, with
    /// responses of at most `room` bytes.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Types`], [`Error::Link`], [`Error::Long`], [`Error::Flow`].
    // Inlined so that a crate that has the stack already, as the C library has, does not get it
    // twice.
    #[inline]
    pub fn open_flow(
        &self,
        node: &mut narrows_host::Node,
        strategy: Strategy,
        room: usize,
        within: Option<Duration>,
    ) -> Result<(LinkId, FlowId), Error> {
        let deadline = Deadline::within(within);
        let service = || self.service.to_string();
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let mut lookout = Lookout::new();
        loop {
            lookout.looks();
            if let Some(offer) = self.offer_of(node)? {
                let link = node.hunt(&offer, deadline.left());
                let link = link.map_err(|error| Error::Link(service(), error))?;
                self.fits_link(node, link, strategy)?;
                match node.open_flow(link, &self.function, strategy, room, deadline.left()) {
                    Ok(flow) => return Ok((link, flow)),
                    // The node is dead, or has come back and does not serve yet.
                    Err(FlowError::NotFound | FlowError::Gone(_)) if !deadline.is_over() => {
                        lookout.again(Instant::now() + LOOK);
                    }
                    Err(error) => return Err(Error::Flow(service(), error)),
                }
            } else if deadline.is_over() {
                return Err(Error::NotFound(service()));
            } else {
                lookout.rests(node, LOOK);
            }
            node.wait_any(lookout.left(deadline));
            node.poll();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_the_same_by_types_and_by_their_descriptions() {
        let described = Signature::new("square", "u32", "[f64;2]").unwrap();
        assert_eq!(Signature::of::<u32, [f64; 2]>("square"), Ok(described.clone()));
        let other = Signature::of::<u32, [f32; 2]>("square").unwrap();
        assert_eq!(other.service(), described.service());
        assert_ne!(other.function(), described.function());
    }

    #[test]
    fn what_would_not_be_understood_is_refused() {
        for bad in ["", "u32 u8", "a\nb"] {
            assert_eq!(Signature::new("s", bad, "u8"), Err(Error::Description(bad.into())));
            assert_eq!(Signature::new("s", "u8", bad), Err(Error::Description(bad.into())));
        }
        let long = "s".repeat(Name::MAX - SUFFIX + 1);
        assert_eq!(Signature::new(&long, "u8", "u8"), Err(Error::Name(long)));
    }
}
