//! The short way of a signal: from the memory it was made in onto the ring, and off the ring into the
//! memory it is received in, past inbox and queues. What it cannot do, it leaves to the long way.

use narrows::connection::{Arrived, Signal as Travelling, UDATA};
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::endpoint::Address;
use narrows::link::handler::Spid;

use super::Stack;
use super::core::Core;
use super::driver::{FRAMES, MTU, not_sent};
use super::signal::Signal;
use super::unit::Manager;
use crate::Node;

/// Signals that are received before what else there is to do is looked at.
pub(super) const HASTY: u32 = 64;

/// What a look at the rings came to.
pub(super) enum Look {
    /// The signal that is waited for.
    Signal(Signal),
    /// Something else, which is seen to.
    Other,
    Nothing,
    /// The long way has to look.
    More,
}

/// A frame that is in one piece, in the memory of its signal.
pub(super) struct Whole<'a> {
    pub signal: &'a mut Signal,
    /// The bytes of a frame that came.
    pub came: Option<usize>,
    /// Where one goes.
    pub way: Option<(&'a mut Node, Address)>,
}

impl Frames for Whole<'_> {
    /// It is always this signal's.
    type Buffer = ();

    fn mtu(&self) -> usize {
        MTU
    }

    #[inline]
    fn try_send(
        &mut self,
        header: &[u8],
        _payload: Option<(&(), usize, usize)>,
    ) -> Result<(), NotSent> {
        let Some((node, to)) = &mut self.way else { return Err(NotSent::Full) };
        let frame = self.signal.frame_mut();
        let front = frame.first_chunk_mut::<UDATA>().ok_or(NotSent::TooLong)?;
        *front = *header.first_chunk().ok_or(NotSent::TooLong)?;
        node.try_send(FRAMES, *to, &*frame).map_err(not_sent)
    }

    #[inline]
    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        let came = self.came.ok_or(NoFrame::Empty)?;
        let fits = header.len().min(came);
        if let (Some(to), Some(from)) =
            (header.get_mut(..fits), self.signal.frame_mut().get(..fits))
        {
            to.copy_from_slice(from);
        }
        Ok(came)
    }

    #[inline]
    fn read(&mut self, from: usize, len: usize, _: &mut (), at: usize) -> Result<(), NotThere> {
        let there = from == UDATA && at == 0 && self.came == from.checked_add(len);
        there.then_some(()).ok_or(NotThere)
    }

    #[inline]
    fn release(&mut self) {
        self.came = None;
    }
}

/// Memory for the frame that is next, of so many bytes: what is kept, if it will do.
#[inline]
fn place(kept: &mut Option<Signal>, len: usize) -> Option<&mut [u8]> {
    let size = len.saturating_sub(UDATA);
    if len > MTU {
        return None;
    }
    if !kept.as_mut().is_some_and(|kept| kept.reuse(size)) {
        *kept = Some(Signal::raw(size)?);
    }
    kept.as_mut()?.frame_mut().get_mut(..len)
}

impl Core {
    /// Takes the next frame, if it is the only one and none waits before it.
    #[inline]
    pub fn quick(&mut self, spid: Spid, wanted: &impl Fn(&Signal) -> bool) -> Look {
        if self.held || self.hasty >= HASTY || self.stack == Stack::Layered {
            return Look::More;
        }
        let (node, kept) = (&mut self.around.node, &mut self.around.kept);
        let received = match node.take_first_to(FRAMES, |len| place(kept, len)) {
            (Some(received), _) => received,
            (None, true) => return Look::Nothing,
            (None, false) => return Look::More,
        };
        self.hasty += 1;
        let Some(at) = self.unit_of(received.from.link) else { return Look::Other };
        self.around.caller = Some(spid);
        self.take_whole(at, received.len);
        self.around.caller = None;
        let Some(queued) = self.around.handed.take() else { return Look::Other };
        if !wanted(&queued.signal) {
            self.around.put(spid, queued);
            return Look::Other;
        }
        if let Some((link, of)) = queued.via {
            self.around.give_back(link, of);
        }
        Look::Signal(queued.signal)
    }

    /// Takes the frame of a link that is in the memory which is kept.
    #[inline]
    fn take_whole(&mut self, at: u16, len: usize) {
        let now = self.around.now();
        let unit = self.around.units.get_mut(usize::from(at)).and_then(Option::as_mut);
        let kept = self.around.kept.as_mut();
        let (Some(Manager::Flat(flat)), Some(kept)) = (unit.map(|unit| &mut unit.manager), kept)
        else {
            return;
        };
        let mut frame = Whole { signal: kept, came: Some(len), way: None };
        let arrived = match flat.receive(&mut frame, now, |_| Some(())) {
            Arrived::Signal(Travelling { from, to, len, buffer: () }) => {
                let Some(buffer) = self.around.kept.take() else { return };
                Arrived::Signal(Travelling { from, to, len, buffer })
            }
            Arrived::Nothing | Arrived::NoBuffer => return,
            Arrived::Part => Arrived::Part,
            Arrived::Up => Arrived::Up,
            Arrived::Down(why) => Arrived::Down(why),
        };
        self.arrived(at, arrived);
    }
}
