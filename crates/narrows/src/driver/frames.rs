//! A medium of frames: what a connection asks of whatever lies below it.
//!
//! A frame is a short header of the connection's and, behind it, a stretch of a signal's buffer, at
//! most [`Frames::mtu`] bytes together. The medium hands frames out whole, once and in the order in
//! which they were sent, and says when its other end is gone. That is all it promises: cutting up,
//! numbering, windows, putting together and heartbeats are the [connection's](crate::connection).
//! So a driver over shared memory can be one, and so can a stream socket or a pipe.
//!
//! The medium says where signals are kept ([`Frames::Buffer`]): bytes of the heap on a host, a
//! range of simulated memory on a chip, a block that both cores reach where the receiver alone
//! copies. The connection never looks into a buffer.

use core::fmt;

/// Why a frame was not sent. Nothing of it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSent {
    /// No room now: try again when the driver has been acknowledged.
    Full,
    /// Longer than [`Frames::mtu`], or not inside its buffer.
    TooLong,
    /// The other side is gone: nothing will be sent any more.
    Gone,
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotSent::Full => "the driver has no room for a frame now: try again later",
            NotSent::TooLong => "the frame is longer than the driver carries",
            NotSent::Gone => "the other side of the driver is gone",
        })
    }
}

impl core::error::Error for NotSent {}

/// Why there is no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFrame {
    /// None has come.
    Empty,
    /// None will come any more: the other side is gone, and all it sent was received.
    Gone,
}

impl fmt::Display for NoFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoFrame::Empty => "no frame has come",
            NoFrame::Gone => "the other side of the driver is gone",
        })
    }
}

impl core::error::Error for NoFrame {}

/// A stretch of a frame or of a buffer that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotThere;

impl core::fmt::Display for NotThere {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the stretch is not inside the frame or the buffer")
    }
}

impl core::error::Error for NotThere {}

/// Moves frames between two sides, whole, once and in order. Nothing here waits: a caller that has
/// to waits with the platform and asks again.
pub trait Frames {
    /// What signals are kept in, to be sent from and received to.
    type Buffer;

    /// The longest frame, header included, in bytes. Never changes, and is at least 64.
    fn mtu(&self) -> usize;

    /// Sends one frame: `header`, and behind it the `len` bytes of `buffer` from `at` on, if there
    /// are any.
    ///
    /// # Errors
    /// See [`NotSent`].
    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Self::Buffer, usize, usize)>,
    ) -> Result<(), NotSent>;

    /// Whether the driver may still read the buffer of a frame it has sent, which then has to stay
    /// as it is: so where the receiver copies from it, or a copy engine is at work. Asked before a
    /// buffer is given back, and again until it is false.
    fn holds(&mut self) -> bool {
        false
    }

    /// Begins to receive: copies the first bytes of the next frame to `header`, as many as fit or
    /// are there, and returns the length of the whole frame. What the other side can still change
    /// must not be read twice, so a driver gives the same header and length until
    /// [`Frames::release`].
    ///
    /// # Errors
    /// See [`NoFrame`].
    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame>;

    /// Whether the medium knows, behind a frame that was released, that no other had come yet. It
    /// may have by now, so a sender that is told so waits for the medium as usual.
    fn is_drained(&mut self) -> bool {
        false
    }

    /// Copies `len` bytes, from `from` on, of the frame that is being received to `buffer`, from
    /// `at` on: the only copy between the driver and the signal.
    ///
    /// # Errors
    /// They are not all inside the frame and the buffer; nothing was copied.
    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut Self::Buffer,
        at: usize,
    ) -> Result<(), NotThere>;

    /// Whether something that [`Frames::read`] began to copy is not in its buffer yet: so where a
    /// copy engine takes it there. Asked once everything has been read, before the bytes are used
    /// or the frame is released, and again until it is false.
    fn brings(&mut self) -> bool {
        false
    }

    /// Ends receiving: the frame's place is the sender's again, which the driver tells it in its
    /// own way. Nothing, if no frame was being received.
    fn release(&mut self);
}
