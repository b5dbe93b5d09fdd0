//! Packets: sent and received the short way, held and given back.

use std::ffi::c_void;
use std::ptr::with_exposed_provenance_mut;

use narrows::endpoint::Channel as Ring;
use narrows::memory::Arrival;

use super::super::foreign::{Bytes, Output};
use super::super::home::Home;
use super::super::id::Handle;
use super::super::lender::{Lender, Likely};
use super::transfer::{Quick, done};
use super::{Node, PLACEMENT};

impl<H: Home> Node<H> {
    /// Sends a packet the short way, if it is short.
    #[inline(always)]
    pub fn put_short(&mut self, handle: Handle, bytes: &Bytes) -> Quick<()> {
        let (Some(outlet), Some(bytes)) = (self.shorts.send_short(handle), bytes.there()) else {
            return Quick::Not;
        };
        let sent = self.stack.post_short_packet(outlet, bytes, PLACEMENT, 0);
        done(sent)
    }

    /// Sends a packet the short way.
    pub fn put_block(&mut self, handle: Handle, bytes: &Bytes) -> Quick<()> {
        let (Some((outlet, longest)), Some(bytes)) =
            (self.shorts.send_packets(handle), bytes.there())
        else {
            return Quick::Not;
        };
        if bytes.len() > longest as usize {
            return Quick::Not;
        }
        let sent = self.stack.post_packet(outlet, bytes, PLACEMENT, 0);
        done(sent)
    }

    /// Receives a packet the short way: where it is and how long.
    #[inline(always)]
    pub fn take_block(
        &mut self,
        handle: Handle,
        out: Output<*mut c_void>,
        size: Output<usize>,
    ) -> Quick<()> {
        let Some((inlet, lender)) = self.shorts.receive_packets(handle) else { return Quick::Not };
        let mut long = 0;
        let taken = Lender::take(lender, inlet, |at, len| {
            long = len;
            size.put(len);
            out.put(with_exposed_provenance_mut(at));
        });
        if taken.is_some() {
            self.stack.note_packet(inlet, long as u32);
        }
        done(taken)
    }

    /// Notes that the application has a packet: where it is and how long. None if it is no packet.
    pub fn hold(&mut self, ring: Ring, arrival: &Arrival) -> Option<(*mut c_void, usize)> {
        let block = arrival.block?;
        let (_, offset) = self.stack.place_of(ring.link, block)?;
        let Some(lender) = self.lender(ring.link) else {
            self.stack.channel(ring).release(block);
            return None;
        };
        self.stack.forget_block(ring.link);
        let mut at = 0;
        lender.note(offset, arrival.len, block, |address| at = address);
        Some((with_exposed_provenance_mut(at), arrival.len as usize))
    }

    /// Gives a received packet back the short way: if it is in the same memory as the last.
    #[inline(always)]
    pub fn put_back(&mut self, at: usize) -> Quick<()> {
        match self.likely.take_back(at) {
            Some(block) => Quick::of((), self.stack.give_block(self.likely.link, block)),
            None => Quick::Not,
        }
    }

    /// Lets the sender have the blocks that were given back the short way.
    pub fn give_all(&mut self) {
        self.stack.give_all(self.likely.link);
    }

    /// Gives packets back the short way to this memory from now on.
    pub fn give_back_to(&mut self, likely: Likely) {
        self.give_all();
        self.likely = likely;
    }

    /// Gives a received packet back, which is in this memory.
    pub fn release_packet(&mut self, at: usize, likely: Likely) {
        self.give_back_to(likely);
        if let Quick::More(()) = self.put_back(at) {
            self.give_all();
        }
    }
}
