//! The places of a node's links.

use super::Link;
use crate::platform::{NoStorage, Platform};

/// A place for each link that a node may have.
pub(super) struct Places<P: Platform> {
    /// Apart from the others: most nodes have one link, and this one is found without looking anywhere.
    first: Option<Link<P>>,
    others: P::Slice<Option<Link<P>>>,
}

impl<P: Platform> Places<P> {
    /// So many places, but at least one.
    ///
    /// # Errors
    /// No storage.
    pub fn new(platform: &P, count: usize) -> Result<Self, NoStorage> {
        let others = platform.storage(count.saturating_sub(1), |_| None)?;
        Ok(Places { first: None, others })
    }

    /// The link at a place.
    #[inline]
    pub fn get(&self, index: u16) -> Option<&Link<P>> {
        match index {
            0 => self.first.as_ref(),
            _ => self.others.get(usize::from(index) - 1)?.as_ref(),
        }
    }

    /// The link at a place, to change.
    #[inline]
    pub fn get_mut(&mut self, index: u16) -> Option<&mut Link<P>> {
        match index {
            0 => self.first.as_mut(),
            _ => self.others.get_mut(usize::from(index) - 1)?.as_mut(),
        }
    }

    /// Puts a link at a place, or leaves that empty.
    pub fn set(&mut self, index: u16, link: Option<Link<P>>) {
        if index == 0 {
            self.first = link;
        } else if let Some(place) = self.others.get_mut(usize::from(index) - 1) {
            *place = link;
        }
    }

    /// All places in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Option<Link<P>>> + Clone {
        core::iter::once(&self.first).chain(self.others.iter())
    }

    /// All links, to change.
    pub fn links_mut(&mut self) -> impl Iterator<Item = &mut Link<P>> {
        self.first.iter_mut().chain(self.others.iter_mut().flatten())
    }
}
