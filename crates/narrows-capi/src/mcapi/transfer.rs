//! What messages, packets and scalars have in common.
//!
//! Sending and receiving each come in two forms: the short way, which a call tries first and which is
//! taken only where no request waits for the same thing, and the attempt of a request, in the order
//! requests were made.

use narrows::endpoint::{Channel as Ring, LinkError, SendError};
use narrows::memory::Arrival;

use super::channel::Channel;
use super::control::Kind;
use super::endpoint::Direction;
use super::home::{Home, On};
use super::id::Handle;
use super::node::Node;
use super::status::{Outcome, Status};

/// The receiver's side of a channel.
pub(super) type Inlet<H> = narrows::endpoint::Inlet<On<H>>;

/// What the short way came to.
pub(super) enum Quick<T> {
    Done(T),
    /// It was done, and there is something else to do.
    More(T),
    Not,
}

/// What an attempt came to: none if it has to wait.
pub(super) type Attempt<T> = Option<Outcome<T>>;

impl<T> Quick<T> {
    /// What became of something, and whether there is something else to do.
    #[inline(always)]
    pub fn of(value: T, more: bool) -> Quick<T> {
        if more { Quick::More(value) } else { Quick::Done(value) }
    }
}

/// Whether there is something else to do, if it was done the short way.
#[inline(always)]
pub(super) fn done(more: Option<bool>) -> Quick<()> {
    match more {
        None => Quick::Not,
        Some(more) => Quick::of((), more),
    }
}

impl<H: Home> Node<H> {
    /// The channel of a handle, if it is one of this kind and direction that is open.
    #[inline]
    pub fn channel(&mut self, handle: Handle, kind: Kind, way: Direction) -> Outcome<&mut Channel> {
        let channel = self.channels.get_mut(handle).filter(|channel| channel.is(kind, way));
        channel.ok_or(Status::ChanInvalid)
    }

    /// Takes the next entry off a ring.
    #[inline(never)]
    pub fn take_entry(&mut self, ring: Ring) -> Result<Option<Arrival>, LinkError> {
        self.stack.take_from_channel(ring)
    }

    /// Nothing was there to be taken: whether anything can come.
    #[cold]
    pub fn nothing(
        &mut self,
        handle: Handle,
        taken: Result<Option<Arrival>, LinkError>,
    ) -> Option<Status> {
        let channel = self.channels.get(handle)?;
        match (taken, channel.check()) {
            (Ok(_), Err(status @ Status::ChanClosePending)) => {
                // What was sent before the other side closed was there before it said so.
                let ring = channel.ring?;
                (!self.stack.channel_ready(ring)).then_some(status)
            }
            (Ok(_), Err(status)) => Some(status),
            (Ok(_), Ok(())) => None,
            (Err(_), checked) => Some(checked.err().unwrap_or(Status::Transmission)),
        }
    }
}

#[inline]
pub(super) fn sent(how: Result<(), SendError>) -> Attempt<()> {
    match how {
        Ok(()) => Some(Ok(())),
        Err(error) => not_sent(error),
    }
}

#[cold]
fn not_sent(error: SendError) -> Attempt<()> {
    match error {
        SendError::RingFull | SendError::PoolEmpty => None,
        SendError::TooLong { .. } => Some(Err(Status::MsgSize)),
        _ => Some(Err(Status::Transmission)),
    }
}
