//! A driver of frames that a test can look into: two queues of bytes.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::driver::{Frames, NoFrame, NotSent, NotThere};

/// What travels one way.
#[derive(Default)]
pub struct Lane {
    pub frames: VecDeque<Vec<u8>>,
    /// Whether nothing travels any more.
    pub gone: bool,
}

/// One side of a driver.
pub struct Line {
    pub out: Rc<RefCell<Lane>>,
    pub into: Rc<RefCell<Lane>>,
    pub mtu: usize,
    /// Frames under way before the driver is full.
    pub room: usize,
    /// Whether buffers that were sent stay in use.
    pub holding: bool,
}

/// Both sides.
pub fn line(mtu: usize, room: usize) -> (Line, Line) {
    let [a, b] = [(); 2].map(|()| Rc::new(RefCell::new(Lane::default())));
    let side = |out: &Rc<_>, into: &Rc<_>| Line {
        out: Rc::clone(out),
        into: Rc::clone(into),
        mtu,
        room,
        holding: false,
    };
    (side(&a, &b), side(&b, &a))
}

impl Frames for Line {
    type Buffer = Vec<u8>;

    fn mtu(&self) -> usize {
        self.mtu
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Vec<u8>, usize, usize)>,
    ) -> Result<(), NotSent> {
        let mut lane = self.out.borrow_mut();
        let part = payload.map_or(Some(&[][..]), |(buffer, at, len)| buffer.get(at..at + len));
        let frame = [header, part.ok_or(NotSent::TooLong)?].concat();
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

    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        let lane = self.into.borrow();
        let none = if lane.gone { NoFrame::Gone } else { NoFrame::Empty };
        let frame = lane.frames.front().ok_or(none)?;
        let fits = header.len().min(frame.len());
        header[..fits].copy_from_slice(&frame[..fits]);
        Ok(frame.len())
    }

    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut Vec<u8>,
        at: usize,
    ) -> Result<(), NotThere> {
        let lane = self.into.borrow();
        let part = lane.frames.front().and_then(|frame| frame.get(from..from + len));
        let to = buffer.get_mut(at..at + len).ok_or(NotThere)?;
        to.copy_from_slice(part.ok_or(NotThere)?);
        Ok(())
    }

    fn release(&mut self) {
        self.into.borrow_mut().frames.pop_front();
    }
}
