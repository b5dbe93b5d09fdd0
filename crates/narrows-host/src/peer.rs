//! A peer by its name, through all its lives.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use narrows::endpoint::{Address, LinkError, Message, Payload, Port, SendError};
use narrows::link::{LinkId, Name};
use narrows::platform::Lost;

use crate::Node;

/// A message that a peer had not taken when its life ended, copied out of its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undelivered {
    /// The port that sent it.
    pub from: Port,
    /// The port that it was sent to.
    pub to: Port,
    /// 0 is the most urgent, 7 the least.
    pub priority: u8,
    /// The sender's mark.
    pub tag: u16,
    /// The payload.
    pub bytes: Vec<u8>,
}

/// Why a message did not go to a [`Peer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerError {
    /// There is no link: [`LinkError::Deadline`] if the peer is not there in time.
    Link(LinkError),
    /// The link did not take it.
    Send(SendError),
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerError::Link(error) => error.fmt(f),
            PeerError::Send(error) => error.fmt(f),
        }
    }
}

impl Error for PeerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PeerError::Link(error) => error.source(),
            PeerError::Send(error) => error.source(),
        }
    }
}

/// A peer that may die and come again under its name: each of its lives has a link of its own.
///
/// It hunts again where the link has ended, and keeps what the peer had not taken, which is sent
/// again first. So a message is lost only if the peer's stack had taken it and its application had
/// not: a message that must be used once, and not twice, needs a number and an answer.
///
/// ```
/// # use narrows::endpoint::PortError;
/// # use narrows_host::{Options, Peer};
/// # use std::time::Duration;
/// # let dir = tempfile::tempdir()?;
/// # let dir = dir.path();
/// # let mut there = Options::new("dsp").directory(dir).node()?;
/// # there.open(1)?;
/// let mut node = Options::new("gpp").directory(dir).node()?;
/// node.open(1)?;
/// let mut dsp = Peer::new("dsp".parse()?);
/// // Hunts as it has no link, and again whenever it has lost it.
/// dsp.send(&mut node, 1, 1, b"hello", Some(Duration::from_secs(5)))?;
/// assert_eq!(dsp.lives(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Peer {
    name: Name,
    link: Option<LinkId>,
    lives: u64,
    undelivered: VecDeque<Undelivered>,
}

impl Peer {
    /// A peer of this name, which need not be there yet.
    #[must_use]
    pub fn new(name: Name) -> Peer {
        Peer { name, link: None, lives: 0, undelivered: VecDeque::new() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// How many of its lives this node has been linked with.
    #[must_use]
    pub fn lives(&self) -> u64 {
        self.lives
    }

    /// The link that is up, without waiting for one: a link that has ended is closed, and what the
    /// peer had not taken is kept for the next [`Peer::send`].
    pub fn link_now(&mut self, node: &mut Node) -> Option<LinkId> {
        let link = self.link?;
        if node.link(link).check().is_ok() {
            return Some(link);
        }
        let kept = &mut self.undelivered;
        // All of it can be read: it is in this node's own memory.
        let _ = node.link(link).undelivered(|message, source| {
            let mut bytes = vec![0; source.len()];
            if source.read(0, &mut bytes).is_ok() {
                let (from, to) = (message.source, message.target);
                let (priority, tag) = (message.priority, message.tag);
                kept.push_back(Undelivered { from, to, priority, tag, bytes });
            }
        });
        node.link(link).close();
        self.link = None;
        None
    }

    /// The link that is up, hunting for one if there is none.
    ///
    /// # Errors
    /// [`LinkError`]: [`Deadline`](LinkError::Deadline) if the peer is not there in time.
    pub fn link(&mut self, node: &mut Node, within: Option<Duration>) -> Result<LinkId, LinkError> {
        if let Some(link) = self.link_now(node) {
            return Ok(link);
        }
        let link = node.hunt(&self.name, within)?;
        self.lives += 1;
        Ok(*self.link.insert(link))
    }

    /// Sends a message of bytes to a port of the peer, through as many of its lives as it takes.
    /// What an earlier life had not taken is sent before it.
    ///
    /// # Errors
    /// [`PeerError`]; this message was not sent.
    pub fn send<'a>(
        &mut self,
        node: &mut Node,
        from: Port,
        to: Port,
        message: impl Into<Message<'a>>,
        within: Option<Duration>,
    ) -> Result<(), PeerError> {
        let Message { priority, tag, payload: Payload::Bytes(bytes) } = message.into() else {
            // A block is of one link, and ends with it.
            return Err(PeerError::Send(SendError::NotReserved));
        };
        let deadline = within.map(|within| Instant::now() + within);
        let left = || deadline.map(|at| at.saturating_duration_since(Instant::now()));
        loop {
            let link = match self.link(node, left()) {
                // It ended as it was found.
                Err(LinkError::Gone(reason)) if comes_again(reason) => continue,
                link => link.map_err(PeerError::Link)?,
            };
            let mut send = |from: Port, to: Port, priority: u8, tag: u16, bytes: &[u8]| {
                let message = Message::new(bytes).priority(priority).tag(tag);
                node.send(from, Address { link, port: to }, message, left())
            };
            let mut sent = Ok(());
            while let Some(next) = self.undelivered.front() {
                sent = send(next.from, next.to, next.priority, next.tag, &next.bytes);
                if sent.is_err() {
                    break;
                }
                self.undelivered.pop_front();
            }
            match sent.and_then(|()| send(from, to, priority, tag, bytes)) {
                Err(SendError::Gone(reason)) if comes_again(reason) => {}
                sent => return sent.map_err(PeerError::Send),
            }
        }
    }

    /// Takes back what was not delivered, the oldest first, instead of having it sent again.
    pub fn take_back(&mut self) -> impl Iterator<Item = Undelivered> + '_ {
        self.undelivered.drain(..)
    }
}

/// Whether there may be a next life, for which it is worth hunting at once.
fn comes_again(reason: Lost) -> bool {
    matches!(reason, Lost::Closed | Lost::Died)
}
