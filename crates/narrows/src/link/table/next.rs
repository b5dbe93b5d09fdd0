//! Which link has the next message.

use super::Links;
use crate::link::{Link, LinkId};
use crate::memory::{More, Next};
use crate::platform::{Memory, Platform, Words};

/// A node looks at all its rings again behind as many messages as it has links in this many. With
/// fewer links, before each.
pub const SHARE: u16 = 16;

/// Where the next message of a link comes.
pub(super) type Head<P> = Next<<<P as Platform>::Peer as Memory>::Words>;

/// Whether the next message of a link is there.
#[inline(always)]
fn there<W: Words>(head: &Option<Next<W>>) -> bool {
    head.as_ref().is_some_and(Next::ready)
}

impl<P: Platform> Links<P> {
    /// The link that has the next message, and its name; none if there is no message. Behind a wait
    /// that has just looked at all of them, the one that ended it will do. Of several the most
    /// urgent is the next, and of equally urgent ones they take turns.
    ///
    /// # Errors
    /// A message behind the first of a ring may be more urgent.
    #[inline(always)]
    pub fn first(&mut self) -> Result<Option<(LinkId, &mut Link<P>)>, More> {
        if self.used > 1 {
            let there = (self.watched && self.is_ready(self.hot)) || self.sweep()?;
            if !there {
                return Ok(None);
            }
        }
        let index = self.hot;
        let link = self.at_mut(index).filter(|link| link.lost.is_none());
        Ok(link.map(|link| (LinkId { index, life: link.life }, link)))
    }

    /// The likeliest link, if a wait that has just looked at all of them found a message there.
    #[inline(always)]
    pub fn seen(&mut self) -> Option<(LinkId, &mut Link<P>)> {
        let index = self.hot;
        let watched = self.watched;
        let link = self.at_mut(index).filter(|link| watched && link.lost.is_none())?;
        link.shared.rx.ready().then_some((LinkId { index, life: link.life }, link))
    }

    /// A node that waited for a message often answers it: while it is taken, the line of the answer
    /// comes.
    #[inline(always)]
    pub fn expect_answer(&self) {
        if let Some(link) = self.at(self.hot) {
            link.shared.tx.about_to_publish(link.shared.rx.expects_long());
        }
    }

    /// Looks `looks` times for a message of the likeliest link, or a few times if there are others,
    /// which are not looked at meanwhile. True if one is there.
    #[inline]
    pub fn glance(&self, looks: u32) -> bool {
        let looks = if self.used == 1 { looks } else { looks.div_ceil(8) };
        let Some(link) = self.at(self.hot).filter(|link| link.lost.is_none()) else { return false };
        (0..looks).any(|_| {
            core::hint::spin_loop();
            link.shared.rx.awaited()
        })
    }

    #[inline(always)]
    fn is_ready(&self, index: u16) -> bool {
        self.at(index).is_some_and(|link| link.lost.is_none() && link.shared.rx.ready())
    }

    /// Makes the link the hot one that has the next message, as [`Links::first`] says. False if
    /// none has.
    #[inline(never)]
    fn sweep(&mut self) -> Result<bool, More> {
        // What is as urgent as this comes first, whatever else is there.
        let enough = if self.trusted > 0 { self.level } else { 0 };
        let (mut first, mut urgency) = (self.hot, u8::MAX);
        let mut consider = |at: u16| {
            let its = self.at(at).map_or(u8::MAX, |link| link.shared.rx.urgency());
            if its < urgency {
                (first, urgency) = (at, its);
            }
            urgency <= enough
        };
        // In turn, and the one that had the last message last.
        let mut known = false;
        for part in [self.hot + 1..self.used, 0..self.hot] {
            let heads = self.heads.get(usize::from(part.start)..usize::from(part.end));
            let mut all = heads.unwrap_or_default().iter().enumerate();
            known = known || all.any(|(at, head)| there(head) && consider(part.start + at as u16));
        }
        known = known || (self.is_ready(self.hot) && consider(self.hot));
        match urgency {
            u8::MAX => return Ok(false),
            0 => return Err(More),
            _ if known => self.trusted -= 1,
            _ => (self.trusted, self.level) = (self.used / SHARE, urgency),
        }
        self.took(first);
        Ok(true)
    }

    /// Notes that a message is taken off a link or given back: it may hold credit or blocks back.
    #[inline(always)]
    pub fn took(&mut self, index: u16) {
        if index != self.hot {
            self.heat(index);
        }
    }

    #[inline(never)]
    fn heat(&mut self, index: u16) {
        let old = core::mem::replace(&mut self.hot, index);
        let (from, to) = self.owing;
        self.owing = if from == to { (old, old + 1) } else { (from.min(old), to.max(old + 1)) };
        if let Some(link) = self.table.get(old)
            && let Some(Some(head)) = self.heads.get_mut(usize::from(old))
        {
            link.shared.rx.follow(head);
        }
    }
}
