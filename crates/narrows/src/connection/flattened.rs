//! The flattened connection: a signal is one frame, and its header is all there is beside it.
//!
//! Nothing is queued, cut up or put together: a signal goes to the driver in its sender's own call,
//! or its sender is told that there is no room, and it is delivered in the call that takes it off
//! the driver, with no process in between. So nothing longer than the driver's MTU travels; it
//! tells its peer so when the connection begins. The protocol is that of
//! [`point_to_point`](super::point_to_point), which can be its peer.

use super::flow::Flow;
use super::frame::{Broken, Closed, Header, UDATA};
use super::{Arrived, Refused, Settings, Signal, State};
use crate::driver::Frames;
use crate::platform::Instant;

/// One end of a connection.
pub struct Flattened {
    flow: Flow,
    /// Bytes of the longest signal that fits a frame.
    most: u32,
}

impl Flattened {
    /// A connection with nothing sent. No longer signal is taken than fits the driver's MTU with
    /// its header.
    pub fn new(mut settings: Settings, mtu: usize, now: Instant) -> Flattened {
        let most = u32::try_from(mtu.saturating_sub(UDATA)).unwrap_or(u32::MAX);
        settings.longest = settings.longest.min(most);
        Flattened { flow: Flow::new(settings, now), most }
    }

    /// How far it is.
    pub fn state(&self) -> State {
        self.flow.state
    }

    /// Sends a signal at once. Its buffer is still its owner's, which may use it again as soon as
    /// the driver does not [hold](Frames::holds) it.
    ///
    /// # Errors
    /// See [`Refused`]; nothing was sent.
    #[inline]
    pub fn send<F: Frames>(
        &mut self,
        frames: &mut F,
        now: Instant,
        signal: Signal<&F::Buffer>,
    ) -> Result<(), Refused> {
        let Signal { from, to, len, buffer } = signal;
        let limit = frames.mtu().saturating_sub(UDATA);
        self.flow.accepts(len)?;
        let size = u32::try_from(len).ok().filter(|_| len <= limit);
        let size = size.ok_or(Refused::TooLong { limit })?;
        if !self.flow.may_send(to) {
            return Err(Refused::Full);
        }
        let header = Header::Udata { size, from, to };
        if !self.flow.send(frames, now, header, Some((buffer, 0, len))) {
            self.flow.accepts(len)?;
            return Err(Refused::Full);
        }
        self.flow.count_sent(to);
        Ok(())
    }

    /// Whether nothing speaks against a signal for an endpoint, of `len` bytes, in a frame whose
    /// header the peer knows but for how many signals it gives back, which is the result. What
    /// speaks against it, [`Flattened::send`] says. When the frame has gone,
    /// [`Flattened::sent_bare`] is told; if it has not, nothing.
    #[inline]
    #[must_use]
    pub fn bare(&self, len: usize) -> Option<u16> {
        self.flow.takes(len).then(|| self.flow.gives())
    }

    /// Notes that the frame of a signal has gone without its header.
    #[inline]
    pub fn sent_bare(&mut self, now: Instant) {
        self.flow.sent_frame(now);
        self.flow.count_sent(1);
    }

    /// Whether nothing speaks against a signal for an endpoint, of `len` bytes, whose frame came
    /// without its header and gives `given` back. It is not taken before [`Flattened::took_bare`];
    /// what speaks against it, [`Flattened::receive`] says of the frame with its header.
    #[inline]
    #[must_use]
    pub fn look_bare(&self, len: usize, given: u16) -> bool {
        self.flow.allows(len, given)
    }

    /// Takes the signal that was looked at, and what it gives back.
    #[inline]
    pub fn took_bare(&mut self, given: u16, now: Instant) {
        self.flow.took_bare(given, now);
    }

    /// The number of the frame that comes next, and the signals given back so far: what its header
    /// has, if it comes without, but for what it gives back itself.
    #[must_use]
    pub fn numbers(&self) -> [u16; 2] {
        self.flow.numbers()
    }

    /// Sends what the connection has to say besides signals. True if nothing is left to be said.
    pub fn attend<F: Frames>(&mut self, frames: &mut F, now: Instant) -> bool {
        self.flow.attend(frames, now)
    }

    /// Takes one frame, if one has come, and so at most one signal. `make` gives a buffer for as
    /// many bytes as it is asked for, or none.
    #[inline]
    pub fn receive<F: Frames>(
        &mut self,
        frames: &mut F,
        now: Instant,
        make: impl FnOnce(usize) -> Option<F::Buffer>,
    ) -> Arrived<F::Buffer> {
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

    fn ended<B>(&mut self) -> Arrived<B> {
        self.flow.news().map_or(Arrived::Nothing, Arrived::Down)
    }

    #[inline]
    fn take<F: Frames>(
        &mut self,
        frames: &mut F,
        now: Instant,
        make: impl FnOnce(usize) -> Option<F::Buffer>,
    ) -> Result<Arrived<F::Buffer>, Closed> {
        let Some(came) = self.flow.look(frames)? else {
            self.flow.look_at(now);
            return Ok(self.ended());
        };
        let payload = came.len - came.own;
        let arrived = match came.header {
            Header::Udata { size, from, to } => {
                self.flow.check_begin(to, size)?;
                let len = size as usize;
                if payload != len {
                    return Err(Closed::Broken(Broken::Fragment));
                }
                let Some(mut buffer) = make(len) else { return Ok(Arrived::NoBuffer) };
                let read = frames.read(came.own, len, &mut buffer, 0);
                read.map_err(|_| Closed::Broken(Broken::Payload))?;
                self.flow.count_received(to);
                Arrived::Signal(Signal { from, to, len, buffer })
            }
            Header::Frag { .. } => return Err(Closed::Broken(Broken::Stray)),
            Header::Hello { window, longest } => {
                self.flow.begin(window, longest.min(self.most))?;
                Arrived::Up
            }
            Header::Alive => Arrived::Part,
            Header::Bye { accused } => {
                return Err(if accused { Closed::Accused } else { Closed::Peer });
            }
        };
        self.flow.took(frames, now);
        Ok(arrived)
    }

    /// Notes that the application has used signals up: as many more may come. The peer is told with
    /// the next frame, or by [`Flattened::attend`] when half of the window is owed: then this
    /// is true.
    pub fn give_back(&mut self, signals: u16) -> bool {
        self.flow.give_back(signals);
        self.flow.owes()
    }

    /// When the heartbeat is due, or the patience with the peer ends, if nothing comes: receive and
    /// attend then.
    pub fn next_look(&self) -> Option<Instant> {
        self.flow.next_look()
    }

    /// Ends the connection; [`Flattened::attend`] tells the peer.
    pub fn close(&mut self) {
        self.flow.close();
    }
}
