//! Scalars: sent and received the short way.

use narrows::memory::Arrival;

use super::super::home::Home;
use super::super::id::Handle;
use super::Node;
use super::transfer::{Quick, done};

impl<H: Home> Node<H> {
    /// Sends a scalar the short way.
    #[inline(always)]
    pub fn put_word(&mut self, handle: Handle, value: u64, len: u32) -> Quick<()> {
        let Some(outlet) = self.shorts.send_words(handle) else { return Quick::Not };
        let sent = self.stack.post_word(outlet, value, len, 0);
        done(sent)
    }

    /// Sends a scalar the short way, where the sender has to look for room first.
    #[inline]
    pub fn put_word_anew(&mut self, handle: Handle, value: u64, len: u32) -> Quick<()> {
        let Some(outlet) = self.shorts.send_words(handle) else { return Quick::Not };
        let sent = self.stack.post_word_anew(outlet, value, len, 0);
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

    /// Keeps a scalar of another size than was asked for, for a call that asks for its own.
    #[cold]
    pub fn wrong_scalar(&mut self, handle: Handle, arrival: Arrival) {
        let Some(channel) = self.channels.get_mut(handle) else { return };
        match (arrival.block, channel.ring) {
            // No scalar at all: its sender does not keep the rules.
            (Some(block), Some(ring)) => self.stack.channel(ring).release(block),
            _ => channel.stash = Some(arrival),
        }
    }
}
