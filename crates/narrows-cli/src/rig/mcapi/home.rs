//! Processes of a simulated chip as places of MCAPI's nodes.

use narrows::link::Name;
use narrows::memory::Layout;
use narrows::platform::{Memory, Platform};
use narrows_capi::mcapi::ffi::Functions;
use narrows_capi::mcapi::{self, Home, Process, Processes, Slot};
use narrows_host::Bell;
use narrows_sim::chip::{Chip, Link};
use narrows_sim::cpu::{Cpu, PeerRegion};
use narrows_sim::time::Time;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::OnceLock;

/// Bytes of a line.
const LINE: usize = Cpu::LINE as usize;
/// Of each half of a link, fewer than a host has, as memory is scarce: blocks of 1 KiB, of 8 KiB
/// and of 64 KiB, where nodes share memory and where frames carry their links.
const SHARED: [u32; 3] = [64, 8, 2];
const FRAMED: [u32; 3] = [16, 4, 1];
/// Slots of the ring of messages and of each channel's.
const SLOTS: u32 = 64;
const CHANNEL_SLOTS: u32 = 16;

/// Processes of simulations, each of which has nodes of its own.
pub(crate) struct Simulated;

/// The C functions of simulated processes.
pub(crate) const FUNCTIONS: Functions = Functions::of::<Simulated>();

/// A process of a simulation.
struct Resident {
    cpu: Cpu,
    /// Whether its core has other programs as well.
    shares: bool,
    process: &'static Process<Simulated>,
    bound: Cell<Option<(usize, u64)>>,
    released: Cell<Option<&'static Slot<Simulated>>>,
}

thread_local! {
    /// Those of the simulation that this thread runs. A process is not left while this is borrowed.
    static RESIDENTS: RefCell<Vec<Rc<Resident>>> = const { RefCell::new(Vec::new()) };
    /// What calls find that no simulated process makes.
    static NOBODY: OnceCell<&'static Process<Simulated>> = const { OnceCell::new() };
}

/// The process that calls.
fn caller() -> Option<Rc<Resident>> {
    RESIDENTS.with_borrow(|all| all.iter().find(|one| one.cpu.runs()).cloned())
}

/// As [`caller`], its core.
pub(crate) fn cpu() -> Option<Cpu> {
    caller().map(|caller| caller.cpu.clone())
}

/// A process without nodes. It is never given back: a simulation has few, and each has some
/// kilobytes.
fn process() -> &'static Process<Simulated> {
    Box::leak(Box::default())
}

/// Does something in which the C functions are those of a process: what it does on its own stack.
/// Nodes that are left then end.
pub(crate) fn within<T>(cpu: &Cpu, shares: bool, work: impl FnOnce() -> T) -> T {
    let resident = Resident {
        cpu: cpu.clone(),
        shares,
        process: process(),
        bound: Cell::default(),
        released: Cell::default(),
    };
    let resident = Rc::new(resident);
    RESIDENTS.with_borrow_mut(|all| all.push(Rc::clone(&resident)));
    let done = work();
    resident.process.end();
    RESIDENTS.with_borrow_mut(|all| all.retain(|one| !Rc::ptr_eq(one, &resident)));
    done
}

/// Forgets the processes of a simulation that did not end all of them.
pub(crate) fn forget() {
    RESIDENTS.with_borrow_mut(Vec::clear);
}

/// A chip whose links are as MCAPI needs them, with all payload in external memory.
///
/// None if there is no such layout.
pub(crate) fn linked(chip: &Chip) -> Option<Chip> {
    let layout = mcapi::layout(Cpu::LINE)?;
    let mut classes = layout.classes().to_vec();
    // Over frames each side has a copy of the other's half as well.
    let [medium, large, largest] = if chip.is_linked() { SHARED } else { FRAMED };
    for class in &mut classes {
        class.count = match class.size {
            0..=64 => class.count,
            65..=1024 => class.count.min(medium),
            1025..=8192 => class.count.min(large),
            _ => class.count.min(largest),
        };
    }
    let link = Link {
        internal: chip.link.external,
        slots: layout.slots().min(SLOTS),
        channels: layout.channels(),
        channel_slots: layout.channel_slots().min(CHANNEL_SLOTS),
        classes,
        ..chip.link.clone()
    };
    Some(Chip { link, ..chip.clone() })
}

/// A line of memory that a program reads packets in.
#[repr(C, align(64))]
pub(crate) struct Line([Cell<u8>; LINE]);

impl Home for Simulated {
    type Platform = Cpu;
    /// Packets are copied to where programs can read them, as these are not on the chip.
    type Lent = Box<[Line]>;

    const LOOKS: u32 = 1;

    fn shares() -> bool {
        caller().is_none_or(|caller| caller.shares)
    }

    fn now() -> u64 {
        caller().map_or(0, |caller| caller.cpu.now().0)
    }

    fn open(name: &Name, _: Layout, _: &OnceLock<Bell>) -> Option<Cpu> {
        Some(caller()?.cpu.named(*name))
    }

    fn lend(_: &PeerRegion, layout: &Layout) -> Option<(Box<[Line]>, usize)> {
        let count = (layout.size() as usize).div_ceil(LINE);
        let lines: Box<[Line]> =
            (0..count).map(|_| Line(std::array::from_fn(|_| Cell::new(0)))).collect();
        let at = lines.as_ptr().expose_provenance();
        Some((lines, at))
    }

    fn bring(lent: &Box<[Line]>, peer: &PeerRegion, offset: u32, len: u32) {
        let mut bytes = vec![0; len as usize];
        if peer.read(offset, &mut bytes).is_err() {
            return;
        }
        let lines = lent.get(offset as usize / LINE..).unwrap_or_default();
        for (at, byte) in lines.iter().flat_map(|line| &line.0).zip(bytes) {
            at.set(byte);
        }
    }
}

impl Processes for Simulated {
    fn process() -> &'static Process<Simulated> {
        caller()
            .map_or_else(|| NOBODY.with(|one| *one.get_or_init(process)), |caller| caller.process)
    }

    fn bound() -> Option<(usize, u64)> {
        let caller = caller()?;
        // Every call for a node asks this first: one that takes no time, made for ever, is then
        // told.
        caller.cpu.compute(Time::ZERO);
        caller.cpu.carry();
        caller.bound.get()
    }

    fn bind(to: Option<(usize, u64)>) {
        if let Some(caller) = caller() {
            caller.bound.set(to);
        }
    }

    fn releasing() -> Option<&'static Slot<Simulated>> {
        caller()?.released.get()
    }

    fn released_by(slot: &'static Slot<Simulated>) {
        if let Some(caller) = caller() {
            caller.released.set(Some(slot));
        }
    }
}
