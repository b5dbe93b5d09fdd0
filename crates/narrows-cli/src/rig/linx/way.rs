//! A link's memory and driver as its unit sees them.

use narrows::driver::{NoFrame, NotSent, NotThere};
use narrows::linx::unit::Staged;
use narrows_host::area::{Block, Hand, Unit};

use crate::formats::linx::Stack;
use crate::rig::linx::carrier::Carrier;
use crate::rig::linx::driver::{Driver, Taken};

impl Carrier for Hand {
    fn copy(
        &self,
        to: (&mut Block, usize),
        from: (&Block, usize),
        len: usize,
    ) -> Result<(), NotThere> {
        Hand::copy(self, to, from, len)
    }
}

/// What the unit of a link goes by.
pub(crate) struct Way {
    pub memory: Unit,
    pub driver: Driver<Hand>,
    pub stack: Stack,
    pub acknowledges: bool,
    /// Buffers for frames that are taken off.
    pub buffers: Vec<Block>,
    /// Signals that were sent and may still be read.
    pub held: Vec<Block>,
    /// A frame was sent and its acknowledgement has not been seen.
    pub awaits: bool,
}

impl Staged for Way {
    type Buffer = Block;
    type Frame = Taken<Block>;

    fn mtu(&self) -> usize {
        self.driver.mtu()
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Block, usize, usize)>,
    ) -> Result<(), NotSent> {
        self.driver.send(header, payload)?;
        self.awaits = true;
        Ok(())
    }

    fn take(&mut self) -> Option<Result<Taken<Block>, NoFrame>> {
        if !self.driver.look() {
            return None;
        }
        match self.stack {
            Stack::Layered => Some(self.driver.detach(&mut self.buffers)),
            Stack::Flat => self.driver.straight().map(Ok),
        }
    }

    fn look(&mut self, taken: &Taken<Block>, header: &mut [u8]) -> Result<usize, NoFrame> {
        Ok(taken.frame.peek(header))
    }

    fn read(
        &mut self,
        taken: &Taken<Block>,
        from: usize,
        len: usize,
        buffer: &mut Block,
        at: usize,
    ) -> Result<(), NotThere> {
        if taken.there {
            return self.driver.read(from, len, buffer, at);
        }
        self.driver.collect(taken, from, len, buffer, at)
    }

    fn release(&mut self, taken: Taken<Block>) {
        if taken.there {
            return self.driver.release();
        }
        self.driver.collected();
        self.driver.give_back(&taken);
        self.buffers.extend(taken.buffer);
    }

    fn make(&mut self, _: usize) -> Option<Block> {
        self.memory.make()
    }

    fn keep(&mut self, signal: Block) {
        self.held.push(signal);
    }

    fn reclaim(&mut self) {
        if !self.held.is_empty() && !self.driver.holds() {
            let memory = &mut self.memory;
            self.held.drain(..).for_each(|block| memory.give(block));
        }
    }
}
