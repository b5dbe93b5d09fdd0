//! What both kinds of connection keep of their peer: numbers of frames, the window, and the time
//! something was last sent and heard.

use core::time::Duration;

use super::Refused;
use super::frame::{Broken, Closed, Header, UDATA};
use crate::driver::{Frames, NoFrame, NotSent};
use crate::platform::Instant;

/// How a connection behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Signals that this side takes before its application has used some: at least 1, at most
    /// 32767.
    pub window: u16,
    /// The longest signal that this side takes, in bytes.
    pub longest: u32,
    /// How often something is sent at least, so that the peer knows that this side lives; never for
    /// that reason alone if there is none.
    pub heartbeat: Option<Duration>,
    /// How long the peer may be silent; for ever if there is none.
    pub patience: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { window: 1024, longest: 1 << 20, heartbeat: None, patience: None }
    }
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The peer has not been heard.
    Beginning,
    /// Signals travel.
    Up,
    /// It has ended.
    Down(Closed),
}

/// The most signals of a window: half of what their numbers tell apart.
const WIDEST: u16 = i16::MAX as u16;

pub(super) struct Flow {
    pub settings: Settings,
    pub state: State,
    /// Whether the end was told to the owner.
    pub told: bool,
    /// Whether the driver sends nothing any more. What the peer had sent is still received.
    lost: bool,
    /// Whether the frame that a connection begins with has been sent.
    begun: bool,
    /// Whether the peer is still to be told that the connection has ended.
    bye: bool,
    /// The next frame's number.
    next_out: u16,
    next_in: u16,
    /// What the peer takes.
    window: u16,
    longest: u32,
    /// Signals sent, and given back by the peer; both wrap round.
    sent: u16,
    returned: u16,
    /// Signals received, given back here, and given back as the peer was told.
    received: u16,
    freed: u16,
    said: u16,
    last_sent: Instant,
    last_heard: Instant,
}

/// A frame that is there: its header, and the length of that and of the whole.
pub(super) struct Came {
    pub header: Header,
    pub own: usize,
    pub len: usize,
}

impl Flow {
    pub fn new(mut settings: Settings, now: Instant) -> Flow {
        settings.window = settings.window.clamp(1, WIDEST);
        Flow {
            settings,
            state: State::Beginning,
            told: false,
            lost: false,
            begun: false,
            bye: false,
            next_out: 0,
            next_in: 0,
            window: 0,
            longest: 0,
            sent: 0,
            returned: 0,
            received: 0,
            freed: 0,
            said: 0,
            last_sent: now,
            last_heard: now,
        }
    }

    /// Ends the connection from here: the owner knows.
    pub fn close(&mut self) {
        self.end(Closed::Here);
        self.told = true;
    }

    /// Whether a signal of this length may be queued.
    pub fn accepts(&self, len: usize) -> Result<(), Refused> {
        match self.state {
            State::Down(why) => Err(Refused::Closed(why)),
            _ if self.lost => Err(Refused::Closed(Closed::Lost)),
            State::Up if len > self.longest as usize => {
                Err(Refused::TooLong { limit: self.longest as usize })
            }
            _ => Ok(()),
        }
    }

    /// Whether a signal of this length may be sent to an endpoint now.
    #[inline]
    pub fn takes(&self, len: usize) -> bool {
        matches!(self.state, State::Up)
            && !self.lost
            && len <= self.longest as usize
            && self.sent.wrapping_sub(self.returned) < self.window
    }

    /// Whether a signal for `to` may be begun now.
    pub fn may_send(&self, to: u32) -> bool {
        self.state == State::Up && (to == 0 || self.sent.wrapping_sub(self.returned) < self.window)
    }

    /// Counts a signal that was begun.
    pub fn count_sent(&mut self, to: u32) {
        self.sent = self.sent.wrapping_add(u16::from(to != 0));
    }

    /// Sends a frame. False if there is no room for it.
    pub fn send<F: Frames>(
        &mut self,
        frames: &mut F,
        now: Instant,
        header: Header,
        payload: Option<(&F::Buffer, usize, usize)>,
    ) -> bool {
        let mut bytes = [0; UDATA];
        let len = header.write(self.next_out, self.freed, &mut bytes);
        match frames.try_send(bytes.get(..len).unwrap_or_default(), payload) {
            Ok(()) => {
                self.sent_frame(now);
                true
            }
            Err(why) => {
                // A frame within the driver's own limits that does not fit is no driver to go on
                // with.
                self.lost |= why != NotSent::Full;
                false
            }
        }
    }

    /// Counts a frame that was sent.
    #[inline]
    pub fn sent_frame(&mut self, now: Instant) {
        self.next_out = self.next_out.wrapping_add(1);
        self.said = self.freed;
        self.last_sent = now;
    }

    /// Signals that the next frame gives back.
    #[inline]
    pub fn gives(&self) -> u16 {
        self.freed.wrapping_sub(self.said)
    }

    /// The number of the frame that comes next, and the signals given back so far.
    pub fn numbers(&self) -> [u16; 2] {
        [self.next_in, self.returned]
    }

    /// Whether a signal for an endpoint, of `len` bytes in one frame that gives `given` back, may
    /// be what comes next.
    #[inline]
    pub fn allows(&self, len: usize, given: u16) -> bool {
        matches!(self.state, State::Up)
            && given <= self.sent.wrapping_sub(self.returned)
            && len <= self.settings.longest as usize
            && self.received.wrapping_sub(self.freed) < self.settings.window
    }

    /// Counts the frame of a signal for an endpoint that gave `given` back and nothing spoke
    /// against.
    #[inline]
    pub fn took_bare(&mut self, given: u16, now: Instant) {
        self.returned = self.returned.wrapping_add(given);
        self.next_in = self.next_in.wrapping_add(1);
        self.received = self.received.wrapping_add(1);
        self.last_heard = now;
    }

    /// Sends what a connection has to say besides signals, if there is room. False if something is
    /// still to be said.
    pub fn attend<F: Frames>(&mut self, frames: &mut F, now: Instant) -> bool {
        if self.lost {
            return true;
        }
        if self.bye {
            let accused = matches!(self.state, State::Down(Closed::Broken(_)));
            if self.send(frames, now, Header::Bye { accused }, None) {
                self.bye = false;
            }
            return !self.bye;
        }
        if matches!(self.state, State::Down(_)) {
            return true;
        }
        if !self.begun {
            let Settings { window, longest, .. } = self.settings;
            self.begun = self.send(frames, now, Header::Hello { window, longest }, None);
            return self.begun;
        }
        let due = self.settings.heartbeat.is_some_and(|every| now.since(self.last_sent) >= every);
        if due || self.owes() {
            return self.send(frames, now, Header::Alive, None);
        }
        true
    }

    /// Whether enough signals were given back that the peer is to be told though nothing is sent
    /// to it.
    #[inline]
    pub fn owes(&self) -> bool {
        self.freed.wrapping_sub(self.said) >= self.settings.window.div_ceil(2)
    }

    /// Ends the connection if the peer has been silent for too long.
    pub fn look_at(&mut self, now: Instant) {
        let silent = now.since(self.last_heard);
        if self.settings.patience.is_some_and(|patience| silent >= patience) {
            self.end(Closed::TimedOut);
        }
    }

    /// When the connection has to be looked at next though nothing comes.
    pub fn next_look(&self) -> Option<Instant> {
        if matches!(self.state, State::Down(_)) {
            return None;
        }
        let beat = self.settings.heartbeat.map(|every| self.last_sent + every);
        let end = self.settings.patience.map(|patience| self.last_heard + patience);
        beat.into_iter().chain(end).min()
    }

    /// Notes that the application has used signals up: as many more may come.
    pub fn give_back(&mut self, signals: u16) {
        let held = self.received.wrapping_sub(self.freed);
        self.freed = self.freed.wrapping_add(signals.min(held));
    }

    /// Ends the connection; the first reason counts.
    pub fn end(&mut self, why: Closed) {
        if !matches!(self.state, State::Down(_)) {
            self.state = State::Down(why);
            self.bye = matches!(why, Closed::Here | Closed::TimedOut | Closed::Broken(_));
        }
    }

    /// Why the connection has ended, if it was not said yet.
    pub fn news(&mut self) -> Option<Closed> {
        match self.state {
            State::Down(why) if !core::mem::replace(&mut self.told, true) => Some(why),
            _ => None,
        }
    }

    /// The frame that comes next, checked as far as it concerns all kinds. It is not counted before
    /// [`Flow::took`]: it may be looked at more than once.
    pub fn look<F: Frames>(&mut self, frames: &mut F) -> Result<Option<Came>, Closed> {
        let mut bytes = [0; UDATA];
        let len = match frames.try_receive(&mut bytes) {
            Ok(len) => len,
            Err(NoFrame::Empty) => return Ok(None),
            Err(NoFrame::Gone) => return Err(Closed::Lost),
        };
        let (header, own, sequence, freed) = Header::read(&bytes, len).map_err(Closed::Broken)?;
        let begins = matches!(header, Header::Hello { .. });
        let leaves = matches!(header, Header::Bye { .. });
        if !leaves && begins != (self.state == State::Beginning) {
            return Err(Closed::Broken(Broken::Begin));
        }
        if sequence != self.next_in {
            return Err(Closed::Broken(Broken::Sequence));
        }
        if freed.wrapping_sub(self.returned) > self.sent.wrapping_sub(self.returned) {
            return Err(Closed::Broken(Broken::Credit));
        }
        self.returned = freed;
        Ok(Some(Came { header, own, len }))
    }

    /// Counts the frame that was looked at, and gives its place back.
    pub fn took<F: Frames>(&mut self, frames: &mut F, now: Instant) {
        frames.release();
        self.next_in = self.next_in.wrapping_add(1);
        self.last_heard = now;
    }

    /// Takes the frame that the peer begins with.
    pub fn begin(&mut self, window: u16, longest: u32) -> Result<(), Closed> {
        if window == 0 || window > WIDEST {
            return Err(Closed::Broken(Broken::Version));
        }
        (self.window, self.longest, self.state) = (window, longest, State::Up);
        Ok(())
    }

    /// Whether a signal that begins may come.
    pub fn check_begin(&self, to: u32, size: u32) -> Result<(), Closed> {
        if size > self.settings.longest {
            return Err(Closed::Broken(Broken::TooLong));
        }
        let held = self.received.wrapping_sub(self.freed);
        if to != 0 && held >= self.settings.window {
            return Err(Closed::Broken(Broken::Window));
        }
        Ok(())
    }

    /// Counts a signal that began to come.
    pub fn count_received(&mut self, to: u32) {
        self.received = self.received.wrapping_add(u16::from(to != 0));
    }
}
