//! What carries a link: memory that both nodes map, or frames over a Unix stream socket.
//!
//! A link over frames has an end in either process. It keeps the replica of the peer's region,
//! which the node maps as it would the region itself, and carries what the node publishes. A node
//! that waits does that itself ([`bells::carry`](crate::bells::carry)), else a thread of its own.

mod end;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use narrows::connection::Closed;
use narrows::connection::replica::{Lane, Pulse, Replica, lanes};
use narrows::memory::Corrupt;
use rustix::fd::OwnedFd;
use rustix::io::{self, Errno};
use rustix::net::{AddressFamily, SendFlags, SocketType, recv, send, sockopt};

use crate::bells::Bell;
use crate::bells::carry::{ByNode, Carries};
use crate::clock;
use crate::closing::Foreign;
use crate::error::OpenError;
use crate::memory::{HEADER, LINE, PeerRegion, Region};
use end::Link;
pub(crate) use stream::pair;

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
    link: Arc<Link>,
    /// Hears of the thread's end.
    done: Receiver<()>,
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

/// A descriptor that a peer sent, if it is the end of a Unix stream.
///
/// # Errors
/// What the system says if it does not say what the descriptor is.
pub(crate) fn received(descriptor: Foreign) -> io::Result<Option<OwnedFd>> {
    let Some(socket) = descriptor.socket()? else { return Ok(None) };
    let is_stream = sockopt::socket_domain(&socket)? == AddressFamily::UNIX
        && sockopt::socket_type(&socket)? == SocketType::STREAM;
    Ok(is_stream.then_some(socket))
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
        by_node: ByNode,
    ) -> io::Result<Option<(Carried, PeerRegion, Bell)>> {
        let Parts { own, stream, node, socket } = parts;
        let Some(header) = introduction(&stream)? else { return Ok(None) };
        let (replica, memory) = match Region::of_header(&header, size) {
            Ok(made) => made,
            Err(Errno::INVAL) => return Ok(None),
            Err(error) => return Err(error),
        };
        // It is this node's own: whatever is wrong with it, it is not the peer that is.
        let seen = PeerRegion::new(rustix::fd::AsFd::as_fd(&memory), size);
        let seen = seen.map_err(|_| Errno::NOMEM)?;
        let lanes: Result<Box<[Lane<Region>]>, _> = match lanes(&own, &replica, LINE) {
            Ok(lanes) => lanes.collect(),
            Err(_) => return Ok(None),
        };
        let Ok(lanes) = lanes else { return Ok(None) };
        let now = clock::now();
        let replica = Replica::new((own, replica), lanes, LINE, Pulse::default(), now);
        let Ok(replica) = replica else { return Ok(None) };
        let link = Arc::new(Link::new(replica, stream, (node, socket), by_node)?);
        let bell = link.bell.share()?.told(Arc::clone(&link) as Arc<dyn Carries>);
        let (told, done) = channel();
        let own = Arc::clone(&link);
        let run = move || {
            own.run();
            let _ = told.send(());
        };
        let thread = thread::Builder::new().name("narrows-frames".into());
        thread.spawn(run).map_err(|_| Errno::AGAIN)?;
        Ok(Some((Carried { link, done }, seen, bell)))
    }

    /// The end, for the node that carries it.
    pub(crate) fn link(&self) -> Arc<dyn Carries> {
        Arc::clone(&self.link) as Arc<dyn Carries>
    }

    /// Has what the node sent carried to the peer, and then the link's end. Waits for that, for as
    /// long as [`PATIENCE`] at most: a peer that takes nothing does not keep this node.
    pub(crate) fn finish(&self) {
        self.link.finish();
        let _ = self.done.recv_timeout(PATIENCE);
    }

    /// Waits until what the peer sent before it ended is there: the thread has it from the system
    /// at once.
    pub(crate) fn settle(&self) {
        self.link.attend();
        let _ = self.done.recv_timeout(PATIENCE);
    }

    /// What the peer did that it must not, if that is what ended the link.
    pub(crate) fn corrupt(&self) -> Option<Corrupt> {
        matches!(self.link.ended(), Some(Closed::Broken(_))).then_some(Corrupt::Frame)
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        self.link.finish();
    }
}
