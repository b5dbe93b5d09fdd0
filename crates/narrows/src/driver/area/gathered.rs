//! Frames that the receiver's copy engine gathers from the sender's memory into a buffer of the
//! receiver's: a descriptor for what stands before the payload, one for the payload. Which buffer
//! is free the sender learns with the acknowledgement of the frame before.

use super::{
    ADMINISTRATION, Acknowledges, AreaState, Frame, GIVEN, KEPT, Mover, READ, WORDS, WRITTEN,
    may_read, may_write, state,
};
use crate::driver::{Frames, NoFrame, NotSent, NotThere};
use crate::platform::{Memory, OutOfRange, OwnMemory, Words, WordsMut};

/// Bytes that stand before each frame in a buffer: its number, its length, the length of its
/// header, nothing.
pub const GATHERED_HEADER: usize = 16;
/// The most buffers.
const BUFFERS: u32 = 32;

/// What a mover needs beside: the copy engine that works for the other end.
pub trait Engine: Mover {
    /// Has the other end's engine gather `head` bytes of own memory from [`ADMINISTRATION`] on, and
    /// behind them those of a buffer, at `to` in the other end's memory, and interrupt it when all
    /// is there. The buffer's bytes are made such that the engine can read them.
    ///
    /// # Errors
    /// They are not inside, or there is no such engine.
    fn gather(
        &self,
        own: &Self::Own,
        head: usize,
        payload: Option<(&Self::Buffer, usize, usize)>,
        to: u32,
    ) -> Result<(), NotThere>;

    /// Whether this end's engine is done with the frame of this number, counted from 1 and wrapping
    /// round to 1 behind 2³¹. Asked when the sender says that the engine was told of it. Where
    /// memory shows bytes in the order in which they were written, the number in front of the frame
    /// is enough.
    ///
    /// # Errors
    /// What the engine was told cannot be done.
    fn arrived(&self, _number: u32) -> Result<bool, NotThere> {
        Ok(true)
    }

    /// Copies bytes of own memory, where the engine has put them, to a buffer.
    ///
    /// # Errors
    /// They are not inside either.
    fn take(
        &self,
        own: &Self::Own,
        from: u32,
        to: &mut Self::Buffer,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere>;
}

/// One end of such a driver.
pub struct Gathered<M: Engine> {
    mover: M,
    own: M::Own,
    words: <M::Own as Memory>::Words,
    theirs: <M::Peer as Memory>::Words,
    mtu: usize,
    buffers: u32,
    acknowledges: Acknowledges,
    written: u32,
    read: u32,
    /// The buffer that the next frame comes to.
    next: u32,
    /// Buffers that nothing is in, a bit each.
    free: u32,
    receiving: Option<Frame>,
}

impl<M: Engine> Gathered<M> {
    /// An end, over memory of both sides that is all zeroes, with a number of buffers for frames of
    /// up to `mtu` bytes in each.
    ///
    /// # Errors
    /// There are fewer than two buffers or more than 32, or no room for them, or not for frames of
    /// 64 bytes.
    pub fn new(
        mover: M,
        own: M::Own,
        peer: M::Peer,
        (buffers, mtu): (u32, usize),
        acknowledges: Acknowledges,
    ) -> Result<Gathered<M>, OutOfRange> {
        let (words, theirs) = (own.words(0, WORDS)?, peer.words(0, WORDS)?);
        let stride = u64::from(Self::stride(mtu).ok_or(OutOfRange)?);
        let room = u64::from(own.size().min(peer.size()));
        let first = u64::from(ADMINISTRATION) * 2;
        let fits = first + stride * u64::from(buffers) <= room;
        if mtu < 64 || !(2..=BUFFERS).contains(&buffers) || !fits {
            return Err(OutOfRange);
        }
        let free = (u32::MAX >> (32 - buffers)) & !1;
        let (written, read) = (0, 0);
        Ok(Gathered {
            mover,
            own,
            words,
            theirs,
            mtu,
            buffers,
            acknowledges,
            written,
            read,
            next: 0,
            free,
            receiving: None,
        })
    }

    /// Bytes of memory that an end needs for `buffers` buffers of frames of `mtu` bytes.
    #[must_use]
    pub fn room(buffers: u32, mtu: usize) -> Option<u32> {
        Self::stride(mtu)?.checked_mul(buffers)?.checked_add(ADMINISTRATION * 2)
    }

    /// Where the next frame of the peer goes in own memory, and how long it is at most with what
    /// stands before it: an engine that works for a peer that is not trusted writes nowhere else.
    /// The buffers are as for [`Gathered::new`], `words` those at the beginning of own memory.
    #[must_use]
    pub fn due(words: &impl Words, (buffers, mtu): (u32, usize)) -> Option<(u32, u32)> {
        let stride = Self::stride(mtu)?;
        // Acquire: pairs with the release in `acknowledge`. What was in the buffer has been read,
        // whether or not the peer had heard of it when it told the engine to go on.
        let buffer = words.load_acquire(GIVEN).checked_rem(buffers)?;
        Some((ADMINISTRATION * 2 + buffer * stride, stride))
    }

    fn stride(mtu: usize) -> Option<u32> {
        u32::try_from(mtu.checked_add(GATHERED_HEADER)?).ok()?.checked_next_multiple_of(64)
    }

    /// Where a buffer begins. What the sender makes for the engine lies before the first.
    fn place(&self, buffer: u32) -> u32 {
        ADMINISTRATION * 2 + buffer % self.buffers * Self::stride(self.mtu).unwrap_or(0)
    }

    /// What the way is in that this side sends by.
    pub fn sending(&self) -> Option<AreaState> {
        state(self.written, self.theirs.load_acquire(READ))
    }

    /// Takes the next frame in its buffer, which is then the caller's until
    /// [`Gathered::give_back`], and acknowledges it with another. With none to give the frame
    /// stays.
    ///
    /// # Errors
    /// See [`NoFrame`].
    pub fn detach(&mut self) -> Result<Frame, NoFrame> {
        let frame = self.look()?;
        if self.free == 0 {
            return Err(NoFrame::Empty);
        }
        let next = self.free.trailing_zeros();
        self.free &= !(1 << next);
        self.acknowledge(next);
        Ok(frame)
    }

    /// Copies part of a frame that was taken, from its buffer.
    ///
    /// # Errors
    /// It is not inside.
    pub fn collect(
        &self,
        frame: &Frame,
        from: usize,
        len: usize,
        to: &mut M::Buffer,
        at: usize,
    ) -> Result<(), NotThere> {
        if from.checked_add(len).is_none_or(|end| end > frame.len) {
            return Err(NotThere);
        }
        let offset = self.place(frame.place) + (GATHERED_HEADER + from) as u32;
        self.mover.take(&self.own, offset, to, at, len)
    }

    /// Gives the buffer of a frame back that was taken.
    pub fn give_back(&mut self, frame: &Frame) {
        self.free |= 1 << (frame.place % self.buffers);
    }

    /// What moves its bytes.
    pub fn mover(&self) -> &M {
        &self.mover
    }

    /// The frame that is being received.
    pub fn receiving(&self) -> Option<Frame> {
        self.receiving
    }

    /// The next frame, once.
    fn look(&mut self) -> Result<Frame, NoFrame> {
        if let Some(frame) = self.receiving {
            return Ok(frame);
        }
        may_read(state(self.theirs.load_acquire(WRITTEN), self.read))?;
        let number = self.read / 2 + 1;
        if !self.mover.arrived(number).map_err(|NotThere| NoFrame::Gone)? {
            return Err(NoFrame::Empty);
        }
        let place = self.place(self.next);
        let mut bytes = [0; GATHERED_HEADER + KEPT];
        self.own.invalidate(place, bytes.len() as u32);
        self.own.read(place, &mut bytes).map_err(|OutOfRange| NoFrame::Gone)?;
        let word = |at: usize| {
            let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
            word.map_or(0, u32::from_le_bytes)
        };
        // The engine may still be at work.
        if word(0) != number {
            return Err(NoFrame::Empty);
        }
        let (len, header) = (word(4) as usize, word(8) as usize);
        if len > self.mtu || header > len || header > KEPT {
            return Err(NoFrame::Gone);
        }
        self.read = self.read.wrapping_add(1);
        self.words.store_release(READ, self.read);
        self.own.invalidate(place, (GATHERED_HEADER + len) as u32);
        let mut first = [0; KEPT];
        first.iter_mut().zip(bytes.iter().skip(GATHERED_HEADER)).for_each(|(to, from)| *to = *from);
        let frame = Frame { first, header, len, place: self.next };
        self.receiving = Some(frame);
        Ok(frame)
    }

    /// Tells the sender that its frame has been taken, and where the next may go.
    fn acknowledge(&mut self, next: u32) {
        self.receiving = None;
        self.next = next;
        // Release: pairs with the acquire in `due`.
        self.words.store_release(GIVEN, next);
        self.read = self.read.wrapping_add(1);
        self.words.store_release(READ, self.read);
        if self.acknowledges == Acknowledges::Interrupt {
            self.mover.ring();
        }
    }
}

impl<M: Engine> Frames for Gathered<M> {
    type Buffer = M::Buffer;

    fn mtu(&self) -> usize {
        self.mtu
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&M::Buffer, usize, usize)>,
    ) -> Result<(), NotSent> {
        let bytes = payload.map_or(0, |(_, _, len)| len);
        let len = header.len().checked_add(bytes).ok_or(NotSent::TooLong)?;
        if len > self.mtu || header.len() > KEPT {
            return Err(NotSent::TooLong);
        }
        may_write(self.sending())?;
        let to = self.place(self.theirs.load(GIVEN));
        self.words.store(WRITTEN, self.written.wrapping_add(1));
        let mut head = [0; GATHERED_HEADER + KEPT];
        let words = [self.written / 2 + 1, len as u32, header.len() as u32, 0];
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        let both = bytes.chain(header.iter().copied());
        head.iter_mut().zip(both).for_each(|(to, from)| *to = from);
        let before = GATHERED_HEADER + header.len();
        let made = head.get(..before).map(|head| self.own.write(ADMINISTRATION, head));
        self.own.clean(ADMINISTRATION, before as u32);
        // The engine may be done before this is: the receiver takes no frame that is not written.
        self.words.store_release(WRITTEN, self.written.wrapping_add(2));
        let payload = payload.filter(|(_, _, len)| *len > 0);
        if made != Some(Ok(())) || self.mover.gather(&self.own, before, payload, to).is_err() {
            self.words.store_release(WRITTEN, self.written);
            return Err(NotSent::TooLong);
        }
        self.written = self.written.wrapping_add(2);
        Ok(())
    }

    fn holds(&mut self) -> bool {
        !matches!(self.sending(), Some(AreaState::Empty | AreaState::Read))
    }

    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        Ok(self.look()?.peek(header))
    }

    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut M::Buffer,
        at: usize,
    ) -> Result<(), NotThere> {
        let frame = self.receiving.ok_or(NotThere)?;
        self.collect(&frame, from, len, buffer, at)
    }

    fn release(&mut self) {
        if let Some(frame) = self.receiving {
            self.acknowledge(frame.place);
        }
    }
}
