//! Frame drivers over an area of memory for each direction: [`Copied`] by both cores or by the
//! receiver alone, and [`Gathered`] by the receiver's copy engine.
//!
//! One frame is under way in each direction. Where it is, five states say: EMPTY, WRITING, WRITTEN,
//! READING, READ. They are not in one word, since that would have two writers: each side counts the
//! frames it began and ended in a word of its own, and the state is where the two counts stand to
//! each other ([`state`]). A pair of counts that is none of the states cannot come from a peer that
//! keeps to the protocol.
//!
//! How bytes move, and how a core interrupts the other, is the platform's: a [`Mover`].

mod copied;
mod gathered;

pub use copied::{Copied, Copies, Exposes};
pub use gathered::{Engine, GATHERED_HEADER, Gathered};

use super::{NoFrame, NotSent, NotThere};
use crate::platform::{Memory, OwnMemory};

/// Whether a receiver acknowledges with an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledges {
    /// It interrupts the sender.
    Interrupt,
    /// It only changes its state: the sender looks before it sends again.
    Lazily,
}

/// What is in an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AreaState {
    /// Nothing, from the beginning on.
    Empty,
    /// Its sender writes a frame.
    Writing,
    /// A frame.
    Written,
    /// Its receiver reads the frame.
    Reading,
    /// A frame that was read.
    Read,
}

/// The state of an area: `written` is one more for each frame that its sender begins and again for
/// each that it ends, `read` the same of its receiver. None for counts that cannot be.
#[must_use]
pub fn state(written: u32, read: u32) -> Option<AreaState> {
    match (written % 2, written.wrapping_sub(read)) {
        (0, 0) if written == 0 => Some(AreaState::Empty),
        (0, 0) => Some(AreaState::Read),
        (1, 1) => Some(AreaState::Writing),
        (0, 2) => Some(AreaState::Written),
        (0, 1) => Some(AreaState::Reading),
        _ => None,
    }
}

/// Whether a frame can be written to what is in such a state.
fn may_write(state: Option<AreaState>) -> Result<(), NotSent> {
    match state {
        Some(AreaState::Empty | AreaState::Read) => Ok(()),
        Some(_) => Err(NotSent::Full),
        None => Err(NotSent::Gone),
    }
}

/// Whether there is a frame to be read in what is in such a state.
fn may_read(state: Option<AreaState>) -> Result<(), NoFrame> {
    match state {
        Some(AreaState::Written) => Ok(()),
        Some(_) => Err(NoFrame::Empty),
        None => Err(NoFrame::Gone),
    }
}

/// Bytes before the frames of an area: its owner's words.
pub const ADMINISTRATION: u32 = 64;
/// How many words.
const WORDS: u32 = ADMINISTRATION / 4;
/// The owner's count as a sender.
const WRITTEN: u32 = 0;
/// Bytes of the frame that was written, and of its header.
const LENGTH: u32 = 1;
const HEADER: u32 = 2;
/// The owner's count as a receiver.
const READ: u32 = 3;
/// Frames of which the owner, as a receiver, will read nothing more in the sender's buffers.
const DONE: u32 = 4;
/// Where the next frame may go, in buffers of the owner's.
const GIVEN: u32 = 5;

/// The longest header of a frame that is kept while it is received.
const KEPT: usize = 32;

/// How a core moves bytes and interrupts the one at the other end.
pub trait Mover {
    /// This side's memory.
    type Own: OwnMemory;
    /// The other's.
    type Peer: Memory;
    /// What signals are kept in.
    type Buffer;

    /// Copies bytes of a buffer to own memory.
    ///
    /// # Errors
    /// They are not inside either.
    fn put(
        &self,
        own: &Self::Own,
        to: u32,
        from: &Self::Buffer,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere>;

    /// Copies bytes of the peer's memory to a buffer.
    ///
    /// # Errors
    /// They are not inside either.
    fn get(
        &self,
        peer: &Self::Peer,
        from: u32,
        to: &mut Self::Buffer,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere>;

    /// Interrupts the core at the other end.
    fn ring(&self);
}

/// The first bytes of a frame that is being received, and what of it is where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// As many of its first bytes as are kept.
    pub first: [u8; KEPT],
    /// Bytes of its header.
    pub header: usize,
    /// Bytes of the whole.
    pub len: usize,
    /// Where it is: in which buffer, or where its payload lies at the sender.
    pub place: u32,
}

impl Frame {
    /// Copies its first bytes, as many as there are of them and room.
    pub fn peek(&self, to: &mut [u8]) -> usize {
        let len = to.len().min(self.len).min(KEPT);
        if let (Some(to), Some(from)) = (to.get_mut(..len), self.first.get(..len)) {
            to.copy_from_slice(from);
        }
        self.len
    }
}
