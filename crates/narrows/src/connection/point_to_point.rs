//! The point-to-point connection: signals of any length over a driver that carries frames reliably
//! and to one peer.
//!
//! A signal that fits the driver's MTU is one frame (UDATA), a longer one that and as many more as
//! it takes (FRAG). Each is gathered by the driver from the header and the signal's own buffer, and
//! read by the receiver straight into the signal that the application gets, so nothing is copied
//! for the sake of the connection. What the driver or the peer's window has no room for waits in a
//! queue whose storage is the caller's.
//!
//! It has no thread, no clock and no callback: its owner calls [`PointToPoint::transmit`]
//! when the driver may have room (`handleTX`), [`PointToPoint::receive`] when frames may have come
//! (`handleRX`, or the receive process), and both now and then for the heartbeats. Where these
//! calls are made is the placement.

use core::ops::DerefMut;

use super::flow::Flow;
use super::frame::{Broken, Closed, FRAG, Header, UDATA};
use super::{Arrived, Refused, Settings, Signal, State};
use crate::driver::Frames;
use crate::platform::Instant;

/// A signal that waits to be sent, or is being sent.
pub type Waiting<B> = Option<Signal<B>>;

/// A signal of which frames have come.
struct Partial<B> {
    signal: Signal<B>,
    have: usize,
}

/// One end of a connection. `Q` is the storage of the queue.
pub struct PointToPoint<B, Q> {
    flow: Flow,
    queue: Q,
    first: usize,
    count: usize,
    /// Bytes of the first signal that were sent; none before its first frame.
    progress: Option<usize>,
    partial: Option<Partial<B>>,
}

impl<B, Q: DerefMut<Target = [Waiting<B>]>> PointToPoint<B, Q> {
    /// A connection with nothing sent, whose queue holds as many signals as `queue` has places.
    pub fn new(queue: Q, settings: Settings, now: Instant) -> Self {
        let flow = Flow::new(settings, now);
        PointToPoint { flow, queue, first: 0, count: 0, progress: None, partial: None }
    }

    /// How far it is.
    pub fn state(&self) -> State {
        self.flow.state
    }

    /// Signals that wait to be sent.
    pub fn queued(&self) -> usize {
        self.count
    }

    /// Accepts a signal, to be sent by [`PointToPoint::transmit`] in its turn.
    ///
    /// # Errors
    /// See [`Refused`]; the signal comes back.
    pub fn send(&mut self, signal: Signal<B>) -> Result<(), (Refused, Signal<B>)> {
        if let Err(why) = self.flow.accepts(signal.len) {
            return Err((why, signal));
        }
        let places = self.queue.len();
        if self.count == places {
            return Err((Refused::Full, signal));
        }
        let last = (self.first + self.count) % places;
        let Some(place) = self.queue.get_mut(last) else { return Err((Refused::Full, signal)) };
        *place = Some(signal);
        self.count += 1;
        Ok(())
    }

    /// Sends what can be sent, and hands every signal that is through to `done`, or that the peer
    /// turned out not to take: it had not said how long a signal may be when that was queued. True
    /// if nothing is left to be sent.
    pub fn transmit<F: Frames<Buffer = B>>(
        &mut self,
        frames: &mut F,
        now: Instant,
        mut done: impl FnMut(Signal<B>, Result<(), Refused>),
    ) -> bool {
        if !self.flow.attend(frames, now) {
            return false;
        }
        while self.count > 0 {
            let sent = self.send_first(frames, now);
            if !matches!(sent, Ok(()) | Err(Refused::TooLong { .. })) {
                return false;
            }
            let Some(signal) = self.pop() else { return false };
            done(signal, sent);
        }
        true
    }

    /// Sends what is left of the first signal.
    fn send_first<F: Frames<Buffer = B>>(
        &mut self,
        frames: &mut F,
        now: Instant,
    ) -> Result<(), Refused> {
        let mtu = frames.mtu();
        let flow = &mut self.flow;
        let first = self.queue.get(self.first).and_then(Option::as_ref).ok_or(Refused::Full)?;
        let (to, len) = (first.to, first.len);
        let mut progress = match self.progress {
            Some(progress) => progress,
            None => {
                flow.accepts(len)?;
                if !flow.may_send(to) {
                    return Err(Refused::Full);
                }
                let part = len.min(mtu.saturating_sub(UDATA));
                let size = u32::try_from(len).map_err(|_| Refused::TooLong { limit: 0 })?;
                let header = Header::Udata { size, from: first.from, to };
                if !flow.send(frames, now, header, Some((&first.buffer, 0, part))) {
                    return Err(Refused::Full);
                }
                flow.count_sent(to);
                part
            }
        };
        while progress < len {
            self.progress = Some(progress);
            let part = (len - progress).min(mtu.saturating_sub(FRAG));
            let header = Header::Frag { offset: progress as u32 };
            if !flow.send(frames, now, header, Some((&first.buffer, progress, part))) {
                return Err(Refused::Full);
            }
            progress += part;
        }
        self.progress = Some(progress);
        if frames.holds() { Err(Refused::Full) } else { Ok(()) }
    }

    fn pop(&mut self) -> Option<Signal<B>> {
        let signal = self.queue.get_mut(self.first)?.take()?;
        self.first = (self.first + 1) % self.queue.len();
        self.count -= 1;
        self.progress = None;
        Some(signal)
    }

    /// Takes one frame, if one has come. `make` gives a buffer for as many bytes as it is asked
    /// for, or none.
    pub fn receive<F: Frames<Buffer = B>>(
        &mut self,
        frames: &mut F,
        now: Instant,
        make: impl FnOnce(usize) -> Option<B>,
    ) -> Arrived<B> {
        if let State::Down(_) = self.flow.state {
            return self.ended();
        }
        match self.take(frames, now, make) {
            Ok(arrived) => arrived,
            Err(why) => {
                frames.release();
                self.flow.end(why);
                self.ended()
            }
        }
    }

    fn ended(&mut self) -> Arrived<B> {
        self.flow.news().map_or(Arrived::Nothing, Arrived::Down)
    }

    fn take<F: Frames<Buffer = B>>(
        &mut self,
        frames: &mut F,
        now: Instant,
        make: impl FnOnce(usize) -> Option<B>,
    ) -> Result<Arrived<B>, Closed> {
        let Some(came) = self.flow.look(frames)? else {
            self.flow.look_at(now);
            return Ok(self.ended());
        };
        let payload = came.len - came.own;
        let arrived = match came.header {
            Header::Hello { window, longest } => {
                self.flow.begin(window, longest)?;
                Arrived::Up
            }
            Header::Alive => Arrived::Part,
            Header::Bye { accused } => {
                return Err(if accused { Closed::Accused } else { Closed::Peer });
            }
            Header::Udata { size, from, to } => {
                let len = size as usize;
                if self.partial.is_some() || payload > len || (payload == 0 && len > 0) {
                    return Err(Closed::Broken(Broken::Fragment));
                }
                self.flow.check_begin(to, size)?;
                let Some(buffer) = make(len) else { return Ok(Arrived::NoBuffer) };
                self.flow.count_received(to);
                let signal = Signal { from, to, len, buffer };
                self.fill(frames, Partial { signal, have: 0 }, came.own, payload)?
            }
            Header::Frag { offset } => {
                let partial = self.partial.take().ok_or(Closed::Broken(Broken::Stray))?;
                let left = partial.signal.len - partial.have;
                if partial.have != offset as usize || payload == 0 || payload > left {
                    self.partial = Some(partial);
                    return Err(Closed::Broken(Broken::Fragment));
                }
                self.fill(frames, partial, came.own, payload)?
            }
        };
        self.flow.took(frames, now);
        Ok(arrived)
    }

    /// Reads a frame's payload straight to where it belongs in its signal.
    fn fill<F: Frames<Buffer = B>>(
        &mut self,
        frames: &mut F,
        mut partial: Partial<B>,
        from: usize,
        payload: usize,
    ) -> Result<Arrived<B>, Closed> {
        let read = frames.read(from, payload, &mut partial.signal.buffer, partial.have);
        partial.have += payload;
        if read.is_err() {
            self.partial = Some(partial);
            return Err(Closed::Broken(Broken::Payload));
        }
        if partial.have == partial.signal.len {
            return Ok(Arrived::Signal(partial.signal));
        }
        self.partial = Some(partial);
        Ok(Arrived::Part)
    }

    /// The number of the frame that comes next, and the signals given back so far: what its header
    /// has, if it comes without, but for what it gives back itself.
    #[must_use]
    pub fn numbers(&self) -> [u16; 2] {
        self.flow.numbers()
    }

    /// Notes that the application has used signals up: as many more may come. The peer is told with
    /// the next frame, or by [`PointToPoint::transmit`] when half of the window is owed: then this
    /// is true.
    pub fn give_back(&mut self, signals: u16) -> bool {
        self.flow.give_back(signals);
        self.flow.owes()
    }

    /// When the heartbeat is due, or the patience with the peer ends, if nothing comes: receive and
    /// transmit then.
    pub fn next_look(&self) -> Option<Instant> {
        self.flow.next_look()
    }

    /// Ends the connection; [`PointToPoint::transmit`] tells the peer.
    pub fn close(&mut self) {
        self.flow.close();
    }

    /// After the end: the next buffer that was not sent or not wholly received, in order, until
    /// there is none. What was sent and not yet used by the peer's application is not among them.
    pub fn reclaim(&mut self) -> Option<Signal<B>> {
        if !matches!(self.flow.state, State::Down(_)) {
            return None;
        }
        self.pop().or_else(|| self.partial.take().map(|partial| partial.signal))
    }
}
