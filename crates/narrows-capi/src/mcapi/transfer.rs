//! What messages, packets and scalars have in common.
//!
//! Sending and receiving each come in two forms: the short way, which a call tries first and which is
//! taken only where no request waits for the same thing, and the attempt of a request, in the order
//! requests were made.

use std::ffi::c_void;
use std::ptr::with_exposed_provenance_mut;

use narrows::endpoint::{LinkError, SendError};
use narrows::memory::Arrival;

use super::channel::Channel;
use super::control::Kind;
use super::endpoint::Direction;
use super::foreign::{Bytes, Output};
use super::home::{Home, On};
use super::id::Handle;
use super::lender::Lender;
use super::node::{Node, PLACEMENT};
use super::status::{Outcome, Status};

/// The receiver's side of a channel.
pub(super) type Inlet<H> = narrows::endpoint::Inlet<On<H>>;

/// What is sent on a channel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outgoing {
    Packet(Bytes),
    /// The first bytes of a word.
    Scalar {
        value: u64,
        len: u32,
    },
}

/// What is to be received on a channel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Incoming {
    /// A packet; where its address goes.
    Packet(Output<*mut c_void>),
    /// A scalar of so many bytes.
    Scalar { len: u32 },
}

impl Outgoing {
    fn kind(&self) -> Kind {
        match self {
            Outgoing::Packet(_) => Kind::Packet,
            Outgoing::Scalar { .. } => Kind::Scalar,
        }
    }
}

impl Incoming {
    fn kind(&self) -> Kind {
        match self {
            Incoming::Packet(_) => Kind::Packet,
            Incoming::Scalar { .. } => Kind::Scalar,
        }
    }
}

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

    /// Sends something if there is room and nothing waits before it: how long it was, if that can be asked.
    #[inline(never)]
    pub fn send_entry(&mut self, handle: Handle, what: Outgoing) -> Attempt<u64> {
        if let Outgoing::Scalar { value, len } = what
            && let Some(outlet) = self.shorts.send_words(handle)
            && let Some(armed) = self.stack.post_word_anew(outlet, value, len, 0)
        {
            if armed {
                self.stack.ring_for(outlet);
            }
            return Some(Ok(0));
        }
        self.lengthen(handle);
        match (self.channel(handle, what.kind(), Direction::Send), what) {
            (Err(status), _) => Some(Err(status)),
            (Ok(channel), Outgoing::Packet(bytes))
                if bytes.get().len() > channel.longest as usize =>
            {
                Some(Err(Status::PktSize))
            }
            (Ok(channel), _) if channel.pending > 0 => None,
            (Ok(_), _) => {
                let sent = self.put_entry(handle, what)?;
                self.shorten(handle);
                Some(sent)
            }
        }
    }

    /// Sends something if there is room.
    #[inline(never)]
    pub fn put_entry(&mut self, handle: Handle, what: Outgoing) -> Attempt<u64> {
        let channel = match self.channel(handle, what.kind(), Direction::Send) {
            Ok(channel) => channel,
            Err(status) => return Some(Err(status)),
        };
        if let Err(status) = channel.check() {
            return Some(Err(status));
        }
        let ring = channel.ring?;
        let (how, len) = match what {
            Outgoing::Packet(bytes) => {
                let bytes = bytes.get();
                (self.stack.try_send_packet(ring, bytes, PLACEMENT, 0), bytes.len() as u64)
            }
            Outgoing::Scalar { value, len } => (self.stack.try_send_word(ring, value, len, 0), 0),
        };
        sent(how).map(|sent| sent.map(|()| len))
    }

    /// Receives something if it is there and nobody waits for it: a packet's size or a scalar.
    #[inline(never)]
    pub fn receive_entry(&mut self, handle: Handle, what: Incoming) -> Attempt<u64> {
        let there = match (self.shorts.receiving(handle), what) {
            (Some((inlet, _)), _) if inlet.is_empty() => return None,
            (Some((inlet, Some(lender))), Incoming::Packet(out)) => {
                let mut size = 0;
                let taken = Lender::take(lender, inlet, |at, len| {
                    out.put(with_exposed_provenance_mut(at));
                    size = len as u64;
                });
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
            return Some(Ok(what));
        }
        self.lengthen(handle);
        match self.channel(handle, what.kind(), Direction::Receive) {
            Err(status) => Some(Err(status)),
            Ok(channel) if channel.pending > 0 => None,
            Ok(_) => {
                let received = self.take_entry(handle, what)?;
                self.shorten(handle);
                Some(received)
            }
        }
    }

    /// Receives something if it is there: a packet's size or a scalar.
    #[inline(never)]
    pub fn take_entry(&mut self, handle: Handle, what: Incoming) -> Attempt<u64> {
        let channel = match self.channel(handle, what.kind(), Direction::Receive) {
            Ok(channel) => channel,
            Err(status) => return Some(Err(status)),
        };
        let ring = channel.ring?;
        let arrival = match channel.stash.take() {
            Some(arrival) => arrival,
            None => match self.stack.take_from_channel(ring) {
                Ok(Some(arrival)) => arrival,
                nothing => return self.nothing(handle, nothing).map(Err),
            },
        };
        Some(match what {
            Incoming::Packet(out) => match self.hold(ring, &arrival) {
                Some((at, size)) => {
                    out.put(at);
                    Ok(size as u64)
                }
                None => Err(Status::Transmission),
            },
            Incoming::Scalar { len } if arrival.len == len && arrival.block.is_none() => {
                Ok(arrival.word)
            }
            Incoming::Scalar { .. } => {
                self.wrong_scalar(handle, arrival);
                Err(Status::SclSize)
            }
        })
    }

    /// Nothing was there to be taken: whether anything can come.
    #[cold]
    fn nothing(
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
