//! The tables of a link handler.

use super::{Adaption, Handler, HandlerError, Misled, Path, Spid};
use crate::connection::Signal;
use crate::name::Name;
use crate::platform::Platform;

/// What an address stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Free,
    /// An endpoint of this node.
    Endpoint(Option<Name>),
    /// An endpoint at the other end of a link, and its address there.
    Remote {
        link: u16,
        spid: Spid,
    },
    /// A link itself.
    Link(u16),
    /// What is not there any more; its place is used again when no other is free.
    Gone,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub what: What,
    /// Tells the addresses of one place apart.
    life: u16,
    /// Links that are still to be told that this is gone, a bit each.
    pub untold: u32,
}

impl Entry {
    pub const FREE: Entry = Entry { what: What::Free, life: 0, untold: 0 };
}

pub(super) struct Unit {
    pub name: Name,
    pub up: bool,
    /// Who sent last, by the address there and by that here, while it is there: most likely the next
    /// who does.
    pub last: Option<[Spid; 2]>,
}

/// Who hunts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Endpoint(Spid),
    /// The handler at the other end of a link, by its number for the hunt.
    Peer {
        link: u16,
        number: u16,
    },
}

pub(super) struct Hunt<B> {
    pub owner: Owner,
    pub path: Path,
    /// What is delivered to an endpoint.
    pub signal: Option<(B, usize)>,
    /// The link whose handler was asked.
    pub asked: Option<u16>,
    /// What a peer is to be told, as soon as there is room: found, or refused.
    pub answer: Option<Option<Spid>>,
}

pub(super) struct Attach<B> {
    pub number: u32,
    pub owner: Spid,
    pub target: Spid,
    pub len: usize,
    pub buffer: B,
}

/// The bit of a link.
pub(super) fn bit(link: u16) -> u32 {
    1_u32.checked_shl(link.into()).unwrap_or(0)
}

impl<P: Platform, B> Handler<P, B> {
    #[inline]
    pub(super) fn entry(&self, spid: Spid) -> Option<&Entry> {
        let entry = self.entries.get((spid.0 & 0xffff) as usize)?;
        let free = matches!(entry.what, What::Free);
        (u32::from(entry.life) == spid.0 >> 16 && !free).then_some(entry)
    }

    pub(super) fn check_own(&self, spid: Spid) -> Result<(), HandlerError> {
        let own = matches!(self.entry(spid), Some(Entry { what: What::Endpoint(_), .. }));
        own.then_some(()).ok_or(HandlerError::Unknown)
    }

    fn spid(index: usize, life: u16) -> Spid {
        Spid(u32::from(life) << 16 | index as u32)
    }

    /// The address of what is at a place.
    pub(super) fn address(&self, index: usize) -> Option<Spid> {
        let entry = self.entries.get(index).filter(|entry| entry.what != What::Free)?;
        Some(Self::spid(index, entry.life))
    }

    /// The address of what is found.
    fn find(&self, wanted: impl Fn(&What) -> bool) -> Option<Spid> {
        self.address(self.entries.iter().position(|entry| wanted(&entry.what))?)
    }

    pub(super) fn local(&self, name: &Name) -> Option<Spid> {
        self.find(|what| matches!(what, What::Endpoint(Some(own)) if own == name))
    }

    /// Gives an address to something new.
    pub(super) fn insert(&mut self, what: What) -> Option<Spid> {
        let free = self.entries.iter().position(|entry| entry.what == What::Free);
        let old = || {
            let attached = |at: usize| {
                let spid = Self::spid(at, self.entries.get(at).map_or(0, |entry| entry.life));
                self.attaches.iter().flatten().any(|attach| attach.target == spid)
            };
            let over = |entry: &Entry| entry.what == What::Gone && entry.untold == 0;
            // The one that has been used least often: its addresses repeat last.
            let entries = self.entries.iter().enumerate();
            let gone = entries.filter(|(at, entry)| over(entry) && !attached(*at));
            gone.min_by_key(|(_, entry)| entry.life).map(|(at, _)| at)
        };
        let index = free.or_else(old)?;
        let entry = self.entries.get_mut(index)?;
        // Never 0, so that no address is.
        let life = entry.life.wrapping_add(1).max(1);
        *entry = Entry { what, life, untold: 0 };
        Some(Self::spid(index, life))
    }

    /// The address here of who is at the other end of a link, if it was who sent over it last.
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
        let what = What::Remote { link, spid };
        let here = self.remote_anew(what, link)?;
        if let Some(Some(unit)) = self.units.get_mut(usize::from(link)) {
            unit.last = Some([spid, here]);
        }
        Ok(here)
    }

    #[inline(never)]
    fn remote_anew(&mut self, what: What, link: u16) -> Result<Spid, Misled> {
        if let Some(known) = self.find(|each| *each == what) {
            return Ok(known);
        }
        let of_link =
            |entry: &&Entry| matches!(entry.what, What::Remote { link: of, .. } if of == link);
        if self.entries.iter().filter(of_link).count() >= self.entries.len() / 2 {
            return Err(Misled::Endpoints);
        }
        self.insert(what).ok_or(Misled::Endpoints)
    }

    /// The address here of somebody at the other end of a link, if there is one.
    pub(super) fn known(&self, link: u16, spid: Spid) -> Option<Spid> {
        self.find(|each| *each == What::Remote { link, spid })
    }

    /// The address of a link itself.
    pub(super) fn of_link(&mut self, link: u16) -> Option<Spid> {
        self.find(|what| *what == What::Link(link)).or_else(|| self.insert(What::Link(link)))
    }

    /// The link of a name; only if it is up, if so asked.
    pub(super) fn unit_named(&self, name: &Name, up: bool) -> Option<u16> {
        let meant = |unit: &Unit| unit.name == *name && (unit.up || !up);
        let found = self.units.iter().position(|unit| unit.as_ref().is_some_and(meant))?;
        Some(found as u16)
    }

    pub(super) fn hunt_at(&self, index: usize) -> Option<&Hunt<B>> {
        self.hunts.get(index)?.as_ref()
    }

    /// Notes that something is gone, delivers what was attached to it, and lets peers be told, but for
    /// the one that said so.
    pub(super) fn bury<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        spid: Spid,
        except: Option<u16>,
    ) {
        if self.entry(spid).is_none_or(|entry| entry.what == What::Gone) {
            return;
        }
        let mut untold = 0;
        for (link, unit) in (0..).zip(self.units.iter()) {
            if unit.as_ref().is_some_and(|unit| unit.up) && Some(link) != except {
                untold |= bit(link);
            }
        }
        for unit in self.units.iter_mut().flatten() {
            unit.last.take_if(|[_, here]| *here == spid);
        }
        if let Some(entry) = self.entries.get_mut((spid.0 & 0xffff) as usize) {
            // Peers know nothing of a link itself.
            entry.untold = if matches!(entry.what, What::Link(_)) { 0 } else { untold };
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

    /// Ends what was looked for and is an endpoint of this node.
    pub(super) fn resolve_local<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        name: &Name,
        spid: Spid,
    ) {
        for index in 0..self.hunts.len() {
            if self.hunt_at(index).is_some_and(|hunt| hunt.path.plain() == Some(*name)) {
                self.found(around, index, Some(spid));
            }
        }
    }

    /// Ends a hunt with what it found, or with nothing.
    pub(super) fn found<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        index: usize,
        spid: Option<Spid>,
    ) {
        let Some(place) = self.hunts.get_mut(index) else { return };
        let Some(hunt) = place.as_mut() else { return };
        match hunt.owner {
            Owner::Peer { .. } => {
                hunt.answer = Some(spid);
                self.owes = true;
            }
            Owner::Endpoint(owner) => {
                let signal = hunt.signal.take();
                // Another node may have been asked too, for a name without links.
                self.give_up(around, index);
                if let Some((buffer, len)) = signal {
                    let from = spid.unwrap_or(Spid::NONE);
                    around.deliver(Signal { from: from.0, to: owner.0, len, buffer }, None);
                }
            }
        }
    }
}
