//! A unit: what a node has for one link. The connection, the frames that wait for its receiver, and
//! what is owed to the peer.
//!
//! ```text
//!   interrupt ── take ──► frames that wait ── receive ──► connection ──► link handler
//!   link handler ── send ──► connection ── transmit ──► driver
//! ```
//!
//! An interrupt can come in the middle of a process that uses the connection. So every part of a
//! unit has a guard of its own, and nobody waits for one: a process that finds the connection in
//! use leaves a note, and the process that uses it does what there is to do before it goes on.

mod ring;

pub use ring::Ring;

use core::cell::{Cell, RefCell};
use core::ops::DerefMut;

use super::station::Connection;
use crate::connection::point_to_point::Waiting;
use crate::connection::{Arrived, Refused, Signal};
use crate::driver::{Frames, NoFrame, NotSent, NotThere};
use crate::platform::Instant;

/// A driver of frames that are received in two steps: one process takes a frame off, another looks
/// at it. Besides, the memory that signals are kept in.
pub trait Staged {
    /// What signals are kept in.
    type Buffer;
    /// A frame that was taken off.
    type Frame;

    /// As [`Frames::mtu`].
    fn mtu(&self) -> usize;

    /// As [`Frames::try_send`].
    ///
    /// # Errors
    /// As [`Frames::try_send`].
    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Self::Buffer, usize, usize)>,
    ) -> Result<(), NotSent>;

    /// Takes the next frame off. None if none has come, [`NoFrame`] if there is no buffer for it.
    fn take(&mut self) -> Option<Result<Self::Frame, NoFrame>>;

    /// As [`Frames::try_receive`], of a frame that was taken off.
    ///
    /// # Errors
    /// The frame cannot be read: the other side is gone.
    fn look(&mut self, frame: &Self::Frame, header: &mut [u8]) -> Result<usize, NoFrame>;

    /// As [`Frames::read`], of a frame that was taken off.
    ///
    /// # Errors
    /// As [`Frames::read`].
    fn read(
        &mut self,
        frame: &Self::Frame,
        from: usize,
        len: usize,
        buffer: &mut Self::Buffer,
        at: usize,
    ) -> Result<(), NotThere>;

    /// Ends with a frame: its place can be used again.
    fn release(&mut self, frame: Self::Frame);

    /// Memory for a signal of `len` bytes, if there is any.
    fn make(&mut self, len: usize) -> Option<Self::Buffer>;

    /// Keeps a signal that was sent for as long as the driver may read it.
    fn keep(&mut self, signal: Self::Buffer);

    /// Gives the memory of signals back that are kept and that nobody reads any more.
    fn reclaim(&mut self) {}
}

/// What is left to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nothing is left.
    Nothing,
    /// What the peer lets nobody send before its application has used something.
    Credit,
    /// What the driver has no room for.
    Room,
    /// Perhaps something: the connection is in use, and the process that uses it sees to that.
    Busy,
}

/// A link's unit. `B` are buffers of signals, `F` frames that were taken off, `Q` the storage of
/// the connection's queue and `S` that of frames.
pub struct Unit<B, F, Q, S> {
    connection: RefCell<Connection<B, Q>>,
    frames: RefCell<Ring<F, S>>,
    /// A signal that has no room where it goes.
    stalled: Cell<Option<Signal<B>>>,
    is_stalled: Cell<bool>,
    /// There was no buffer for the next frame.
    starved: Cell<bool>,
    /// The driver had no room.
    refused: Cell<bool>,
    /// Somebody found the connection in use.
    again: Cell<bool>,
    /// Signals that were used up meanwhile.
    used: Cell<u16>,
}

impl<B, F, Q, S> Unit<B, F, Q, S>
where
    Q: DerefMut<Target = [Waiting<B>]>,
    S: DerefMut<Target = [Option<F>]>,
{
    /// A unit with a connection, in which as many frames can wait as there are places.
    pub fn new(connection: Connection<B, Q>, places: S) -> Self {
        Unit {
            connection: RefCell::new(connection),
            frames: RefCell::new(Ring::new(places)),
            stalled: Cell::new(None),
            is_stalled: Cell::new(false),
            starved: Cell::new(false),
            refused: Cell::new(false),
            again: Cell::new(false),
            used: Cell::new(0),
        }
    }

    /// The connection, for its owner.
    #[inline]
    pub fn connection(&mut self) -> &mut Connection<B, Q> {
        self.connection.get_mut()
    }

    /// Sends what the connection has to send.
    pub fn transmit<D: Staged<Buffer = B, Frame = F>>(&self, driver: &mut D, now: Instant) -> Left {
        let driver = RefCell::new(driver);
        loop {
            let Ok(mut connection) = self.connection.try_borrow_mut() else {
                self.again.set(true);
                return Left::Busy;
            };
            self.again.set(false);
            self.refused.set(false);
            if self.used.get() > 0 {
                connection.give_back(self.used.take());
            }
            driver.borrow_mut().reclaim();
            let mut way = Way { unit: self, driver: &driver, frame: None };
            let said = connection.transmit(&mut way, now, |signal| {
                let mut driver = driver.borrow_mut();
                driver.keep(signal.buffer);
                driver.reclaim();
            });
            drop(connection);
            if !self.again.get() {
                return match (said, self.refused.get()) {
                    (_, true) => Left::Room,
                    (true, false) => Left::Nothing,
                    (false, false) => Left::Credit,
                };
            }
        }
    }

    /// Gives a signal to the connection: a flat one sends it, a layered one queues it.
    ///
    /// # Errors
    /// Why not, and the signal.
    pub fn send<D: Staged<Buffer = B, Frame = F>>(
        &self,
        driver: &mut D,
        now: Instant,
        signal: Signal<B>,
    ) -> Result<(), (Refused, Signal<B>)> {
        let Ok(mut connection) = self.connection.try_borrow_mut() else {
            return Err((Refused::Full, signal));
        };
        match &mut *connection {
            Connection::Layered(layered) => layered.send(signal),
            Connection::Flat(flat) => {
                let Signal { from, to, len, buffer } = signal;
                let driver = RefCell::new(driver);
                let mut way = Way { unit: self, driver: &driver, frame: None };
                match flat.send(&mut way, now, Signal { from, to, len, buffer: &buffer }) {
                    Ok(()) => {
                        driver.borrow_mut().keep(buffer);
                        Ok(())
                    }
                    Err(why) => Err((why, Signal { from, to, len, buffer })),
                }
            }
        }
    }

    /// Takes the next frame off the driver, as an interrupt. None if none has come, false if there
    /// is no place or no buffer for it.
    pub fn take<D: Staged<Buffer = B, Frame = F>>(&self, driver: &mut D) -> Option<bool> {
        if self.frames.borrow().is_full() {
            self.starved.set(true);
            return Some(false);
        }
        let taken = driver.take()?;
        self.starved.set(taken.is_err());
        Some(taken.is_ok_and(|frame| self.put(frame).is_ok()))
    }

    /// Has a frame that was taken off wait behind the others.
    ///
    /// # Errors
    /// There is no place: the frame.
    pub fn put(&self, frame: F) -> Result<(), F> {
        self.frames.borrow_mut().push(frame)
    }

    /// Gives the frames that wait other places.
    ///
    /// # Errors
    /// They are too few: the places.
    pub fn move_to(&self, places: S) -> Result<(), S> {
        self.frames.borrow_mut().move_to(places)
    }

    /// Takes the first frame that waits, to be received.
    pub fn next(&self) -> Option<F> {
        self.frames.borrow_mut().pop()
    }

    /// Has the connection look at a frame, as its receiver, or at the time if there is none. A
    /// frame that finds no memory waits before the others. A connection that has ended gives all
    /// frames back.
    pub fn receive<D: Staged<Buffer = B, Frame = F>>(
        &self,
        driver: &mut D,
        now: Instant,
        frame: Option<F>,
    ) -> Arrived<B> {
        let Ok(mut connection) = self.connection.try_borrow_mut() else {
            self.leave(frame);
            return Arrived::Nothing;
        };
        let (arrived, left) = {
            let driver = RefCell::new(&mut *driver);
            let mut way = Way { unit: self, driver: &driver, frame };
            let make = |len| driver.borrow_mut().make(len);
            (connection.receive(&mut way, now, make), way.frame)
        };
        drop(connection);
        if matches!(arrived, Arrived::NoBuffer) {
            self.leave(left);
        } else if let Some(frame) = left {
            // Nobody will ever take it: the connection has ended.
            driver.release(frame);
        }
        if self.again.get() {
            self.transmit(driver, now);
        }
        arrived
    }

    /// Has a frame wait before the others.
    fn leave(&self, frame: Option<F>) {
        if let Some(frame) = frame {
            // If one that came meanwhile has the place, the next number will be wrong and end the
            // link.
            let _ = self.frames.borrow_mut().put_back(frame);
        }
    }

    /// Notes that an application has used signals up. True if the peer is to be told now, by
    /// [`Unit::transmit`].
    pub fn give_back(&self, signals: u16) -> bool {
        match self.connection.try_borrow_mut() {
            Ok(mut connection) => connection.give_back(signals),
            Err(_) => {
                self.used.set(self.used.get().saturating_add(signals));
                self.again.set(true);
                false
            }
        }
    }

    /// Ends the connection; [`Unit::transmit`] tells the peer.
    pub fn close(&self) {
        if let Ok(mut connection) = self.connection.try_borrow_mut() {
            connection.close();
        }
    }

    /// Whether signals that were handed over wait for room.
    #[must_use]
    pub fn queues(&self) -> bool {
        self.queued() > 0
    }

    /// Signals that were handed over and wait for room, or are being sent; none while the
    /// connection is in use.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.connection.try_borrow().map_or(0, |connection| connection.queued())
    }

    /// See [`Connection::next_look`]. None while the connection is in use.
    #[must_use]
    pub fn next_look(&self) -> Option<Instant> {
        self.connection.try_borrow().ok()?.next_look()
    }

    /// Frames that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.frames.borrow().len()
    }

    /// Whether the interrupt left a frame for which there was no buffer; forgets it.
    pub fn was_starved(&self) -> bool {
        self.starved.take()
    }

    /// Whether the interrupt left a frame for which there was no buffer.
    #[must_use]
    pub fn is_starved(&self) -> bool {
        self.starved.get()
    }

    /// Has the frames of the link wait behind a signal that has no room where it goes.
    pub fn stall(&self, signal: Signal<B>) {
        self.is_stalled.set(true);
        self.stalled.set(Some(signal));
    }

    /// That signal, to be tried again.
    pub fn resume(&self) -> Option<Signal<B>> {
        self.is_stalled.set(false);
        self.stalled.take()
    }

    /// Whether there is one.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.is_stalled.get()
    }
}

/// A unit's frames as its connection sees them in one call.
struct Way<'a, D: Staged, Q, S> {
    unit: &'a Unit<D::Buffer, D::Frame, Q, S>,
    driver: &'a RefCell<&'a mut D>,
    /// The frame that is looked at.
    frame: Option<D::Frame>,
}

impl<D: Staged, Q, S> Frames for Way<'_, D, Q, S> {
    type Buffer = D::Buffer;

    fn mtu(&self) -> usize {
        self.driver.borrow().mtu()
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&D::Buffer, usize, usize)>,
    ) -> Result<(), NotSent> {
        let sent = self.driver.borrow_mut().try_send(header, payload);
        if sent.is_err() {
            self.unit.refused.set(true);
        }
        sent
    }

    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        let frame = self.frame.as_ref().ok_or(NoFrame::Empty)?;
        self.driver.borrow_mut().look(frame, header)
    }

    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut D::Buffer,
        at: usize,
    ) -> Result<(), NotThere> {
        let frame = self.frame.as_ref().ok_or(NotThere)?;
        self.driver.borrow_mut().read(frame, from, len, buffer, at)
    }

    fn release(&mut self) {
        if let Some(frame) = self.frame.take() {
            self.driver.borrow_mut().release(frame);
        }
    }
}
