//! A driver of frames that a test can look into: two queues of bytes.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::rc::Rc;

use super::connection::Closed;
use super::driver::{Frames, NoFrame, NotSent, NotThere};
use super::heap::Heap;
use super::platform::{Memory as _, OwnMemory as _};

/// What frames are sent from and received to.
pub trait Bytes {
    fn part(&self, at: usize, len: usize) -> Option<Vec<u8>>;
    fn put(&mut self, at: usize, bytes: &[u8]) -> Option<()>;
}

impl Bytes for Vec<u8> {
    fn part(&self, at: usize, len: usize) -> Option<Vec<u8>> {
        Some(self.get(at..at.checked_add(len)?)?.to_vec())
    }
    fn put(&mut self, at: usize, bytes: &[u8]) -> Option<()> {
        self.get_mut(at..at.checked_add(bytes.len())?)?.copy_from_slice(bytes);
        Some(())
    }
}

impl Bytes for Heap {
    fn part(&self, at: usize, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.read(u32::try_from(at).ok()?, &mut bytes).ok()?;
        Some(bytes)
    }
    fn put(&mut self, at: usize, bytes: &[u8]) -> Option<()> {
        self.write(u32::try_from(at).ok()?, bytes).ok()
    }
}

/// What travels one way.
#[derive(Default)]
pub struct Lane {
    pub frames: VecDeque<Vec<u8>>,
    /// Whether nothing travels any more.
    pub gone: bool,
}

/// One side of a driver.
pub struct Line<B = Vec<u8>> {
    kept: PhantomData<B>,
    pub out: Rc<RefCell<Lane>>,
    pub into: Rc<RefCell<Lane>>,
    pub mtu: usize,
    /// Frames under way before the driver is full.
    pub room: usize,
    /// Whether buffers that were sent stay in use.
    pub holding: bool,
    /// How often it says that a copy engine still brings what was read.
    pub slow: u32,
    bringing: u32,
    receiving: bool,
    /// Whether its end is told to the other side when it is dropped.
    pub tells: bool,
}

/// Both sides.
pub fn line<B>(mtu: usize, room: usize) -> (Line<B>, Line<B>) {
    let [a, b] = [(); 2].map(|()| Rc::new(RefCell::new(Lane::default())));
    let side = |out: &Rc<_>, into: &Rc<_>| Line {
        kept: PhantomData,
        out: Rc::clone(out),
        into: Rc::clone(into),
        mtu,
        room,
        holding: false,
        slow: 0,
        bringing: 0,
        receiving: false,
        tells: false,
    };
    (side(&a, &b), side(&b, &a))
}

/// Both sides of what carries a link: a driver so slow that blocks are cut, that either side waits
/// for room and that a copy engine brings one side's bytes.
pub fn carrier() -> [Line<Heap>; 2] {
    let (one, mut other) = line(200, 3);
    other.slow = 2;
    [one, other]
}

/// Has what was sent go. False if some of it waits for room.
pub fn push(_: &mut Line<Heap>) -> Result<bool, Closed> {
    Ok(true)
}

impl<B> Drop for Line<B> {
    fn drop(&mut self) {
        if self.tells {
            self.out.borrow_mut().gone = true;
            self.into.borrow_mut().gone = true;
        }
    }
}

impl<B: Bytes> Frames for Line<B> {
    type Buffer = B;

    fn mtu(&self) -> usize {
        self.mtu
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&B, usize, usize)>,
    ) -> Result<(), NotSent> {
        let mut lane = self.out.borrow_mut();
        let part = payload.map_or(Some(Vec::new()), |(buffer, at, len)| buffer.part(at, len));
        let frame = [header, &part.ok_or(NotSent::TooLong)?].concat();
        match () {
            () if lane.gone => Err(NotSent::Gone),
            () if frame.len() > self.mtu => Err(NotSent::TooLong),
            () if lane.frames.len() >= self.room => Err(NotSent::Full),
            () => {
                lane.frames.push_back(frame);
                Ok(())
            }
        }
    }

    fn holds(&mut self) -> bool {
        self.holding
    }

    fn brings(&mut self) -> bool {
        let brings = self.bringing > 0;
        self.bringing = self.bringing.saturating_sub(1);
        brings
    }

    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        assert_eq!(self.bringing, 0, "a frame behind one that is being brought");
        let lane = self.into.borrow();
        let none = if lane.gone { NoFrame::Gone } else { NoFrame::Empty };
        let frame = lane.frames.front().ok_or(none)?;
        let fits = header.len().min(frame.len());
        header[..fits].copy_from_slice(&frame[..fits]);
        self.receiving = true;
        Ok(frame.len())
    }

    fn read(&mut self, from: usize, len: usize, buffer: &mut B, at: usize) -> Result<(), NotThere> {
        let lane = self.into.borrow();
        let part = lane.frames.front().and_then(|frame| frame.get(from..from.checked_add(len)?));
        self.bringing = self.slow;
        buffer.put(at, part.ok_or(NotThere)?).ok_or(NotThere)
    }

    fn release(&mut self) {
        assert_eq!(self.bringing, 0, "released while it is being brought");
        if std::mem::take(&mut self.receiving) {
            self.into.borrow_mut().frames.pop_front();
        }
    }
}
