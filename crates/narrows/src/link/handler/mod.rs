//! The link handler of LINX: finds endpoints by name across links, gives them addresses that mean
//! something on this node alone, carries signals between them, and says when they are gone.
//!
//! A hunt waits until the name appears. A path leads through links: `node1/consumer` is the endpoint
//! `consumer` of the node at the other end of the link `node1`, and a path through several links makes
//! the nodes between pass signals on. Whoever is found gets an address of this node ([`Spid`]), and so
//! does whoever sends a signal; the same endpoint has another on every node.
//!
//! It has no thread and keeps no signal but those of hunts and attaches: everything it does happens in
//! a call, over what its surroundings lend it ([`Adaption`]). What finds no room on a link is made up
//! for by [`Handler::attend`].

mod path;
mod table;
mod turn;
mod words;

pub use path::{Path, PathError};
use words::Word;

use crate::connection::{Refused, Signal};
use crate::name::Name;
use crate::platform::{NoStorage, Platform};
use table::{Attach, Entry, Hunt, Owner, Unit, What};

/// An address of an endpoint, of this node or another, that is valid on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spid(pub u32);

impl Spid {
    /// Nobody.
    pub const NONE: Spid = Spid(0);
}

/// What a link handler needs of the system around it.
pub trait Adaption {
    /// What signals are kept in.
    type Buffer;
    /// A buffer with these bytes, for a signal of the handler's own; none if there is no memory now.
    fn make(&mut self, bytes: &[u8]) -> Option<Self::Buffer>;
    /// Copies the first bytes of a signal. False if there are not so many.
    fn read(&self, buffer: &Self::Buffer, to: &mut [u8]) -> bool;
    /// Gives a buffer back.
    fn free(&mut self, buffer: Self::Buffer);
    /// Puts a signal into the queue of an endpoint of this node. `via` is the link it came over,
    /// whose window it takes up until it is used.
    fn deliver(&mut self, signal: Signal<Self::Buffer>, via: Option<u16>);
    /// Gives a signal to the connection of a link.
    ///
    /// # Errors
    /// See [`Refused`]; the signal comes back.
    fn transmit(
        &mut self,
        link: u16,
        signal: Signal<Self::Buffer>,
    ) -> Result<(), (Refused, Signal<Self::Buffer>)>;
}

/// How large a handler's tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Endpoints of this node, and those of others that it knows; a link may use up half of them.
    pub endpoints: usize,
    /// Links, at most 32.
    pub links: usize,
    /// Hunts that wait; a link may use up a quarter of them.
    pub hunts: usize,
    /// Attaches.
    pub attaches: usize,
    /// Whether links are made when they are asked for: a hunt through a link that is not there waits
    /// for it, and a name without links is also looked for at the node of that name. See
    /// [`Handler::wanted`].
    pub roaming: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { endpoints: 1024, links: 32, hunts: 256, attaches: 256, roaming: false }
    }
}

/// Why something asked of the handler was not done; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl core::error::Error for HandlerError {}

/// What a peer's link handler said that makes no sense. Its link has to end; nothing else is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What became of a signal that came over a link.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<B> {
    /// It waits at an endpoint of this node, and takes up the window until it is used.
    Delivered,
    /// It is used: its place in the window can be given back.
    Used,
    /// It is for another link that has no room now: try it again, before any other of its link.
    Stalled(Signal<B>),
}

/// The link handler of one node.
pub struct Handler<P: Platform, B> {
    entries: P::Slice<Entry>,
    units: P::Slice<Option<Unit>>,
    hunts: P::Slice<Option<Hunt<B>>>,
    attaches: P::Slice<Option<Attach<B>>>,
    /// Attaches so far.
    attached: u32,
    roaming: bool,
    /// Whether something is to be said to a peer.
    owes: bool,
}

impl<P: Platform, B> Handler<P, B> {
    /// A handler without endpoints and links.
    ///
    /// # Errors
    /// No storage.
    pub fn new(platform: &P, limits: Limits) -> Result<Self, NoStorage> {
        Ok(Handler {
            entries: platform.storage(limits.endpoints.clamp(2, 65535), |_| Entry::FREE)?,
            units: platform.storage(limits.links.clamp(1, 32), |_| None)?,
            hunts: platform.storage(limits.hunts.clamp(1, 65535), |_| None)?,
            attaches: platform.storage(limits.attaches, |_| None)?,
            attached: 0,
            roaming: limits.roaming,
            owes: false,
        })
    }

    /// Opens an endpoint. Hunts for its name end.
    ///
    /// # Errors
    /// [`HandlerError::Duplicate`] or [`HandlerError::Full`].
    pub fn open<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        name: Option<Name>,
    ) -> Result<Spid, HandlerError> {
        if name.is_some_and(|name| self.local(&name).is_some()) {
            return Err(HandlerError::Duplicate);
        }
        let spid = self.insert(What::Endpoint(name)).ok_or(HandlerError::Full)?;
        if let Some(name) = name {
            self.resolve_local(around, &name, spid);
            self.attend(around);
        }
        Ok(spid)
    }

    /// Closes an endpoint of this node: its hunts and attaches end, and whoever knows it is told.
    ///
    /// # Errors
    /// [`HandlerError::Unknown`].
    pub fn close<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        spid: Spid,
    ) -> Result<(), HandlerError> {
        self.check_own(spid)?;
        for index in 0..self.hunts.len() {
            if matches!(self.hunt_at(index), Some(hunt) if hunt.owner == Owner::Endpoint(spid)) {
                self.give_up(around, index);
            }
        }
        for place in self.attaches.iter_mut() {
            if let Some(attach) = place.take_if(|attach| attach.owner == spid) {
                around.free(attach.buffer);
            }
        }
        self.bury(around, spid, None);
        self.attend(around);
        Ok(())
    }

    /// Looks for an endpoint. When it is found, now or later, the signal is delivered to the hunter, as
    /// if the found one had sent it. A hunt that another node refuses, since it has no such link, comes
    /// back from [`Spid::NONE`].
    ///
    /// # Errors
    /// [`HandlerError::UnknownLink`], [`HandlerError::Full`] or [`HandlerError::Unknown`]; the buffer
    /// comes back.
    pub fn hunt<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        owner: Spid,
        path: Path,
        signal: (B, usize),
    ) -> Result<(), (HandlerError, B)> {
        if let Err(error) = self.check_own(owner) {
            return Err((error, signal.0));
        }
        let found = path.plain().and_then(|name| self.local(&name));
        if let Some(spid) = found {
            let (buffer, len) = signal;
            around.deliver(Signal { from: spid.0, to: owner.0, len, buffer }, None);
            return Ok(());
        }
        if let Some((link, _)) = path.split()
            && !self.roaming
            && self.unit_named(&link, false).is_none()
        {
            return Err((HandlerError::UnknownLink, signal.0));
        }
        let Some(place) = self.hunts.iter_mut().find(|place| place.is_none()) else {
            return Err((HandlerError::Full, signal.0));
        };
        let owner = Owner::Endpoint(owner);
        *place = Some(Hunt { owner, path, signal: Some(signal), asked: None, answer: None });
        self.owes = true;
        self.attend(around);
        Ok(())
    }

    /// Has a signal delivered when the endpoint or link of an address is gone, as if that had sent it;
    /// at once, if it is gone already. Returns what [`Handler::detach`] takes.
    ///
    /// # Errors
    /// [`HandlerError::Unknown`] or [`HandlerError::Full`]; the buffer comes back.
    pub fn attach<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        owner: Spid,
        target: Spid,
        signal: (B, usize),
    ) -> Result<u32, (HandlerError, B)> {
        let (buffer, len) = signal;
        let state = self.check_own(owner).and(self.entry(target).ok_or(HandlerError::Unknown));
        let what = match state {
            Ok(entry) => entry.what,
            Err(error) => return Err((error, buffer)),
        };
        let number = self.attached.wrapping_add(1).max(1);
        if what == What::Gone {
            self.attached = number;
            around.deliver(Signal { from: target.0, to: owner.0, len, buffer }, None);
            return Ok(number);
        }
        let Some(place) = self.attaches.iter_mut().find(|place| place.is_none()) else {
            return Err((HandlerError::Full, buffer));
        };
        self.attached = number;
        *place = Some(Attach { number, owner, target, len, buffer });
        Ok(number)
    }

    /// Ends an attach; its buffer comes back.
    ///
    /// # Errors
    /// [`HandlerError::Unknown`]: it has been delivered, was detached, or is another's.
    pub fn detach(&mut self, owner: Spid, number: u32) -> Result<B, HandlerError> {
        let meant = |attach: &mut Attach<B>| attach.number == number && attach.owner == owner;
        let found = self.attaches.iter_mut().find_map(|place| place.take_if(meant));
        found.map(|attach| attach.buffer).ok_or(HandlerError::Unknown)
    }

    /// Sends a signal, from an endpoint of this node or one that it knows, to another.
    ///
    /// # Errors
    /// [`HandlerError::Unknown`], [`HandlerError::Gone`] or [`HandlerError::Refused`]; the buffer comes
    /// back.
    pub fn send<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        from: Spid,
        to: Spid,
        signal: (B, usize),
    ) -> Result<(), (HandlerError, B)> {
        let (buffer, len) = signal;
        match self.entry(to).map(|entry| entry.what) {
            Some(What::Endpoint(_)) => {
                around.deliver(Signal { from: from.0, to: to.0, len, buffer }, None);
                Ok(())
            }
            Some(What::Remote { link, spid }) => {
                let signal = Signal { from: from.0, to: spid.0, len, buffer };
                around
                    .transmit(link, signal)
                    .map_err(|(why, signal)| (HandlerError::Refused(why), signal.buffer))
            }
            Some(What::Gone) => Err((HandlerError::Gone, buffer)),
            Some(What::Link(_) | What::Free) | None => Err((HandlerError::Unknown, buffer)),
        }
    }

    /// The name of an endpoint of this node.
    #[must_use]
    pub fn name(&self, spid: Spid) -> Option<Name> {
        match self.entry(spid)?.what {
            What::Endpoint(name) => name,
            _ => None,
        }
    }

    /// Whether an address is of an endpoint or link that is there, was there, or never was.
    ///
    /// # Errors
    /// [`HandlerError::Gone`] or [`HandlerError::Unknown`].
    pub fn check(&self, spid: Spid) -> Result<(), HandlerError> {
        match self.entry(spid).ok_or(HandlerError::Unknown)?.what {
            What::Gone => Err(HandlerError::Gone),
            _ => Ok(()),
        }
    }

    /// The link that a signal to an address takes, if it takes one, and the address at its other end.
    #[inline]
    #[must_use]
    pub fn way(&self, spid: Spid) -> Option<(u16, Spid)> {
        match self.entry(spid)?.what {
            What::Remote { link, spid } => Some((link, spid)),
            _ => None,
        }
    }
}
