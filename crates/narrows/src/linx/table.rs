//! The table of a node's addresses: what each stands for, and where it is found.

use super::{Handler, Spid};
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
    /// Its address, the last one if it is gone.
    pub(super) spid: Spid,
    /// If this is gone, the how manieth that was, and the link whose peer said so; 0 if no peer
    /// is to be told.
    pub untold: u32,
    pub except: Option<u16>,
}

impl Entry {
    pub const FREE: Entry = Entry { what: What::Free, spid: Spid::NONE, untold: 0, except: None };
}

/// Where in the table addresses are looked for first.
#[derive(Clone, Copy)]
pub(super) struct Home {
    factor: u32,
    shift: u32,
}

impl Home {
    /// Where a node gives addresses of its own: at the place that their lower half says.
    pub const OWN: Home = Home { factor: 1 << 16, shift: 16 };

    /// In a table of a power of two of entries: wherever a product says. Addresses are others'
    /// choice then, and are spread whatever they have in common.
    pub fn spread(entries: usize) -> Home {
        Home { factor: 0x9e37_79b1, shift: 32 - entries.trailing_zeros().clamp(1, 16) }
    }

    #[inline]
    pub fn of(self, spid: Spid) -> usize {
        (spid.0.wrapping_mul(self.factor) >> self.shift) as usize
    }
}

impl<P: Platform, B> Handler<P, B> {
    #[inline]
    pub(super) fn entry(&self, spid: Spid) -> Option<&Entry> {
        let entry = self.entries.get(self.home.of(spid))?;
        if entry.spid == spid {
            // Where nothing is, the address is that of nobody.
            return (entry.what != What::Free).then_some(entry);
        }
        self.entries.get(self.place_behind(spid)?)
    }

    /// Where the entry of an address is.
    pub(super) fn place(&self, spid: Spid) -> Option<usize> {
        let home = self.home.of(spid);
        let there = self.entries.get(home).is_some_and(|entry| entry.spid == spid);
        if there && spid != Spid::NONE { Some(home) } else { self.place_behind(spid) }
    }

    /// Places from one on, round the table.
    fn round(&self, home: usize) -> impl Iterator<Item = usize> + use<P, B> {
        (home..self.entries.len()).chain(0..home)
    }

    /// Where the entry of an address is that is not at its home.
    #[inline(never)]
    fn place_behind(&self, spid: Spid) -> Option<usize> {
        if !self.common {
            return None;
        }
        for at in self.round(self.home.of(spid)) {
            let entry = self.entries.get(at)?;
            if entry.what == What::Free {
                return None;
            }
            if entry.spid == spid {
                return Some(at);
            }
        }
        None
    }

    /// The address of what is at a place.
    pub(super) fn address(&self, index: usize) -> Option<Spid> {
        let entry = self.entries.get(index).filter(|entry| entry.what != What::Free)?;
        Some(entry.spid)
    }

    /// The address of what is found.
    pub(super) fn find(&self, wanted: impl Fn(&What) -> bool) -> Option<Spid> {
        self.address(self.entries.iter().position(|entry| wanted(&entry.what))?)
    }

    /// Gives an address to something new.
    pub(super) fn insert(&mut self, what: What) -> Option<Spid> {
        if self.common {
            // Of a link, or of an endpoint that nobody hunts.
            let mut spid = Spid::NONE;
            while spid == Spid::NONE || self.entry(spid).is_some() {
                self.next = self.next.wrapping_add(1);
                spid = Spid(self.next);
            }
            return self.put(what, spid).map(|()| spid);
        }
        let free = self.entries.iter().position(|entry| entry.what == What::Free);
        let old = || {
            // The one that has been used least often: its addresses repeat last.
            let entries = self.entries.iter().enumerate();
            let gone = entries.filter(|(_, entry)| self.is_over(entry));
            gone.min_by_key(|(_, entry)| entry.spid.0 >> 16).map(|(at, _)| at)
        };
        let index = free.or_else(old)?;
        let entry = self.entries.get_mut(index)?;
        // Never 0, so that no address is.
        let life = (entry.spid.0 >> 16) as u16;
        let life = life.wrapping_add(1).max(1);
        let spid = Spid(u32::from(life) << 16 | index as u32);
        *entry = Entry { what, spid, untold: 0, except: None };
        Some(spid)
    }

    /// Whether nobody has to know any more that something was there.
    fn is_over(&self, entry: &Entry) -> bool {
        entry.what == What::Gone
            && self.is_told(entry.untold)
            && !self.attaches.iter().flatten().any(|attach| attach.target == entry.spid)
    }

    /// Puts something with its address into the table: at the first place that is free behind its
    /// home, so that a look-up finds it before a free one. If none is free, what is over makes
    /// room.
    pub(super) fn put(&mut self, what: What, spid: Spid) -> Option<()> {
        let home = self.home.of(spid);
        let at = |wanted: &dyn Fn(&Entry) -> bool| {
            self.round(home).find(|at| self.entries.get(*at).is_some_and(wanted))
        };
        let free = at(&|entry| entry.what == What::Free);
        let index = free.or_else(|| at(&|entry| self.is_over(entry)))?;
        *self.entries.get_mut(index)? = Entry { what, spid, untold: 0, except: None };
        Some(())
    }
}
