//! What a link handler does when links come, bring something, or go.

use super::table::{Hunt, Owner, Unit, What, bit};
use super::words::LONGEST;
use super::{Adaption, Handler, HandlerError, Misled, Path, Spid, Taken, Word};
use crate::connection::Signal;
use crate::name::Name;
use crate::platform::Platform;

impl<P: Platform, B> Handler<P, B> {
    /// Adds a link, which is not up yet. Returns its number.
    ///
    /// # Errors
    /// [`HandlerError::Duplicate`] or [`HandlerError::Full`].
    pub fn add_link(&mut self, name: Name) -> Result<u16, HandlerError> {
        if self.unit_named(&name, false).is_some() {
            return Err(HandlerError::Duplicate);
        }
        let free = self.units.iter().position(Option::is_none).ok_or(HandlerError::Full)?;
        if let Some(place) = self.units.get_mut(free) {
            *place = Some(Unit { name, up: false, last: None });
        }
        Ok(free as u16)
    }

    /// Notes that the connection of a link is established. Hunts that waited for it go on.
    pub fn link_up<A: Adaption<Buffer = B>>(&mut self, around: &mut A, link: u16) {
        if let Some(Some(unit)) = self.units.get_mut(usize::from(link)) {
            unit.up = true;
            self.owes = true;
        }
        self.attend(around);
    }

    /// Notes that the connection of a link has ended: everybody behind it is gone, what was hunted
    /// through it is hunted again when it comes back, and what its peer hunted is not.
    pub fn link_down<A: Adaption<Buffer = B>>(&mut self, around: &mut A, link: u16) {
        if let Some(Some(unit)) = self.units.get_mut(usize::from(link)) {
            unit.up = false;
        }
        for place in self.hunts.iter_mut() {
            let of_peer = |hunt: &mut Hunt<B>| matches!(hunt.owner, Owner::Peer { link: of, .. } if of == link);
            place.take_if(of_peer);
            if let Some(hunt) = place
                && hunt.asked == Some(link)
            {
                hunt.asked = None;
                self.owes = true;
            }
        }
        for index in 0..self.entries.len() {
            let Some(entry) = self.entries.get_mut(index) else { continue };
            entry.untold &= !bit(link);
            let behind = match entry.what {
                What::Remote { link: of, .. } | What::Link(of) => of == link,
                _ => false,
            };
            if behind && let Some(spid) = self.address(index) {
                self.bury(around, spid, Some(link));
            }
        }
        self.attend(around);
    }

    /// Forgets a link that is down.
    pub fn remove_link(&mut self, link: u16) {
        if let Some(place) = self.units.get_mut(usize::from(link)) {
            place.take_if(|unit| !unit.up);
        }
    }

    /// With links that are made when asked for: the `nth` name that a node has to be linked for, if
    /// there are so many.
    #[must_use]
    pub fn wanted(&self, nth: usize) -> Option<Name> {
        let waiting = self.hunts.iter().flatten().filter(|hunt| hunt.asked.is_none());
        let own = waiting.filter(|hunt| matches!(hunt.owner, Owner::Endpoint(_)));
        let names = own.filter_map(|hunt| Some(self.through(hunt)?.0));
        names.filter(|name| self.unit_named(name, true).is_none()).nth(nth)
    }

    /// The link that a hunt goes through, and what its handler is asked for.
    fn through<'a>(&self, hunt: &'a Hunt<B>) -> Option<(Name, &'a str)> {
        let at_node_of_its_name = || {
            let own = matches!(hunt.owner, Owner::Endpoint(_));
            let name = hunt.path.plain().filter(|_| self.roaming && own)?;
            Some((name, hunt.path.as_str()))
        };
        hunt.path.split().or_else(at_node_of_its_name)
    }

    /// Takes a signal that came over a link.
    ///
    /// # Errors
    /// [`Misled`]: the link has to end.
    #[inline]
    pub fn receive<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        link: u16,
        signal: Signal<B>,
    ) -> Result<Taken<B>, Misled> {
        let Signal { from, to, len, buffer } = signal;
        if to != 0
            && let Some(What::Endpoint(_)) = self.entry(Spid(to)).map(|entry| entry.what)
        {
            let from = self.remote(link, Spid(from))?.0;
            around.deliver(Signal { from, to, len, buffer }, Some(link));
            return Ok(Taken::Delivered);
        }
        self.receive_otherwise(around, link, Signal { from, to, len, buffer })
    }

    #[inline(never)]
    fn receive_otherwise<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        link: u16,
        signal: Signal<B>,
    ) -> Result<Taken<B>, Misled> {
        let Signal { from, to, len, buffer } = signal;
        if to == 0 {
            let mut bytes = [0; LONGEST];
            let read = bytes.get_mut(..len).is_some_and(|part| around.read(&buffer, part));
            around.free(buffer);
            let word = if read { bytes.get(..len) } else { None };
            self.hear(around, link, Word::read(word.unwrap_or_default())?)?;
            self.attend(around);
            return Ok(Taken::Used);
        }
        let what = self.entry(Spid(to)).map(|entry| entry.what);
        match what {
            Some(What::Remote { link: next, spid }) if next != link => {
                let here = self.remote(link, Spid(from))?.0;
                let on = Signal { from: here, to: spid.0, len, buffer };
                match around.transmit(next, on) {
                    Ok(()) => Ok(Taken::Used),
                    Err((crate::connection::Refused::Full, back)) => {
                        Ok(Taken::Stalled(Signal { from, to, len, buffer: back.buffer }))
                    }
                    Err((_, back)) => {
                        around.free(back.buffer);
                        Ok(Taken::Used)
                    }
                }
            }
            // It was sent before its sender heard that nobody is there any more.
            _ => {
                around.free(buffer);
                Ok(Taken::Used)
            }
        }
    }

    fn hear<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        link: u16,
        word: Word,
    ) -> Result<(), Misled> {
        let mine = |hunt: &Hunt<B>| hunt.asked == Some(link);
        match word {
            Word::Hunt { number, path } => self.hunted(around, link, number, path),
            Word::Found { number, spid } => {
                let index = usize::from(number);
                // The hunt may have been given up meanwhile.
                if self.hunt_at(index).is_some_and(mine) && spid != Spid::NONE {
                    let here = self.remote(link, spid)?;
                    if let Some(Some(hunt)) = self.hunts.get_mut(index) {
                        hunt.asked = None;
                    }
                    self.found(around, index, Some(here));
                }
                Ok(())
            }
            Word::Refused { number } => {
                let index = usize::from(number);
                if self.hunt_at(index).is_some_and(mine) {
                    if let Some(Some(hunt)) = self.hunts.get_mut(index) {
                        hunt.asked = None;
                    }
                    self.found(around, index, None);
                }
                Ok(())
            }
            Word::GivenUp { number } => {
                let owner = Owner::Peer { link, number };
                let given_up = |hunt: &Hunt<B>| hunt.owner == owner;
                let hunts = 0..self.hunts.len();
                let index = { hunts }.find(|at| self.hunt_at(*at).is_some_and(given_up));
                if let Some(index) = index {
                    self.give_up(around, index);
                }
                Ok(())
            }
            Word::Gone { spid } => {
                if let Some(here) = self.known(link, spid) {
                    self.bury(around, here, Some(link));
                }
                Ok(())
            }
        }
    }

    /// A peer looks for something.
    fn hunted<A: Adaption<Buffer = B>>(
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
        if hunts.filter(of_link).count() > self.hunts.len() / 4 {
            return Err(Misled::Hunts);
        }
        let known = path.split().is_none_or(|(next, _)| self.unit_named(&next, false).is_some());
        let answer = path.plain().and_then(|name| self.local(&name));
        let answer = if known { answer.map(Some) } else { Some(None) };
        let free = self.hunts.iter_mut().find(|place| place.is_none()).ok_or(Misled::Hunts)?;
        *free = Some(Hunt { owner, path, signal: None, asked: None, answer });
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
            // A peer that is not told answers a hunt that is over, or another of that number: then it
            // is asked once more.
            self.say(around, link, Word::GivenUp { number: index as u16 });
        }
    }

    /// Says something to the handler at the other end of a link. False if there is no room.
    fn say<A: Adaption<Buffer = B>>(&mut self, around: &mut A, link: u16, word: Word) -> bool {
        let mut bytes = [0; LONGEST];
        let len = word.write(&mut bytes);
        let Some(buffer) = around.make(bytes.get(..len).unwrap_or_default()) else { return false };
        match around.transmit(link, Signal { from: 0, to: 0, len, buffer }) {
            Ok(()) => true,
            Err((_, signal)) => {
                around.free(signal.buffer);
                false
            }
        }
    }

    /// Says to peers what is to be said and had no room before. True if nothing is left. Cheap if
    /// there is nothing.
    pub fn attend<A: Adaption<Buffer = B>>(&mut self, around: &mut A) -> bool {
        if !self.owes {
            return true;
        }
        let mut left = false;
        for index in 0..self.hunts.len() {
            left |= !self.further(around, index);
        }
        for index in 0..self.entries.len() {
            let Some(spid) = self.address(index) else { continue };
            let untold = self.entry(spid).map_or(0, |entry| entry.untold);
            for link in (0..32).filter(|link| untold & bit(*link) != 0) {
                if !self.say(around, link, Word::Gone { spid }) {
                    left = true;
                } else if let Some(entry) = self.entries.get_mut(index) {
                    entry.untold &= !bit(link);
                }
            }
        }
        self.owes = left;
        !left
    }

    /// Takes a hunt a step further, if it can be. False if there was no room for what is to be said.
    fn further<A: Adaption<Buffer = B>>(&mut self, around: &mut A, index: usize) -> bool {
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
