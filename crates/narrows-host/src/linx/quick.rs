//! The short way of a signal: from the memory it was made in onto the ring, and off the ring into
//! the memory it is received in, past inbox and queues. What it cannot do, it leaves to the long
//! way.

use narrows::connection::{Arrived, Signal as Travelling, UDATA};
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::endpoint::{Message, Received, Route};
use narrows::linx::Spid;
use narrows::memory::Plain;

use super::Stack;
use super::bare::{given, tag};
use super::core::Core;
use super::driver::{FRAMES, MTU, USUAL};
use super::local::Queued;
use super::signal::{NUMBER, Signal};
use super::unit::{Manager, Unit};

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

/// A frame that came, in one piece, in the memory of its signal.
struct Whole<'a> {
    signal: &'a mut Signal,
    /// Its bytes, until it is taken.
    came: Option<usize>,
}

impl Frames for Whole<'_> {
    /// It is always this signal's.
    type Buffer = ();

    fn mtu(&self) -> usize {
        MTU
    }

    fn try_send(
        &mut self,
        _header: &[u8],
        _payload: Option<(&(), usize, usize)>,
    ) -> Result<(), NotSent> {
        Err(NotSent::Full)
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

/// Memory for the frame that is next, of `len` bytes and this tag: what is kept, if it will do.
#[inline(always)]
fn place(kept: &mut Option<Signal>, len: usize, tag: u16) -> Option<&mut [u8]> {
    let bare = given(tag).is_some();
    let size = if bare { len } else { len.saturating_sub(UDATA) };
    if size > MTU - UDATA {
        return None;
    }
    if !kept.as_mut().is_some_and(|kept| kept.reuse(size)) {
        *kept = Some(Signal::raw(size)?);
    }
    let kept = kept.as_mut()?;
    if bare { Some(kept.bytes_mut()) } else { kept.frame_mut().get_mut(..len) }
}

impl Core {
    /// Sends a signal to somebody at the other end of a link without a header, if it is between the
    /// same two as the one before it and nothing speaks against it.
    #[inline(always)]
    pub fn send_quick(&mut self, from: Spid, to: Spid, signal: &Signal) -> bool {
        let Some((at, there)) = self.handler.way(to) else { return false };
        let now = self.around.now();
        let unit = self.around.units.get_mut(usize::from(at)).and_then(Option::as_mut);
        let Some(Unit { inner, to, route, named, .. }) = unit else { return false };
        let Manager::Flat(flat) = inner.connection() else { return false };
        let bytes = signal.bytes();
        if *named != [from.0, there.0] {
            return false;
        }
        let Some(tag) = flat.bare(bytes.len()).and_then(tag) else { return false };
        let node = &mut self.around.node;
        if !node.is_current(route) {
            *route = node.route(FRAMES, *to).unwrap_or(Route::NONE);
        }
        let sent = match node.post_short(route, Plain { priority: USUAL, tag, bytes }) {
            Some(rings) => {
                if rings {
                    node.ring_link(to.link);
                }
                true
            }
            None => node.try_send(FRAMES, *to, Message::new(bytes).tag(tag)).is_ok(),
        };
        if sent {
            flat.sent_bare(now);
        }
        sent
    }

    /// Takes the next frame, if it is the only one and none waits before it.
    #[inline(always)]
    pub fn quick(&mut self, spid: Spid, wanted: &impl Fn(&Signal) -> bool) -> Look {
        if self.held || self.hasty >= HASTY || self.stack == Stack::Layered {
            return Look::More;
        }
        let (node, kept) = (&mut self.around.node, &mut self.around.kept);
        let received = match node.take_first_to(FRAMES, |len, tag| place(kept, len, tag)) {
            (Some(received), _) => received,
            (None, true) => return Look::Nothing,
            (None, false) => return Look::More,
        };
        self.hasty += 1;
        let look = self.take_usual(&received, spid, wanted);
        look.unwrap_or_else(|| self.take_otherwise(received, spid, wanted))
    }

    /// Takes the frame of a link that is in the memory which is kept, if it came without a header,
    /// is a signal for this endpoint from the one that sent over that link last, and nothing speaks
    /// against it.
    #[inline(always)]
    fn take_usual(
        &mut self,
        received: &Received,
        spid: Spid,
        wanted: &impl Fn(&Signal) -> bool,
    ) -> Option<Look> {
        let now = self.around.now();
        let units = (0..).zip(&mut self.around.units);
        let (at, unit) = units
            .filter_map(|(at, unit)| Some((at, unit.as_mut()?)))
            .find(|(_, unit)| unit.link == received.from.link)?;
        let Manager::Flat(flat) = unit.inner.connection() else { return None };
        let given = given(received.tag).filter(|given| flat.look_bare(received.len, *given))?;
        let [from, to] = unit.naming;
        if to != spid.0 || received.len < NUMBER {
            return None;
        }
        let here = self.handler.last(at, Spid(from))?;
        flat.took_bare(given, now);
        let mut signal = self.around.kept.take()?;
        signal.set_sender(here);
        if wanted(&signal) {
            // It is used as it comes.
            if flat.give_back(1) {
                self.around.attend(at);
            }
            return Some(Look::Signal(signal));
        }
        let via = Some((at, unit.link));
        self.around.put(spid, Queued { signal, via });
        Some(Look::Other)
    }

    /// Takes the frame of a link that is in the memory which is kept, whatever it is.
    #[inline(never)]
    fn take_otherwise(
        &mut self,
        received: Received,
        spid: Spid,
        wanted: &impl Fn(&Signal) -> bool,
    ) -> Look {
        let Some(at) = self.unit_of(received.from.link) else { return Look::Other };
        self.around.caller = Some(spid);
        self.take_whole(at, received.tag, received.len);
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
    fn take_whole(&mut self, at: u16, tag: u16, len: usize) {
        let now = self.around.now();
        let unit = self.around.units.get_mut(usize::from(at)).and_then(Option::as_mut);
        let (Some(unit), Some(kept)) = (unit, self.around.kept.as_mut()) else { return };
        let len = if given(tag).is_some() { len + UDATA } else { len };
        if let Some(header) = kept.header_mut() {
            unit.complete(tag, header, len);
        }
        let Manager::Flat(flat) = unit.inner.connection() else { return };
        let mut frame = Whole { signal: kept, came: Some(len) };
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
