//! Scalars: sent and received if that can be done now.

use narrows::memory::Arrival;

use super::control::Kind;
use super::endpoint::Direction;
use super::home::Home;
use super::id::Handle;
use super::node::Node;
use super::status::Status;
use super::transfer::{Attempt, Quick, done, sent};

impl<H: Home> Node<H> {
    /// Sends a scalar the short way.
    #[inline(always)]
    pub fn put_word(&mut self, handle: Handle, value: u64, len: u32) -> Quick<()> {
        let Some(outlet) = self.shorts.send_words(handle) else { return Quick::Not };
        let sent = self.stack.post_word(outlet, value, len, 0);
        done(sent)
    }

    /// Receives a scalar the short way.
    #[inline(always)]
    pub fn take_word(&mut self, handle: Handle, len: u32) -> Quick<u64> {
        let Some(inlet) = self.shorts.receive_words(handle) else { return Quick::Not };
        let taken = self.stack.take_word(inlet, len);
        match taken {
            Some((word, due)) => Quick::of(word, due),
            None => Quick::Not,
        }
    }

    /// Sends a scalar if there is room and nothing waits before it.
    #[inline(never)]
    pub fn send_scalar(&mut self, handle: Handle, value: u64, len: u32) -> Attempt<()> {
        self.lengthen(handle);
        match self.channel(handle, Kind::Scalar, Direction::Send) {
            Err(status) => Some(Err(status)),
            Ok(channel) if channel.pending > 0 => None,
            Ok(_) => {
                let sent = self.put_scalar(handle, value, len)?;
                self.shorten(handle);
                Some(sent)
            }
        }
    }

    #[inline(never)]
    pub fn put_scalar(&mut self, handle: Handle, value: u64, len: u32) -> Attempt<()> {
        let channel = match self.channel(handle, Kind::Scalar, Direction::Send) {
            Ok(channel) => channel,
            Err(status) => return Some(Err(status)),
        };
        if let Err(status) = channel.check() {
            return Some(Err(status));
        }
        let ring = channel.ring?;
        sent(self.stack.try_send_word(ring, value, len, 0))
    }

    /// Receives a scalar if one is there and nobody waits for it.
    #[inline(never)]
    pub fn receive_scalar(&mut self, handle: Handle, len: u32) -> Attempt<u64> {
        if let Some(inlet) = self.shorts.receive_words(handle) {
            if inlet.is_empty() {
                return None;
            }
            if let Some((word, due)) = self.stack.take_word(inlet, len) {
                if due {
                    self.stack.credit(inlet);
                }
                return Some(Ok(word));
            }
        }
        self.lengthen(handle);
        match self.channel(handle, Kind::Scalar, Direction::Receive) {
            Err(status) => Some(Err(status)),
            Ok(channel) if channel.pending > 0 => None,
            Ok(_) => {
                let received = self.take_scalar(handle, len)?;
                self.shorten(handle);
                Some(received)
            }
        }
    }

    #[inline(never)]
    pub fn take_scalar(&mut self, handle: Handle, len: u32) -> Attempt<u64> {
        let channel = match self.channel(handle, Kind::Scalar, Direction::Receive) {
            Ok(channel) => channel,
            Err(status) => return Some(Err(status)),
        };
        let ring = channel.ring?;
        let arrival = match channel.stash.take() {
            Some(arrival) => arrival,
            None => match self.take_entry(ring) {
                Ok(Some(arrival)) => arrival,
                nothing => return self.nothing(handle, nothing).map(Err),
            },
        };
        if arrival.len == len && arrival.block.is_none() {
            return Some(Ok(arrival.word));
        }
        self.wrong_scalar::<()>(handle, arrival);
        Some(Err(Status::SclSize))
    }

    /// Keeps a scalar of another size than was asked for, for who asks for its own.
    #[cold]
    fn wrong_scalar<T>(&mut self, handle: Handle, arrival: Arrival) -> Option<T> {
        let channel = self.channels.get_mut(handle)?;
        match (arrival.block, channel.ring) {
            // No scalar at all: its sender does not keep the rules.
            (Some(block), Some(ring)) => self.stack.release_block(ring.link, block),
            _ => channel.stash = Some(arrival),
        }
        None
    }
}
