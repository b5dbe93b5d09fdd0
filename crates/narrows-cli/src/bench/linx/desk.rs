//! How a core of a simulated chip moves frames: signals are in pools of its memory, areas and buffers
//! for frames past its cache or in it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use narrows::driver::area::{
    ADMINISTRATION, Acknowledges, Copied, Copies, Engine, Exposes, Frame, GATHERED_HEADER,
    Gathered, Mover,
};
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::platform::OwnMemory;
use narrows_sim::chip::Chip;
use narrows_sim::cpu::{Hands, Piece, Place, Stretch};
use narrows_sim::engine::Pid;

use super::flags::DriverName;

/// Buffers for frames that a core has received and not yet looked at, for each unit.
const BUFFERS: u32 = 16;
/// Bytes of all of them.
const ROOM: u32 = 1 << 18;
/// Blocks of a core's pool.
const BLOCKS: u32 = 128;
/// Where the parts of the chip's memory begin: pools, mutexes, and what lies between cores.
const POOLS: u32 = 1 << 20;
const POOL: u32 = 1 << 18;
const MUTEXES: u32 = 1 << 19;
const BETWEEN: u32 = 5 << 20;

/// Where everything lies.
#[derive(Clone)]
pub(super) struct Map {
    /// The memory of code and pools, and that of areas and frames.
    home: usize,
    frames: usize,
    cores: u32,
    mtu: usize,
    block: u32,
}

impl Map {
    /// A chip's map; where areas are not to be cached, the chip gets a second way to its memory, past
    /// all caches. None if there is no room.
    pub fn new(
        chip: &mut Chip,
        cores: usize,
        mtu: usize,
        longest: usize,
        cached: bool,
    ) -> Option<Map> {
        let home = chip.cores.first()?.home;
        let mut frames = home;
        if !cached {
            let mut past = chip.memories.get(home)?.clone();
            past.name = format!("{} past caches", past.name);
            past.cached = false;
            chip.memories.push(past);
            frames = chip.memories.len() - 1;
        }
        let block = u32::try_from(longest).ok()?.checked_next_multiple_of(64)? + 64;
        let map = Map { home, frames, cores: cores as u32, mtu, block };
        let size = chip.memories.get(home)?.size;
        let pools = u64::from(POOLS) + u64::from(map.pool()) * u64::from(map.cores);
        let between = u64::from(BETWEEN) + u64::from(map.unit()) * u64::from(map.cores.pow(2));
        (pools <= u64::from(BETWEEN) && between <= u64::from(size)).then_some(map)
    }

    fn blocks(&self) -> u32 {
        (POOL * 4 / self.block).clamp(4, BLOCKS)
    }

    fn pool(&self) -> u32 {
        self.block * self.blocks()
    }

    /// Bytes of one side of a unit: its area, and its buffers for frames.
    fn unit(&self) -> u32 {
        self.area() + self.buffer() * self.buffers()
    }

    fn buffers(&self) -> u32 {
        (ROOM / (self.mtu as u32).max(1)).clamp(2, BUFFERS)
    }

    fn area(&self) -> u32 {
        let gathered = Gathered::<Hand>::room(self.buffers(), self.mtu).unwrap_or(u32::MAX / 64);
        gathered.max(ADMINISTRATION + self.mtu as u32).next_multiple_of(64)
    }

    fn buffer(&self) -> u32 {
        (self.mtu as u32).next_multiple_of(32)
    }

    fn base(&self, own: usize, peer: usize) -> u32 {
        BETWEEN + self.unit() * (own as u32 * self.cores + peer as u32)
    }
}

/// The pool of a core's signals. What came back last goes first.
pub(super) struct Pool {
    map: Map,
    free: RefCell<Vec<u32>>,
}

impl Pool {
    pub fn new(map: &Map, core: usize) -> Pool {
        let base = POOLS + map.pool() * core as u32;
        let free = (0..map.blocks()).rev().map(|at| base + at * map.block).collect();
        Pool { map: map.clone(), free: RefCell::new(free) }
    }

    pub fn take(&self, hands: &Hands) -> Option<Stretch> {
        let address = self.free.borrow_mut().pop()?;
        Some(Stretch::new(hands, (self.map.home, address), self.map.block))
    }

    pub fn at(&self, hands: &Hands, address: u32) -> Stretch {
        Stretch::new(hands, (self.map.home, address), self.map.block)
    }

    pub fn give(&self, signal: &Stretch) {
        if let Ok((_, address)) = signal.find(0, 0) {
            self.free.borrow_mut().push(address);
        }
    }
}

/// A core's hand in a unit.
#[derive(Clone)]
pub(super) struct Hand {
    hands: Hands,
    home: usize,
    peer: usize,
    /// The other core's memory of the unit.
    theirs: Place,
    /// Who serves the other core's interrupts.
    rings: Rc<Cell<Option<Pid>>>,
}

impl Hand {
    /// What it takes to have the next frame come to another buffer.
    fn refill(&self) {
        let cpu = self.hands.cpu();
        let (chip, core) = (cpu.chip(), cpu.core());
        let engine = chip.engines.iter().find(|engine| engine.cores.contains(&core));
        if let Some((engine, core)) = engine.zip(chip.cores.get(core)) {
            cpu.compute(engine.refill.at(core.clock));
        }
    }
}

impl Mover for Hand {
    type Own = Stretch;
    type Peer = Stretch;
    type Buffer = Stretch;

    fn put(
        &self,
        own: &Stretch,
        to: u32,
        from: &Stretch,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        own.copy(to, from, at as u32, len).map_err(|_| NotThere)
    }

    fn get(
        &self,
        peer: &Stretch,
        from: u32,
        to: &mut Stretch,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        to.copy(at as u32, peer, from, len).map_err(|_| NotThere)
    }

    fn ring(&self) {
        if let Some(service) = self.rings.get() {
            self.hands.cpu().os().raise(service);
        }
    }
}

impl Exposes for Hand {
    fn expose(&self, from: &Stretch, at: usize, len: usize) -> Result<u32, NotThere> {
        let (_, address) = from.find(at as u32, len).map_err(|_| NotThere)?;
        from.clean(at as u32, len as u32);
        Ok(address)
    }

    fn fetch(&self, place: u32, to: &mut Stretch, at: usize, len: usize) -> Result<(), NotThere> {
        let from = Stretch::new(&self.hands, (self.home, place), len as u32);
        to.copy_past(at as u32, &from, 0, len).map_err(|_| NotThere)
    }
}

impl Engine for Hand {
    fn gather(
        &self,
        own: &Stretch,
        head: usize,
        payload: Option<(&Stretch, usize, usize)>,
        to: u32,
    ) -> Result<(), NotThere> {
        let from = own.find(ADMINISTRATION, head).map_err(|_| NotThere)?;
        let first = GATHERED_HEADER.min(head) as u32;
        let at = |skip: u32| (self.theirs.0, self.theirs.1 + to + skip);
        // The driver's header, the connection's, the payload, and the empty one that ends the chain.
        let mut pieces = vec![
            Piece { from, to: at(0), len: first },
            Piece { from: (from.0, from.1 + first), to: at(first), len: head as u32 - first },
        ];
        if let Some((from, offset, len)) = payload {
            let place = from.find(offset as u32, len).map_err(|_| NotThere)?;
            from.clean(offset as u32, len as u32);
            pieces.push(Piece { from: place, to: at(head as u32), len: len as u32 });
        }
        pieces.push(Piece { from, to: at(0), len: 0 });
        let mutex = (self.home, MUTEXES + 64 * self.peer as u32);
        let service = self.rings.get().ok_or(NotThere)?;
        let started = self.hands.cpu().start_chain(self.peer, pieces, mutex, service);
        started.then_some(()).ok_or(NotThere)
    }

    fn take(
        &self,
        own: &Stretch,
        from: u32,
        to: &mut Stretch,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        to.copy(at as u32, own, from, len).map_err(|_| NotThere)
    }
}

/// One of the five drivers.
pub(super) enum Driver {
    Copied(Copied<Hand>),
    Gathered(Gathered<Hand>),
}

/// A frame that was taken off its driver.
pub(super) struct Taken {
    pub frame: Frame,
    /// The buffer that it was copied to, if it was.
    pub buffer: Option<Stretch>,
    /// Whether it is still where it came to, and its sender waits.
    pub there: bool,
}

impl Driver {
    /// One end of a unit.
    pub fn new(
        which: DriverName,
        map: &Map,
        (own, peer): (usize, usize),
        hands: &Hands,
        rings: &Rc<Cell<Option<Pid>>>,
    ) -> Option<Driver> {
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
        let acknowledges =
            if which.acknowledges() { Acknowledges::Interrupt } else { Acknowledges::Lazily };
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

    fn frames(&mut self) -> &mut dyn Frames<Buffer = Stretch> {
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
    pub fn straight(&mut self) -> Option<Taken> {
        let frame = match self {
            Driver::Copied(driver) => driver.receiving(),
            Driver::Gathered(driver) => driver.receiving(),
        };
        Some(Taken { frame: frame?, buffer: None, there: true })
    }

    /// Takes the next frame off, to a buffer if one is needed.
    pub fn detach(&mut self, buffers: &mut Vec<Stretch>) -> Result<Taken, NoFrame> {
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
        taken: &Taken,
        from: usize,
        len: usize,
        to: &mut Stretch,
        at: usize,
    ) -> Result<(), NotThere> {
        match (self, &taken.buffer) {
            (_, Some(buffer)) => to.copy(at as u32, buffer, from as u32, len).map_err(|_| NotThere),
            (Driver::Copied(driver), None) => driver.collect(&taken.frame, from, len, to, at),
            (Driver::Gathered(driver), None) => driver.collect(&taken.frame, from, len, to, at),
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
        to: &mut Stretch,
        at: usize,
    ) -> Result<(), NotThere> {
        self.frames().read(from, len, to, at)
    }

    /// Ends with the frame that is still where it came to.
    pub fn release(&mut self) {
        self.frames().release();
    }

    /// Has the buffer of a frame that was taken off be used again, if it is the driver's.
    pub fn give_back(&mut self, taken: &Taken) {
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
        payload: Option<(&Stretch, usize, usize)>,
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
