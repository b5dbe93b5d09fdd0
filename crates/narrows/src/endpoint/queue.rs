//! A queue of waiting messages, by priority and then by arrival. Its messages lie in the inboxes
//! of the links they came over.

use crate::link::{EntryId, Links};
use crate::memory::Taken;
use crate::platform::Platform;

/// Priorities: 0 is the most urgent.
pub(super) const LEVELS: usize = 8;

/// Which waiting message is meant. The default is any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Select {
    /// Only from this link.
    pub link: Option<crate::link::LinkId>,
    /// Only from this port.
    pub port: Option<u16>,
    /// Only with a tag from this one on.
    pub first_tag: Option<u16>,
    /// Only with a tag up to this one.
    pub last_tag: Option<u16>,
}

impl Select {
    fn matches<P: Platform>(&self, links: &Links<P>, at: EntryId, taken: &Taken) -> bool {
        let d = &taken.descriptor;
        self.link.is_none_or(|id| links.id(at.link) == Some(id))
            && self.port.is_none_or(|port| d.source == port)
            && self.first_tag.is_none_or(|tag| d.tag >= tag)
            && self.last_tag.is_none_or(|tag| d.tag <= tag)
    }
}

/// See the module page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    first: [Option<EntryId>; LEVELS],
    last: [Option<EntryId>; LEVELS],
    /// A bit for each level where something waits: most looks find nothing anywhere.
    levels: u8,
}

impl Queue {
    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.levels == 0
    }

    /// Appends a message to its level.
    #[inline]
    pub fn push<P: Platform>(&mut self, links: &mut Links<P>, at: EntryId, level: u8) {
        let level = usize::from(level) % LEVELS;
        match self.last[level].replace(at) {
            None => {
                self.first[level] = Some(at);
                self.levels |= 1 << level;
            }
            Some(before) => set_next(links, before, Some(at)),
        }
    }

    /// The level of the first message.
    #[inline]
    pub fn level(&self) -> Option<u8> {
        (!self.is_empty()).then(|| self.levels.trailing_zeros() as u8)
    }

    /// The first message, most urgent level first.
    #[inline]
    pub fn peek(&self) -> Option<EntryId> {
        *self.first.get(self.levels.trailing_zeros() as usize)?
    }

    /// How many wait.
    #[cfg(feature = "library")]
    pub fn count<P: Platform>(&self, links: &Links<P>) -> u32 {
        let each = |first: Option<EntryId>| core::iter::successors(first, |at| next(links, *at));
        self.first.iter().map(|first| each(*first).count() as u32).sum()
    }

    /// Takes the first message that is meant out of the queue; its entry stays in the inbox.
    #[inline]
    pub fn pop<P: Platform>(&mut self, links: &mut Links<P>, select: &Select) -> Option<EntryId> {
        let any = *select == Select::default();
        let mut levels = self.levels;
        while levels != 0 {
            let level = levels.trailing_zeros() as usize;
            levels &= levels - 1;
            let mut before = None;
            let mut at = self.first[level];
            while let Some(here) = at {
                let entry = links.at(here.link)?.inbox.get(here.entry)?;
                let next = entry.next;
                let taken = entry.taken.as_ref();
                if any || taken.is_some_and(|taken| select.matches(links, here, taken)) {
                    self.unlink(links, level, before, here, next);
                    return Some(here);
                }
                before = Some(here);
                at = next;
            }
        }
        None
    }

    /// Takes every message of one link out of the queue.
    pub fn purge<P: Platform>(&mut self, links: &mut Links<P>, link: u16) {
        for level in 0..LEVELS {
            let mut before = None;
            let mut at = self.first[level];
            while let Some(here) = at {
                let next = next(links, here);
                if here.link == link {
                    self.unlink(links, level, before, here, next);
                } else {
                    before = Some(here);
                }
                at = next;
            }
        }
    }

    fn unlink<P: Platform>(
        &mut self,
        links: &mut Links<P>,
        level: usize,
        before: Option<EntryId>,
        here: EntryId,
        next: Option<EntryId>,
    ) {
        match before {
            None => self.first[level] = next,
            Some(before) => set_next(links, before, next),
        }
        if next.is_none() {
            self.last[level] = before;
        }
        if self.first[level].is_none() {
            self.levels &= !(1 << level);
        }
        set_next(links, here, None);
    }
}

fn next<P: Platform>(links: &Links<P>, at: EntryId) -> Option<EntryId> {
    links.at(at.link)?.inbox.get(at.entry)?.next
}

fn set_next<P: Platform>(links: &mut Links<P>, at: EntryId, next: Option<EntryId>) {
    let entry = links.at_mut(at.link).and_then(|link| link.inbox.get_mut(at.entry));
    if let Some(entry) = entry {
        entry.next = next;
    }
}
