//! A process on a core of the chip, as the stack sees it: memory, waiting, doorbells, time.

mod access;
mod bare;
mod cached;
mod chain;
pub mod cluster;
mod copy;
mod engine;

mod lay;
mod mutex;
mod ports;
pub(crate) mod rates;
mod reach;
mod region;
mod rendezvous;
mod stretch;
mod traced;
mod wait;

pub use chain::{Piece, Place};
pub(crate) use engine::{run as run_engine, service as service_engine};
pub(crate) use ports::{Side, work, workers};
pub use region::{PeerRegion, Region, RegionWords};
pub use rendezvous::{Bell, NodeName};
pub use stretch::{Hands, Stretch, StretchWords};
pub(crate) use wait::{service_bell, service_tick};

use crate::chip::Chip;
use crate::events::coroutine::{Body, Door};
use crate::events::state::State;
use crate::events::{CoreUse, Pid, Settings, Usage};
use crate::kernel::Kernel;
use crate::time::Time;
use cluster::Clusters;
use engine::Jobs;
use narrows::endpoint::{Limits, Node, NodeError};
use narrows::link::Name;
use narrows::platform::{
    EngineError, Event, FlowNote, FlowStage, HuntError, Instant, NoStorage, Platform, Wait, Watch,
    Woken,
};
use narrows::span::{Edge, Note, Span};
use ports::Ports;
use rates::{Rates, Route};
use rendezvous::Registry;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A chip, what is happening on it, and which nodes are linked.
pub(crate) struct Machine {
    pub chip: Chip,
    pub state: RefCell<State>,
    rates: Vec<Rates>,
    routes: Vec<Route>,
    /// Whether it matters of any memory what a transfer goes on from.
    streams: bool,
    /// Whether any core has bridges on its ways, or memories that it does not reach.
    paths: bool,
    registry: RefCell<Registry>,
    /// What carries links between clusters, if anything does.
    pub carrier: Cell<Option<cluster::Mechanism>>,
    jobs: RefCell<Jobs>,
    ports: RefCell<Ports>,
    clusters: RefCell<Clusters>,
    pub kernel: RefCell<Kernel>,
    /// Whether it is traced.
    traced: Cell<bool>,
    /// Processes that were spawned and have not begun.
    pub born: RefCell<Vec<(Door, Body<'static>)>>,
}

impl Machine {
    pub fn new(chip: &Chip, settings: &Settings) -> Machine {
        let mut ends: Vec<u32> = vec![0; chip.memories.len()];
        let cores = chip.cores.iter().enumerate().map(|(number, core)| {
            let mut nowhere = 0;
            Rates::new(chip, number, ends.get_mut(core.home).unwrap_or(&mut nowhere))
        });
        // Engines only move bytes.
        let engines = chip.engines.iter().map(Rates::engine);
        let workers = workers(chip);
        let parts = workers.iter().map(|_| Rates::part());
        let rates: Vec<Rates> = cores.chain(engines).chain(parts).collect();
        let mut state = State::new(chip, settings, workers.len());
        for (core, facts) in chip.cores.iter().enumerate() {
            state.cores[core].entry =
                facts.interrupt.entry.at(facts.clock) + chip.words(core, facts.system.entry_words);
            state.cores[core].tick_service = facts.system.tick_service.at(facts.clock);
            state.cores[core].tick = facts.system.tick.at(facts.clock);
        }
        let routes: Vec<Route> =
            chip.memories.iter().map(|memory| Route::new(chip, memory)).collect();
        Machine {
            chip: chip.clone(),
            state: RefCell::new(state),
            paths: rates.iter().any(|one| !one.bridges.is_empty() || one.barred > 0),
            rates,
            streams: routes.iter().any(Route::streams),
            routes,
            registry: RefCell::new(Registry::new(ends)),
            carrier: Cell::new(None),
            jobs: RefCell::new(Jobs::new(chip)),
            ports: RefCell::new(Ports::new(chip)),
            clusters: RefCell::new(Clusters::new(chip)),
            kernel: RefCell::default(),
            traced: Cell::new(false),
            born: RefCell::default(),
        }
    }
}

/// Bytes of a process's private buffer. Longer copies go round in it.
const PRIVATE: u32 = 64 << 10;

/// One stamp of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When, without what stamps themselves took where that is known.
    pub time: Time,
    /// Which span.
    pub span: Span,
    /// Which end of it.
    pub edge: Edge,
    /// Tells calls apart.
    pub id: u32,
}

/// A stretch of bytes that a process goes through, one transfer behind the other.
#[derive(Clone, Copy, Default)]
struct Run {
    /// Where the next transfer would go on.
    next: Option<(usize, u32)>,
    /// Bytes so far.
    done: u32,
}

/// What the handles of one process share.
struct Shared {
    machine: Rc<Machine>,
    process: usize,
    core: usize,
    door: Door,
    /// Where its private buffer lies in its core's home memory, if copies go through the cache.
    private: Cell<Option<u32>>,
    /// The stretches that it reads and writes.
    runs: Cell<[Run; 2]>,
    tracing: Cell<bool>,
    wanted: Cell<fn(Span, Edge) -> bool>,
    stamps: RefCell<Vec<Stamp>>,
    /// Links that it carries over frames.
    links: RefCell<Vec<cluster::End>>,
}

/// A process on a core. A platform of the stack; copies of it are the same process.
#[derive(Clone)]
pub struct Cpu {
    shared: Rc<Shared>,
    node: Option<Rc<NodeName>>,
}

impl Cpu {
    pub(crate) fn new(machine: Rc<Machine>, process: usize, core: usize, door: Door) -> Cpu {
        let shared = Shared {
            machine,
            process,
            core,
            door,
            private: Cell::new(None),
            runs: Cell::default(),
            tracing: Cell::new(false),
            wanted: Cell::new(|_, _| true),
            stamps: RefCell::default(),
            links: RefCell::default(),
        };
        let cpu = Cpu { shared: Rc::new(shared), node: None };
        cpu.set_private(0);
        cpu
    }

    /// Moves the private buffer that copies of this process go to and come from, by a number of
    /// bytes: which lines of the data cache it falls on decides what they cost.
    pub fn set_private(&self, by: u32) {
        let chip = self.chip();
        let facts = chip.cores.get(self.shared.core).filter(|core| core.copy.private);
        let base = facts.and_then(|core| {
            let below = PRIVATE * 2 * (self.shared.process as u32 + 1);
            let size = chip.memories.get(core.home)?.size;
            Some(size.checked_sub(below)? + by % PRIVATE)
        });
        self.shared.private.set(base);
    }

    /// Opens a node of this process.
    ///
    /// # Errors
    /// There is no room for its tables.
    pub fn node(&self, name: Name, limits: Limits) -> Result<Node<Cpu>, NodeError> {
        Node::new(self.named(name), limits)
    }

    /// Whether it is this process that runs: the caller is its code, or what its code calls.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.shared.door.is_open()
    }

    pub(crate) fn process(&self) -> usize {
        self.shared.process
    }

    /// The number of this process's core in its chip.
    #[must_use]
    pub fn core(&self) -> usize {
        self.shared.core
    }

    /// The chip.
    #[must_use]
    pub fn chip(&self) -> &Chip {
        &self.machine().chip
    }

    /// The time, to the picosecond and for nothing: no software on the chip could tell.
    #[must_use]
    pub fn time(&self) -> Time {
        self.tick();
        self.moment()
    }

    pub(crate) fn moment(&self) -> Time {
        self.machine().state.borrow().now
    }

    /// How long this process's core has been busy so far.
    #[must_use]
    pub fn busy(&self) -> Time {
        self.tick();
        self.machine().state.borrow().used(self.shared.core).busy
    }

    /// How long any core has been busy so far, by its number in the chip; none that there is not.
    #[must_use]
    pub fn busy_on(&self, core: usize) -> Time {
        let state = self.machine().state.borrow();
        if core < self.chip().cores.len() { state.used(core).busy } else { Time::ZERO }
    }

    /// What the chip's cores and buses have done so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.tick();
        self.machine().state.borrow().usage(self.chip().cores.len())
    }

    /// What any core has done so far, by its number in the chip; nothing of one that there is not.
    #[must_use]
    pub fn used_on(&self, core: usize) -> CoreUse {
        let state = self.machine().state.borrow();
        if core < self.chip().cores.len() { state.used_so_far(core) } else { CoreUse::default() }
    }

    /// How long a process has worked so far: what it had of its core without calls of the system,
    /// and without switches to it.
    #[must_use]
    pub fn worked(&self, process: Pid) -> Time {
        let state = self.machine().state.borrow();
        if process.0 < state.processes.len() { state.worked(process.0) } else { Time::ZERO }
    }

    /// Computes for a while. A more urgent process or an interrupt may come between.
    pub fn compute(&self, time: Time) {
        self.act(|state, process| time > Time::ZERO && state.compute(process, time));
    }

    /// Keeps stamps from now on, or no longer. Reading the clock for one takes time. Of a core that
    /// is a node's it is to be asked through `Node::platform_mut`, which has the node find its
    /// routes anew: those that it has keep no stamps.
    pub fn set_tracing(&self, on: bool) {
        self.shared.tracing.set(on);
    }

    /// Keeps only those stamps that are wanted; the others take no time either.
    pub fn trace_only(&self, wanted: fn(Span, Edge) -> bool) {
        self.shared.wanted.set(wanted);
    }

    /// The stamps since they were last taken.
    #[must_use]
    pub fn take_trace(&self) -> Vec<Stamp> {
        self.shared.stamps.take()
    }

    pub(crate) fn machine(&self) -> &Rc<Machine> {
        &self.shared.machine
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.machine().rates[self.shared.core]
    }
}

impl Platform for Cpu {
    type Own = Region;
    type Peer = PeerRegion;
    type Bell = Bell;
    type Slice<T> = Box<[T]>;
    type Books = Box<[u16]>;
    const LINE: u32 = 64;
    const RECEIPTS: bool = true;

    fn storage<T>(&self, len: usize, make: impl FnMut(usize) -> T) -> Result<Box<[T]>, NoStorage> {
        Ok((0..len).map(make).collect())
    }

    fn books(&self, _own: &Region, len: usize) -> Result<Box<[u16]>, NoStorage> {
        self.storage(len, |_| 0)
    }

    fn wait<'a, S>(&self, set: S, how: Wait, deadline: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, RegionWords>> + Clone,
    {
        self.wait_for(set, how, deadline)
    }

    fn fence(&self) {
        self.compute(self.rates().fence);
    }

    fn ring(&self, bell: &Bell) {
        self.ring_bell(*bell);
    }

    fn sends_by_ring(&self, bell: &Bell) -> bool {
        matches!(bell, Bell::Link(_))
    }

    fn now(&self) -> Instant {
        self.compute(self.rates().timer_read);
        self.shown()
    }

    fn stamp(&self, span: Span, edge: Edge, id: u32) {
        let takes = self.rates().spans[span as usize];
        if edge == Edge::Enter {
            self.trace_span(span, edge, id);
        }
        if edge == Edge::Leave {
            self.compute(takes.leave);
        }
        if self.shared.tracing.get() && self.shared.wanted.get()(span, edge) {
            let user =
                matches!((span, edge), (Span::PhaseA, Edge::Enter) | (Span::PhaseE, Edge::Leave));
            let rates = self.rates();
            self.compute(if user { rates.timer_read_user } else { rates.timer_read });
            let time = self.moment();
            self.shared.stamps.borrow_mut().push(Stamp { time, span, edge, id });
        }
        if edge == Edge::Enter {
            self.run_through(&takes.traffic);
            self.compute(takes.enter);
        } else {
            self.trace_span(span, edge, id);
        }
    }

    fn note(&self, note: &Note) {
        self.trace_note(note);
    }

    fn flow(&self, place: u16, flow: Option<&FlowNote>) {
        if let Some(FlowNote { strategy, stage: FlowStage::Running, .. }) = flow {
            self.trace_agreed(place, strategy);
        }
    }

    fn hunt(&self, name: &Name) -> Result<(), HuntError> {
        self.hunt_for(name)
    }

    fn give_up(&self, name: &Name) {
        self.stop_hunting(name);
    }

    fn event(&self) -> Option<Result<Event<Self>, (Name, HuntError)>> {
        self.next_news()
    }

    fn close(&self, key: u32) {
        self.close_link(key);
    }

    fn has_engine(&self) -> bool {
        self.served()
    }

    fn engine_store(
        &self,
        own: &Region,
        offset: u32,
        from: &[u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        let (memory, address) = own.find(offset, from.len()).map_err(|_| EngineError)?;
        self.store_by_engine(memory, address, from, fragment)
    }

    fn engine_fetch(
        &self,
        peer: &PeerRegion,
        offset: u32,
        to: &mut [u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        let (memory, address) = peer.find(offset, to.len()).map_err(|_| EngineError)?;
        self.fetch_by_engine(memory, address, to, fragment)
    }
}
