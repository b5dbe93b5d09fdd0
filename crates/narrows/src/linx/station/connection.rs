//! The connection of a link, of either placement.

use core::ops::DerefMut;

use crate::connection::flattened::Flattened;
use crate::connection::point_to_point::{PointToPoint, Waiting};
use crate::connection::{Arrived, Signal};
use crate::driver::Frames;
use crate::platform::Instant;

/// A connection whose layers run in its caller, or in processes of their own: then it has a queue
/// in
/// `Q`.
pub enum Connection<B, Q> {
    /// All in the caller.
    Flat(Flattened),
    /// In processes.
    Layered(PointToPoint<B, Q>),
}

impl<B, Q: DerefMut<Target = [Waiting<B>]>> Connection<B, Q> {
    /// Says what there is to say and sends what is queued: see [`PointToPoint::transmit`]. True if
    /// nothing is left.
    pub fn transmit<F: Frames<Buffer = B>>(
        &mut self,
        frames: &mut F,
        now: Instant,
        mut done: impl FnMut(Signal<B>),
    ) -> bool {
        match self {
            Connection::Flat(flat) => flat.attend(frames, now),
            Connection::Layered(layered) => layered.transmit(frames, now, |signal, _| done(signal)),
        }
    }

    /// Takes one frame, if one has come. `make` gives a buffer for as many bytes as it is asked
    /// for, or none.
    #[inline]
    pub fn receive<F: Frames<Buffer = B>>(
        &mut self,
        frames: &mut F,
        now: Instant,
        make: impl FnOnce(usize) -> Option<B>,
    ) -> Arrived<B> {
        match self {
            Connection::Flat(flat) => flat.receive(frames, now, make),
            Connection::Layered(layered) => layered.receive(frames, now, make),
        }
    }

    /// Notes that the application has used signals up. True if the peer is to be told now, by
    /// [`Connection::transmit`].
    #[inline]
    pub fn give_back(&mut self, signals: u16) -> bool {
        match self {
            Connection::Flat(flat) => flat.give_back(signals),
            Connection::Layered(layered) => layered.give_back(signals),
        }
    }

    /// Signals that were handed over and wait for room, or are being sent.
    pub fn queued(&self) -> usize {
        match self {
            Connection::Flat(_) => 0,
            Connection::Layered(layered) => layered.queued(),
        }
    }

    /// See [`PointToPoint::next_look`].
    pub fn next_look(&self) -> Option<Instant> {
        match self {
            Connection::Flat(flat) => flat.next_look(),
            Connection::Layered(layered) => layered.next_look(),
        }
    }

    /// See [`Flattened::numbers`].
    #[inline]
    #[must_use]
    pub fn numbers(&self) -> [u16; 2] {
        match self {
            Connection::Flat(flat) => flat.numbers(),
            Connection::Layered(layered) => layered.numbers(),
        }
    }

    /// Ends the connection; [`Connection::transmit`] tells the peer.
    pub fn close(&mut self) {
        match self {
            Connection::Flat(flat) => flat.close(),
            Connection::Layered(layered) => layered.close(),
        }
    }
}
