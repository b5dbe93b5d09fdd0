//! Addresses of a node's endpoints, of those of others that it knows, and of its links; and what is
//! attached to them.

use super::hunts::Owner;
use super::links::after;
use super::table::{Entry, What};
use super::{Adaption, Handler, HandlerError, Misled};
use crate::connection::Signal;
use crate::name::Name;
use crate::platform::Platform;

/// An address of an endpoint, of this node or another, that is valid on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spid(pub u32);

impl Spid {
    /// Nobody.
    pub const NONE: Spid = Spid(0);

    /// The name by which an endpoint is hunted whose address is known, where nodes have their
    /// [addresses in common](super::Limits::common).
    #[must_use]
    pub fn name(self) -> Option<Name> {
        let mut text = *b"-.00000000";
        for (at, digit) in text.iter_mut().skip(2).enumerate() {
            let value = (self.0 >> (28 - 4 * at)) & 0xf;
            *digit = char::from_digit(value, 16).map_or(b'0', |digit| digit as u8);
        }
        core::str::from_utf8(&text).ok()?.parse().ok()
    }

    /// The address that a name of [`Spid::name`] stands for.
    fn named(name: &Name) -> Option<Spid> {
        let digits = name.as_str().strip_prefix("-.").filter(|digits| digits.len() == 8)?;
        u32::from_str_radix(digits, 16).ok().map(Spid)
    }
}

pub(super) struct Attach<B> {
    pub number: u32,
    pub owner: Spid,
    pub target: Spid,
    pub len: usize,
    pub buffer: B,
}

impl<P: Platform, B> Handler<P, B> {
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
        self.opened(around, name, spid);
        Ok(spid)
    }

    /// As [`Handler::open`], with [addresses in common](super::Limits::common) and this address,
    /// which no other endpoint has or had. Several endpoints may have one name: a hunt finds one of
    /// them.
    ///
    /// # Errors
    /// [`HandlerError::Duplicate`] if the address is taken, or [`HandlerError::Full`].
    pub fn open_as<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        name: Option<Name>,
        spid: Spid,
    ) -> Result<(), HandlerError> {
        if !self.common || spid == Spid::NONE || self.entry(spid).is_some() {
            return Err(HandlerError::Duplicate);
        }
        self.put(What::Endpoint(name), spid).ok_or(HandlerError::Full)?;
        self.opened(around, name, spid);
        Ok(())
    }

    fn opened<A: Adaption<Buffer = B>>(&mut self, around: &mut A, name: Option<Name>, spid: Spid) {
        if let Some(name) = name {
            self.resolve_local(around, &name, spid);
            self.attend(around);
        }
    }

    /// Closes an endpoint of this node: its hunts and attaches end, and every node that knows it is
    /// told.
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

    /// Has a signal delivered when the endpoint or link of an address is gone, as if that had sent
    /// it; at once, if it is gone already. Returns what [`Handler::detach`] takes.
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

    /// The link that a signal to an address takes, if it takes one, and the address at its other
    /// end.
    #[inline]
    #[must_use]
    pub fn way(&self, spid: Spid) -> Option<(u16, Spid)> {
        match self.entry(spid)?.what {
            What::Remote { link, spid } => Some((link, spid)),
            _ => None,
        }
    }

    pub(super) fn check_own(&self, spid: Spid) -> Result<(), HandlerError> {
        let own = matches!(self.entry(spid), Some(Entry { what: What::Endpoint(_), .. }));
        own.then_some(()).ok_or(HandlerError::Unknown)
    }

    pub(super) fn local(&self, name: &Name) -> Option<Spid> {
        let by_name = || self.find(|what| matches!(what, What::Endpoint(Some(own)) if own == name));
        let spid = Some(name).filter(|_| self.common).and_then(Spid::named);
        spid.filter(|spid| self.check_own(*spid).is_ok()).or_else(by_name)
    }

    /// The address here of the endpoint at the other end of a link, if that endpoint sent over it
    /// last.
    #[inline]
    #[must_use]
    pub fn last(&self, link: u16, spid: Spid) -> Option<Spid> {
        let [there, here] = self.units.get(usize::from(link))?.as_ref()?.last?;
        (there == spid).then_some(here)
    }

    /// The address here of somebody at the other end of a link.
    #[inline]
    pub(super) fn remote(&mut self, link: u16, spid: Spid) -> Result<Spid, Misled> {
        if let Some(last) = self.last(link, spid) {
            return Ok(last);
        }
        let here = if self.common {
            self.remote_in_common(link, spid)?
        } else {
            self.remote_anew(What::Remote { link, spid }, link)?
        };
        let lives = self.entry(here).is_some_and(|entry| entry.what != What::Gone);
        if lives && let Some(Some(unit)) = self.units.get_mut(usize::from(link)) {
            unit.last = Some([spid, here]);
        }
        Ok(here)
    }

    #[inline(never)]
    fn remote_anew(&mut self, what: What, link: u16) -> Result<Spid, Misled> {
        if let Some(known) = self.find(|each| *each == what) {
            return Ok(known);
        }
        self.check_remotes(link)?;
        self.insert(what).ok_or(Misled::Endpoints)
    }

    /// The same where it has one address on all nodes. Another link may lead to it already: then
    /// its signals go on taking that one.
    #[inline(never)]
    fn remote_in_common(&mut self, link: u16, spid: Spid) -> Result<Spid, Misled> {
        let what = What::Remote { link, spid };
        let place = self.place(spid);
        let told = |entry: &Entry| entry.what == What::Gone && self.is_told(entry.untold);
        let comes_back = place.and_then(|at| self.entries.get(at)).is_some_and(told);
        match place.and_then(|at| self.entries.get_mut(at)) {
            // A link to it had ended, and there is another.
            Some(entry) if comes_back => *entry = Entry { what, spid, untold: 0, except: None },
            Some(_) => {}
            None if spid == Spid::NONE => {}
            None => {
                self.check_remotes(link)?;
                self.put(what, spid).ok_or(Misled::Endpoints)?;
            }
        }
        Ok(spid)
    }

    /// Whether a link may bring one endpoint more.
    fn check_remotes(&self, link: u16) -> Result<(), Misled> {
        let of_link =
            |entry: &&Entry| matches!(entry.what, What::Remote { link: of, .. } if of == link);
        let few = self.entries.iter().filter(of_link).count() < self.entries.len() / 2;
        few.then_some(()).ok_or(Misled::Endpoints)
    }

    /// The address here of somebody at the other end of a link, if there is one.
    pub(super) fn known(&self, link: u16, spid: Spid) -> Option<Spid> {
        self.find(|each| *each == What::Remote { link, spid })
    }

    /// The address of a link itself.
    pub(super) fn of_link(&mut self, link: u16) -> Option<Spid> {
        self.find(|what| *what == What::Link(link)).or_else(|| self.insert(What::Link(link)))
    }

    /// Notes that something is gone, delivers what was attached to it, and lets peers be told, but
    /// for the one that said so.
    pub(super) fn bury<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        spid: Spid,
        except: Option<u16>,
    ) {
        if self.entry(spid).is_none_or(|entry| entry.what == What::Gone) {
            return;
        }
        for unit in self.units.iter_mut().flatten() {
            unit.last.take_if(|[_, here]| *here == spid);
        }
        let number = after(self.gone);
        if let Some(entry) = self.place(spid).and_then(|at| self.entries.get_mut(at)) {
            // Peers know nothing of a link itself.
            if !matches!(entry.what, What::Link(_)) {
                (entry.untold, entry.except) = (number, except);
                self.gone = number;
            }
            entry.what = What::Gone;
        }
        self.owes = true;
        for place in self.attaches.iter_mut() {
            if let Some(attach) = place.take_if(|attach| attach.target == spid) {
                let Attach { owner, len, buffer, .. } = attach;
                around.deliver(Signal { from: spid.0, to: owner.0, len, buffer }, None);
            }
        }
    }
}
