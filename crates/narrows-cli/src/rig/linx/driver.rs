//! The five drivers, on a simulated chip and on this machine.

use std::cell::Cell;
use std::rc::Rc;

use narrows::driver::area::{ADMINISTRATION, Acknowledges, Copied, Copies, Frame, Gathered, Mover};
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows_sim::cpu::{Hands, Stretch};
use narrows_sim::engine::Pid;

use super::carrier::Carrier;
use super::hand::Hand;
use super::memory::Map;
use crate::formats::linx::DriverName;

type Buffer<H> = <H as Mover>::Buffer;

/// One of the five drivers.
pub(crate) enum Driver<H: Carrier> {
    Copied(Copied<H>),
    Gathered(Gathered<H>),
}

/// A frame that was taken off its driver.
pub(crate) struct Taken<B> {
    pub frame: Frame,
    /// The buffer that it was copied to, if it was.
    pub buffer: Option<B>,
    /// Whether it is still where it came to, and its sender waits.
    pub there: bool,
}

impl Driver<Hand> {
    /// One end of a unit.
    pub fn new(
        which: DriverName,
        map: &Map,
        (own, peer): (usize, usize),
        hands: &Hands,
        rings: &Rc<Cell<Option<Pid>>>,
    ) -> Option<Driver<Hand>> {
        let [base, other] = [map.base(own, peer), map.base(peer, own)];
        let hand = Hand {
            hands: hands.clone(),
            home: map.home,
            peer,
            theirs: (map.frames, other),
            rings: Rc::clone(rings),
        };
        let [ours, theirs] =
            [base, other].map(|at| Stretch::new(hands, (map.frames, at), map.area()));
        let acknowledges = acknowledges(which);
        let copied = |copies, hand, ours: Stretch, theirs: Stretch| {
            let len = ADMINISTRATION + map.mtu as u32;
            let of = |whole: Stretch| {
                let place = whole.find(0, len as usize).ok()?;
                Some(Stretch::new(hands, place, len))
            };
            Copied::new(hand, of(ours)?, of(theirs)?, copies, acknowledges).ok()
        };
        match which {
            DriverName::ShmAck | DriverName::ShmNoack => {
                copied(Copies::Both, hand, ours, theirs).map(Driver::Copied)
            }
            DriverName::SingleCopy => {
                copied(Copies::Receiver, hand, ours, theirs).map(Driver::Copied)
            }
            DriverName::DmaAck | DriverName::DmaNoack => {
                let end = Gathered::new(hand, ours, theirs, (map.buffers(), map.mtu), acknowledges);
                end.ok().map(Driver::Gathered)
            }
        }
    }

    /// Buffers for frames that are copied off the area.
    pub fn buffers(map: &Map, (own, peer): (usize, usize), hands: &Hands) -> Vec<Stretch> {
        let first = map.base(own, peer) + map.area();
        let at = |number| (map.frames, first + number * map.buffer());
        (0..map.buffers()).map(|number| Stretch::new(hands, at(number), map.buffer())).collect()
    }
}

/// How a driver acknowledges.
pub(crate) fn acknowledges(which: DriverName) -> Acknowledges {
    if which.acknowledges() { Acknowledges::Interrupt } else { Acknowledges::Lazily }
}

impl<H: Carrier> Driver<H> {
    fn frames(&mut self) -> &mut dyn Frames<Buffer = Buffer<H>> {
        match self {
            Driver::Copied(driver) => driver,
            Driver::Gathered(driver) => driver,
        }
    }

    /// Whether a frame has come.
    pub fn look(&mut self) -> bool {
        self.frames().try_receive(&mut []).is_ok()
    }

    /// Whether what was sent last has been taken.
    pub fn acknowledged(&self) -> bool {
        use narrows::driver::area::AreaState::{Empty, Read};
        let state = match self {
            Driver::Copied(driver) => driver.sending(),
            Driver::Gathered(driver) => driver.sending(),
        };
        matches!(state, Some(Empty | Read))
    }

    /// Begins with the frame that has come, where it is.
    pub fn straight(&mut self) -> Option<Taken<Buffer<H>>> {
        let frame = match self {
            Driver::Copied(driver) => driver.receiving(),
            Driver::Gathered(driver) => driver.receiving(),
        };
        Some(Taken { frame: frame?, buffer: None, there: true })
    }

    /// Takes the next frame off, to a buffer if one is needed.
    pub fn detach(&mut self, buffers: &mut Vec<Buffer<H>>) -> Result<Taken<Buffer<H>>, NoFrame> {
        match self {
            Driver::Gathered(driver) => {
                let frame = driver.detach()?;
                driver.mover().refill();
                Ok(Taken { frame, buffer: None, there: false })
            }
            Driver::Copied(driver) => {
                if buffers.is_empty() {
                    return Err(NoFrame::Empty);
                }
                let mut buffer = buffers.remove(0);
                let frame = driver.detach(&mut buffer)?;
                if driver.headers_only() {
                    buffers.insert(0, buffer);
                    return Ok(Taken { frame, buffer: None, there: false });
                }
                Ok(Taken { frame, buffer: Some(buffer), there: false })
            }
        }
    }

    /// Copies part of a frame that was taken off.
    pub fn collect(
        &self,
        taken: &Taken<Buffer<H>>,
        from: usize,
        len: usize,
        to: &mut Buffer<H>,
        at: usize,
    ) -> Result<(), NotThere> {
        match (self, &taken.buffer) {
            (Driver::Copied(driver), Some(buffer)) => {
                driver.mover().copy((to, at), (buffer, from), len)
            }
            (Driver::Copied(driver), None) => driver.collect(&taken.frame, from, len, to, at),
            (Driver::Gathered(driver), _) => driver.collect(&taken.frame, from, len, to, at),
        }
    }

    /// Copies part of the frame that is still where it came to.
    ///
    /// # Errors
    /// As [`Frames::read`].
    pub fn read(
        &mut self,
        from: usize,
        len: usize,
        to: &mut Buffer<H>,
        at: usize,
    ) -> Result<(), NotThere> {
        self.frames().read(from, len, to, at)
    }

    /// Ends with the frame that is still where it came to.
    pub fn release(&mut self) {
        self.frames().release();
    }

    /// Has the buffer of a frame that was taken off be used again, if it is the driver's.
    pub fn give_back(&mut self, taken: &Taken<Buffer<H>>) {
        if let Driver::Gathered(driver) = self {
            driver.give_back(&taken.frame);
        }
    }

    /// Tells the sender that nothing more is read of the oldest frame that was taken off.
    pub fn collected(&mut self) {
        if let Driver::Copied(driver) = self {
            driver.collected();
        }
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// As [`Frames::try_send`].
    pub fn send(
        &mut self,
        header: &[u8],
        payload: Option<(&Buffer<H>, usize, usize)>,
    ) -> Result<(), NotSent> {
        self.frames().try_send(header, payload)
    }

    /// Whether signals that were sent may still be read.
    pub fn holds(&self) -> bool {
        match self {
            Driver::Copied(driver) => driver.uncollected(),
            Driver::Gathered(_) => !self.acknowledged(),
        }
    }

    /// The longest frame.
    pub fn mtu(&self) -> usize {
        match self {
            Driver::Copied(driver) => driver.mtu(),
            Driver::Gathered(driver) => driver.mtu(),
        }
    }
}
