//! Frames that cores copy: the sender into an area of its own, the receiver out of it. Where both
//! reach each other's signals, only headers go that way and the receiver copies the payload
//! straight from the sender's signal to its own: a single copy.

use super::{
    ADMINISTRATION, Acknowledges, AreaState, DONE, Frame, HEADER, KEPT, LENGTH, Mover, READ, WORDS,
    WRITTEN, may_read, may_write, state,
};
use crate::driver::{Frames, NoFrame, NotSent, NotThere};
use crate::platform::{Memory, OutOfRange, OwnMemory, Words, WordsMut};

/// Which side copies the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// The sender into the area, the receiver out of it.
    Both,
    /// The receiver alone.
    Receiver,
}

/// What a mover needs beside for a single copy.
pub trait Exposes: Mover {
    /// Makes bytes of a buffer such that the peer can read them; where it finds them.
    ///
    /// # Errors
    /// They are not inside, or the peer does not reach such a buffer.
    fn expose(&self, from: &Self::Buffer, at: usize, len: usize) -> Result<u32, NotThere>;

    /// Copies bytes that the peer has exposed.
    ///
    /// # Errors
    /// They are not inside, or not in what the peer may expose.
    fn fetch(
        &self,
        place: u32,
        to: &mut Self::Buffer,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere>;
}

/// One end of such a driver.
pub struct Copied<M: Exposes> {
    mover: M,
    own: M::Own,
    peer: M::Peer,
    words: <M::Own as Memory>::Words,
    theirs: <M::Peer as Memory>::Words,
    /// Bytes that the area has room for.
    room: usize,
    copies: Copies,
    acknowledges: Acknowledges,
    written: u32,
    read: u32,
    done: u32,
    receiving: Option<Frame>,
}

impl<M: Exposes> Copied<M> {
    /// An end, over memory of both sides that is all zeroes. Frames that both copy are as long as
    /// the shorter has room for. Of those that the receiver alone copies only the header goes
    /// there, so they may have any length.
    ///
    /// # Errors
    /// One has no room for a frame of 64 bytes.
    pub fn new(
        mover: M,
        own: M::Own,
        peer: M::Peer,
        copies: Copies,
        acknowledges: Acknowledges,
    ) -> Result<Copied<M>, OutOfRange> {
        let (words, theirs) = (own.words(0, WORDS)?, peer.words(0, WORDS)?);
        let room = own.size().min(peer.size()).saturating_sub(ADMINISTRATION) as usize;
        if room < 64 {
            return Err(OutOfRange);
        }
        Ok(Copied {
            mover,
            own,
            peer,
            words,
            theirs,
            room,
            copies,
            acknowledges,
            written: 0,
            read: 0,
            done: 0,
            receiving: None,
        })
    }

    /// What the area is in that this side sends by.
    pub fn sending(&self) -> Option<AreaState> {
        state(self.written, self.theirs.load_acquire(READ))
    }

    /// Whether the receiver may still read a signal that was sent.
    pub fn uncollected(&self) -> bool {
        self.copies == Copies::Receiver
            && self.theirs.load_acquire(DONE).wrapping_mul(2) != self.written
    }

    /// Takes the next frame off the area: unless only its header is there, it is copied to `whole`.
    /// Then the area is its sender's again; [`Copied::collect`] goes on with the frame, and
    /// [`Copied::collected`] ends it.
    ///
    /// # Errors
    /// See [`NoFrame`].
    pub fn detach(&mut self, whole: &mut M::Buffer) -> Result<Frame, NoFrame> {
        let frame = self.look()?;
        if self.copies == Copies::Both {
            self.mover
                .get(&self.peer, ADMINISTRATION, whole, 0, frame.len)
                .map_err(|NotThere| NoFrame::Gone)?;
        }
        self.free_area();
        Ok(frame)
    }

    /// Copies payload of a frame that was taken off without it, by its offset in the frame.
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
        let inside = from.checked_add(len).is_some_and(|end| end <= frame.len);
        let skip = from.checked_sub(frame.header).filter(|_| inside).ok_or(NotThere)?;
        let skip = u32::try_from(skip).map_err(|_| NotThere)?;
        self.mover.fetch(frame.place.checked_add(skip).ok_or(NotThere)?, to, at, len)
    }

    /// Whether the payload of frames that are taken off is still with their sender.
    pub fn headers_only(&self) -> bool {
        self.copies == Copies::Receiver
    }

    /// Says that nothing more is read of the oldest frame that was taken off.
    pub fn collected(&mut self) {
        self.done = self.done.wrapping_add(1);
        self.words.store_release(DONE, self.done);
    }

    /// What moves its bytes.
    pub fn mover(&self) -> &M {
        &self.mover
    }

    /// The frame that is being received.
    pub fn receiving(&self) -> Option<Frame> {
        self.receiving
    }

    /// The longest frame. What stands for the payload of one that the receiver copies is 4 bytes,
    /// however long that is.
    fn longest(&self) -> usize {
        match self.copies {
            Copies::Both => self.room,
            Copies::Receiver => u32::MAX as usize,
        }
    }

    /// The next frame, once.
    fn look(&mut self) -> Result<Frame, NoFrame> {
        if let Some(frame) = self.receiving {
            return Ok(frame);
        }
        may_read(state(self.theirs.load_acquire(WRITTEN), self.read))?;
        let (len, header) = (self.theirs.load(LENGTH) as usize, self.theirs.load(HEADER) as usize);
        // What there is of it in the area.
        let here = match self.copies {
            Copies::Both => len,
            Copies::Receiver if len > header => header.saturating_add(4),
            Copies::Receiver => header,
        };
        if len > self.longest() || header > len || header.saturating_add(4) > KEPT {
            return Err(NoFrame::Gone);
        }
        self.read = self.read.wrapping_add(1);
        self.words.store_release(READ, self.read);
        self.peer.invalidate(ADMINISTRATION, here as u32);
        let mut first = [0; KEPT];
        let there = here.min(header + 4);
        let read = first.get_mut(..there).map(|first| self.peer.read(ADMINISTRATION, first));
        if read != Some(Ok(())) {
            return Err(NoFrame::Gone);
        }
        let pointer = first.get(header..header + 4).and_then(|bytes| bytes.try_into().ok());
        let place = pointer.map_or(0, u32::from_le_bytes);
        let frame = Frame { first, header, len, place };
        self.receiving = Some(frame);
        Ok(frame)
    }

    /// Gives the area back to its sender.
    fn free_area(&mut self) {
        self.receiving = None;
        self.read = self.read.wrapping_add(1);
        self.words.store_release(READ, self.read);
        if self.acknowledges == Acknowledges::Interrupt {
            self.mover.ring();
        }
    }
}

impl<M: Exposes> Frames for Copied<M> {
    type Buffer = M::Buffer;

    fn mtu(&self) -> usize {
        self.longest()
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&M::Buffer, usize, usize)>,
    ) -> Result<(), NotSent> {
        let bytes = payload.map_or(0, |(_, _, len)| len);
        let len = header.len().checked_add(bytes).ok_or(NotSent::TooLong)?;
        if len > self.longest() || header.len() + 4 > KEPT {
            return Err(NotSent::TooLong);
        }
        may_write(self.sending())?;
        self.words.store(WRITTEN, self.written.wrapping_add(1));
        let behind = ADMINISTRATION + header.len() as u32;
        let moved = self.own.write(ADMINISTRATION, header).map_err(|OutOfRange| NotThere);
        let moved = moved.and_then(|()| match (payload, self.copies) {
            (None | Some((_, _, 0)), _) => Ok(()),
            (Some((from, at, len)), Copies::Both) => {
                self.mover.put(&self.own, behind, from, at, len)
            }
            (Some((from, at, len)), Copies::Receiver) => {
                let place = self.mover.expose(from, at, len)?.to_le_bytes();
                self.own.write(behind, &place).map_err(|OutOfRange| NotThere)
            }
        });
        if moved.is_err() {
            self.words.store(WRITTEN, self.written);
            return Err(NotSent::TooLong);
        }
        let here = if self.copies == Copies::Both { len } else { header.len() + 4 };
        self.own.clean(ADMINISTRATION, here as u32);
        self.words.store(LENGTH, len as u32);
        self.words.store(HEADER, header.len() as u32);
        self.written = self.written.wrapping_add(2);
        self.words.store_release(WRITTEN, self.written);
        self.mover.ring();
        Ok(())
    }

    fn holds(&mut self) -> bool {
        self.uncollected()
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
        if from.checked_add(len).is_none_or(|end| end > frame.len) {
            return Err(NotThere);
        }
        match self.copies {
            Copies::Both => {
                self.mover.get(&self.peer, ADMINISTRATION + from as u32, buffer, at, len)
            }
            Copies::Receiver => self.collect(&frame, from, len, buffer, at),
        }
    }

    fn release(&mut self) {
        if self.receiving.is_some() {
            self.collected();
            self.free_area();
        }
    }
}
