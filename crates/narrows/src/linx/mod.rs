//! LINX: nodes whose endpoints send each other signals, over links that carry frames.
//!
//! The link handler ([`Handler`]) finds endpoints by name across links, gives them addresses that
//! mean something on this node alone, carries signals between them, and says when they are gone.
//!
//! A hunt waits until the name appears. A path leads through links: `node1/consumer` is the
//! endpoint `consumer` of the node at the other end of the link `node1`, and a path through several
//! links makes the nodes between pass signals on. An endpoint that is found gets an address of this
//! node ([`Spid`]), and so does one that sends a signal. The same endpoint has another on every
//! node, unless nodes have their addresses in common ([`Limits::common`]).
//!
//! Its files: `addresses` has endpoints and what is attached to them, `table` what each address
//! stands for, `hunts` and `paths` how they are found, `links` what comes and goes with a link,
//! `signals` what endpoints and handlers send, and `station` the processes that do all this.
//!
//! It has no thread and keeps no signal but those of hunts and attaches: everything it does happens
//! in a call, over what its surroundings lend it ([`Adaption`]). What finds no room on a link is
//! made up for by [`Handler::attend`].

mod addresses;
mod hunts;
mod links;
mod paths;
mod signals;
pub mod station;
mod table;
pub mod unit;
mod words;

pub use addresses::Spid;
pub use paths::{Path, PathError};
pub use signals::{Adaption, Taken};

use crate::connection::Refused;
use crate::platform::{NoStorage, Platform};
use addresses::Attach;
use hunts::Hunt;
use links::Unit;
use table::{Entry, Home};

/// How large a handler's tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Endpoints of this node, and those of others that it knows; a link may use up half of them.
    /// Where addresses are [in common](Limits::common), the next power of two.
    pub endpoints: usize,
    /// Links, at most 65535.
    pub links: usize,
    /// Hunts that wait; a link may use up a quarter of them.
    pub hunts: usize,
    /// Attaches.
    pub attaches: usize,
    /// Whether links are made when they are asked for: a hunt through a link that is not there
    /// waits for it, and a name without links is also looked for at the node of that name. See
    /// [`Handler::wanted`].
    pub roaming: bool,
    /// Whether nodes have their addresses in common: the caller that opens endpoints gives each an
    /// address that no other has on any of the nodes ([`Handler::open_as`]), and an endpoint has
    /// the same address on every node. Links get the addresses behind this one, which no endpoint
    /// has. Otherwise each node gives addresses of its own.
    pub common: Option<u32>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            endpoints: 1024,
            links: 32,
            hunts: 256,
            attaches: 256,
            roaming: false,
            common: None,
        }
    }
}

/// Why something asked of the handler was not done; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandlerError {
    /// An endpoint or a link of this name is there already.
    Duplicate,
    /// The table for it is full.
    Full,
    /// The first link of a path is none of this node's.
    UnknownLink,
    /// No such address, or not one of an endpoint of this node where that is asked for.
    Unknown,
    /// The endpoint is gone.
    Gone,
    /// The link has no room now, or does not take a signal of this length.
    Refused(Refused),
}

impl core::fmt::Display for HandlerError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            HandlerError::Duplicate => "the name is taken on this node: choose another",
            HandlerError::Full => "the link handler's table for it is full",
            HandlerError::UnknownLink => "this node has no link of the path's first name",
            HandlerError::Unknown => "nobody has, or had, this address on this node",
            HandlerError::Gone => "the endpoint of this address is gone: hunt it again",
            HandlerError::Refused(why) => return write!(f, "{why}"),
        })
    }
}

impl core::error::Error for HandlerError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            HandlerError::Refused(why) => why.source(),
            _ => None,
        }
    }
}

/// What a peer's link handler said that makes no sense. Its link has to end; nothing else is
/// touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misled {
    /// Something that no link handler says.
    Word,
    /// More hunts at once than a link may have.
    Hunts,
    /// More endpoints than a link may bring.
    Endpoints,
}

impl core::fmt::Display for Misled {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Misled::Word => "its link handler said something that none says",
            Misled::Hunts => "its link handler hunts for more at once than it may",
            Misled::Endpoints => "more of its endpoints send than it may have",
        })
    }
}

impl core::error::Error for Misled {}

/// The link handler of one node.
pub struct Handler<P: Platform, B> {
    entries: P::Slice<Entry>,
    units: P::Slice<Option<Unit>>,
    hunts: P::Slice<Option<Hunt<B>>>,
    attaches: P::Slice<Option<Attach<B>>>,
    /// Endpoints that are gone so far, of this node and of others: the number of the last.
    gone: u32,
    /// Attaches so far.
    attached: u32,
    roaming: bool,
    common: bool,
    home: Home,
    /// With addresses in common, the last that this node gave itself.
    next: u32,
    /// Whether something is to be said to a peer.
    owes: bool,
}

impl<P: Platform, B> Handler<P, B> {
    /// A handler without endpoints and links.
    ///
    /// # Errors
    /// No storage.
    pub fn new(platform: &P, limits: Limits) -> Result<Self, NoStorage> {
        let common = limits.common.is_some();
        let endpoints = limits.endpoints.clamp(2, 65535);
        let endpoints = if common { endpoints.next_power_of_two() } else { endpoints };
        Ok(Handler {
            entries: platform.storage(endpoints, |_| Entry::FREE)?,
            units: platform.storage(limits.links.clamp(1, 65535), |_| None)?,
            hunts: platform.storage(limits.hunts.clamp(1, 65535), |_| None)?,
            attaches: platform.storage(limits.attaches, |_| None)?,
            gone: 0,
            attached: 0,
            roaming: limits.roaming,
            common,
            home: if common { Home::spread(endpoints) } else { Home::OWN },
            next: limits.common.unwrap_or(0),
            owes: false,
        })
    }
}
