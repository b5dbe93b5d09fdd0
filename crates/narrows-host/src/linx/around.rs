//! What the link handler of a node has around it: the node below, its links and its endpoints.

use narrows::connection::{Refused, Settings, Signal as Travelling};
use narrows::link::LinkId;
use narrows::linx::unit::Left;
use narrows::linx::{Adaption, Spid};
use narrows::platform::{Instant, Platform};

use super::bare::NAMES;
use super::driver::Driver;
use super::local::{Local, Queued, Timer};
use super::signal::Signal;
use super::unit::{Inner, Manager, Unit};
use super::waits::{Awaited, Waits};
use crate::Node;

pub(super) struct Around {
    pub node: Node,
    pub units: Vec<Option<Unit>>,
    pub locals: Vec<Local>,
    pub timers: Vec<Timer>,
    pub waits: Waits,
    pub settings: Settings,
    /// Bytes of the longest frame.
    pub mtu: usize,
    /// Memory of a signal that was sent, for the next that comes.
    pub kept: Option<Signal>,
    /// The endpoint in whose call a frame is taken: its signal is handed to it, past its queue.
    pub caller: Option<Spid>,
    pub handed: Option<Queued>,
}

impl Around {
    #[inline]
    pub fn now(&self) -> Instant {
        // Without heartbeats nobody asks when something was sent.
        match self.settings.heartbeat {
            Some(_) => self.node.platform().now(),
            None => Instant(0),
        }
    }

    /// A link's unit, its driver, and the time.
    #[inline]
    pub fn unit(&mut self, link: u16) -> Option<(&mut Inner, Driver<'_>, Instant)> {
        let now = self.now();
        let unit = self.units.get_mut(usize::from(link))?.as_mut()?;
        let Unit { to, flow, inner, naming, .. } = unit;
        let numbers = inner.connection().numbers();
        let (node, kept, to, flow, mtu) = (&mut self.node, &mut self.kept, *to, *flow, self.mtu);
        Some((inner, Driver { node, to, flow, mtu, tag: 0, naming, numbers, kept }, now))
    }

    #[inline]
    pub fn local(&mut self, spid: Spid) -> Option<&mut Local> {
        self.locals.iter_mut().find(|local| local.spid == spid)
    }

    /// Says what a connection has to say, and sends what it has queued. What finds no room is said
    /// when there is some.
    pub fn attend(&mut self, link: u16) {
        let Some((unit, mut driver, now)) = self.unit(link) else { return };
        // What a peer turned out not to take is dropped here; its sender was told that when the
        // connection was up.
        let left = unit.transmit(&mut driver, now);
        self.want_room(link, |unit| unit.owes = left != Left::Nothing);
    }

    /// Notes which endpoint wants room on a link: while any does, room ends waits.
    pub fn want_room(&mut self, link: u16, note: impl FnOnce(&mut Unit)) {
        let unit = self.units.get_mut(usize::from(link)).and_then(Option::as_mut);
        let Some(unit) = unit else { return };
        let wants = |unit: &Unit| unit.owes || unit.senders > 0;
        let before = wants(unit);
        note(unit);
        if wants(unit) != before {
            let _ = self.node.link(unit.link).want_room(!before);
            self.waits.stir();
        }
    }

    /// A signal is used: as many more may come.
    #[inline]
    pub fn give_back(&mut self, link: u16, of: LinkId) {
        let unit = self.units.get_mut(usize::from(link)).and_then(Option::as_mut);
        let Some(unit) = unit.filter(|unit| unit.link == of) else { return };
        if unit.inner.give_back(1) {
            self.attend(link);
        }
    }

    /// Notes that a link did not take a signal.
    #[inline(never)]
    fn refused(&mut self, link: u16, why: Refused, to: u32) {
        if to == 0 && why == Refused::Full {
            // The link handler says it as soon as there is room.
            self.want_room(link, |unit| unit.owes = true);
        }
    }

    /// Puts a signal in an endpoint's queue and tells the threads that wait for it.
    pub fn put(&mut self, to: Spid, queued: Queued) {
        if let Some(local) = self.local(to) {
            local.put(queued);
            self.waits.tell(Awaited::Signal(to));
        }
    }
}

impl Adaption for Around {
    type Buffer = Signal;

    fn make(&mut self, bytes: &[u8]) -> Option<Signal> {
        let mut signal = Signal::raw(bytes.len())?;
        signal.bytes_mut().copy_from_slice(bytes);
        Some(signal)
    }

    fn read(&self, buffer: &Signal, to: &mut [u8]) -> bool {
        let bytes = buffer.bytes().get(..to.len());
        bytes.is_some_and(|bytes| {
            to.copy_from_slice(bytes);
            true
        })
    }

    fn free(&mut self, buffer: Signal) {
        self.kept = Some(buffer);
    }

    #[inline]
    fn deliver(&mut self, signal: Travelling<Signal>, via: Option<u16>) {
        let link = via.and_then(|at| Some((at, self.units.get(usize::from(at))?.as_ref()?.link)));
        let Travelling { from, to, buffer: mut signal, .. } = signal;
        signal.set_sender(Spid(from));
        let (to, queued) = (Spid(to), Queued { signal, via: link });
        if link.is_some() && self.caller == Some(to) {
            self.handed = Some(queued);
        } else {
            self.put(to, queued);
        }
    }

    fn transmit(
        &mut self,
        link: u16,
        signal: Travelling<Signal>,
    ) -> Result<(), (Refused, Travelling<Signal>)> {
        let Some((unit, mut driver, now)) = self.unit(link) else {
            return Err((Refused::Full, signal));
        };
        let (from, to) = (signal.from, signal.to);
        let flat = matches!(unit.connection(), Manager::Flat(_));
        // What link handlers say is not between endpoints.
        let names = flat && to != 0;
        driver.tag = if names { NAMES } else { 0 };
        let sent = unit.send(&mut driver, now, signal);
        if !flat {
            self.attend(link);
        }
        match &sent {
            Ok(()) => {
                if let Some(Some(unit)) = self.units.get_mut(usize::from(link))
                    && names
                {
                    unit.named = [from, to];
                }
            }
            Err((why, _)) => self.refused(link, *why, to),
        }
        sent
    }
}
