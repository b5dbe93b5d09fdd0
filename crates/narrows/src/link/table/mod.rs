//! The table of a node's links: which peers are up, were lost, or are hunted.

mod ends;
mod next;

use super::places::{Places, grow};
use super::{Entry, Inbox, Link, LinkId, Name, Served};
use crate::memory::{SetUpError, Shared};
use crate::platform::{Connected, Event, HuntError, NoStorage, Platform};
use next::Head;
pub use next::SHARE;

/// Places that a table begins with, where it may have as many.
const FIRST: usize = 8;

/// All links of a node.
pub struct Links<P: Platform> {
    table: Places<P>,
    /// The most places that the table may have.
    most: usize,
    /// Places up to the last that is taken: a table with room for many costs what its links do.
    used: u16,
    lives: u32,
    /// Links that have ended so far.
    ends: u32,
    inbox: usize,
    flows: usize,
    /// Hunts that failed, until they are asked for.
    failed: P::Slice<Option<(Name, HuntError)>>,
    /// The hunt that is waited for: its failure makes room for no other.
    awaited: Option<Name>,
    /// The link that a message was taken off last, where the next is most likely.
    hot: u16,
    /// What a look at the others needs, close together: none for one that has ended. The hot one's
    /// is of before it became that.
    heads: P::Slice<Option<Head<P>>>,
    /// The links besides that may hold credit or blocks back: from, and up to before.
    owing: (u16, u16),
    /// Whether any link may hold credit or blocks of channels back.
    channels_owe: bool,
    /// Whether a wait has just looked at all rings and ended with a message.
    pub watched: bool,
    /// Messages until all rings are looked at, if they are as urgent as the first was then.
    trusted: u16,
    level: u8,
    /// The core that peers were told this node waits on.
    core: u32,
    /// Whether all peers waited on that core too, at the last wait.
    crowded: bool,
}

/// What the rendezvous brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A link came up.
    Up(LinkId),
    /// A link was lost.
    Lost(LinkId),
    /// No link is another than before: a hunt failed, say.
    Other,
}

impl<P: Platform> Links<P> {
    /// A table that grows up to `links` links, each with `inbox` waiting messages and `flows` flows
    /// of the peer's.
    ///
    /// # Errors
    /// No storage.
    pub fn new(platform: &P, links: usize, inbox: usize, flows: usize) -> Result<Self, NoStorage> {
        let inbox = inbox.clamp(1, usize::from(u16::MAX));
        let most = links.clamp(1, usize::from(u16::MAX));
        let first = most.min(FIRST);
        Ok(Links {
            table: Places::new(platform, first)?,
            most,
            heads: platform.storage(first, |_| None)?,
            used: 0,
            lives: 0,
            ends: 0,
            inbox,
            flows,
            failed: platform.storage(first, |_| None)?,
            awaited: None,
            hot: 0,
            owing: (0, 0),
            channels_owe: false,
            watched: false,
            trusted: 0,
            level: 0,
            core: 0,
            crowded: false,
        })
    }

    /// The link of this name, up or lost.
    #[inline(never)]
    pub fn get(&self, id: LinkId) -> Option<&Link<P>> {
        self.at(id.index).filter(|link| link.life == id.life)
    }

    /// The link of this name, to change.
    #[inline]
    pub fn get_mut(&mut self, id: LinkId) -> Option<&mut Link<P>> {
        self.at_mut(id.index).filter(|link| link.life == id.life)
    }

    /// The link of this name, if it is up.
    #[inline(always)]
    pub fn up_mut(&mut self, id: LinkId) -> Option<&mut Link<P>> {
        self.at_mut(id.index).filter(|link| link.up == id.life)
    }

    /// The link of this name, if it is up and nothing is noted of what its channels carry, as far
    /// as that is known.
    #[inline(always)]
    pub fn unnoted_mut(&mut self, id: LinkId) -> Option<&mut Link<P>> {
        self.at_mut(id.index).filter(|link| link.unnoted == id.life)
    }

    /// Has it found out anew whether something is noted of what channels carry.
    pub fn note_channels(&mut self) {
        for index in 0..self.used {
            if let Some(link) = self.at_mut(index) {
                link.unnoted = 0;
            }
        }
    }

    /// The link of this name, if it is up, to take from its channels or to give back what came over
    /// them.
    #[inline(always)]
    pub fn with_channels(&mut self, id: LinkId) -> Option<&mut Link<P>> {
        self.channels_owe = true;
        self.up_mut(id)
    }

    /// As [`Links::with_channels`], if nothing is noted of what they carry, as far as is known.
    #[inline(always)]
    pub fn with_unnoted_channels(&mut self, id: LinkId) -> Option<&mut Link<P>> {
        self.channels_owe = true;
        self.unnoted_mut(id)
    }

    /// Whether the link of this name is up.
    #[inline]
    pub fn is_up(&self, id: LinkId) -> bool {
        self.at(id.index).is_some_and(|link| link.up == id.life)
    }

    /// The link at a place of the table.
    #[inline]
    pub fn at(&self, index: u16) -> Option<&Link<P>> {
        self.table.get(index)
    }

    /// The link at a place of the table, to change.
    #[inline]
    pub fn at_mut(&mut self, index: u16) -> Option<&mut Link<P>> {
        self.table.get_mut(index)
    }

    /// Links that the table has room for until it grows.
    pub fn capacity(&self) -> u16 {
        self.heads.len() as u16
    }

    /// Places of the table that have to be looked at: behind them there is no link.
    #[inline]
    pub fn places(&self) -> u16 {
        self.used
    }

    /// The name of the link at a place.
    pub fn id(&self, index: u16) -> Option<LinkId> {
        self.at(index).map(|link| LinkId { index, life: link.life })
    }

    /// Every link, ended ones included.
    pub fn all(&self) -> impl Iterator<Item = &Link<P>> {
        self.table.iter().take(usize::from(self.used)).flatten()
    }

    /// Every link that is up, the one that a message was taken off last before the others.
    pub fn up(&self) -> impl Iterator<Item = &Link<P>> + Clone {
        let up = |at| self.at(at).filter(|link| link.lost.is_none());
        let mut hot = up(self.hot);
        let mut others = if self.used > 1 { 0..self.used } else { 0..0 };
        let other = move |at| if at == self.hot { None } else { up(at) };
        // Plainer than a chain for the one link that most nodes have.
        core::iter::from_fn(move || hot.take().or_else(|| others.find_map(other)))
    }

    /// Takes the one link that is up at hand: it is the likeliest to have the next message from now
    /// on. False if there are several, or none.
    pub fn take_one_at_hand(&mut self) -> bool {
        let mut up = (0..self.used).filter(|at| self.at(*at).is_some_and(|l| l.lost.is_none()));
        let one = up.next().filter(|_| up.next().is_none());
        if let Some(one) = one {
            self.took(one);
            self.table.take_at_hand(one);
        }
        one.is_some()
    }

    /// Whether a link lies at hand.
    pub fn is_at_hand(&self, id: LinkId) -> bool {
        self.table.hand() == id.index
    }

    /// The link that lies at hand, and its name.
    #[inline(always)]
    pub fn at_hand(&mut self) -> Option<(LinkId, &mut Link<P>)> {
        let index = self.table.hand();
        self.table.at_hand().map(|link| (LinkId { index, life: link.life }, link))
    }

    /// Tells peers on which core this node is about to wait. Whether all of them waited there too:
    /// a look for what they send keeps them from sending it.
    pub fn crowd(&mut self, core: u32) -> bool {
        if core != self.core {
            self.core = core;
            self.up().for_each(|link| link.shared.stand_on(core));
        }
        self.crowded = core != 0 && self.all_wait_on(core);
        self.crowded
    }

    /// Whether there are peers, and all of them waited on a core.
    fn all_wait_on(&self, core: u32) -> bool {
        let mut peers = self.up().map(|link| link.shared.peer_core());
        peers.next() == Some(core) && peers.all(|peer| peer == core)
    }

    /// What [`Links::crowd`] said last.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Gives all credit and blocks that are held back.
    pub fn flush(&mut self, platform: &P) {
        let (mut from, mut to) = core::mem::take(&mut self.owing);
        if core::mem::take(&mut self.channels_owe) {
            (from, to) = (0, self.used);
        }
        for index in core::iter::once(self.hot).chain(from..to) {
            if let Some(link) = self.at_mut(index)
                && link.lost.is_none()
            {
                link.shared.flush(platform);
            }
        }
    }

    /// The link to a peer that is up: the one end or, if it is to this node itself, the first.
    pub fn find(&self, name: &Name) -> Option<LinkId> {
        let up = (0..self.places()).filter_map(|index| {
            let link = self.at(index)?;
            (link.name == *name && link.lost.is_none()).then_some(LinkId { index, life: link.life })
        });
        up.max_by_key(|id| self.lives.wrapping_sub(id.life))
    }

    /// Why the hunt for a name failed, if it did since the last time this was asked.
    pub fn hunt_failure(&mut self, name: &Name) -> Option<HuntError> {
        let mut failed = self.failed.iter_mut();
        failed.find_map(|place| Some(place.take_if(|(failed, _)| failed == name)?.1))
    }

    /// Notes that the hunt for a name is waited for. An earlier failure of it is forgotten.
    pub fn await_hunt(&mut self, name: &Name) {
        self.hunt_failure(name);
        self.awaited = Some(*name);
    }

    /// Keeps a failure: in place of the last of that name, where there is room, or in place of one
    /// that nobody waits for.
    fn fail(&mut self, platform: &P, name: Name, error: HuntError) {
        let awaited = self.awaited;
        self.hunt_failure(&name);
        if self.failed.iter().all(Option::is_some) {
            let more = (2 * self.failed.len()).min(self.most);
            // Without storage it takes the place of another.
            let _ = grow(platform, &mut self.failed, more, || None);
        }
        let failed = &mut *self.failed;
        let free = failed.iter().position(Option::is_none);
        let other = |place: &Option<(Name, _)>| place.is_some_and(|(old, _)| Some(old) != awaited);
        if let Some(at) = free.or_else(|| failed.iter().position(other))
            && let Some(place) = failed.get_mut(at)
        {
            *place = Some((name, error));
        }
    }

    /// Takes one piece of news from the rendezvous.
    pub fn attend(&mut self, platform: &P) -> Option<News> {
        match platform.event()? {
            Ok(Event::Connected(connected)) => {
                let (key, name) = (connected.key, connected.name);
                match self.insert(platform, connected) {
                    Ok(id) => return Some(News::Up(id)),
                    Err(error) => {
                        match error {
                            HuntError::TooManyLinks => platform.refuse(key),
                            _ => platform.close(key),
                        }
                        self.fail(platform, name, error);
                    }
                }
            }
            Ok(Event::Lost { key, reason }) => {
                let lost = |l: &Link<P>| l.key == key && l.lost.is_none();
                let found = (0..self.places()).find(|i| self.at(*i).is_some_and(lost));
                if let Some(id) = found.and_then(|index| self.id(index)) {
                    self.end(platform, id, reason);
                    return Some(News::Lost(id));
                }
            }
            Err((name, error)) => self.fail(platform, name, error),
        }
        Some(News::Other)
    }

    fn insert(&mut self, platform: &P, new: Connected<P>) -> Result<LinkId, HuntError> {
        let free = self.place(platform).ok_or(HuntError::TooManyLinks)?;
        let index = free as u16;
        let shared =
            Shared::new(platform, new.own, new.peer, new.bell).map_err(|error| match error {
                SetUpError::Own | SetUpError::Peer(_) => HuntError::Incompatible,
                SetUpError::Storage => HuntError::TooManyLinks,
            })?;
        let none = |_: NoStorage| HuntError::TooManyLinks;
        // Beyond the usual, a place for each message on the ring: the last of them may be urgent.
        let count = self.inbox + shared.theirs().slots() as usize;
        let count = count.min(usize::from(u16::MAX));
        let entry = |i| Inbox::<P::Slice<Entry>>::entry(index, i, count);
        let entries = platform.storage(count, entry).map_err(none)?;
        // Neither 0 nor the life of `LinkId::NONE`.
        self.lives = self.lives % (LinkId::NONE.life - 1) + 1;
        let link = Link {
            shared,
            key: new.key,
            name: new.name,
            incarnation: new.incarnation,
            lost: None,
            ended: 0,
            taken: 0,
            inbox: Inbox::new(index, entries, self.inbox),
            served: platform.storage(self.flows, |_| Served::NONE).map_err(none)?,
            attached: None,
            replies: 0,
            starved: false,
            unsaid: false,
            wanting: false,
            told: false,
            life: self.lives,
            up: self.lives,
            unnoted: 0,
        };
        let id = LinkId { index, life: link.life };
        let head = link.shared.head().map_err(|_| HuntError::Incompatible)?;
        link.shared.stand_on(self.core);
        self.table.set(index, Some(link));
        self.used = self.used.max(index + 1);
        if let Some(at) = self.heads.get_mut(free) {
            *at = Some(head);
        }
        Ok(id)
    }
}
