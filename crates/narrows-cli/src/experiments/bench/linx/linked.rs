//! The stack's link handler on a simulated core: what it has around it there.
//!
//! A core is a node `core0`, `core1` and so on, and its application the endpoint `application` of
//! it; the link handler's number for a link is that of the core at its other end. What the handler
//! itself computes takes no simulated time; its signals take what frames take.

use narrows::connection::{Arrived, Refused, Signal};
use narrows::linx::{Adaption, Handler, HandlerError, Limits, Path, Spid, Taken};
use narrows::platform::{Instant, Memory, OwnMemory};
use narrows::span::Span;
use narrows_sim::cpu::{Cpu, Stretch};

use super::core::{Core, Letter, Linked, Unit};
use crate::formats::linx::Stack;

/// The name of every core's application.
const APPLICATION: &str = "application";

impl Linked {
    /// A handler that knows the core's links and its application. None if there are too many.
    fn new(core: &Core, cpu: &Cpu) -> Option<Linked> {
        let mut handler = Handler::new(cpu, Limits::default()).ok()?;
        for number in 0..core.units.len() {
            handler.add_link(format!("core{number}").parse().ok()?).ok()?;
        }
        let mut around = Around { core, cpu };
        let application = handler.open(&mut around, Some(APPLICATION.parse().ok()?)).ok()?;
        Some(Linked { handler, application })
    }
}

/// What the link handler has around it.
struct Around<'a> {
    core: &'a Core,
    cpu: &'a Cpu,
}

impl Adaption for Around<'_> {
    type Buffer = Stretch;

    fn make(&mut self, bytes: &[u8]) -> Option<Stretch> {
        let buffer = self.core.pool.take(&self.core.hands)?;
        match buffer.write(0, bytes) {
            Ok(()) => Some(buffer),
            Err(_) => {
                self.core.pool.give(&buffer);
                None
            }
        }
    }

    fn read(&self, buffer: &Stretch, to: &mut [u8]) -> bool {
        Memory::read(buffer, 0, to).is_ok()
    }

    fn free(&mut self, buffer: Stretch) {
        self.core.pool.give(&buffer);
    }

    fn deliver(&mut self, signal: Signal<Stretch>, via: Option<u16>) {
        let peer = via.map_or(self.core.number, usize::from);
        self.core.deliver(self.cpu, Letter::of(peer, signal.from, &signal.buffer, signal.len));
    }

    fn transmit(
        &mut self,
        link: u16,
        signal: Signal<Stretch>,
    ) -> Result<(), (Refused, Signal<Stretch>)> {
        let (core, cpu) = (self.core, self.cpu);
        let Some(Some(unit)) = core.units.get(usize::from(link)) else {
            return Err((Refused::Full, signal));
        };
        let send = |signal| unit.unit.send(&mut core.way(cpu, unit), Instant(0), signal);
        if core.setup.stack == Stack::Flat {
            return send(signal);
        }
        core.layer(cpu, "connection", Some(Span::Connection), || {
            send(signal)?;
            core.note_queues(unit);
            core.send_on(cpu, unit);
            Ok(())
        })
    }
}

impl Core {
    /// Does something with the link handler. A process that does is not interrupted by another that
    /// would: layered, its process and the receiver are more urgent than the process that wakes
    /// them, and flat, interrupts are masked.
    fn with_handler<T>(
        &self,
        cpu: &Cpu,
        work: impl FnOnce(&mut Linked, &mut Around<'_>) -> T,
    ) -> Option<T> {
        let mut linked = self.linked.borrow_mut();
        if linked.is_none() {
            *linked = Linked::new(self, cpu);
        }
        Some(work(linked.as_mut()?, &mut Around { core: self, cpu }))
    }

    /// Sends a signal of the application's. False if there is no room now.
    pub fn send_signal(&self, cpu: &Cpu, letter: Letter) -> bool {
        let sent = self.with_handler(cpu, |linked, around| {
            let signal = (self.pool.at(&self.hands, letter.address), letter.len);
            linked.handler.send(around, linked.application, Spid(letter.spid), signal)
        });
        match sent {
            Some(Err((HandlerError::Refused(Refused::Full), _))) => false,
            Some(Err((_, buffer))) => {
                self.pool.give(&buffer);
                true
            }
            Some(Ok(())) | None => true,
        }
    }

    /// Looks for the application of another core: the letter's signal comes from it.
    pub fn hunt(&self, cpu: &Cpu, letter: Letter) {
        self.with_handler(cpu, |linked, around| {
            let path: Path = format!("core{}/{APPLICATION}", letter.peer).parse().ok()?;
            let signal = (self.pool.at(&self.hands, letter.address), letter.len);
            linked.handler.hunt(around, linked.application, path, signal).ok()
        });
    }

    /// Has the handler say what it had no room for.
    pub fn say(&self, cpu: &Cpu) {
        self.with_handler(cpu, |linked, around| linked.handler.attend(around));
    }

    /// Does what there is to do with what a frame brought.
    pub fn arrived(&self, cpu: &Cpu, peer: usize, unit: &Unit, arrived: Arrived<Stretch>) {
        let link = peer as u16;
        self.with_handler(cpu, |Linked { handler, .. }, around| match arrived {
            Arrived::Up => handler.link_up(around, link),
            Arrived::Down(_) => handler.link_down(around, link),
            Arrived::Signal(signal) => {
                let counts = signal.to != 0;
                match handler.receive(around, link, signal) {
                    Ok(Taken::Delivered) => {}
                    Ok(Taken::Used) if counts => self.used(unit),
                    Ok(Taken::Used) => {}
                    // No core is between others.
                    Ok(Taken::Stalled(signal)) => self.pool.give(&signal.buffer),
                    Err(_) => unit.unit.close(),
                }
            }
            Arrived::Nothing | Arrived::Part | Arrived::NoBuffer => {}
        });
    }
}
