//! What carries a link: memory that both nodes map, or frames over a Unix stream socket.
//!
//! A link over frames has a thread of its own in either process. It keeps the replica of the peer's
//! region, which the node maps as it would the region itself, and carries what the node publishes.
//! It sleeps until the stream brings something or the node rings it.

mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use narrows::connection::Closed;
use narrows::connection::replica::{Lane, Pulse, Replica, lanes};
use narrows::driver::NotSent;
use narrows::memory::Corrupt;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::{self, Errno};
use rustix::net::{SendFlags, Shutdown, recv, send, shutdown};

use crate::bells::Bell;
use crate::error::OpenError;
use crate::memory::sync;
use crate::memory::{HEADER, LINE, PeerRegion, Region};
use crate::{clock, system};
pub(crate) use stream::Stream;

/// What carries the links that a node makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Carrier {
    /// Memory that both processes map.
    #[default]
    Memory,
    /// Frames over a Unix stream socket.
    Stream,
}

impl Carrier {
    /// All carriers.
    pub const ALL: [Carrier; 2] = [Carrier::Memory, Carrier::Stream];
    /// The environment's variable that names the carrier of nodes that choose none.
    pub const VARIABLE: &str = "NARROWS_CARRIER";

    /// Its name in the environment, on command lines and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Carrier::Memory => "memory",
            Carrier::Stream => "stream",
        }
    }

    /// The carrier that the environment names; memory if it names none.
    ///
    /// # Errors
    /// [`OpenError::Carrier`]: there is none of that name.
    pub fn of_environment() -> Result<Carrier, OpenError> {
        let set = std::env::var_os(Carrier::VARIABLE).filter(|text| !text.is_empty());
        let Some(text) = set else { return Ok(Carrier::Memory) };
        let text = text.to_string_lossy();
        let named = Carrier::ALL.into_iter().find(|carrier| carrier.name() == text);
        named.ok_or_else(|| OpenError::Carrier(text.into_owned()))
    }
}

/// How long a link that ends waits until what was sent has gone, or what came is there.
const PATIENCE: Duration = Duration::from_secs(1);

/// A link's carrier of frames, as its node sees it.
pub(crate) struct Carried {
    /// Wakes the thread.
    bell: Bell,
    finish: Arc<AtomicBool>,
    done: Receiver<()>,
    ended: Arc<Mutex<Option<Closed>>>,
}

/// What both ends of a link over frames begin with.
pub(crate) struct Parts {
    pub own: Region,
    /// The end of the stream.
    pub stream: OwnedFd,
    /// What the node sleeps on.
    pub node: Bell,
    /// The rendezvous' socket of the link: it is shut down where the peer breaks the protocol or
    /// the stream is gone, so that the link ends as it does with any peer that is gone.
    pub socket: OwnedFd,
}

/// Sends the header of a region, which is what a stream begins with.
pub(crate) fn introduce(stream: &OwnedFd, own: &Region) -> io::Result<()> {
    let header = own.header()?;
    let sent = send(stream, &header, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    if sent == header.len() { Ok(()) } else { Err(Errno::NOBUFS) }
}

/// The header that the peer sent before anything else: it is there.
fn introduction(stream: &OwnedFd) -> io::Result<Option<[u8; HEADER]>> {
    let mut header = [0; HEADER];
    let flags = rustix::net::RecvFlags::DONTWAIT;
    match io::retry_on_intr(|| recv(stream, &mut header, flags)) {
        Ok((came, _)) => Ok((came == HEADER).then_some(header)),
        Err(error @ (Errno::NOMEM | Errno::NOBUFS)) => Err(error),
        Err(_) => Ok(None),
    }
}

impl Carried {
    /// Begins to carry. What the node sees of the peer, and the bell that it rings, come with it.
    /// None if the peer's header, of a region of `size` bytes, does not hold up.
    ///
    /// # Errors
    /// What the system says if it has no room for it.
    pub(crate) fn start(
        parts: Parts,
        size: u32,
    ) -> io::Result<Option<(Carried, PeerRegion, Bell)>> {
        let Some(header) = introduction(&parts.stream)? else { return Ok(None) };
        let (replica, memory) = match Region::of_header(&header, size) {
            Ok(made) => made,
            Err(Errno::INVAL) => return Ok(None),
            Err(error) => return Err(error),
        };
        // It is this node's own: whatever is wrong with it, it is not the peer that is.
        let seen = PeerRegion::new(rustix::fd::AsFd::as_fd(&memory), size);
        let seen = seen.map_err(|_| Errno::NOMEM)?;
        let lanes: Result<Box<[Lane<Region>]>, _> = match lanes(&parts.own, &replica, LINE) {
            Ok(lanes) => lanes.collect(),
            Err(_) => return Ok(None),
        };
        let Ok(lanes) = lanes else { return Ok(None) };
        let regions = (parts.own, replica);
        let now = clock::now();
        let replica = Replica::new(regions, lanes, LINE, Pulse::default(), now);
        let Ok(replica) = replica else { return Ok(None) };
        let bell = Bell::new()?;
        let (told, done) = channel();
        let carried =
            Carried { bell: bell.share()?, finish: Arc::default(), done, ended: Arc::default() };
        let end = End {
            replica,
            stream: Stream::new(parts.stream),
            bell: bell.share()?,
            node: parts.node,
            socket: parts.socket,
            finish: Arc::clone(&carried.finish),
            ended: Arc::clone(&carried.ended),
            told,
        };
        let thread = thread::Builder::new().name("narrows-frames".into());
        thread.spawn(move || end.run()).map_err(|_| Errno::AGAIN)?;
        Ok(Some((carried, seen, bell)))
    }

    /// Has what the node sent carried to the peer, and then the link's end. Waits for that, for as
    /// long as [`PATIENCE`] at most: a peer that takes nothing does not keep this node.
    pub(crate) fn finish(&self) {
        // Release: pairs with the acquire in `End::run`. What the node stored comes before.
        self.finish.store(true, Ordering::Release);
        self.bell.ring();
        let _ = self.done.recv_timeout(PATIENCE);
    }

    /// Waits until what the peer sent before it ended is there: the thread has it from the system
    /// at once.
    pub(crate) fn settle(&self) {
        let _ = self.done.recv_timeout(PATIENCE);
    }

    /// What the peer did that it must not, if that is what ended the link.
    pub(crate) fn corrupt(&self) -> Option<Corrupt> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(*ended, Some(Closed::Broken(_))).then_some(Corrupt::Frame)
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        // Release: as in `finish`.
        self.finish.store(true, Ordering::Release);
        self.bell.ring();
    }
}

/// One end of a link over frames: what its thread has.
struct End {
    replica: Replica<Region, Box<[Lane<Region>]>>,
    stream: Stream,
    bell: Bell,
    node: Bell,
    socket: OwnedFd,
    finish: Arc<AtomicBool>,
    ended: Arc<Mutex<Option<Closed>>>,
    /// Dropped when the thread ends.
    told: Sender<()>,
}

impl End {
    fn run(mut self) {
        system::run_anywhere();
        let why = loop {
            match self.turn() {
                Ok(()) => {}
                Err(why) => break why,
            }
        };
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        // What came last is there, and a node that sleeps looks.
        sync::full_fence();
        self.node.ring();
        // A stream that ended without a farewell: the socket of a peer that died says so as well,
        // but not that of one whose stream alone is gone.
        if matches!(why, Closed::Broken(_) | Closed::Lost) {
            let _ = shutdown(&self.socket, Shutdown::Both);
        }
        let _ = self.told.send(());
    }

    /// Carries what there is, both ways, and sleeps if there is nothing.
    fn turn(&mut self) -> Result<(), Closed> {
        // Acquire: pairs with the release in `Carried::finish`.
        let finish = self.finish.load(Ordering::Acquire);
        let now = clock::now();
        let sent = self.send();
        let came = self.replica.receive(&mut self.stream, now);
        if came != Ok(false) {
            sync::full_fence();
            if self.replica.rings() {
                self.node.ring();
            }
        }
        if came? {
            // A peer that takes nothing any more may have sent more before.
            return Ok(());
        }
        let sent = sent?;
        if finish && sent {
            self.replica.part(&mut self.stream, now);
            let _ = self.stream.flush();
            self.stream.part();
            return Err(Closed::Here);
        }
        if sent || self.stream.is_waiting() {
            self.sleep();
        }
        Ok(())
    }

    /// Sends what the node has published. False if something is left.
    fn send(&mut self) -> Result<bool, Closed> {
        let sent = self.replica.send(&mut self.stream, clock::now())?;
        let lost = |_: NotSent| Closed::Lost;
        self.stream.flush().map_err(lost)?;
        Ok(sent && !self.stream.is_waiting())
    }

    fn sleep(&mut self) {
        self.replica.arm();
        sync::full_fence();
        let waiting = self.stream.is_waiting();
        if waiting || self.replica.is_quiet() {
            let out = if waiting { PollFlags::OUT } else { PollFlags::empty() };
            let stream = PollFd::new(&self.stream, PollFlags::IN | out);
            let _ = poll(&mut [stream, PollFd::new(&self.bell, PollFlags::IN)], None);
        }
        self.replica.disarm();
        self.bell.hear();
    }
}
