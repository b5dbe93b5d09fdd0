//! What messages, packets and scalars have in common.
//!
//! Sending and receiving each come in two forms: the short way, which a call tries first and which
//! is taken only where no request waits for the same thing, and the attempt of a request, in the
//! order requests were made.

use std::ptr::with_exposed_provenance_mut;

use narrows::endpoint::SendError;

use super::super::control::Kind;
use super::super::endpoint::Direction;
use super::super::home::Home;
use super::super::id::Handle;
use super::super::lender::Lender;
use super::super::request::{Done, Incoming, Outgoing};
use super::super::status::{Outcome, Status};
use super::channel::Channel;
use super::{Node, PLACEMENT};

/// What the short way came to.
pub(in crate::mcapi) enum Quick<T> {
    Done(T),
    /// It was done, and there is something else to do.
    More(T),
    Not,
}

impl<T> Quick<T> {
    /// What became of something, and whether there is something else to do.
    #[inline(always)]
    pub fn of(value: T, more: bool) -> Quick<T> {
        if more { Quick::More(value) } else { Quick::Done(value) }
    }
}

/// Whether there is something else to do, if it was done the short way.
#[inline(always)]
pub(in crate::mcapi) fn done(more: Option<bool>) -> Quick<()> {
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

    /// Sends something if there is room, and nothing waits before it or it is its turn: how long it
    /// was, if that can be asked.
    #[inline(never)]
    pub fn send_entry(&mut self, handle: Handle, what: Outgoing, in_turn: bool) -> Done {
        self.lengthen(handle);
        let channel = match self.channel(handle, what.kind(), Direction::Send) {
            Ok(channel) => channel,
            Err(status) => return status.into(),
        };
        if let Outgoing::Packet(bytes) = what
            && bytes.get().len() > channel.longest as usize
        {
            return Status::PktSize.into();
        }
        if channel.pending > 0 && !in_turn {
            return Status::Pending.into();
        }
        if let Err(status) = channel.check() {
            return status.into();
        }
        let Some(ring) = channel.ring else { return Status::Pending.into() };
        let (how, len) = match what {
            Outgoing::Packet(bytes) => {
                let bytes = bytes.get();
                (self.stack.channel(ring).try_send_packet(bytes, PLACEMENT, 0), bytes.len())
            }
            Outgoing::Scalar { value, len } => {
                (self.stack.channel(ring).try_send_word(value, len, 0), 0)
            }
        };
        let done = sent(how, len);
        if !done.is_pending() {
            self.shorten(handle);
        }
        done
    }

    /// Receives something if it is there, and nobody waits for it or it is its turn: a packet's
    /// size or a scalar.
    #[inline(never)]
    pub fn receive_entry(&mut self, handle: Handle, what: Incoming, in_turn: bool) -> Done {
        let there = match (self.shorts.receiving(handle), what) {
            (Some((inlet, _)), _) if inlet.is_empty() => return Status::Pending.into(),
            (Some((inlet, Some(lender))), Incoming::Packet(out)) => {
                let mut size = 0;
                let taken = Lender::take(lender, inlet, |at, len| {
                    out.put(with_exposed_provenance_mut(at));
                    size = len as u64;
                });
                if taken.is_some() {
                    self.stack.note_packet(inlet, size as u32);
                }
                taken.map(|due| (inlet, size, due))
            }
            (Some((inlet, None)), Incoming::Scalar { len }) => {
                let taken = self.stack.take_word(inlet, len);
                taken.map(|(word, due)| (inlet, word, due))
            }
            _ => None,
        };
        if let Some((inlet, what, due)) = there {
            if due {
                self.stack.credit(inlet);
            }
            return Done::well(what);
        }
        self.lengthen(handle);
        let channel = match self.channel(handle, what.kind(), Direction::Receive) {
            Ok(channel) => channel,
            Err(status) => return status.into(),
        };
        if channel.pending > 0 && !in_turn {
            return Status::Pending.into();
        }
        let done = self.take_entry(handle, what);
        if !done.is_pending() {
            self.shorten(handle);
        }
        done
    }

    /// Takes the next off a channel.
    fn take_entry(&mut self, handle: Handle, what: Incoming) -> Done {
        let Some(channel) = self.channels.get_mut(handle) else {
            return Status::ChanInvalid.into();
        };
        let Some(ring) = channel.ring else { return Status::Pending.into() };
        let arrival = match channel.stash.take() {
            Some(arrival) => arrival,
            None => match self.stack.channel(ring).try_take() {
                Ok(Some(arrival)) => arrival,
                nothing => return self.nothing(handle, nothing.is_err()).into(),
            },
        };
        match what {
            Incoming::Packet(out) => match self.hold(ring, &arrival) {
                Some((at, size)) => {
                    out.put(at);
                    Done::well(size as u64)
                }
                None => Status::Transmission.into(),
            },
            Incoming::Scalar { len } if arrival.len == len && arrival.block.is_none() => {
                Done::well(arrival.word)
            }
            Incoming::Scalar { .. } => {
                self.wrong_scalar(handle, arrival);
                Status::SclSize.into()
            }
        }
    }

    /// How many entries of a channel can be received without waiting.
    #[inline]
    pub fn entries_available(&mut self, handle: Handle, kind: Kind) -> Outcome<u32> {
        let channel = self.channel(handle, kind, Direction::Receive)?;
        let (kept, ring) = (u32::from(channel.stash.is_some()), channel.ring);
        self.lengthen(handle);
        let ring = ring.map_or(0, |ring| self.stack.channel(ring).available());
        self.shorten(handle);
        self.turn();
        Ok(kept + ring)
    }

    /// Nothing was there to be taken, or the link has `failed`: whether anything can come.
    #[cold]
    fn nothing(&mut self, handle: Handle, failed: bool) -> Status {
        let Some(channel) = self.channels.get(handle) else { return Status::Pending };
        let (checked, ring) = (channel.check(), channel.ring);
        match checked {
            Ok(()) if failed => Status::Transmission,
            Ok(()) => Status::Pending,
            // What was sent before the other side closed was there before it said so.
            Err(Status::ChanClosePending)
                if !failed && ring.is_none_or(|ring| self.stack.channel(ring).is_ready()) =>
            {
                Status::Pending
            }
            Err(status) => status,
        }
    }
}

/// What sending `len` bytes came to.
#[inline]
pub(in crate::mcapi) fn sent(how: Result<(), SendError>, len: usize) -> Done {
    match how {
        Ok(()) => Done::well(len as u64),
        Err(SendError::RingFull | SendError::PoolEmpty) => Status::Pending.into(),
        Err(SendError::TooLong { .. }) => Status::MsgSize.into(),
        Err(_) => Status::Transmission.into(),
    }
}
