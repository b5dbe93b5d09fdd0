//! The places of a node's links.

use super::Link;
use crate::platform::{NoStorage, Platform};

/// Has a table begin with as many places as it had and go on with empty ones, `count` in all.
///
/// # Errors
/// No storage; nothing was changed.
pub fn grow<P: Platform, T>(
    platform: &P,
    table: &mut P::Slice<T>,
    count: usize,
    empty: impl Fn() -> T,
) -> Result<(), NoStorage> {
    if count > table.len() {
        let mut larger = platform.storage(count, |_| empty())?;
        for (to, from) in larger.iter_mut().zip(table.iter_mut()) {
            core::mem::swap(to, from);
        }
        *table = larger;
    }
    Ok(())
}

/// A place for each link that a node has room for at present.
pub(super) struct Places<P: Platform> {
    /// One link lies here instead of in its place: most nodes have one link, and this one is found
    /// without looking anywhere.
    at_hand: Option<Link<P>>,
    /// The place of that link.
    hand: u16,
    places: P::Slice<Option<Link<P>>>,
}

impl<P: Platform> Places<P> {
    /// This number of places.
    ///
    /// # Errors
    /// No storage.
    pub fn new(platform: &P, count: usize) -> Result<Self, NoStorage> {
        Ok(Places { at_hand: None, hand: 0, places: platform.storage(count, |_| None)? })
    }

    /// Makes more of them: links move, and keep their places.
    ///
    /// # Errors
    /// No storage; nothing was changed.
    pub fn grow(&mut self, platform: &P, count: usize) -> Result<(), NoStorage> {
        grow(platform, &mut self.places, count, || None)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// The link at a place.
    #[inline]
    pub fn get(&self, index: u16) -> Option<&Link<P>> {
        if index == self.hand {
            return self.at_hand.as_ref();
        }
        self.places.get(usize::from(index))?.as_ref()
    }

    /// The link at a place, to change.
    #[inline]
    pub fn get_mut(&mut self, index: u16) -> Option<&mut Link<P>> {
        if index == self.hand {
            return self.at_hand.as_mut();
        }
        self.places.get_mut(usize::from(index))?.as_mut()
    }

    /// Puts a link at a place, or leaves that empty.
    pub fn set(&mut self, index: u16, link: Option<Link<P>>) {
        if index == self.hand {
            self.at_hand = link;
        } else if let Some(place) = self.places.get_mut(usize::from(index)) {
            *place = link;
        }
    }

    /// Takes the link at a place at hand.
    pub fn take_at_hand(&mut self, index: u16) {
        if index != self.hand {
            let link = self.places.get_mut(usize::from(index)).and_then(Option::take);
            let before = core::mem::replace(&mut self.at_hand, link);
            let hand = core::mem::replace(&mut self.hand, index);
            self.set(hand, before);
        }
    }

    /// The place of the link at hand.
    #[inline(always)]
    pub fn hand(&self) -> u16 {
        self.hand
    }

    /// The link at hand.
    #[inline(always)]
    pub fn at_hand(&mut self) -> Option<&mut Link<P>> {
        self.at_hand.as_mut()
    }

    /// All places in their order.
    pub fn iter(&self) -> impl Iterator<Item = Option<&Link<P>>> + Clone {
        (0..self.count() as u16).map(|index| self.get(index))
    }
}
