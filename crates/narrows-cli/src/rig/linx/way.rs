//! The frames of a unit as a connection sees them.

use narrows::driver::area::Mover;
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows_host::area::{Block, Hand};

use crate::rig::linx::driver::{Carrier, Driver, Taken};

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

/// The frames of a unit as its connection sees them in one call.
pub struct Way<'a> {
    pub driver: &'a mut Driver<Hand>,
    pub awaits: &'a mut bool,
    /// The frame that has come, and where its buffer goes.
    pub taken: Option<(Taken<Block>, &'a mut Vec<Block>)>,
}

impl Frames for Way<'_> {
    type Buffer = <Hand as Mover>::Buffer;

    fn mtu(&self) -> usize {
        self.driver.mtu()
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Block, usize, usize)>,
    ) -> Result<(), NotSent> {
        self.driver.send(header, payload)?;
        *self.awaits = true;
        Ok(())
    }

    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        self.taken.as_ref().map(|(taken, _)| taken.frame.peek(header)).ok_or(NoFrame::Empty)
    }

    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut Block,
        at: usize,
    ) -> Result<(), NotThere> {
        let (taken, _) = self.taken.as_ref().ok_or(NotThere)?;
        if taken.there {
            return self.driver.read(from, len, buffer, at);
        }
        self.driver.collect(taken, from, len, buffer, at)
    }

    fn release(&mut self) {
        let Some((taken, buffers)) = self.taken.take() else { return };
        if taken.there {
            return self.driver.release();
        }
        self.driver.collected();
        self.driver.give_back(&taken);
        buffers.extend(taken.buffer);
    }
}
