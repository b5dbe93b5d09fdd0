//! The inbox: messages taken off a ring and not yet used by the application.
//!
//! Each link has its own entries, so a peer that floods one link uses up that link's and no
//! other's. Which queue an entry waits in is the endpoint layer's business; the entries carry the
//! chain.

use core::ops::DerefMut;

use crate::memory::Taken;

/// An entry of some link's inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryId {
    /// The link's place in the table.
    pub link: u16,
    /// The entry.
    pub entry: u16,
}

/// A message that waits, or a free place.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The next entry of the same queue, or of the free list.
    pub next: Option<EntryId>,
    /// The message; none in a free place.
    pub taken: Option<Taken>,
}

/// One link's entries.
pub struct Inbox<S> {
    entries: S,
    free: Option<u16>,
    link: u16,
    used: u16,
    /// Entries that are used as a rule. The others are for messages behind which there is a more
    /// urgent one.
    usual: u16,
}

impl<S: DerefMut<Target = [Entry]>> Inbox<S> {
    /// What each entry of the storage starts as: chained to the next.
    pub fn entry(link: u16, index: usize, count: usize) -> Entry {
        let next = (index + 1 < count).then(|| EntryId { link, entry: (index + 1) as u16 });
        Entry { next, taken: None }
    }

    /// An empty inbox for the link at place `link`, of which `usual` entries are used as a rule.
    pub fn new(link: u16, entries: S, usual: usize) -> Inbox<S> {
        let free = (!entries.is_empty()).then_some(0);
        Inbox { entries, free, link, used: 0, usual: usual.min(usize::from(u16::MAX)) as u16 }
    }

    /// Whether there is room for one more message.
    #[inline]
    pub fn room(&self) -> bool {
        self.used < self.usual && self.free.is_some()
    }

    /// Whether there is room for one more message that is in the way of a more urgent one.
    #[inline]
    pub fn room_beyond(&self) -> bool {
        self.free.is_some()
    }

    /// Whether no message waits.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Keeps a message.
    #[inline]
    pub fn put(&mut self, taken: &Taken) -> Option<EntryId> {
        let index = self.free?;
        let entry = self.entries.get_mut(usize::from(index))?;
        self.free = entry.next.map(|e| e.entry);
        self.used += 1;
        *entry = Entry { next: None, taken: Some(*taken) };
        Some(EntryId { link: self.link, entry: index })
    }

    /// Frees a message's place.
    #[inline]
    pub fn remove(&mut self, entry: u16) -> Option<Taken> {
        let link = self.link;
        let next = self.free.map(|entry| EntryId { link, entry });
        let place = self.entries.get_mut(usize::from(entry))?;
        let taken = place.taken.take()?;
        place.next = next;
        self.free = Some(entry);
        self.used -= 1;
        Some(taken)
    }

    /// An entry.
    #[inline]
    pub fn get(&self, entry: u16) -> Option<&Entry> {
        self.entries.get(usize::from(entry))
    }

    /// An entry, to change.
    #[inline]
    pub fn get_mut(&mut self, entry: u16) -> Option<&mut Entry> {
        self.entries.get_mut(usize::from(entry))
    }
}
