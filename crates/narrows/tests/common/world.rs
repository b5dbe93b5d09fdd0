//! Several nodes in one thread, over whatever the ground is: regions on the heap, or a simulated
//! chip. A node that waits runs its hook, in which a test drives the other ends.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use narrows::endpoint::{Limits, Node};
use narrows::link::Name;
use narrows::memory::{Class, Layout};
use narrows::platform::{
    Connected, EngineError, Event, HuntError, Instant, NoStorage, Platform, Wait, Watch, Woken,
};
use narrows::span::{Edge, Span};
use narrows::strategy::Placement;

use super::ground::{Ground, LINE, Net, make, ring};
pub use super::pair::*;

/// Waits that nothing ends before a test is told so.
const PATIENCE: u32 = 2000;
/// How long a wait lasts until the hook runs.
const TURN: u64 = 100;

type Words = <<Ground as Platform>::Peer as narrows::platform::Memory>::Words;

/// What one node and its tests share.
pub struct State {
    name: Name,
    bell: Rc<Cell<u32>>,
    heard: Cell<u32>,
    hook: RefCell<Option<Box<dyn FnMut()>>>,
    /// How this node's regions are laid out from now on, where the ground lets it choose.
    pub layout: Rc<Cell<Layout>>,
    pub engine: Cell<bool>,
    /// Whether the engine fails although it is there.
    pub broken: Cell<bool>,
    pub engine_uses: Cell<u32>,
    pub storages: Cell<u32>,
    /// Whether there is storage for no table longer than this.
    pub longest: Cell<usize>,
    /// Pieces of news, each of a hunt that failed, that come before any other and take a µs each.
    pub news: Cell<u32>,
    pub waits: Cell<u32>,
}

/// All nodes and the trace.
#[derive(Default)]
pub struct World {
    pub net: Rc<Net>,
    states: RefCell<Vec<Rc<State>>>,
    /// Whether stamps are kept. While they are, every message takes the long way.
    pub tracing: Cell<bool>,
    pub stamps: RefCell<Vec<(Name, Span, Edge, u32)>>,
}

/// The platform of one node.
pub struct Side {
    pub ground: Ground,
    world: Rc<World>,
    pub state: Rc<State>,
}

pub fn name(text: &str) -> Name {
    text.parse().expect("a good name")
}

pub fn class(placement: Placement, size: u32, count: u32) -> Class {
    Class { placement, size, count }
}

/// A layout that is soon full: 16 slots, few blocks.
pub fn small() -> Layout {
    let classes = [
        class(Placement::Internal, 64, 4),
        class(Placement::Internal, 1024, 2),
        class(Placement::Internal, 65536, 2),
        class(Placement::External, 64, 32),
        class(Placement::External, 1024, 16),
        class(Placement::External, 65536, 4),
    ];
    Layout::new(64, 16, &classes).expect("possible").starting_at(u32::MAX - 20)
}

impl World {
    pub fn new() -> Rc<World> {
        Rc::default()
    }

    pub fn node(self: &Rc<World>, text: &str, limits: Limits) -> Node<Side> {
        Node::new(self.side(text), limits).expect("storage")
    }

    fn side(self: &Rc<World>, text: &str) -> Side {
        let state = Rc::new(State {
            name: name(text),
            bell: Rc::default(),
            heard: Cell::new(0),
            hook: RefCell::new(None),
            layout: Rc::new(Cell::new(small())),
            engine: Cell::new(true),
            broken: Cell::new(false),
            engine_uses: Cell::new(0),
            storages: Cell::new(0),
            longest: Cell::new(usize::MAX),
            news: Cell::new(0),
            waits: Cell::new(0),
        });
        self.states.borrow_mut().push(state.clone());
        let ground = make(&self.net, state.name, state.layout.clone());
        Side { ground, world: self.clone(), state }
    }

    /// The bell of the latest node of a name.
    fn bell(&self, name: &Name) -> Rc<Cell<u32>> {
        let states = self.states.borrow();
        let found = states.iter().rev().find(|state| state.name == *name);
        found.expect("it was made here").bell.clone()
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // It may own other nodes, and they the world, and the world this node's state.
        self.off_wait();
    }
}

impl Side {
    /// Runs `hook` whenever this node waits.
    pub fn on_wait(&self, hook: impl FnMut() + 'static) {
        *self.state.hook.borrow_mut() = Some(Box::new(hook));
    }
    pub fn off_wait(&self) {
        *self.state.hook.borrow_mut() = None;
    }
    /// Turns stamps on or off, of all nodes of this world.
    #[allow(dead_code, reason = "most tests keep no stamps")]
    pub fn set_tracing(&mut self, on: bool) {
        self.world.tracing.set(on);
    }
    /// How often this node's bell was rung.
    pub fn rings(&self) -> u32 {
        self.state.bell.get()
    }
    fn fails(&self) -> bool {
        self.state.engine_uses.set(self.state.engine_uses.get() + 1);
        self.state.broken.get() || !self.state.engine.get()
    }
}

impl Platform for Side {
    type Own = <Ground as Platform>::Own;
    type Peer = <Ground as Platform>::Peer;
    type Bell = (<Ground as Platform>::Bell, Rc<Cell<u32>>);
    type Slice<T> = Box<[T]>;
    type Books = Box<[u16]>;
    const LINE: u32 = LINE;
    const LOOKS: u32 = 16;

    fn storage<T>(&self, n: usize, make: impl FnMut(usize) -> T) -> Result<Box<[T]>, NoStorage> {
        if n > self.state.longest.get() {
            return Err(NoStorage);
        }
        self.state.storages.set(self.state.storages.get() + 1);
        Ok((0..n).map(make).collect())
    }

    fn books(&self, _own: &Self::Own, len: usize) -> Result<Box<[u16]>, NoStorage> {
        self.storage(len, |_| 0)
    }

    fn wait<'a, S>(&self, set: S, how: Wait, deadline: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, Words>> + Clone,
    {
        let state = &self.state;
        state.waits.set(state.waits.get() + 1);
        for _ in 0..PATIENCE {
            let turn = Instant(self.ground.now().0 + TURN);
            let until = deadline.map_or(turn, |deadline| deadline.min(turn));
            match self.ground.wait(set.clone(), how, Some(until)) {
                // Whose bell it was is counted here: the ground may have one for all.
                Woken::Bell | Woken::Deadline => {}
                woken => return woken,
            }
            // A sleeper sees bells and nothing else, so that a bell that is missing shows.
            if how == Wait::Bell && state.heard.replace(state.bell.get()) != state.bell.get() {
                return Woken::Bell;
            }
            if deadline.is_some_and(|deadline| self.ground.now() >= deadline) {
                return Woken::Deadline;
            }
            let hook = state.hook.borrow_mut().take();
            let Some(mut hook) = hook else { break };
            hook();
            *state.hook.borrow_mut() = Some(hook);
        }
        let deadline = deadline.unwrap_or_else(|| panic!("nothing wakes {}: {how:?}", state.name));
        self.ground.wait(set, how, Some(deadline))
    }

    fn fence(&self) {
        self.ground.fence();
    }
    fn ring(&self, (bell, count): &Self::Bell) {
        count.set(count.get() + u32::from(ring(&self.ground, bell)));
    }
    fn now(&self) -> Instant {
        self.ground.now()
    }
    fn tracing(&self) -> bool {
        self.world.tracing.get()
    }

    fn stamp(&self, span: Span, edge: Edge, id: u32) {
        if self.tracing() {
            self.world.stamps.borrow_mut().push((self.state.name, span, edge, id));
        }
        self.ground.stamp(span, edge, id);
    }

    fn hunt(&self, wanted: &Name) -> Result<(), HuntError> {
        self.ground.hunt(wanted)
    }
    fn give_up(&self, wanted: &Name) {
        self.ground.give_up(wanted);
    }
    fn event(&self) -> Option<Result<Event<Side>, (Name, HuntError)>> {
        if let Some(left) = self.state.news.get().checked_sub(1) {
            self.state.news.set(left);
            (0..100).for_each(|_| _ = self.ground.now());
            return Some(Err((self.state.name, HuntError::Own)));
        }
        Some(self.ground.event()?.map(|event| match event {
            Event::Lost { key, reason } => Event::Lost { key, reason },
            Event::Connected(Connected { key, name, incarnation, own, peer, bell }) => {
                let bell = (bell, self.world.bell(&name));
                Event::Connected(Connected { key, name, incarnation, own, peer, bell })
            }
        }))
    }
    fn close(&self, key: u32) {
        self.ground.close(key);
    }

    fn has_engine(&self) -> bool {
        self.state.engine.get() && self.ground.has_engine()
    }
    fn engine_store(
        &self,
        own: &Self::Own,
        offset: u32,
        from: &[u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        if self.fails() {
            return Err(EngineError);
        }
        self.ground.engine_store(own, offset, from, fragment)
    }
    fn engine_fetch(
        &self,
        peer: &Self::Peer,
        offset: u32,
        to: &mut [u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        if self.fails() {
            return Err(EngineError);
        }
        self.ground.engine_fetch(peer, offset, to, fragment)
    }
}
