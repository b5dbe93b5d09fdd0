//! A node of this machine whose frames go by one of the five drivers: what is below a test case's
//! signals instead of a LINX node of `narrows_host`. Doorbells are the platform's, copy engines
//! threads of the receiver's, and everything else is the stack's.

use std::collections::VecDeque;

use narrows::connection::flattened::Flattened;
use narrows::connection::point_to_point::{PointToPoint, Waiting};
use narrows::connection::{Arrived, Refused, Settings, Signal};
use narrows::driver::area::Copies;
use narrows::link::Name;
use narrows::linx::station::Connection;
use narrows::linx::unit::{self, Left};
use narrows::platform::{Connected, Event, Instant, Platform};
use narrows_host::Host;
use narrows_host::area::{Block, Shape, Unit};

use super::way::Way;
use crate::formats::linx::{Counter, DriverName, Stack};
use crate::rig::linx::driver::{Driver, Taken, acknowledges};

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
/// No connection here asks for the time.
const NOW: Instant = Instant(0);

/// How a node is set up.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub driver: DriverName,
    pub stack: Stack,
    pub counter: Option<Counter>,
    pub shape: Shape,
}

type Link = Connection<Block, Vec<Waiting<Block>>>;

/// A signal that is to be sent, or has come: with whom, where it is, how long, and its number.
#[derive(Debug)]
pub struct Letter {
    pub peer: usize,
    pub block: Block,
    pub len: usize,
    pub id: u32,
}

/// Signals are handed over as blocks; those that came, and those that wait, lie on the heap.
type Linked = unit::Unit<Block, Taken<Block>, Vec<Waiting<Block>>, Vec<Option<Taken<Block>>>>;

/// What is between this node and another.
struct Side {
    way: Way,
    unit: Linked,
    /// Whether the connection has something to say that had no room.
    owes: bool,
    gone: bool,
}

/// How an attempt to send a signal went.
pub enum Attempt {
    Sent,
    /// There is no room: the signal.
    Full(Letter),
    /// The other side is gone, or takes no such signal.
    Failed,
}

/// The units of a node, and the signals that have come.
pub struct Station {
    setup: Setup,
    sides: Vec<Side>,
    pub inbox: VecDeque<Letter>,
}

impl Station {
    pub fn new(setup: Setup) -> Station {
        Station { setup, sides: Vec::new(), inbox: VecDeque::new() }
    }

    /// Does what there is to do at the rendezvous. False if a link cannot be used.
    pub fn hear(&mut self, host: &Host) -> bool {
        let mut fits = true;
        while let Some(event) = host.event() {
            match event {
                Ok(Event::Connected(link)) => fits &= self.connected(host, link).is_some(),
                Ok(Event::Lost { key, .. }) => {
                    let of = |side: &&mut Side| side.way.memory.key == key;
                    self.sides.iter_mut().filter(of).for_each(|side| side.gone = true);
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
        let way = Way { memory, driver, stack, buffers, held: Vec::new(), awaits: false };
        let unit = unit::Unit::new(link, (0..FRAMES).map(|_| None).collect());
        self.sides.push(Side { way, unit, owes: false, gone: false });
        let new = self.sides.len() - 1;
        self.transmit(new);
        Some(())
    }

    /// The unit to a node of this name, if it is linked.
    pub fn find(&self, name: &Name) -> Option<usize> {
        self.sides.iter().position(|side| side.way.memory.name == *name)
    }

    /// Whether who has no room has to look for it, as nobody rings when there is.
    pub fn must_look(&self) -> bool {
        !self.setup.driver.acknowledges() || !self.sides.iter().any(|side| side.way.awaits)
    }

    /// Whether something waits that nobody will ring for: what a connection has to say, frames for
    /// which there was no buffer, signals that are read after their frames were acknowledged.
    pub fn owes(&self) -> bool {
        self.sides
            .iter()
            .any(|side| side.owes || side.unit.is_starved() || !side.way.held.is_empty())
    }

    /// A signal to be filled, if there is memory.
    pub fn make(&mut self, peer: usize, len: usize, id: u32) -> Option<Letter> {
        let block = self.sides.get_mut(peer)?.way.memory.make()?;
        Some(Letter { peer, block, len, id })
    }

    pub fn write(&self, letter: &Letter, at: usize, from: &[u8]) -> Option<()> {
        self.sides.get(letter.peer)?.way.memory.write(&letter.block, at, from).ok()
    }

    pub fn read(&self, letter: &Letter, at: usize, to: &mut [u8]) -> Option<()> {
        self.sides.get(letter.peer)?.way.memory.read(&letter.block, at, to).ok()
    }

    /// Notes that the application has used a signal up.
    pub fn used(&mut self, letter: Letter) {
        let Some(side) = self.sides.get_mut(letter.peer) else { return };
        side.way.memory.give(letter.block);
        if side.unit.give_back(1) {
            self.transmit(letter.peer);
        }
    }

    /// Sends a signal, or gives it to a connection that queues it.
    pub fn send(&mut self, letter: Letter) -> Attempt {
        let peer = letter.peer;
        let Some(side) = self.sides.get_mut(peer).filter(|side| !side.gone) else {
            return Attempt::Failed;
        };
        let Letter { block, len, id, .. } = letter;
        let back = |block| Attempt::Full(Letter { peer, block, len, id });
        let signal = Signal { from: id, to: 1, len, buffer: block };
        match side.unit.send(&mut side.way, NOW, signal) {
            Ok(()) => {
                self.transmit(peer);
                Attempt::Sent
            }
            Err((Refused::Full, signal)) => {
                self.transmit(peer);
                back(signal.buffer)
            }
            Err(_) => Attempt::Failed,
        }
    }

    /// Sends what a connection has to send. False if something is left that no acknowledgement's
    /// interrupt will see to.
    pub fn transmit(&mut self, peer: usize) -> bool {
        let Some(side) = self.sides.get_mut(peer).filter(|side| !side.gone) else { return true };
        let left = side.unit.transmit(&mut side.way, NOW);
        let told = self.setup.driver.acknowledges() && side.way.awaits;
        side.owes = left != Left::Nothing && !told;
        !side.owes
    }

    /// Sees to frames that were acknowledged, and sends what waits.
    pub fn acknowledge(&mut self) {
        for peer in 0..self.sides.len() {
            let Some(side) = self.sides.get_mut(peer) else { break };
            if side.way.awaits && side.way.driver.acknowledged() {
                side.way.awaits = false;
            }
            self.transmit(peer);
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

    /// Whether so many frames of a unit wait that interrupts are to be masked.
    pub fn is_enough(&self, peer: usize) -> bool {
        let masks = self.setup.counter == Some(Counter::Mask);
        masks && self.sides.get(peer).is_some_and(|side| side.unit.waiting() >= MOST_WAITING)
    }

    /// How many frames wait for the connection's receiver.
    pub fn waiting(&self) -> usize {
        self.sides.iter().map(|side| side.unit.waiting()).sum()
    }

    /// Whether the interrupt routine left frames that it could take now.
    pub fn stalled(&self) -> bool {
        let few = |side: &Side| side.unit.waiting() <= 1 && !side.way.buffers.is_empty();
        let gathered = |side: &Side| matches!(side.way.driver, Driver::Gathered(_));
        self.sides.iter().any(|side| side.unit.is_starved() && (few(side) || gathered(side)))
    }

    /// The first frame that waits goes up. False if there is no memory for it.
    fn arrived(&mut self, peer: usize) -> bool {
        let Some(side) = self.sides.get_mut(peer) else { return false };
        let (waited, taken) = (side.unit.waiting(), side.unit.next());
        match side.unit.receive(&mut side.way, NOW, taken) {
            Arrived::Signal(Signal { from, len, buffer, .. }) => {
                self.inbox.push_back(Letter { peer, block: buffer, len, id: from });
            }
            Arrived::Down(_) => side.gone = true,
            _ => {}
        }
        side.unit.waiting() < waited
    }
}
