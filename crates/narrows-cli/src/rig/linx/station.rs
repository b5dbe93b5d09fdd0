//! A node of this machine whose frames go by one of the five drivers: what is below a test case's
//! signals instead of a LINX node of `narrows_host`. Doorbells are the platform's, copy engines
//! threads of the receiver's, and everything else is the stack's: units, connections, link handler.

use std::collections::VecDeque;

use narrows::connection::flattened::Flattened;
use narrows::connection::point_to_point::PointToPoint;
use narrows::connection::{Arrived, Refused, Settings, Signal};
use narrows::driver::area::Copies;
use narrows::link::Name;
use narrows::linx::{Adaption as _, Handler, HandlerError, Limits, Path, Spid, Taken};
use narrows::platform::{Connected, Event, Platform};
use narrows_host::Host;
use narrows_host::area::{Block, Shape, Unit};

use super::around::{Around, Buffer, Letter, Link, Linked, NOW, Side, read};
use super::way::Way;
use crate::formats::linx::{Counter, DriverName, Stack};
use crate::rig::linx::driver::{Driver, acknowledges};

/// Places of a connection's queue, and of that of the frames that wait for it.
const QUEUE: usize = 128;
const FRAMES: usize = 1024;
/// Buffers for frames that were copied off the area and not looked at.
const BUFFERS: usize = 16;
/// Signals that a window lets through.
const WIDE: u16 = 1024;
const NARROW: u16 = 8;
/// Frames that may wait before interrupts are masked.
const MOST_WAITING: usize = 4;
/// The name of every node's endpoint.
const APPLICATION: &str = "application";

/// How a node is set up.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub driver: DriverName,
    pub stack: Stack,
    pub counter: Option<Counter>,
    pub shape: Shape,
}

/// How an attempt to send a signal went.
pub enum Attempt {
    Sent,
    /// There is no room: the signal.
    Full(Letter),
    /// The other side is gone, or takes no such signal.
    Failed,
}

/// The links of a node, its link handler, and the signals that have come for its application.
pub struct Station {
    setup: Setup,
    /// By the handler's numbers of links.
    sides: Vec<Side>,
    handler: Handler<Host, Buffer>,
    application: Spid,
    /// Whether the handler has something to say that had no room.
    unsaid: bool,
    inbox: VecDeque<Letter>,
}

impl Station {
    /// A node without links. None if there is no room for its tables.
    pub fn new(setup: Setup, host: &Host) -> Option<Station> {
        let limits = Limits { roaming: true, ..Limits::default() };
        let mut handler = Handler::new(host, limits).ok()?;
        let (mut sides, mut inbox) = (Vec::new(), VecDeque::new());
        let mut around = Around { sides: &mut sides, inbox: &mut inbox };
        let application = handler.open(&mut around, Some(APPLICATION.parse().ok()?)).ok()?;
        Some(Station { setup, sides, handler, application, unsaid: false, inbox })
    }

    /// Does something with the link handler.
    fn handle<T>(
        &mut self,
        work: impl FnOnce(&mut Handler<Host, Buffer>, &mut Around<'_>) -> T,
    ) -> T {
        let mut around = Around { sides: &mut self.sides, inbox: &mut self.inbox };
        let done = work(&mut self.handler, &mut around);
        self.unsaid = !self.handler.attend(&mut around);
        done
    }

    /// Does what there is to do at the rendezvous. False if a link cannot be used.
    pub fn hear(&mut self, host: &Host) -> bool {
        let mut fits = true;
        while let Some(event) = host.event() {
            match event {
                Ok(Event::Connected(link)) => fits &= self.connected(host, link).is_some(),
                Ok(Event::Lost { key, .. }) => {
                    let of = |side: &Side| side.way.memory.key == key;
                    if let Some(link) = self.sides.iter().position(of) {
                        self.end(link);
                    }
                }
                Err(_) => fits = false,
            }
        }
        fits
    }

    fn connected(&mut self, host: &Host, link: Connected<Host>) -> Option<()> {
        let Setup { driver, stack, counter, shape } = self.setup;
        let mut memory = Unit::new(shape, link)?;
        let acknowledges = acknowledges(driver);
        let driver = match driver {
            DriverName::ShmAck | DriverName::ShmNoack => {
                Driver::Copied(memory.copied(Copies::Both, acknowledges).ok()?)
            }
            DriverName::SingleCopy => {
                Driver::Copied(memory.copied(Copies::Receiver, acknowledges).ok()?)
            }
            DriverName::DmaAck | DriverName::DmaNoack => {
                Driver::Gathered(memory.gathered(host, acknowledges).ok()?)
            }
        };
        let window = if counter == Some(Counter::Window) { NARROW } else { WIDE };
        let settings = Settings { window, longest: 1 << 17, ..Settings::default() };
        let link = match stack {
            Stack::Layered => {
                let queue = (0..QUEUE).map(|_| None).collect();
                Link::Layered(PointToPoint::new(queue, settings, NOW))
            }
            Stack::Flat => Link::Flat(Flattened::new(settings, driver.mtu(), NOW)),
        };
        let buffers = match stack {
            Stack::Layered => (0..BUFFERS).filter_map(|_| memory.make()).collect(),
            Stack::Flat => Vec::new(),
        };
        let number = self.handler.add_link(memory.name).ok()?;
        // No link is ever removed, so numbers follow each other.
        debug_assert_eq!(usize::from(number), self.sides.len());
        let held = Vec::new();
        let acknowledges = self.setup.driver.acknowledges();
        let way = Way { memory, driver, stack, acknowledges, buffers, held, awaits: false };
        let unit = Linked::new(link, (0..FRAMES).map(|_| None).collect());
        let mut side = Side { way, unit, owes: false, gone: false };
        side.transmit();
        self.sides.push(side);
        Some(())
    }

    /// The peer of a link is gone.
    fn end(&mut self, link: usize) {
        let Some(side) = self.sides.get_mut(link) else { return };
        if !std::mem::replace(&mut side.gone, true) {
            self.handle(|handler, around| handler.link_down(around, link as u16));
        }
    }

    /// Looks for the application of another node, through the link that leads there, once there is
    /// one.
    pub fn hunt(&mut self, node: &Name) -> Option<()> {
        let path: Path = format!("{node}/{APPLICATION}").parse().ok()?;
        let application = self.application;
        let signal = (Buffer::Own(Vec::new()), 0);
        self.handle(|handler, around| handler.hunt(around, application, path, signal)).ok()
    }

    /// The address of what was hunted, if it was found.
    pub fn found(&mut self) -> Option<u32> {
        let at = self.inbox.iter().position(|letter| letter.link().is_none())?;
        self.inbox.remove(at).map(|letter| letter.spid)
    }

    /// Takes the next signal for the application.
    pub fn receive(&mut self) -> Option<Letter> {
        self.inbox.pop_front()
    }

    /// Whether a process that has no room has to look for it, as nobody rings when there is.
    pub fn must_look(&self) -> bool {
        !self.setup.driver.acknowledges() || !self.sides.iter().any(|side| side.way.awaits)
    }

    /// Whether something waits that nobody will ring for: what handler or connection has to say,
    /// frames for which there was no buffer, signals that are read after their frames were
    /// acknowledged.
    pub fn owes(&self) -> bool {
        let of = |side: &Side| side.owes || side.unit.is_starved() || !side.way.held.is_empty();
        self.unsaid || self.sides.iter().any(of)
    }

    /// A signal to be filled, if there is memory.
    pub fn make(&mut self, to: u32, len: usize) -> Option<Letter> {
        let (link, _) = self.handler.way(Spid(to))?;
        let block = self.sides.get_mut(usize::from(link))?.way.memory.make()?;
        Some(Letter { spid: to, buffer: Buffer::Block(link, block), len })
    }

    pub fn write(&self, letter: &Letter, at: usize, from: &[u8]) -> Option<()> {
        let Buffer::Block(link, block) = &letter.buffer else { return None };
        self.sides.get(usize::from(*link))?.way.memory.write(block, at, from).ok()
    }

    pub fn read(&self, letter: &Letter, at: usize, to: &mut [u8]) -> Option<()> {
        read(&self.sides, &letter.buffer, at, to)
    }

    /// Notes that the application has used a signal up.
    pub fn used(&mut self, letter: Letter) {
        let Buffer::Block(link, block) = letter.buffer else { return };
        let Some(side) = self.sides.get_mut(usize::from(link)) else { return };
        side.way.memory.give(block);
        if side.unit.give_back(1) {
            side.transmit();
        }
    }

    /// Sends a signal, or gives it to a connection that queues it.
    pub fn send(&mut self, letter: Letter) -> Attempt {
        let Letter { spid, buffer, len } = letter;
        let application = self.application;
        let sent = self.handle(|handler, around| {
            handler.send(around, application, Spid(spid), (buffer, len)).map_err(|(why, buffer)| {
                if why == HandlerError::Refused(Refused::Full) {
                    return Some(buffer);
                }
                around.free(buffer);
                None
            })
        });
        match sent {
            Ok(()) => Attempt::Sent,
            Err(Some(buffer)) => Attempt::Full(Letter { spid, buffer, len }),
            Err(None) => Attempt::Failed,
        }
    }

    /// Sends what the connection of a link has to send. False if something is left that no
    /// acknowledgement's interrupt will see to.
    pub fn transmit(&mut self, link: usize) -> bool {
        self.sides.get_mut(link).is_none_or(Side::transmit)
    }

    /// Sees to frames that were acknowledged, and sends what waits.
    pub fn acknowledge(&mut self) {
        for side in &mut self.sides {
            if side.way.awaits && side.way.driver.acknowledged() {
                side.way.awaits = false;
            }
            side.transmit();
        }
        if self.unsaid {
            self.handle(|_, _| ());
        }
    }

    /// How many units there are.
    pub fn links(&self) -> usize {
        self.sides.len()
    }

    /// Takes a frame off its driver, layered for the receiver and flat all the way. None if none
    /// has come, false if there is no memory for it.
    pub fn take(&mut self, peer: usize) -> Option<bool> {
        let side = self.sides.get_mut(peer)?;
        let taken = side.unit.take(&mut side.way)?;
        Some(match self.setup.stack {
            Stack::Layered => taken,
            Stack::Flat => taken && self.arrived(peer),
        })
    }

    /// Does an interrupt routine's work where all layers run in the caller.
    pub fn serve(&mut self) {
        let mut any = true;
        while any {
            self.acknowledge();
            any = false;
            for peer in 0..self.sides.len() {
                any |= self.take(peer) == Some(true);
            }
        }
    }

    /// Does the connection's receiver's work on one frame that was taken off. False if there is
    /// none, or it has to wait.
    pub fn work_off(&mut self) -> bool {
        let mut sides = self.sides.iter().enumerate();
        let Some((peer, _)) = sides.find(|(_, side)| side.unit.waiting() > 0) else { return false };
        let took = self.arrived(peer);
        // The peer may have given signals back.
        self.transmit(peer);
        took
    }

    /// Whether enough frames of a unit wait that interrupts are to be masked.
    pub fn is_enough(&self, peer: usize) -> bool {
        let masks = self.setup.counter == Some(Counter::Mask);
        masks && self.sides.get(peer).is_some_and(|side| side.unit.waiting() >= MOST_WAITING)
    }

    /// How many frames wait for the connection's receiver.
    pub fn waiting(&self) -> usize {
        self.sides.iter().map(|side| side.unit.waiting()).sum()
    }

    /// Whether what somebody else did left work for the process that waits for interrupts:
    /// something to be said, when there is room, or frames that it left and could take now.
    pub fn leaves_work(&self) -> bool {
        let few = |side: &Side| side.unit.waiting() <= 1 && !side.way.buffers.is_empty();
        let gathered = |side: &Side| matches!(side.way.driver, Driver::Gathered(_));
        let left = |side: &Side| side.unit.is_starved() && (few(side) || gathered(side));
        self.unsaid || self.sides.iter().any(|side| side.owes || left(side))
    }

    /// The first frame that waits goes up. False if there is no memory for it.
    fn arrived(&mut self, link: usize) -> bool {
        let Some(side) = self.sides.get_mut(link) else { return false };
        let (waited, taken) = (side.unit.waiting(), side.unit.next());
        let arrived = side.unit.receive(&mut side.way, NOW, taken);
        let took = side.unit.waiting() < waited;
        let number = link as u16;
        match arrived {
            Arrived::Up => self.handle(|handler, around| handler.link_up(around, number)),
            Arrived::Signal(signal) => self.signal(number, signal),
            Arrived::Down(_) => self.end(link),
            Arrived::Nothing | Arrived::Part | Arrived::NoBuffer => {}
        }
        took
    }

    /// A signal that came over a link goes to the link handler.
    fn signal(&mut self, link: u16, signal: Signal<Block>) {
        let Signal { from, to, len, buffer } = signal;
        let signal = Signal { from, to, len, buffer: Buffer::Block(link, buffer) };
        let taken = self.handle(|handler, around| handler.receive(around, link, signal));
        let Some(side) = self.sides.get_mut(usize::from(link)) else { return };
        match taken {
            Ok(Taken::Delivered) => {}
            // What handlers say to each other takes up no window.
            Ok(Taken::Used) if to == 0 => {}
            Ok(Taken::Used) => drop(side.unit.give_back(1)),
            // No node here is between others.
            Ok(Taken::Stalled(_)) | Err(_) => side.unit.close(),
        }
    }
}
