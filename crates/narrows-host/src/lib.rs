//! Narrows on Linux: nodes as processes or threads, memory that its owner alone can write,
//! doorbells that sit in an epoll set, and word of a peer's death within milliseconds.
//!
//! A node is opened with [`Options`]; the [`Host`] that results is the platform that the stack
//! runs on. Nodes find each other by name in a directory of the user's own. There is no daemon, and
//! nothing outlives its process but what a killed one could not remove, which the next node does.
//!
//! ```
//! use narrows::platform::Platform;
//! # let dir = tempfile::tempdir()?;
//! let control = narrows_host::Options::new("control").directory(dir.path()).open()?;
//! control.hunt(&"dsp".parse()?).map_err(|e| format!("{e:?}"))?;
//! assert!(control.event().is_none(), "nobody is there yet");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod bell;
mod clock;
mod directory;
mod engine;
mod error;
mod host;
mod memory;
mod options;
mod packet;
mod rendezvous;
pub mod system;
mod trace;
mod watch;

pub use bell::Bell;
pub use error::OpenError;
pub use host::Host;
pub use memory::{OwnWords, PeerRegion, PeerWords, Region};
pub use options::Options;
pub use trace::{Record, Trace, stamp_cost};

/// A node of the stack on this platform.
pub type Node = narrows::endpoint::Node<Host>;
