//! What the link handler of a node has around it: the node below, its links and its endpoints.

use narrows::connection::{Refused, Settings, Signal as Travelling};
use narrows::link::LinkId;
use narrows::linx::{Adaption, Spid};
use narrows::platform::{Instant, Platform};

use super::bare::NAMES;
use super::driver::Driver;
use super::local::{Local, Queued, Timer};
use super::signal::Signal;
use super::unit::{Manager, Unit};
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

    /// A link's connection, its driver, and the time.
    #[inline]
    pub fn unit(&mut self, link: u16) -> Option<(&mut Manager, Driver<'_>, Instant)> {
        let now = self.now();
        let unit = self.units.get_mut(usize::from(link))?.as_mut()?;
        let numbers = unit.manager.numbers();
        let Unit { to, flow, manager, naming, current, .. } = unit;
        let (node, to, flow, mtu) = (&mut self.node, *to, *flow, self.mtu);
        Some((manager, Driver { node, to, flow, mtu, tag: 0, naming, numbers, current }, now))
    }

    #[inline]
    pub fn local(&mut self, spid: Spid) -> Option<&mut Local> {
        self.locals.iter_mut().find(|local| local.spid == spid)
    }

    /// Says what a connection has to say, and sends what it has queued. What finds no room is said
    /// when there is some.
    pub fn attend(&mut self, link: u16) {
        let Some((manager, mut driver, now)) = self.unit(link) else { return };
        // What a peer turned out not to take is dropped here; its sender was told that when the
        // connection was up.
        let said = manager.transmit(&mut driver, now, drop);
        self.want_room(link, |unit| unit.owes = !said);
    }

    /// Notes who wants room on a link: while anybody does, it ends waits.
    pub fn want_room(&mut self, link: u16, note: impl FnOnce(&mut Unit)) {
        let unit = self.units.get_mut(usize::from(link)).and_then(Option::as_mut);
        let Some(unit) = unit else { return };
        let wants = |unit: &Unit| unit.owes || unit.senders > 0;
        let before = wants(unit);
        note(unit);
        if wants(unit) != before {
            let _ = self.node.want_room_for_messages(unit.link, !before);
            self.waits.stir();
        }
    }

    /// A signal is used: as many more may come.
    #[inline]
    pub fn give_back(&mut self, link: u16, of: LinkId) {
        let unit = self.units.get_mut(usize::from(link)).and_then(Option::as_mut);
        let Some(unit) = unit.filter(|unit| unit.link == of) else { return };
        if unit.manager.give_back(1) {
            self.attend(link);
        }
    }

    /// Gives a signal to a connection that queues, if there is one.
    #[inline(never)]
    fn queue(
        &mut self,
        link: u16,
        signal: Travelling<Signal>,
    ) -> Result<(), (Refused, Travelling<Signal>)> {
        let queued = match self.unit(link) {
            Some((Manager::Layered(layered), ..)) => {
                let queued = layered.send(signal);
                self.attend(link);
                queued
            }
            _ => Err((Refused::Full, signal)),
        };
        if let Err((why, signal)) = &queued {
            self.refused(link, *why, signal.to);
        }
        queued
    }

    /// Notes that a link did not take a signal.
    #[inline(never)]
    fn refused(&mut self, link: u16, why: Refused, to: u32) {
        if to == 0 && why == Refused::Full {
            // The link handler says it as soon as there is room.
            self.want_room(link, |unit| unit.owes = true);
        }
    }

    /// Puts a signal in an endpoint's queue and tells who waits for it.
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
        let Some((Manager::Flat(flat), mut driver, now)) = self.unit(link) else {
            return self.queue(link, signal);
        };
        let Travelling { from, to, len, buffer } = signal;
        // What link handlers say is not between endpoints.
        driver.tag = if to == 0 { 0 } else { NAMES };
        match flat.send(&mut driver, now, Travelling { from, to, len, buffer: &buffer }) {
            Ok(()) => {
                self.kept = Some(buffer);
                if let Some(Some(unit)) = self.units.get_mut(usize::from(link))
                    && to != 0
                {
                    unit.named = [from, to];
                }
                Ok(())
            }
            Err(why) => {
                self.refused(link, why, to);
                Err((why, Travelling { from, to, len, buffer }))
            }
        }
    }
}
