//! A core with LINX on it: its units, its pool, and which process runs what.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use narrows::connection::Settings;
use narrows::connection::flattened::Flattened;
use narrows::connection::point_to_point::{PointToPoint, Waiting};
use narrows::driver::{NoFrame, NotSent, NotThere};
use narrows::linx::station::Connection;
use narrows::linx::unit::{self, Left, Staged};
use narrows::linx::{Handler, Spid};
use narrows::platform::{Instant, Platform};
use narrows::span::{Edge, Span};
use narrows_sim::cpu::{Cpu, Hands, Stretch};
use narrows_sim::engine::Pid;
use narrows_sim::time::Time;

use super::account::{Account, Done, Queues};
use crate::formats::linx::{Counter, DriverName, Stack};
use crate::rig::linx::driver::{Driver, Taken as AnyTaken};
use crate::rig::linx::hand::Hand;
use crate::rig::linx::memory::{Map, Pool};

/// How a run is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub driver: DriverName,
    pub stack: Stack,
    pub counter: Option<Counter>,
}

/// Places of a connection's queue, and of that of the frames that wait for it.
const QUEUE: usize = 128;
const FRAMES: usize = 1024;
/// Bytes of the longest signal that a connection takes.
pub(super) const LONGEST: u32 = 1 << 17;
/// Signals that a window lets through: as many as anything sends, or few.
const WIDE: u16 = 1024;
const NARROW: u16 = 8;

/// A frame that was taken off a driver.
pub(super) type Taken = AnyTaken<Stretch>;

/// A connection, by where its layers run.
type Link = Connection<Stretch, Vec<Waiting<Stretch>>>;

/// One end of a connection to another core. What sends and what receives are apart, so that a
/// service routine can do the one while a process is in the middle of the other.
pub(super) struct Unit {
    pub sends: RefCell<Driver<Hand>>,
    pub receives: RefCell<Driver<Hand>>,
    /// What copies frames that were taken off.
    pub collects: RefCell<Driver<Hand>>,
    /// Buffers for frames that are taken off.
    pub buffers: RefCell<Vec<Stretch>>,
    /// Signals that were sent and may still be read.
    pub held: RefCell<Vec<Stretch>>,
    /// A frame was sent and its acknowledgement has not been seen.
    pub awaits: Cell<bool>,
    pub unit: unit::Unit<Stretch, Taken, Vec<Waiting<Stretch>>, Vec<Option<Taken>>>,
}

/// A core's link handler, and its application's address.
pub(super) struct Linked {
    pub handler: Handler<Cpu, Stretch>,
    pub application: Spid,
}

/// A core.
pub(super) struct Core {
    pub number: usize,
    pub setup: Setup,
    pub hands: Hands,
    pub pool: Pool,
    /// By the other core's number; none for its own and those that it does not speak with.
    pub units: Vec<Option<Unit>>,
    pub service: Rc<Cell<Option<Pid>>>,
    pub handler: Cell<Option<Pid>>,
    /// The stack's link handler, made when it is first needed.
    pub linked: RefCell<Option<Linked>>,
    pub receiver: Cell<Option<Pid>>,
    pub application: Cell<Option<Pid>>,
    /// Whether interrupts are masked.
    pub masked: Cell<bool>,
    /// Frames that the connection's receiver was not woken for.
    pub owed: Cell<u32>,
    /// Whether a frame waits for memory for its signal.
    pub short: Cell<bool>,
    /// When the service routine's quota began, and what it has had since.
    pub quota: Cell<(Time, Time)>,
    /// Whether everything is over.
    pub over: Cell<bool>,
    /// The most that has waited so far.
    pub queues: Cell<Queues>,
    account: RefCell<Account>,
}

impl Core {
    /// None if a driver has no room.
    pub fn new(
        number: usize,
        setup: Setup,
        map: &Map,
        services: &[Rc<Cell<Option<Pid>>>],
        speaks: impl Fn(usize) -> bool,
    ) -> Option<Core> {
        let hands = Hands::default();
        let window = if setup.counter == Some(Counter::Window) { NARROW } else { WIDE };
        let settings = Settings { window, longest: LONGEST, ..Settings::default() };
        let mut units = Vec::new();
        for (other, rings) in services.iter().enumerate() {
            if other == number || !speaks(other) {
                units.push(None);
                continue;
            }
            let ends = (number, other);
            let end = || Driver::new(setup.driver, map, ends, &hands, rings);
            let sends = end()?;
            let link = match setup.stack {
                Stack::Layered => {
                    let queue = (0..QUEUE).map(|_| None).collect();
                    Link::Layered(PointToPoint::new(queue, settings, Instant(0)))
                }
                Stack::Flat => Link::Flat(Flattened::new(settings, sends.mtu(), Instant(0))),
            };
            units.push(Some(Unit {
                sends: RefCell::new(sends),
                receives: RefCell::new(end()?),
                collects: RefCell::new(end()?),
                buffers: RefCell::new(Driver::buffers(map, ends, &hands)),
                held: RefCell::default(),
                awaits: Cell::new(false),
                unit: unit::Unit::new(link, (0..FRAMES).map(|_| None).collect()),
            }));
        }
        Some(Core {
            number,
            setup,
            pool: Pool::new(map, number),
            hands,
            units,
            service: Rc::clone(services.get(number)?),
            handler: Cell::new(None),
            linked: RefCell::default(),
            receiver: Cell::new(None),
            application: Cell::new(None),
            masked: Cell::new(false),
            owed: Cell::new(0),
            short: Cell::new(false),
            quota: Cell::default(),
            over: Cell::new(false),
            queues: Cell::default(),
            account: RefCell::default(),
        })
    }

    /// The units that there are, each with the number of the other core.
    pub fn units(&self) -> impl Iterator<Item = (usize, &Unit)> {
        self.units.iter().enumerate().filter_map(|(at, unit)| Some((at, unit.as_ref()?)))
    }

    /// Does something that counts as a layer's, without what others of the core, and its system, do
    /// meanwhile.
    pub fn layer<T>(
        &self,
        cpu: &Cpu,
        name: &'static str,
        span: Option<Span>,
        work: impl FnOnce() -> T,
    ) -> T {
        let own = cpu.os().own();
        self.account.borrow_mut().enter(cpu, own, name);
        if let Some(span) = span {
            cpu.stamp(span, Edge::Enter, 0);
        }
        let done = work();
        if let Some(span) = span {
            cpu.stamp(span, Edge::Leave, 0);
        }
        self.account.borrow_mut().leave(cpu, own);
        done
    }

    /// What the core has done so far.
    pub fn done(&self, cpu: &Cpu) -> Done {
        self.account.borrow_mut().done(cpu, self.number)
    }

    /// Notes how much waits in a unit.
    pub fn note_queues(&self, unit: &Unit) {
        let Queues { frames, signals } = self.queues.get();
        let (waiting, queued) = (unit.unit.waiting(), unit.unit.queued());
        self.queues.set(Queues { frames: frames.max(waiting), signals: signals.max(queued) });
    }

    /// Sends what the connection of a unit has to send. False if the driver had no room for it.
    pub fn transmit(&self, cpu: &Cpu, unit: &Unit) -> bool {
        unit.unit.transmit(&mut self.way(cpu, unit), Instant(0)) != Left::Room
    }

    /// Whether the frame that was sent last has been acknowledged. Said once.
    pub fn acknowledged(&self, unit: &Unit) -> bool {
        let asks = self.setup.driver.acknowledges() && unit.awaits.get();
        let acknowledged = asks && unit.sends.try_borrow().is_ok_and(|sends| sends.acknowledged());
        if acknowledged {
            unit.awaits.set(false);
        }
        acknowledged
    }

    /// Gives the buffers of signals back that nobody reads any more.
    pub fn reclaim(&self, unit: &Unit) {
        if unit.held.borrow().is_empty() {
            return;
        }
        let free = unit.sends.try_borrow().is_ok_and(|sends| !sends.holds());
        if free {
            self.give_held(unit);
        }
    }

    fn give_held(&self, unit: &Unit) {
        unit.held.borrow_mut().drain(..).for_each(|signal| self.pool.give(&signal));
    }

    /// The driver of a unit.
    pub fn way<'a>(&'a self, cpu: &'a Cpu, unit: &'a Unit) -> Way<'a> {
        Way { core: self, cpu, unit }
    }

    /// Sends what waits, looking at the driver until it has room if it does not say when.
    pub fn send_on(&self, cpu: &Cpu, unit: &Unit) {
        while !self.transmit(cpu, unit) && !self.setup.driver.acknowledges() {
            look_again(cpu);
        }
    }

    /// Hands a signal to the application.
    pub fn deliver(&self, cpu: &Cpu, letter: Letter) {
        let Some(to) = self.application.get() else { return };
        self.layer(cpu, "link", Some(Span::Deliver), || {
            let _ = cpu.os().send(cpu.os().alloc(0, letter.bytes()), to);
        });
    }

    /// Notes that the application has used a signal up.
    pub fn used(&self, unit: &Unit) {
        // Whether the peer is to be told now is seen where the unit is attended to.
        let _ = unit.unit.give_back(1);
    }
}

/// Takes as long as a look at memory does.
pub(super) fn look_again(cpu: &Cpu) {
    let core = cpu.chip().cores.get(cpu.core());
    cpu.compute(core.map_or(Time::nanos(100), |core| core.poll.at(core.clock)));
}

/// What a process sends another about a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Letter {
    /// The other core.
    pub peer: usize,
    /// Where the signal is.
    pub address: u32,
    pub len: usize,
    /// Whom it is for, or who sent it; nobody for what is looked for.
    pub spid: u32,
}

impl Letter {
    pub fn of(peer: usize, spid: u32, signal: &Stretch, len: usize) -> Letter {
        let address = signal.find(0, 0).map_or(0, |(_, address)| address);
        Letter { peer, address, len, spid }
    }

    /// What has the link handler send what the connection to a core has to send.
    pub fn nothing(peer: usize) -> Letter {
        Letter { peer, address: 0, len: 0, spid: 0 }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let words = [self.peer as u32, self.address, self.len as u32, self.spid];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub fn read(bytes: &[u8]) -> Option<Letter> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (address, spid) = (word(4)?, word(12)?);
        Some(Letter { peer: word(0)? as usize, address, len: word(8)? as usize, spid })
    }
}

/// The driver of a unit, in one call.
pub(super) struct Way<'a> {
    core: &'a Core,
    cpu: &'a Cpu,
    unit: &'a Unit,
}

impl Staged for Way<'_> {
    type Buffer = Stretch;
    type Frame = Taken;

    fn mtu(&self) -> usize {
        self.unit.sends.borrow().mtu()
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Stretch, usize, usize)>,
    ) -> Result<(), NotSent> {
        if !self.unit.sends.borrow().acknowledged() {
            return Err(NotSent::Full);
        }
        if self.unit.awaits.get() && !self.core.setup.driver.acknowledges() {
            // The frame before was acknowledged: the connection is told of it now, and nobody reads
            // what it carried.
            self.core.layer(self.cpu, "connection", Some(Span::Acknowledge), || {});
            self.core.give_held(self.unit);
        }
        self.core.layer(self.cpu, "driver", Some(Span::Driver), || {
            self.unit.awaits.set(true);
            self.unit.sends.borrow_mut().send(header, payload)
        })
    }

    fn take(&mut self) -> Option<Result<Taken, NoFrame>> {
        if !self.unit.receives.borrow_mut().look() {
            return None;
        }
        self.core.layer(self.cpu, "driver", Some(Span::Interrupt), || {
            let mut receives = self.unit.receives.borrow_mut();
            match self.core.setup.stack {
                Stack::Layered => Some(receives.detach(&mut self.unit.buffers.borrow_mut())),
                Stack::Flat => receives.straight().map(Ok),
            }
        })
    }

    fn look(&mut self, taken: &Taken, header: &mut [u8]) -> Result<usize, NoFrame> {
        Ok(taken.frame.peek(header))
    }

    fn read(
        &mut self,
        taken: &Taken,
        from: usize,
        len: usize,
        buffer: &mut Stretch,
        at: usize,
    ) -> Result<(), NotThere> {
        if taken.there {
            return self.unit.receives.borrow_mut().read(from, len, buffer, at);
        }
        self.unit.collects.borrow().collect(taken, from, len, buffer, at)
    }

    fn release(&mut self, taken: Taken) {
        if taken.there {
            return self.unit.receives.borrow_mut().release();
        }
        self.unit.collects.borrow_mut().collected();
        self.unit.receives.borrow_mut().give_back(&taken);
        self.unit.buffers.borrow_mut().extend(taken.buffer);
    }

    fn make(&mut self, _: usize) -> Option<Stretch> {
        self.core.pool.take(&self.core.hands)
    }

    fn keep(&mut self, signal: Stretch) {
        self.unit.held.borrow_mut().push(signal);
    }

    fn reclaim(&mut self) {
        self.core.reclaim(self.unit);
    }
}
