//! Where the words are that two nodes share besides blocks.

use super::{CHANNEL_LINES, Layout, Ring, SLOTS};
use crate::platform::{Memory, OutOfRange};

const CORE: u32 = 516;
const CREDIT: u32 = 640;
const TAKEN: u32 = 768;
const WANT: u32 = 896;
const URGENT: u32 = 900;
/// Where a channel's control words are in its lines.
const CHANNEL_ARMED: u32 = 0;
const CHANNEL_CREDIT: u32 = 128;
const CHANNEL_TAKEN: u32 = 256;

impl Layout {
    /// Where the word is that says when the owner of the memory wants to be rung, in bytes.
    pub const ARMED: u32 = 512;

    /// Control words of a ring, by where they are for messages and in the lines of a channel.
    fn control_in<M: Memory>(
        &self,
        memory: &M,
        ring: Ring,
        (messages, channel): (u32, u32),
        count: u32,
    ) -> Result<M::Words, OutOfRange> {
        match ring {
            Ring::Messages => memory.words(messages, count),
            Ring::Channel(number) if number < self.channels => {
                let lines = self.channels_offset() + u32::from(number) * CHANNEL_LINES;
                memory.words(lines + channel, count)
            }
            Ring::Channel(_) => Err(OutOfRange),
        }
    }
    pub(crate) fn slots_in<M: Memory>(
        &self,
        memory: &M,
        ring: Ring,
    ) -> Result<M::Words, OutOfRange> {
        let bytes = self.slots_of(ring) * self.line;
        let at = match ring {
            Ring::Messages => SLOTS,
            Ring::Channel(number) if number < self.channels => {
                self.channel_slots_offset() + u32::from(number) * bytes
            }
            Ring::Channel(_) => return Err(OutOfRange),
        };
        memory.words(at, bytes / 4)
    }
    pub(crate) fn returns_in<M: Memory>(&self, memory: &M) -> Result<M::Words, OutOfRange> {
        memory.words(self.returns_offset(), self.returns())
    }
    /// One word: the sequence number whose message the sleeping receiver wants to be rung for.
    pub(crate) fn armed_in<M: Memory>(
        &self,
        memory: &M,
        ring: Ring,
    ) -> Result<M::Words, OutOfRange> {
        self.control_in(memory, ring, (Layout::ARMED, CHANNEL_ARMED), 1)
    }
    /// One word: the core on which the owner waited last, or 0.
    pub(crate) fn core_in<M: Memory>(&self, memory: &M) -> Result<M::Words, OutOfRange> {
        memory.words(CORE, 1)
    }
    /// Two words: messages taken and given credit for; blocks returned, which is one count for all
    /// rings and beside that of messages.
    pub(crate) fn credit_in<M: Memory>(
        &self,
        memory: &M,
        ring: Ring,
    ) -> Result<M::Words, OutOfRange> {
        self.control_in(memory, ring, (CREDIT, CHANNEL_CREDIT), 2)
    }
    /// One word: messages taken, exact at any moment; read when its writer is dead.
    pub(crate) fn taken_in<M: Memory>(
        &self,
        memory: &M,
        ring: Ring,
    ) -> Result<M::Words, OutOfRange> {
        self.control_in(memory, ring, (TAKEN, CHANNEL_TAKEN), 1)
    }
    /// One word: set while the sender sleeps until it has credit or blocks again.
    pub(crate) fn want_in<M: Memory>(&self, memory: &M) -> Result<M::Words, OutOfRange> {
        memory.words(WANT, 1)
    }
    /// One word: the sequence number of the sender's last message that is more urgent than the one
    /// before it.
    pub(crate) fn urgent_in<M: Memory>(&self, memory: &M) -> Result<M::Words, OutOfRange> {
        memory.words(URGENT, 1)
    }
}
