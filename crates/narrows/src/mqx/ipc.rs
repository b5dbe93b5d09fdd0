//! The IPC service: what goes over the links of a processor, and what comes.
//!
//! It receives each message into a block of its own pool: the driver copies the bytes there. A
//! message for this processor is put into its queue as it is, and one for another into the queue of
//! the next link. Neither is copied again.

use core::fmt;

use super::frame::Broken;
use super::{Counts, Processor, Supply, index};
use crate::driver::Frames;
use crate::link::route::Row;

/// The count of those that had the same fate.
type Count = fn(&mut Counts) -> &mut u64;

/// What is left to be done for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nothing, until something comes or is sent.
    Nothing,
    /// The driver has no room for what is to be sent.
    Room,
    /// More may have come.
    More,
}

/// Why a link has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The routing table has no such link, or it is down.
    Down,
    /// The driver lost the neighbour.
    Gone,
    /// The neighbour broke the protocol.
    Broken(Broken),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Down => f.write_str("the link is down, or not in the routing table"),
            Ended::Gone => f.write_str("the neighbour is gone"),
            Ended::Broken(what) => write!(f, "the neighbour broke the protocol ({what})"),
        }
    }
}

impl core::error::Error for Ended {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Ended::Broken(what) => Some(what),
            _ => None,
        }
    }
}

impl From<Broken> for Ended {
    fn from(broken: Broken) -> Ended {
        Ended::Broken(broken)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Down,
    /// The neighbour has not said who it is.
    Greeting,
    Up,
}

/// What a processor knows of one link.
pub(super) struct Link {
    pub state: State,
    /// Whether this processor has said who it is.
    pub greeted: bool,
    /// Bytes of the longest message that the neighbour takes.
    pub longest: u32,
    /// Messages that came.
    pub came: u16,
    /// Messages that were sent, all of each, and those of them that the neighbour has taken.
    pub sent: u16,
    pub taken: u16,
    /// Whether the neighbour wants to know at once what was taken.
    pub soon: bool,
    /// The block of a message that is coming, and the bytes that came.
    pub receiving: Option<(u16, u32)>,
    /// The same of one that is being sent.
    pub sending: Option<(u16, u32)>,
}

impl Link {
    pub const DOWN: Link = Link {
        state: State::Down,
        greeted: false,
        longest: 0,
        came: 0,
        sent: 0,
        taken: 0,
        soon: false,
        receiving: None,
        sending: None,
    };

    pub fn is_up(&self) -> bool {
        self.state == State::Up
    }
}

impl<S: Supply, N: Clone> Processor<S, N> {
    /// A link has a driver now, over which nothing has gone yet. The link is up when the neighbour
    /// has said who it is.
    ///
    /// # Errors
    /// [`Ended::Down`]: the routing table has no such link.
    pub fn connect(&mut self, link: usize) -> Result<(), Ended> {
        self.table.neighbour(link).ok_or(Ended::Down)?;
        self.disconnect(link);
        self.relay.join(link);
        self.links[link] = Link { state: State::Greeting, ..Link::DOWN };
        Ok(())
    }

    /// A link has ended, and its driver reads no message any more. What the neighbour is not known
    /// to have goes another way, or waits for a link to come up if there is none: see
    /// [`Processor::abandon`].
    pub fn disconnect(&mut self, link: usize) {
        let Some(known) = self.links.get_mut(link) else { return };
        let ended = core::mem::replace(known, Link::DOWN);
        if let Some((at, _)) = ended.receiving {
            self.put(at);
        }
        while let Some(orphan) = self.relay.orphan(link) {
            let at = orphan.token;
            let trip = &mut self.pools.blocks[index(at)].trip;
            trip.again |= orphan.sent;
            match self.pass(at, orphan.urgency) {
                Ok(went) => self.counts.rerouted += u64::from(went),
                Err(count) => self.lose(at, count),
            }
        }
    }

    /// Whether messages wait for a link to come up.
    pub fn is_stranded(&self) -> bool {
        self.stranded.first().is_some()
    }

    /// Drops and counts those messages. They have places that others need: a processor must not
    /// keep them for ever.
    pub fn abandon(&mut self) {
        while let Some(at) = self.stranded.pop(&mut self.pools.blocks) {
            self.lose(at, no_route);
        }
    }

    /// A link came up: it may lead where messages want to go that wait.
    pub(super) fn regain(&mut self) {
        let mut waiting = core::mem::replace(&mut self.stranded, Row::EMPTY);
        while let Some(at) = waiting.pop(&mut self.pools.blocks) {
            let block = &self.pools.blocks[index(at)];
            let (came, urgency) = (block.trip.came, block.header.control.bits().unwrap_or(0));
            match self.pass(at, urgency) {
                Ok(went) => self.counts.forwarded += u64::from(went && came.is_some()),
                Err(count) => self.lose(at, count),
            }
        }
    }

    /// Whether a link is up.
    pub fn is_up(&self, link: usize) -> bool {
        self.links.get(link).is_some_and(Link::is_up)
    }

    /// Whether something is to be sent over a link: [`Processor::serve`] does so.
    pub fn wants(&self, link: usize) -> bool {
        let Some(known) = self.links.get(link) else { return false };
        match known.state {
            State::Down => false,
            State::Greeting => !known.greeted,
            State::Up => {
                known.sending.is_some()
                    || known.soon
                    || self.relay.is_ready(link)
                    || self.relay.owes(link)
            }
        }
    }

    /// Receives what has come over a link, and sends what there is to send.
    ///
    /// # Errors
    /// The link has ended, as with [`Processor::disconnect`]; see [`Ended`].
    pub fn serve<F: Frames<Buffer = S::Buffer>>(
        &mut self,
        link: usize,
        frames: &mut F,
    ) -> Result<Left, Ended> {
        if self.links.get(link).is_none_or(|known| known.state == State::Down) {
            return Err(Ended::Down);
        }
        let done = self.hear(link, frames).and_then(|more| {
            let left = self.speak(link, frames)?;
            Ok(if more { Left::More } else { left })
        });
        if let Err(why) = done {
            self.counts.broken += u64::from(matches!(why, Ended::Broken(_)));
            self.disconnect(link);
        }
        done
    }

    /// Has a message wait for the link that leads to its processor. False if none is up: it waits
    /// for that first. Fails with what counts it.
    pub(super) fn pass(&mut self, at: u16, urgency: u8) -> Result<bool, Count> {
        let block = &self.pools.blocks[index(at)];
        let trip = block.trip;
        if trip.hops >= self.relay.hops() {
            return Err(|counts| &mut counts.hop_limit);
        }
        let to = block.header.target.processor();
        let came = trip.came.map(usize::from);
        // A message that has turned round often enough waits for a link that leads on, if there is
        // one: at the hop limit it would be lost.
        let any = || self.table.choose(to, came, |_| true);
        let often = trip.hops >= self.relay.hops() / 2;
        let waits = |link: &usize| often && Some(*link) == came && any() != came;
        let Some(link) = self.choose(to, came).filter(|link| !waits(link)) else {
            any().ok_or(no_route as Count)?;
            self.counts.stranded += 1;
            self.stranded.insert(&mut self.pools.blocks, at);
            return Ok(false);
        };
        if block.header.size > self.links[link].longest {
            return Err(|counts| &mut counts.too_long);
        }
        self.relay.push(link, trip.hops, urgency, at).map_err(|_| no_route as Count)?;
        Ok(true)
    }

    /// Drops a message that was to go on or had just come, and counts it.
    pub(super) fn lose(&mut self, at: u16, count: impl FnOnce(&mut Counts) -> &mut u64) {
        *count(&mut self.counts) += 1;
        let own = self.pools.blocks[index(at)].trip.came.is_none();
        self.outgoing -= u16::from(own);
        self.put(at);
    }
}

fn no_route(counts: &mut Counts) -> &mut u64 {
    &mut counts.no_route
}
