//! How links end, and how places are used again.

use super::Links;
use crate::link::places::grow;
use crate::link::{Link, LinkId, Name};
use crate::platform::{HuntError, Lost, Platform};

/// Links that keep their memory though they have ended and left nothing to receive: while they do,
/// a program can ask why they ended.
const KEPT: usize = 8;

impl<P: Platform> Links<P> {
    /// A place for one more link: that of an ended one, while more than a few have ended that
    /// nobody closed; a free one, for which the table grows if it may; or that of any that has
    /// ended.
    pub(super) fn place(&mut self, platform: &P) -> Option<usize> {
        let ended = self.ended().count();
        if ended >= KEPT {
            return self.over();
        }
        if let Some(free) = self.table.iter().position(|link| link.is_none()) {
            return Some(free);
        }
        let (count, more) = (self.table.count(), (2 * self.table.count()).min(self.most));
        let grown = grow(platform, &mut self.heads, more, || None)
            .and_then(|()| self.table.grow(platform, more));
        if more > count && grown.is_ok() { Some(count) } else { self.over() }
    }

    /// Links that have ended and left nothing that waits to be received, with their places.
    fn ended(&self) -> impl Iterator<Item = (usize, &Link<P>)> {
        let links = self.table.iter().take(usize::from(self.used)).enumerate();
        let links = links.filter_map(|(place, link)| Some((place, link?)));
        links.filter(|(_, link)| link.is_over())
    }

    /// The place of the one of them that ended first: a program that only serves never hears of it,
    /// and so cannot close it.
    fn over(&self) -> Option<usize> {
        self.ended().max_by_key(|(_, link)| self.since(link)).map(|(at, _)| at)
    }

    /// How many links have ended since this one did.
    fn since(&self, link: &Link<P>) -> u32 {
        self.ends.wrapping_sub(link.ended)
    }

    /// Forgets links that have ended and left nothing at all, but for the last few: programs that
    /// never close one would keep the memory of each.
    #[inline(never)]
    pub fn thin(&mut self) {
        loop {
            let left = self.ended().filter(|(_, link)| link.has_left_nothing());
            let Some((place, first)) = left.max_by_key(|(_, link)| self.since(link)) else {
                return;
            };
            let later = self.ended().filter(|(_, link)| self.since(link) < self.since(first));
            if later.count() < KEPT {
                return;
            }
            self.forget(place as u16);
        }
    }

    /// Why the link to a peer ended that came up after life `since`, if it has ended.
    pub fn came_and_went(&self, name: &Name, since: u32) -> Option<Lost> {
        let age = self.lives.wrapping_sub(since);
        let newer = |link: &&Link<P>| self.lives.wrapping_sub(link.life) < age;
        let mut links = self.table.iter().flatten().filter(newer);
        links.find_map(|link| link.lost.filter(|_| link.name == *name))
    }

    /// The life that the latest link was given.
    pub fn latest(&self) -> u32 {
        self.lives
    }

    /// Notes that a link has ended. Its blocks come back; what waits in its inbox stays readable.
    pub fn end(&mut self, platform: &P, id: LinkId, reason: Lost) {
        let ends = self.ends.wrapping_add(1);
        if let Some(link) = self.get_mut(id)
            && link.lost.is_none()
        {
            link.ended = ends;
            // What a copy finds wrong is not the peer's doing.
            link.lost = Some(if platform.is_copy() { Lost::Forked } else { reason });
            (link.up, link.unnoted) = (0, 0);
            link.taken = link.shared.rx.taken();
            link.shared.reclaim_all();
            link.shared.end_channels();
            platform.close(link.key);
            self.ends = ends;
            if let Some(head) = self.heads.get_mut(usize::from(id.index)) {
                *head = None;
            }
        }
    }

    /// Forgets a link that has just come up, for want of room.
    #[inline(never)]
    pub fn turn_away(&mut self, platform: &P, id: LinkId) {
        if let Some(link) = self.get(id) {
            let name = link.name;
            platform.refuse(link.key);
            self.fail(platform, name, HuntError::TooManyLinks);
            self.forget(id.index);
        }
    }

    /// Forgets a link.
    pub fn remove(&mut self, platform: &P, id: LinkId) {
        self.end(platform, id, Lost::Closed);
        if self.get(id).is_some() {
            self.forget(id.index);
        }
    }

    /// Empties the place of a link that has ended.
    fn forget(&mut self, index: u16) {
        self.table.set(index, None);
        if let Some(head) = self.heads.get_mut(usize::from(index)) {
            *head = None;
        }
        let last = (0..self.used).rfind(|at| self.at(*at).is_some());
        self.used = last.map_or(0, |at| at + 1);
        if self.hot >= self.used {
            // The only one that is left must be the hot one.
            self.took(0);
        }
    }
}
