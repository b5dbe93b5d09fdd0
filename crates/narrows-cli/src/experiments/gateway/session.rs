//! A session from its beginning to its end: a receiver, the gateway's two ports, a sender.

use super::client::{self, Receiver};
use super::control::{self, Control, Said};
use super::plan::Kind;
use crate::base::failure::{Failure, Kind as Failed};
use crate::experiments::house::helper::Helper;
use crate::experiments::house::{self, House};
use std::time::{Duration, Instant};

/// How long a receiver may take to listen, and a sender longer than its frames last.
const PATIENCE: Duration = Duration::from_secs(20);
/// After the last frame was sent: jitter buffer and deadline are over.
const DRAIN: Duration = Duration::from_millis(800);
/// How long a receiver may take to leave.
const FAREWELL: Duration = Duration::from_secs(5);

/// Ports for clients: below those that the gateway takes for media, and so below those that the
/// system gives to a process that asks for any. A client binds its port some time after it was
/// found free.
pub(super) struct Ports {
    next: u16,
}

impl Ports {
    const FIRST: u16 = 16384;
    const LAST: u16 = 19998;

    /// Two commands at once begin elsewhere.
    pub fn new() -> Ports {
        let pairs = u32::from((Ports::LAST - Ports::FIRST) / 2);
        Ports { next: Ports::FIRST + 2 * (std::process::id() % pairs) as u16 }
    }

    /// A port that is free, and the next one too, for RTP and RTCP.
    fn take(&mut self) -> Result<u16, Failure> {
        for _ in Ports::FIRST..Ports::LAST {
            let port = self.next;
            self.next = if port >= Ports::LAST { Ports::FIRST } else { port + 2 };
            if house::is_free(port) && house::is_free(port + 1) {
                return Ok(port);
            }
        }
        let text = "there is no free UDP port on loopback: close some sockets";
        Err(Failure::new(Failed::Internal, text))
    }
}

/// What it is doing.
enum State {
    /// Its receiver begins to listen.
    Opening(Receiver),
    /// Frames are sent.
    Sending(Receiver, Helper),
    /// All were sent; the last are on their way.
    Draining(Receiver),
    /// The receiver was told that nothing more comes.
    Leaving(Receiver),
    /// It is over.
    Over,
}

/// A session that the gateway has taken.
pub(super) struct Session {
    pub call: String,
    pub kind: Kind,
    /// Frames that its sender sends; none if it was stopped before.
    pub frames: Option<u64>,
    /// Frames that its receiver got, once it is over.
    pub heard: u64,
    /// Frames that its sender is told to send.
    most: u64,
    /// From its sender to the gateway.
    ports: [u16; 2],
    /// Since when it does what it does.
    since: Instant,
    state: State,
}

/// What came of asking for a session.
pub(super) enum Opened {
    Taken(Box<Session>),
    Refused(String),
}

impl Session {
    /// Asks the gateway for it, and starts its receiver.
    ///
    /// # Errors
    /// The gateway is gone, or a receiver cannot be started.
    pub fn open(
        house: &House,
        control: &mut Control,
        ports: &mut Ports,
        (call, kind): (String, Kind),
        frames: u64,
    ) -> Result<Opened, Failure> {
        let [from, to] = [ports.take()?, ports.take()?];
        if let Said::Refused(why) = control.offer(&call, &client::sdp(kind, true, from))? {
            return Ok(Opened::Refused(why));
        }
        let gateway = match control.answer(&call, &client::sdp(kind, false, to))? {
            Said::Sdp(sdp) => control::port(&sdp),
            Said::Refused(why) => {
                control.delete(&call)?;
                return Ok(Opened::Refused(why));
            }
        };
        let Some(gateway) = gateway else {
            let text = format!("the gateway has named no port for {call}: see gateway.log");
            return Err(Failure::new(Failed::Peer, text));
        };
        let receiver = Receiver::start(house, kind, &call, to)?;
        Ok(Opened::Taken(Box::new(Session {
            call,
            kind,
            frames: Some(frames),
            most: frames,
            heard: 0,
            ports: [from, gateway],
            since: Instant::now(),
            state: State::Opening(receiver),
        })))
    }

    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Has its sender stop, whatever is left to send.
    pub fn stop(&mut self) {
        self.frames = None;
        self.most = 0;
        if let State::Sending(_, sender) = &mut self.state {
            sender.kill();
        }
    }

    /// Goes on with it as far as that can be without waiting.
    ///
    /// # Errors
    /// A process of it leaves or stays, or the gateway is gone.
    pub fn go_on(
        &mut self,
        house: &House,
        control: &mut Control,
        speech: &[i16],
        keeps: bool,
    ) -> Result<(), Failure> {
        let waited = self.since.elapsed();
        let before = std::mem::replace(&mut self.state, State::Over);
        self.state = match before {
            State::Opening(mut receiver) => {
                receiver.helper.see()?;
                if self.most == 0 {
                    State::Draining(receiver)
                } else if house::is_bound(receiver.port) {
                    let named = (self.kind, self.call.as_str());
                    let sender = client::sender(house, named, self.most, speech, self.ports)?;
                    self.since = Instant::now();
                    State::Sending(receiver, sender)
                } else if waited >= PATIENCE {
                    return Err(receiver.helper.silent("begun to listen", PATIENCE));
                } else {
                    State::Opening(receiver)
                }
            }
            State::Sending(mut receiver, mut sender) => {
                receiver.helper.see()?;
                if sender.ended().is_some() {
                    self.since = Instant::now();
                    State::Draining(receiver)
                } else if waited >= self.lasts() + PATIENCE {
                    return Err(sender.silent("sent all frames", waited));
                } else {
                    State::Sending(receiver, sender)
                }
            }
            State::Draining(receiver) if waited >= DRAIN => {
                control.delete(&self.call)?;
                receiver.end();
                self.since = Instant::now();
                State::Leaving(receiver)
            }
            State::Leaving(mut receiver) => {
                if receiver.helper.ended().is_some() {
                    self.heard = receiver.heard();
                    if !keeps {
                        house.forget(&self.call);
                    }
                    State::Over
                } else if waited >= FAREWELL {
                    return Err(receiver.helper.silent("left", FAREWELL));
                } else {
                    State::Leaving(receiver)
                }
            }
            same @ (State::Draining(_) | State::Over) => same,
        };
        Ok(())
    }

    /// How long its frames last.
    fn lasts(&self) -> Duration {
        self.kind.period() * u32::try_from(self.most).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Ports;

    /// A gateway that took the port of a client not yet started would end the session.
    #[test]
    fn no_port_of_a_client_is_one_of_the_gateway() {
        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps/gateway/README.md");
        let text = std::fs::read_to_string(readme).unwrap();
        let (_, range) = text.split_once("Ports are even ones from ").unwrap();
        let mut numbers =
            range.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
        let [first, last] = [(); 2].map(|()| numbers.next().unwrap().parse::<u16>().unwrap());
        assert!(first < last, "{first} to {last}");
        let mut ports = Ports { next: Ports::LAST };
        for _ in 0..2 {
            let port = ports.take().unwrap();
            assert!(port + 1 < first, "{port}");
        }
    }
}
