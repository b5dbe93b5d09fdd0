//! Connections: what turns a driver's messages into the link's.
//!
//! [`direct`] passes messages on as they are. [`point_to_point`] and [`flattened`] carry signals
//! over a driver of [`Frames`](crate::driver::Frames), and speak the same protocol, so that each
//! can be the other's peer: the first cuts long signals up and queues them, the second does
//! neither.

pub mod direct;
pub mod flattened;
mod flow;
mod frame;
pub mod point_to_point;
pub mod replica;

pub use flow::{Settings, State};
pub use frame::{Broken, Closed, FRAG, Header, UDATA};

/// A signal on its way: what a connection knows of it beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal<B> {
    /// Its sender, as the sender's node numbers it.
    pub from: u32,
    /// Its receiver, as the receiver's node numbers it; 0 for its link handler, which is not
    /// counted in the window.
    pub to: u32,
    /// Its bytes.
    pub len: usize,
    /// What they are in.
    pub buffer: B,
}

/// What became of a frame that came.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrived<B> {
    /// No frame has come.
    Nothing,
    /// A frame was taken that completed no signal.
    Part,
    /// There is no buffer for the signal that comes next: its frame stays with the driver, and is
    /// looked at again the next time.
    NoBuffer,
    /// The connection is established: the peer has said how it is to be spoken to.
    Up,
    /// A signal is complete.
    Signal(Signal<B>),
    /// The connection has ended, and why. Said once; nothing comes any more.
    Down(Closed),
}

/// Why a signal was not accepted; it is its owner's again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// No room now, because of flow control: try again when something was acknowledged or freed.
    Full,
    /// Longer than the peer takes; the limit in bytes.
    TooLong {
        /// Bytes.
        limit: usize,
    },
    /// The connection has ended.
    Closed(Closed),
}

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Refused::Full => f.write_str(
                "the connection has no room for a signal now: try again when the peer has used some",
            ),
            Refused::TooLong { limit } => {
                write!(f, "the signal is longer than the {limit} bytes that the peer takes")
            }
            Refused::Closed(why) => write!(f, "the connection has ended: {why}"),
        }
    }
}

impl core::error::Error for Refused {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Refused::Closed(why) => Some(why),
            _ => None,
        }
    }
}
