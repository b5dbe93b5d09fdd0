//! What a chip allows between two cores without the stack: the same loops as between two processes,
//! on words past the caches and payload by way of them.
//!
//! Each batch is a simulation of its own, in which nothing else runs, of the memory that a link of
//! the chip has. Equal batches take the same, so each is made once.

use std::cell::{Cell, RefCell};
use std::io;
use std::time::{Duration, Instant};

use narrows::endpoint::Limits as Tables;
use narrows::memory::{Class, Layout};
use narrows::platform::{Connected, Event, Memory, OwnMemory, Platform, Wait, Woken};
use narrows::strategy::Placement;
use narrows_sim::chip::Chip;
use narrows_sim::cpu::{Bell, Cpu, PeerRegion, Region};
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;

use super::{CALLEE, CALLER, PRIORITY};
use crate::base::options::Cores;
use crate::rig::limit::shared::{Buffers, Shared};
use crate::rig::limit::{Area, Kind, Laps, Line, Pace, SLOT_PAYLOAD, Turns, fill, intact};
use crate::rig::place::Allowed;

/// Iterations before those that count.
const WARM_UP: u64 = 16;
/// Of the iterations that a batch has on a machine, which is disturbed, one of this many.
const FEWER: u64 = 4;
/// Bytes between two lines of words.
const LINE_STRIDE: u32 = 128;
/// Turns are counted from here, so that nothing that a region begins with is taken for one.
const FIRST: u64 = 1 << 20;
/// What a payload is filled with.
const SEED: u64 = 7;

/// The limits of two cores of a chip.
pub struct Limits {
    chip: Chip,
    cores: Cores,
    known: Vec<((Kind, usize, Placement), f64)>,
}

impl Limits {
    /// Of these cores.
    pub fn new(chip: &Chip, cores: Cores) -> Limits {
        Limits { chip: chip.clone(), cores, known: Vec::new() }
    }
}

impl Allowed for Limits {
    const SERVED: bool = false;

    fn batch(&mut self, kind: Kind, bytes: usize, placement: Placement) -> io::Result<f64> {
        let asked = (kind, if kind.has_payload() { bytes } else { 0 }, placement);
        if let Some((_, ns)) = self.known.iter().find(|(known, _)| *known == asked) {
            return Ok(*ns);
        }
        let (chip, cores) = (&self.chip, self.cores);
        // On a thread of its own: this may be asked for in the middle of another simulation, whose
        // processes have little room for what they call.
        let made = std::thread::scope(|scope| {
            let batch = scope.spawn(move || batch(chip, cores, asked));
            batch.join().unwrap_or_else(|_| Err(io::Error::other("its thread failed")))
        });
        let ns = made?;
        self.known.push((asked, ns));
        Ok(ns)
    }
}

/// One batch: nanoseconds of an iteration.
fn batch(
    chip: &Chip,
    cores: Cores,
    (kind, bytes, placement): (Kind, usize, Placement),
) -> io::Result<f64> {
    let iterations = (kind.iterations(bytes) / FEWER).max(1);
    let turns = [FIRST..FIRST + WARM_UP, FIRST + WARM_UP..FIRST + WARM_UP + iterations];
    let last = FIRST + WARM_UP + iterations - 1;
    let length = kind.bytes(bytes)?;
    let arrived = Cell::new(false);
    let there: RefCell<io::Result<()>> = RefCell::new(Ok(()));
    let mut here = Err(io::Error::other("the simulation ended before its caller"));
    let mut simulation = Simulation::new(chip, Settings::default());
    simulation.process(cores.caller, CALLER, PRIORITY, |cpu| {
        here = (|| {
            let side = Side::link(&cpu, true, placement)?;
            let (mut out, mut into) = (payload(length), vec![0; length]);
            let mut work = loops(&side, &mut out, &mut into);
            work.caller(kind, turns[0].clone(), &mut Laps::by(cpu.clone(), WARM_UP))?;
            let mut laps = Laps::by(cpu.clone(), iterations);
            work.caller(kind, turns[1].clone(), &mut laps)?;
            let back = !kind.comes_back() || intact(&into, SEED, last);
            laps.middle().filter(|_| back).ok_or_else(damaged)
        })();
    });
    simulation.process(cores.callee, CALLEE, PRIORITY, |cpu| {
        *there.borrow_mut() = (|| {
            let side = Side::link(&cpu, false, placement)?;
            let (mut out, mut into) = (payload(length), vec![0; length]);
            let mut work = loops(&side, &mut out, &mut into);
            turns.iter().try_for_each(|turns| work.callee(kind, turns.clone()))?;
            arrived.set(intact(&into, SEED, last));
            Ok(())
        })();
    });
    let ended = simulation.run();
    there.into_inner()?;
    let ns = here?;
    ended.map_err(|stuck| io::Error::other(stuck.to_string()))?;
    if arrived.get() { Ok(ns) } else { Err(damaged()) }
}

fn payload(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fill(&mut bytes, SEED);
    bytes
}

fn loops<'a>(side: &'a Side, out: &'a mut [u8], into: &'a mut [u8]) -> Turns<'a, &'a Side> {
    // The simulator notices a process that waits for nothing.
    let (pace, patience) = (Pace::default(), Duration::MAX);
    Turns { shared: side, pace, patience, begun: Instant::now(), out, into }
}

fn damaged() -> io::Error {
    let text = "a payload did not arrive as it was sent, so the figure would be worthless: the \
                chip's caches and the copies do not agree; report this defect";
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn unlinked(why: &str) -> io::Error {
    io::Error::other(format!("the two cores cannot be linked on this chip: {why}"))
}

/// One side: the memory of a link, without what the stack does with it.
struct Side {
    cpu: Cpu,
    own: Region,
    peer: PeerRegion,
    bell: Bell,
    /// Whether this is the caller.
    asks: bool,
    placement: Placement,
    layout: Layout,
    /// Where the caller's and the callee's lines and slots begin: memory and address.
    lines: [(usize, u32); 2],
    slots: [(usize, u32); 2],
    /// Rings so far, and those that were heard.
    rung: Cell<u32>,
    heard: Cell<u32>,
}

/// A word: which memory, and where in it.
type Word = (usize, u32);

impl Side {
    /// Links this process with the other side's.
    fn link(cpu: &Cpu, asks: bool, placement: Placement) -> io::Result<Side> {
        let name = if asks { CALLER } else { CALLEE };
        let no_name = |_| unlinked("a name is none");
        let tables = Tables { links: 1, endpoints: 1, flows: 1, inbox: 1, longest: 64 };
        let node = cpu.node(name.parse().map_err(no_name)?, tables);
        // Only what its platform has: the regions and bells, which are the chip's.
        let cpu = node.map_err(|_| unlinked("there is no room for a node"))?.platform().clone();
        if asks {
            let other = CALLEE.parse().map_err(no_name)?;
            cpu.hunt(&other).map_err(|error| unlinked(&error.to_string()))?;
        }
        let linked = loop {
            match cpu.event() {
                Some(Ok(Event::Connected(linked))) => break linked,
                Some(Err((_, error))) => return Err(unlinked(&error.to_string())),
                Some(Ok(Event::Lost { reason, .. })) => return Err(unlinked(&reason.to_string())),
                None => _ = cpu.wait(std::iter::empty(), Wait::Bell, None),
            }
        };
        let Connected { own, peer, bell, .. } = linked;
        let layout = Layout::read(&peer, Cpu::LINE).map_err(|_| unlinked("no region is there"))?;
        let [header, control, ..] = layout.parts();
        let at = header.1 + control.1;
        let outside = |_| unlinked("a region is too small");
        let both = |offset, len| -> io::Result<[Word; 2]> {
            let [mine, theirs] = [own.find(offset, len), peer.find(offset, len)];
            let (mine, theirs) = (mine.map_err(outside)?, theirs.map_err(outside)?);
            Ok(if asks { [mine, theirs] } else { [theirs, mine] })
        };
        let lines = both(0, at as usize)?;
        let slots = both(at, (layout.slots() * layout.line()) as usize)?;
        let (rung, heard) = (Cell::default(), Cell::default());
        Ok(Side { cpu, own, peer, bell, asks, placement, layout, lines, slots, rung, heard })
    }

    /// Where a payload of this many bytes fits: the first block, and of which size.
    fn class(&self, bytes: usize) -> Option<(u32, Class)> {
        let places = self.layout.places();
        let fit =
            places.filter(|(_, of)| of.placement == self.placement && of.size as usize >= bytes);
        fit.min_by_key(|(_, of)| of.size)
    }

    fn divided(&self, bytes: usize, most: u64) -> Option<Blocks<'_>> {
        let (first, class) = self.class(bytes)?;
        let count = u64::from(class.count).min(most);
        let stride = class.size.next_multiple_of(self.layout.line());
        Some(Blocks { side: self, first, stride, count })
    }
}

/// Where a side counts its rings, behind the lines of words. A region begins with none.
fn rings((memory, address): Word) -> Word {
    (memory, address + LINE_STRIDE * 7)
}

impl<'a> Shared for &'a Side {
    type Word = Word;
    type Buffers = Blocks<'a>;

    fn slots(self) -> u64 {
        self.layout.slots().into()
    }

    fn line(self, line: Line) -> Word {
        // The caller's region has the caller's lines and the one that both write.
        let callee = matches!(line, Line::Begun | Line::Ended | Line::Back | Line::Credit);
        let (memory, address) = self.lines[usize::from(callee)];
        (memory, address + line as u32 * LINE_STRIDE)
    }

    fn sequence(self, ring: Area, turn: u64) -> Word {
        let (memory, address) = self.slots[ring as usize];
        let slot = (turn & (Shared::slots(self) - 1)) as u32;
        (memory, address + slot * self.layout.line())
    }

    fn store(self, (memory, address): Word, value: u64, fence: bool) {
        self.cpu.store(memory, address, value as u32);
        if fence {
            self.cpu.fence();
        }
    }

    fn wait(
        self,
        (memory, address): Word,
        _: u8,
        done: impl Fn(u64) -> bool,
        _: impl Fn() -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut word = self.cpu.load(memory, address);
        while !done(word.into()) {
            match self.cpu.spin(memory, address, word, Time::NEVER) {
                Some(other) => word = other,
                None => return Err(unlinked("the simulation is over")),
            }
        }
        Ok(word.into())
    }

    fn fill_slot(self, ring: Area, turn: u64, payload: &[u8; SLOT_PAYLOAD]) {
        let (memory, address) = self.sequence(ring, turn);
        self.cpu.store_bytes(memory, address + HEAD, payload);
    }

    fn drain_slot(self, ring: Area, turn: u64, payload: &mut [u8; SLOT_PAYLOAD]) {
        let (memory, address) = self.sequence(ring, turn);
        self.cpu.load_bytes(memory, address + HEAD, payload);
    }

    fn buffers(self, _: Area, bytes: usize, most: usize) -> Option<Blocks<'a>> {
        let blocks = self.divided(bytes, most as u64)?;
        (blocks.count > 0).then(|| Blocks { count: 1 << blocks.count.ilog2(), ..blocks })
    }

    fn pool(self, _: Area, bytes: usize) -> Option<Blocks<'a>> {
        self.divided(bytes, u64::MAX)
    }

    /// A doorbell cannot be counted, so a word says how often it was rung.
    fn ring(self) -> io::Result<()> {
        self.rung.set(self.rung.get().wrapping_add(1));
        let (memory, address) = rings(self.lines[usize::from(!self.asks)]);
        self.cpu.store(memory, address, self.rung.get());
        Platform::ring(&self.cpu, &self.bell);
        Ok(())
    }

    fn listen(self) -> io::Result<()> {
        let (memory, address) = rings(self.lines[usize::from(self.asks)]);
        // Each ring is slept for, even where its count is seen before it comes: else the next wait
        // would end with this one's.
        while self.cpu.wait(std::iter::empty(), Wait::Bell, None) != Woken::Bell
            || self.cpu.load(memory, address) == self.heard.get()
        {
            // The other side may be done, and its end be heard of before its last ring.
            let _ = self.cpu.event();
        }
        self.heard.set(self.heard.get().wrapping_add(1));
        Ok(())
    }

    fn guarded<R>(self, _: Duration, work: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        work()
    }
}

/// Bytes of a slot before its payload, as the stack has them.
const HEAD: u32 = 16;

/// Blocks of a link's memory.
struct Blocks<'a> {
    side: &'a Side,
    first: u32,
    stride: u32,
    count: u64,
}

impl Blocks<'_> {
    fn at(&self, turn: u64) -> u32 {
        self.first + (turn % self.count) as u32 * self.stride
    }
}

impl Buffers for Blocks<'_> {
    fn count(&self) -> u64 {
        self.count
    }

    fn write(&self, turn: u64, from: &[u8]) {
        let (own, at) = (&self.side.own, self.at(turn));
        // A block is as long as the payload, and inside.
        let _ = own.write(at, from);
        own.clean(at, from.len() as u32);
    }

    fn read(&self, turn: u64, to: &mut [u8]) {
        let (peer, at) = (&self.side.peer, self.at(turn));
        peer.invalidate(at, to.len() as u32);
        let _ = peer.read(at, to);
    }
}
