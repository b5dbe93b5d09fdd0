//! An endpoint of a test case: of a LINX node of this machine, or over one of the five drivers.

use std::time::Duration;

use narrows::link::Name;
use narrows_host::area::Shape;
use narrows_host::linx::{Endpoint, Options, Select, Signal, Spid, Stack as Placed};

use super::around::Letter;
use super::desk::{self, Desk};
use super::station::Setup;
use crate::formats::linx::{Counter, Stack};
use crate::rig::service::linx::How;

/// How long the other side may take for the next signal.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How long fewer frames than are waited for may wait.
const COALESCED: Duration = Duration::from_millis(1);
/// What a frame has more room for than its signal has bytes.
const HEADERS: usize = 44;
/// The longest frame of a layered node, where nothing is said.
const LONGEST_FRAME: usize = 2048;
const HUNT: u32 = 102;

/// Signals that can wait for a link handler that is stopped.
pub const STOPPED: usize = if desk::OUTBOX < narrows_host::linx::OUTBOX {
    desk::OUTBOX
} else {
    narrows_host::linx::OUTBOX
};

/// An endpoint.
pub enum End {
    Linx(Endpoint),
    Driven(Box<Desk>),
}

/// A signal that is to be sent, or was received.
pub enum Post {
    Linx(Signal),
    Driven(Letter),
}

/// Opens an endpoint.
///
/// # Errors
/// Why it cannot be opened.
pub fn open(name: String, stack: Stack, how: How) -> Result<End, String> {
    let Some(driver) = how.driver else {
        return options(name, stack, how).open().map(End::Linx).map_err(|why| why.to_string());
    };
    let whole = how.longest + HEADERS;
    let usual = if stack == Stack::Flat { whole } else { whole.min(LONGEST_FRAME) };
    let mtu = how.mtu.unwrap_or(usual).next_multiple_of(4);
    let shape = Shape::new(mtu, how.longest).ok_or("frames or signals are too long")?;
    let options = narrows_host::Options::new(name).domain("bench").layout(shape.layout());
    let host = options.open().map_err(|why| why.to_string())?;
    let setup = Setup { driver, stack, counter: how.counter, shape };
    Desk::new(host, setup).map(|desk| End::Driven(Box::new(desk))).map_err(|why| why.to_string())
}

/// A LINX node for a trial.
fn options(name: String, stack: Stack, how: How) -> Options {
    let placed = match stack {
        Stack::Flat => Placed::Flat,
        Stack::Layered => Placed::Layered,
    };
    let options = Options::new(name).domain("bench").stack(placed);
    let options = match how.mtu.filter(|_| stack == Stack::Layered) {
        Some(mtu) => options.mtu(mtu),
        None => options,
    };
    match how.counter {
        Some(Counter::Coalesce) => options.coalesce(4, COALESCED),
        Some(Counter::Mask) => options.mask(4),
        Some(Counter::Window) => options.window(8),
        Some(Counter::Quota | Counter::Poll) | None => options,
    }
}

impl End {
    /// The endpoint of a LINX node, if it is one's.
    pub fn linx(&self) -> Option<&Endpoint> {
        match self {
            End::Linx(own) => Some(own),
            End::Driven(_) => None,
        }
    }

    /// The number by which this end knows an endpoint of that name.
    pub fn find(&mut self, name: &str) -> Option<u32> {
        match self {
            End::Linx(own) => {
                own.hunt(name, Signal::with(HUNT, &[])).ok()?;
                Some(own.receive(&Select::only(&[HUNT]), Some(PATIENCE))?.sender().0)
            }
            End::Driven(desk) => {
                let name: Name = name.parse().ok()?;
                desk.find(&name, PATIENCE)
            }
        }
    }

    /// A signal of `len` bytes for the receiver `to`; `parts` has what is written where.
    pub fn make(&mut self, to: u32, len: usize, parts: &[(usize, &[u8])]) -> Option<Post> {
        match self {
            End::Linx(_) => {
                let mut signal = Signal::new(len, 0)?;
                for (at, bytes) in parts {
                    signal.bytes_mut().get_mut(*at..at + bytes.len())?.copy_from_slice(bytes);
                }
                Some(Post::Linx(signal))
            }
            End::Driven(desk) => desk.make(to, len, parts, PATIENCE).map(Post::Driven),
        }
    }

    /// Sends a signal.
    #[inline]
    pub fn send(&mut self, to: u32, post: Post) -> Option<()> {
        match (self, post) {
            (End::Linx(own), Post::Linx(signal)) => own.send(Spid(to), signal).ok(),
            (End::Driven(desk), Post::Driven(letter)) => desk.send(letter, PATIENCE),
            _ => None,
        }
    }

    /// Receives the next signal.
    #[inline]
    pub fn receive(&mut self) -> Option<Post> {
        match self {
            End::Linx(own) => own.receive(&Select::any(), Some(PATIENCE)).map(Post::Linx),
            End::Driven(desk) => desk.receive(PATIENCE).map(Post::Driven),
        }
    }

    /// Who sent a signal.
    pub fn sender(&self, post: &Post) -> u32 {
        match post {
            Post::Linx(signal) => signal.sender().0,
            Post::Driven(letter) => letter.spid,
        }
    }

    /// The bytes of a signal.
    pub fn len(&self, post: &Post) -> usize {
        match post {
            Post::Linx(signal) => signal.bytes().len(),
            Post::Driven(letter) => letter.len,
        }
    }

    /// Reads `N` bytes of a signal.
    pub fn read<const N: usize>(&mut self, post: &Post, at: usize) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        match (self, post) {
            (_, Post::Linx(signal)) => {
                bytes = signal.bytes().get(at..)?.first_chunk().copied()?;
            }
            (End::Driven(desk), Post::Driven(letter)) => {
                at.checked_add(N).filter(|end| *end <= letter.len)?;
                desk.read(letter, at, &mut bytes)?;
            }
            _ => return None,
        }
        Some(bytes)
    }

    /// Notes that a signal is used up.
    pub fn used(&mut self, post: Post) {
        if let (End::Driven(desk), Post::Driven(letter)) = (self, post) {
            desk.used(letter);
        }
    }

    /// Stops the link handler of a layered node, or starts it again.
    pub fn stop_handler(&self, stopped: bool) {
        match self {
            End::Linx(own) => own.node().stop_handler(stopped),
            End::Driven(desk) => desk.stop_handler(stopped),
        }
    }
}
