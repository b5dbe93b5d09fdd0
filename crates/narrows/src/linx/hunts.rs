//! Hunts of a node's own endpoints and of its peers' handlers.

use super::words::Word;
use super::{Adaption, Handler, HandlerError, Misled, Path, Spid};
use crate::connection::Signal;
use crate::name::Name;
use crate::platform::Platform;

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
    /// The node at which a name without links is looked for, if it is not the one of that name.
    pub at: Option<Name>,
    /// What is delivered to an endpoint.
    pub signal: Option<(B, usize)>,
    /// The link whose handler was asked.
    pub asked: Option<u16>,
    /// What a peer is to be told, as soon as there is room: found, or refused.
    pub answer: Option<Option<Spid>>,
}

impl<B> Hunt<B> {
    /// Whether an endpoint of this node hunts.
    fn is_own(&self) -> bool {
        matches!(self.owner, Owner::Endpoint(_))
    }
}

impl<P: Platform, B> Handler<P, B> {
    /// Looks for an endpoint. When it is found, now or later, the signal is delivered to the
    /// hunter, as if the found one had sent it. A hunt that another node refuses, since it has no
    /// such link, comes back from [`Spid::NONE`].
    ///
    /// # Errors
    /// [`HandlerError::UnknownLink`], [`HandlerError::Full`] or [`HandlerError::Unknown`]; the
    /// buffer comes back.
    pub fn hunt<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        owner: Spid,
        path: Path,
        signal: (B, usize),
    ) -> Result<(), (HandlerError, B)> {
        if let Err(error) = self.check_own(owner) {
            return Err((error, signal.0));
        }
        let found = path.plain().and_then(|name| self.local(&name));
        if let Some(spid) = found {
            let (buffer, len) = signal;
            around.deliver(Signal { from: spid.0, to: owner.0, len, buffer }, None);
            return Ok(());
        }
        if let Some((link, _)) = path.split()
            && !self.roaming
            && self.unit_named(&link, false).is_none()
        {
            return Err((HandlerError::UnknownLink, signal.0));
        }
        let Some(place) = self.hunts.iter_mut().find(|place| place.is_none()) else {
            return Err((HandlerError::Full, signal.0));
        };
        let owner = Owner::Endpoint(owner);
        let signal = Some(signal);
        *place = Some(Hunt { owner, path, at: None, signal, asked: None, answer: None });
        self.owes = true;
        self.attend(around);
        Ok(())
    }

    /// With links that are made when asked for: the names that a node has to be linked for, each as
    /// often as it is hunted.
    pub fn wanted(&self) -> impl Iterator<Item = Name> {
        let waiting = self.hunts.iter().flatten().filter(|hunt| hunt.asked.is_none());
        let own = waiting.filter(|hunt| hunt.is_own());
        let names = own.filter_map(|hunt| Some(self.through(hunt)?.0));
        names.filter(|name| self.unit_named(name, true).is_none())
    }

    /// Whether endpoints of this node hunt something that is not found yet.
    #[must_use]
    pub fn is_hunting(&self) -> bool {
        self.hunts.iter().flatten().any(Hunt::is_own)
    }

    /// The names without links that endpoints of this node hunt, each as often as it is hunted.
    pub fn sought(&self) -> impl Iterator<Item = Name> {
        let own = self.hunts.iter().flatten().filter(|hunt| hunt.is_own());
        own.filter_map(|hunt| hunt.path.plain())
    }

    /// Has a name without links looked for at this node from now on, or at the node of that name:
    /// for nodes whose endpoints have other names than they have.
    pub fn lead<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        name: &Name,
        node: Option<Name>,
    ) {
        for index in 0..self.hunts.len() {
            let Some(Some(hunt)) = self.hunts.get_mut(index) else { continue };
            if !hunt.is_own() || hunt.path.plain() != Some(*name) || hunt.at == node {
                continue;
            }
            hunt.at = node;
            if let Some(link) = hunt.asked.take() {
                self.say(around, link, Word::GivenUp { number: index as u16 });
            }
            self.owes = true;
        }
        self.attend(around);
    }

    /// The link that a hunt goes through, and what its handler is asked for.
    fn through<'a>(&self, hunt: &'a Hunt<B>) -> Option<(Name, &'a str)> {
        let at_node_of_its_name = || {
            let name = hunt.path.plain().filter(|_| self.roaming && hunt.is_own())?;
            Some((hunt.at.unwrap_or(name), hunt.path.as_str()))
        };
        hunt.path.split().or_else(at_node_of_its_name)
    }

    /// Hunts that wait at a peer's handler at a time. All handlers are taken to be as large.
    fn share(&self) -> usize {
        self.hunts.len() / 4
    }

    pub(super) fn hunt_at(&self, index: usize) -> Option<&Hunt<B>> {
        self.hunts.get(index)?.as_ref()
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
                self.owes = true;
                // Another node may have been asked too, for a name without links.
                self.give_up(around, index);
                if let Some((buffer, len)) = signal {
                    let from = spid.unwrap_or(Spid::NONE);
                    around.deliver(Signal { from: from.0, to: owner.0, len, buffer }, None);
                }
            }
        }
    }

    /// A peer looks for something.
    pub(super) fn hunted<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        link: u16,
        number: u16,
        path: Path,
    ) -> Result<(), Misled> {
        let owner = Owner::Peer { link, number };
        let of_link =
            |hunt: &&Hunt<B>| matches!(hunt.owner, Owner::Peer { link: of, .. } if of == link);
        let hunts = self.hunts.iter().flatten();
        if hunts.filter(of_link).count() > self.share() {
            return Err(Misled::Hunts);
        }
        let known = path.split().is_none_or(|(next, _)| self.unit_named(&next, false).is_some());
        let answer = path.plain().and_then(|name| self.local(&name));
        let answer = if known { answer.map(Some) } else { Some(None) };
        let free = self.hunts.iter_mut().find(|place| place.is_none()).ok_or(Misled::Hunts)?;
        *free = Some(Hunt { owner, path, at: None, signal: None, asked: None, answer });
        self.owes = true;
        self.attend(around);
        Ok(())
    }

    /// Looks for something no longer.
    pub(super) fn give_up<A: Adaption<Buffer = B>>(&mut self, around: &mut A, index: usize) {
        let Some(hunt) = self.hunts.get_mut(index).and_then(Option::take) else { return };
        if let Some((buffer, _)) = hunt.signal {
            around.free(buffer);
        }
        if let Some(link) = hunt.asked {
            // A peer that is not told answers a hunt that is over, or another of that number: then
            // it is asked once more.
            self.say(around, link, Word::GivenUp { number: index as u16 });
        }
    }

    /// Takes a hunt a step further, if it can be. False if there was no room for what is to be
    /// said.
    pub(super) fn further<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        index: usize,
    ) -> bool {
        let Some(hunt) = self.hunt_at(index) else { return true };
        if let (Some(answer), Owner::Peer { link, number }) = (hunt.answer, hunt.owner) {
            let word = match answer {
                Some(spid) => Word::Found { number, spid },
                None => Word::Refused { number },
            };
            let said = self.say(around, link, word);
            if said {
                self.give_up(around, index);
            }
            return said;
        }
        if hunt.asked.is_some() {
            return true;
        }
        let Some((name, rest)) = self.through(hunt) else { return true };
        let Some(link) = self.unit_named(&name, true) else { return true };
        if rest.is_empty() {
            if let Some(spid) = self.of_link(link) {
                self.found(around, index, Some(spid));
            }
            return self.hunt_at(index).is_none() || self.further_answer(around, index);
        }
        let Ok(path) = rest.parse() else { return true };
        let asked = self.hunts.iter().flatten().filter(|hunt| hunt.asked == Some(link)).count();
        if asked >= self.share() {
            // A peer takes no more. When one is answered, this one has its turn.
            return true;
        }
        let said = self.say(around, link, Word::Hunt { number: index as u16, path });
        if said && let Some(Some(hunt)) = self.hunts.get_mut(index) {
            hunt.asked = Some(link);
        }
        said
    }

    /// Answers a peer at once, where what it looks for was there.
    fn further_answer<A: Adaption<Buffer = B>>(&mut self, around: &mut A, index: usize) -> bool {
        let answered = self.hunt_at(index).is_some_and(|hunt| hunt.answer.is_some());
        !answered || self.further(around, index)
    }
}
