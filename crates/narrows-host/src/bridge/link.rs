//! A link across: what its node here says and streams goes over the line, and back.
//!
//! Order is kept: a packet follows the bytes that were streamed before it was sent, on either side.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use super::Shared;
use super::event::{Event, Who, Why};
use super::line::{Ended, Kind, LONGEST, Line};
use crate::bells::Bell;
use crate::rendezvous::packet::{self, Received, Said};

/// How long what is left is waited for when either end has gone.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is looked at meanwhile.
const TICK: Duration = Duration::from_millis(1);

/// A link's two ends on this machine, and its line.
pub(super) struct Link<'a> {
    shared: &'a Shared,
    who: Who,
    /// Whether either node has answered the other's greeting.
    up: bool,
    /// The socket of the rendezvous; nothing once the node has closed it.
    local: Option<OwnedFd>,
    /// An end of the stream, and whether the node sends more.
    stream: OwnedFd,
    streams: bool,
    line: Line,
    /// Bytes for the stream, and how much of them it has.
    rest: Vec<u8>,
    given: usize,
}

/// Why a link ended.
#[derive(Debug)]
pub(super) enum Over {
    /// The node here ended it.
    Here,
    /// The bridge stops.
    Stopped,
    /// The line did.
    Line(Ended),
}

impl From<Ended> for Over {
    fn from(ended: Ended) -> Over {
        Over::Line(ended)
    }
}

impl<'a> Link<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        who: Who,
        (local, stream): (OwnedFd, OwnedFd),
        line: Line,
    ) -> Link<'a> {
        let (local, rest) = (Some(local), Vec::new());
        Link { shared, who, up: false, local, stream, streams: true, line, rest, given: 0 }
    }

    /// Carries until either end goes, or the bridge stops.
    pub(super) fn run(mut self) {
        let over = loop {
            if let Err(over) = self.turn() {
                break over;
            }
            if self.sleep() {
                break Over::Stopped;
            }
        };
        self.finish();
        if self.up {
            self.shared.links.fetch_sub(1, Ordering::Relaxed);
            (self.shared.tell)(&Event::Over(self.who, Why::from(&over)));
        }
    }

    /// Carries what there is, both ways.
    fn turn(&mut self) -> Result<(), Over> {
        let sent = self.line.flush();
        // What the other end sent before it went is delivered even if it takes nothing any more.
        let came = self.receive();
        self.send();
        came?;
        sent?;
        self.line.flush()?;
        if self.local.is_none() { Err(Over::Here) } else { Ok(()) }
    }

    /// Either node answered the other's greeting.
    fn is_up(&mut self) {
        if !self.up {
            self.up = true;
            self.shared.links.fetch_add(1, Ordering::Relaxed);
            (self.shared.tell)(&Event::Up(self.who));
        }
    }

    /// Takes what the node has sent, as far as the line has room.
    fn send(&mut self) {
        self.stream(false);
        while !self.line.is_full() {
            let Some(local) = &self.local else { return };
            let said = match packet::receive(local.as_fd()) {
                Received::Nothing => return,
                Received::Hello(hello, ..) => Said::Hello(hello),
                Received::Refused(why) => Said::Refused(why),
                Received::Bye(why) => Said::Bye(why),
                Received::End | Received::Bad(_) => {
                    self.local = None;
                    return;
                }
            };
            // Streamed before it was said, though perhaps after the stream was looked at.
            self.stream(true);
            if matches!(said, Said::Hello(_)) {
                self.is_up();
            }
            self.line.put(Kind::Packet, &said.encode());
        }
    }

    /// Takes what the node has streamed: as far as the line has room, or all.
    fn stream(&mut self, all: bool) {
        let mut bytes = [0; LONGEST];
        while self.streams && (all || !self.line.is_full()) {
            match recv(&self.stream, &mut bytes, RecvFlags::DONTWAIT) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => return,
                Ok((0, _)) | Err(_) => {
                    self.streams = false;
                    self.line.put(Kind::End, &[]);
                }
                Ok((came, _)) => {
                    self.line.put(Kind::Bytes, bytes.get(..came).unwrap_or_default());
                }
            }
        }
    }

    /// Delivers what has come, as far as the node takes it.
    fn receive(&mut self) -> Result<(), Over> {
        while self.deliver() {
            match self.line.next()? {
                None => return Ok(()),
                Some(record) => self.take(record)?,
            }
        }
        Ok(())
    }

    /// Takes a record, when all before it were delivered.
    pub(super) fn take(&mut self, (kind, body): (Kind, Vec<u8>)) -> Result<(), Over> {
        match kind {
            Kind::Bytes => (self.rest, self.given) = (body, 0),
            Kind::End => drop(shutdown(&self.stream, Shutdown::Write)),
            Kind::Packet => self.say(&body)?,
            Kind::Open => return Err(Ended::Garbage.into()),
        }
        Ok(())
    }

    /// Hands bytes to the stream. False if some are left.
    fn deliver(&mut self) -> bool {
        while let Some(rest) = self.rest.get(self.given..).filter(|rest| !rest.is_empty()) {
            match send(&self.stream, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(given) => self.given += given,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => return false,
                // The node reads nothing any more; that it is gone, its socket says.
                Err(_) => self.given = self.rest.len(),
            }
        }
        true
    }

    /// Hands the node what the other end said.
    fn say(&mut self, packet: &[u8]) -> Result<(), Over> {
        let said = Said::decode(packet).map_err(|_| Ended::Garbage)?;
        if matches!(said, Said::Hello(_)) {
            self.is_up();
        }
        let Some(local) = &self.local else { return Ok(()) };
        let _ = match said {
            // Over frames nobody has the descriptors of an answer.
            Said::Hello(hello) => Bell::new()
                .and_then(|bell| packet::greet(local.as_fd(), &hello, bell.as_fd(), bell.as_fd())),
            said => {
                let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
                send(local, &said.encode(), flags).map(drop)
            }
        };
        Ok(())
    }

    /// Waits until something can be carried. Whether the bridge stops.
    fn sleep(&self) -> bool {
        let mut set = vec![PollFd::new(&self.shared.stop, PollFlags::IN)];
        let when = |of: bool, flags| if of { flags } else { PollFlags::empty() };
        let (room, left) = (!self.line.is_full(), self.given < self.rest.len());
        let line = when(!left, PollFlags::IN) | when(self.line.is_waiting(), PollFlags::OUT);
        let stream = when(self.streams && room, PollFlags::IN) | when(left, PollFlags::OUT);
        // What is asked for nothing tells of its end all the same, again and again.
        if !line.is_empty() {
            set.push(PollFd::new(&self.line, line));
        }
        if !stream.is_empty() {
            set.push(PollFd::new(&self.stream, stream));
        }
        if let Some(local) = self.local.as_ref().filter(|_| room) {
            set.push(PollFd::new(local, PollFlags::IN));
        }
        let _ = poll(&mut set, None);
        set.first().is_some_and(|stop| stop.revents().contains(PollFlags::IN))
    }

    /// Has what is left carried when one of the ends has gone, and lets the other go as well.
    fn finish(&mut self) {
        let until = Instant::now() + PATIENCE;
        let tick = Timespec::try_from(TICK).ok();
        while Instant::now() < until {
            self.stream(false);
            // Its line may be what has gone.
            let open = self.line.flush().is_ok();
            let more = self.streams && self.local.is_none() || self.line.is_waiting();
            if self.deliver() && !(open && more) {
                break;
            }
            let _ = poll(&mut [], tick.as_ref());
        }
        // The node is told at once; the line is closed when the other end has read everything.
        self.local = None;
        let _ = shutdown(&self.stream, Shutdown::Both);
        self.line.part(until);
    }
}
