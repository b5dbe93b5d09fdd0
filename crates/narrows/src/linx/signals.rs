//! Signals: those of endpoints, and those by which link handlers tell each other something.

use super::hunts::{Hunt, Owner};
use super::table::What;
use super::words::{LONGEST, Word};
use super::{Handler, HandlerError, Misled, Spid};
use crate::connection::{Refused, Signal};
use crate::platform::Platform;

/// What a link handler needs of the system around it.
pub trait Adaption {
    /// What signals are kept in.
    type Buffer;
    /// A buffer with these bytes, for a signal of the handler's own; none if there is no memory
    /// now.
    fn make(&mut self, bytes: &[u8]) -> Option<Self::Buffer>;
    /// Copies the first bytes of a signal. False if it has fewer than `to`.
    fn read(&self, buffer: &Self::Buffer, to: &mut [u8]) -> bool;
    /// Gives a buffer back.
    fn free(&mut self, buffer: Self::Buffer);
    /// Puts a signal into the queue of an endpoint of this node. `via` is the link it came over,
    /// whose window it takes up until it is used.
    fn deliver(&mut self, signal: Signal<Self::Buffer>, via: Option<u16>);
    /// Gives a signal to the connection of a link.
    ///
    /// # Errors
    /// See [`Refused`]; the signal comes back.
    fn transmit(
        &mut self,
        link: u16,
        signal: Signal<Self::Buffer>,
    ) -> Result<(), (Refused, Signal<Self::Buffer>)>;
}

/// What became of a signal that came over a link.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<B> {
    /// It waits at an endpoint of this node, and takes up the window until it is used.
    Delivered,
    /// It is used: its place in the window can be given back.
    Used,
    /// It is for another link that has no room now: try it again, before any other of its link.
    Stalled(Signal<B>),
}

impl<P: Platform, B> Handler<P, B> {
    /// Sends a signal, from an endpoint of this node or one that it knows, to another.
    ///
    /// # Errors
    /// [`HandlerError::Unknown`], [`HandlerError::Gone`] or [`HandlerError::Refused`]; the buffer
    /// comes back.
    pub fn send<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        from: Spid,
        to: Spid,
        signal: (B, usize),
    ) -> Result<(), (HandlerError, B)> {
        let (buffer, len) = signal;
        match self.entry(to).map(|entry| entry.what) {
            Some(What::Endpoint(_)) => {
                around.deliver(Signal { from: from.0, to: to.0, len, buffer }, None);
                Ok(())
            }
            Some(What::Remote { link, spid }) => {
                let signal = Signal { from: from.0, to: spid.0, len, buffer };
                around
                    .transmit(link, signal)
                    .map_err(|(why, signal)| (HandlerError::Refused(why), signal.buffer))
            }
            Some(What::Gone) => Err((HandlerError::Gone, buffer)),
            Some(What::Link(_) | What::Free) | None => Err((HandlerError::Unknown, buffer)),
        }
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
                    Err((Refused::Full, back)) => {
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

    /// Says something to the handler at the other end of a link. False if there is no room.
    pub(super) fn say<A: Adaption<Buffer = B>>(
        &mut self,
        around: &mut A,
        link: u16,
        word: Word,
    ) -> bool {
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
        left |= !self.tell(around);
        self.owes = left;
        !left
    }
}
