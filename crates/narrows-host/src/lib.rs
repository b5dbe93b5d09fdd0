//! Narrows on Linux: nodes as processes or threads, memory that its owner alone can write,
//! doorbells that sit in an epoll set, and word of a peer's death within milliseconds.
//!
//! A node is opened by [`open`], or with [`Options`] where more is to be said of it; the [`Host`]
//! below it is the platform that the stack runs on. What a node does is the stack's:
//! [`narrows::endpoint::Node`]. Nodes find each other by name in a directory of the user's own.
//! There is no daemon, and nothing outlives its process but what a killed one could not remove,
//! which the next node does.
//!
//! Two nodes, here in two threads of one process; between processes it is the same code:
//!
//! ```
//! use narrows::endpoint::Address;
//! use narrows_host::Options;
//! use std::time::Duration;
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! const SOON: Option<Duration> = Some(Duration::from_secs(5));
//!
//! let mut dsp = Options::new("dsp").directory(dir).node()?;
//! dsp.open(1)?;
//! let other_core = std::thread::spawn(move || {
//!     let mut text = [0; 64];
//!     let request = dsp.receive_into(1, &mut text, SOON).unwrap().expect("a request in time");
//!     let answer = format!("{} to you", std::str::from_utf8(&text[..request.len]).unwrap());
//!     dsp.send(1, request.from, &answer, SOON).unwrap();
//! });
//!
//! let mut gpp = Options::new("gpp").directory(dir).node()?;
//! gpp.open(1)?;
//! let link = gpp.hunt(&"dsp".parse()?, SOON)?;
//! gpp.send(1, Address { link, port: 1 }, b"hello", SOON)?;
//!
//! let mut text = [0; 64];
//! let answer = gpp.receive_into(1, &mut text, SOON)?.expect("an answer in time");
//! assert_eq!(&text[..answer.len], b"hello to you");
//! # other_core.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The programs in `examples/` run one idea each between two processes.
#![deny(unsafe_code)]

mod aio;
pub mod area;
mod bell;
mod caches;
mod clock;
mod copy;
mod directory;
mod engine;
mod error;
mod host;
mod idle;
pub mod linx;
mod mapping;
mod memory;
mod options;
mod packet;
mod rendezvous;
mod sets;
mod sync;
pub mod system;
mod trace;
mod watch;
mod words;

pub use bell::Bell;
pub use error::OpenError;
pub use host::Host;
pub use memory::{PeerRegion, Region};
pub use options::Options;
pub use trace::{Record, Trace, stamp_cost};
pub use words::{OwnWords, PeerWords};

/// A node of the stack on this platform.
pub type Node = narrows::endpoint::Node<Host>;

/// Opens a node of this name, in the domain and directory that are usual, with everything else at
/// its default.
///
/// # Errors
/// See [`OpenError`]; each is a sentence that says what to do.
pub fn open(name: &str) -> Result<Node, OpenError> {
    Options::new(name).node()
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
