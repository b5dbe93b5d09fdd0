//! What the stack's link handler has around it between processes: the units of its links, and the
//! signals that its application has been sent.

use std::collections::VecDeque;

use narrows::connection::point_to_point::Waiting;
use narrows::connection::{Closed, Refused, Signal};
use narrows::linx::Adaption;
use narrows::linx::station::Connection;
use narrows::linx::unit::{self, Left};
use narrows::platform::Instant;
use narrows_host::area::Block;

use super::way::Way;
use crate::rig::linx::driver::Taken;

/// No connection here asks for the time.
pub const NOW: Instant = Instant(0);

/// What a signal is kept in.
#[derive(Debug)]
pub enum Buffer {
    /// A block of the memory of a link.
    Block(u16, Block),
    /// Memory of this node alone: what its link handler says, and what an application hunts with.
    Own(Vec<u8>),
}

/// A signal that is to be sent, or has come: whom it is for, or who sent it, and where it is.
#[derive(Debug)]
pub struct Letter {
    pub spid: u32,
    pub buffer: Buffer,
    pub len: usize,
}

impl Letter {
    /// The link that it came over, or goes by.
    pub fn link(&self) -> Option<usize> {
        match self.buffer {
            Buffer::Block(link, _) => Some(usize::from(link)),
            Buffer::Own(_) => None,
        }
    }
}

pub type Link = Connection<Block, Vec<Waiting<Block>>>;
pub type Linked = unit::Unit<Block, Taken<Block>, Vec<Waiting<Block>>, Vec<Option<Taken<Block>>>>;

/// What is between this node and another.
pub struct Side {
    pub way: Way,
    pub unit: Linked,
    /// Whether the connection has something to say that had no room.
    pub owes: bool,
    pub gone: bool,
}

impl Side {
    /// Sends what the connection has to send. False if something is left that no acknowledgement's
    /// interrupt will see to.
    pub fn transmit(&mut self) -> bool {
        if self.gone {
            return true;
        }
        let left = self.unit.transmit(&mut self.way, NOW);
        let told = self.way.acknowledges && self.way.awaits;
        self.owes = left != Left::Nothing && !told;
        !self.owes
    }
}

/// The links of a node, by their numbers, and the signals of its application.
pub struct Around<'a> {
    pub sides: &'a mut Vec<Side>,
    pub inbox: &'a mut VecDeque<Letter>,
}

impl Adaption for Around<'_> {
    type Buffer = Buffer;

    fn make(&mut self, bytes: &[u8]) -> Option<Buffer> {
        Some(Buffer::Own(bytes.to_vec()))
    }

    fn read(&self, buffer: &Buffer, to: &mut [u8]) -> bool {
        read(self.sides, buffer, 0, to).is_some()
    }

    fn free(&mut self, buffer: Buffer) {
        if let Buffer::Block(link, block) = buffer
            && let Some(side) = self.sides.get_mut(usize::from(link))
        {
            side.way.memory.give(block);
        }
    }

    fn deliver(&mut self, signal: Signal<Buffer>, _: Option<u16>) {
        let Signal { from, len, buffer, .. } = signal;
        self.inbox.push_back(Letter { spid: from, buffer, len });
    }

    fn transmit(
        &mut self,
        link: u16,
        signal: Signal<Buffer>,
    ) -> Result<(), (Refused, Signal<Buffer>)> {
        let gone = Refused::Closed(Closed::Lost);
        let Some(side) = self.sides.get_mut(usize::from(link)).filter(|side| !side.gone) else {
            return Err((gone, signal));
        };
        let Signal { from, to, len, buffer } = signal;
        let block = match buffer {
            Buffer::Block(of, block) if of == link => block,
            Buffer::Own(bytes) => {
                let block = side.way.memory.make();
                let Some(block) =
                    block.filter(|block| side.way.memory.write(block, 0, &bytes).is_ok())
                else {
                    let buffer = Buffer::Own(bytes);
                    return Err((Refused::Full, Signal { from, to, len, buffer }));
                };
                block
            }
            // No node here is between others.
            Buffer::Block(..) => return Err((gone, Signal { from, to, len, buffer })),
        };
        let sent = side.unit.send(&mut side.way, NOW, Signal { from, to, len, buffer: block });
        // Sent or not: what the connection has to say, the driver may have room for.
        side.transmit();
        sent.map_err(|(why, Signal { from, to, len, buffer })| {
            (why, Signal { from, to, len, buffer: Buffer::Block(link, buffer) })
        })
    }
}

/// Reads bytes of a signal.
pub fn read(sides: &[Side], buffer: &Buffer, at: usize, to: &mut [u8]) -> Option<()> {
    match buffer {
        Buffer::Block(link, block) => {
            sides.get(usize::from(*link))?.way.memory.read(block, at, to).ok()
        }
        Buffer::Own(bytes) => {
            to.copy_from_slice(bytes.get(at..at.checked_add(to.len())?)?);
            Some(())
        }
    }
}
