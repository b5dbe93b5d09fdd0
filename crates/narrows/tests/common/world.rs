//! Several nodes in one thread: regions on the heap, made-up time, a rendezvous in a table. A node
//! that waits runs its hook, in which a test drives the other ends.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use narrows::endpoint::{FlowId, Function, Limits, Node, Sink, Source};
use narrows::link::{LinkId, Name};
use narrows::memory::{Class, Layout};
use narrows::platform::{
    Connected, EngineError, Event, HuntError, Instant, Lost, Memory, NoStorage, OwnMemory,
    Platform, Wait, Watch, Woken,
};
use narrows::span::{Edge, Span};
use narrows::strategy::{Placement, Strategy};

use super::heap::{Heap, HeapWords};

/// Waits that nothing ends before a test is told so.
const PATIENCE: u32 = 2000;

type News = Result<Event<Side>, (Name, HuntError)>;

/// What one node and its tests share.
pub struct State {
    name: Name,
    events: RefCell<VecDeque<News>>,
    bell: Rc<Cell<u32>>,
    heard: Cell<u32>,
    alive: Cell<bool>,
    hook: RefCell<Option<Box<dyn FnMut()>>>,
    pub layout: Cell<Layout>,
    pub engine: Cell<bool>,
    /// Whether the engine fails although it is there.
    pub broken: Cell<bool>,
    pub engine_uses: Cell<u32>,
    pub storages: Cell<u32>,
    pub waits: Cell<u32>,
}

struct Line {
    names: [Name; 2],
    regions: [Heap; 2],
    open: bool,
}

/// All nodes, the clock and the trace.
#[derive(Default)]
pub struct World {
    nodes: RefCell<Vec<Rc<State>>>,
    lines: RefCell<Vec<Line>>,
    hunts: RefCell<Vec<(Name, Name)>>,
    clock: Cell<u64>,
    /// Whether stamps are kept. While they are, every message takes the long way.
    pub tracing: Cell<bool>,
    pub stamps: RefCell<Vec<(Name, Span, Edge, u32)>>,
}

/// The platform of one node.
pub struct Side {
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
            events: RefCell::default(),
            bell: Rc::default(),
            heard: Cell::new(0),
            alive: Cell::new(true),
            hook: RefCell::new(None),
            layout: Cell::new(small()),
            engine: Cell::new(true),
            broken: Cell::new(false),
            engine_uses: Cell::new(0),
            storages: Cell::new(0),
            waits: Cell::new(0),
        });
        self.nodes.borrow_mut().push(state.clone());
        let waiting: Vec<_> =
            self.hunts.borrow_mut().extract_if(.., |(_, wanted)| *wanted == state.name).collect();
        for (hunter, wanted) in waiting {
            self.connect(&hunter, &wanted);
        }
        Side { world: self.clone(), state }
    }

    fn find(&self, name: &Name) -> Option<Rc<State>> {
        self.nodes.borrow().iter().find(|n| n.name == *name && n.alive.get()).cloned()
    }

    fn connect(&self, a: &Name, b: &Name) {
        let (Some(a), Some(b)) = (self.find(a), self.find(b)) else { return };
        let key = self.lines.borrow().len() as u32;
        let regions = [&a, &b].map(|node| {
            let region = Heap::new(node.layout.get().size());
            node.layout.get().format(&region).expect("the region has the layout's size");
            region
        });
        for (me, peer, own) in [(&a, &b, 0), (&b, &a, 1)] {
            me.events.borrow_mut().push_back(Ok(Event::Connected(Connected {
                key,
                name: peer.name,
                incarnation: u64::from(key),
                own: regions[own].clone(),
                peer: regions[1 - own].clone(),
                bell: peer.bell.clone(),
            })));
        }
        self.lines.borrow_mut().push(Line { names: [a.name, b.name], regions, open: true });
    }

    /// Ends every link of a node without a word. Its memory stays.
    pub fn kill(&self, text: &str) {
        let dead = self.find(&name(text)).expect("alive");
        dead.alive.set(false);
        let lines = self.lines.borrow().len();
        for key in 0..lines {
            self.end(key, &dead.name, Lost::Died);
        }
    }

    fn end(&self, key: usize, by: &Name, reason: Lost) {
        let mut lines = self.lines.borrow_mut();
        let Some(line) = lines.get_mut(key).filter(|line| line.open) else { return };
        let Some(at) = line.names.iter().position(|n| n == by) else { return };
        line.open = false;
        if let Some(peer) = self.find(&line.names[1 - at]) {
            let lost = Event::Lost { key: key as u32, reason };
            peer.events.borrow_mut().push_back(Ok(lost));
        }
    }

    /// The region that `owner` wrote on the latest link between two nodes.
    pub fn region(&self, owner: &str, peer: &str) -> Heap {
        let (owner, peer) = (name(owner), name(peer));
        let lines = self.lines.borrow();
        let found = lines.iter().rev().find_map(|line| {
            let at = line.names.iter().position(|n| *n == owner)?;
            (line.names[1 - at] == peer).then(|| line.regions[at].clone())
        });
        found.expect("they are linked")
    }

    fn pass(&self, nanos: u64) {
        self.clock.set(self.clock.get() + nanos);
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
    /// How often this node's bell was rung.
    pub fn rings(&self) -> u32 {
        self.state.bell.get()
    }
}

impl Platform for Side {
    type Own = Heap;
    type Peer = Heap;
    type Bell = Rc<Cell<u32>>;
    type Slice<T> = Box<[T]>;
    const LINE: u32 = 64;

    fn storage<T>(&self, n: usize, make: impl FnMut(usize) -> T) -> Result<Box<[T]>, NoStorage> {
        self.state.storages.set(self.state.storages.get() + 1);
        Ok((0..n).map(make).collect())
    }

    fn wait<'a, S>(&self, set: S, how: Wait, deadline: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, HeapWords>> + Clone,
    {
        let state = &self.state;
        state.waits.set(state.waits.get() + 1);
        for _ in 0..PATIENCE {
            self.world.pass(100);
            if !state.events.borrow().is_empty() {
                return Woken::Event;
            }
            // A sleeper sees bells and nothing else, so that a bell that is missing shows.
            if how == Wait::Spin && set.clone().any(|watch| watch.changed()) {
                return Woken::Word;
            }
            if how == Wait::Bell && state.heard.replace(state.bell.get()) != state.bell.get() {
                return Woken::Bell;
            }
            if deadline.is_some_and(|d| self.now() >= d) {
                return Woken::Deadline;
            }
            let hook = state.hook.borrow_mut().take();
            let Some(mut hook) = hook else { break };
            hook();
            *state.hook.borrow_mut() = Some(hook);
        }
        let deadline = deadline.unwrap_or_else(|| panic!("nothing wakes {}: {how:?}", state.name));
        self.world.clock.set(self.world.clock.get().max(deadline.0));
        Woken::Deadline
    }

    fn fence(&self) {}
    fn ring(&self, bell: &Rc<Cell<u32>>) {
        bell.set(bell.get() + 1);
    }
    fn now(&self) -> Instant {
        self.world.pass(10);
        Instant(self.world.clock.get())
    }
    fn tracing(&self) -> bool {
        self.world.tracing.get()
    }

    fn stamp(&self, span: Span, edge: Edge, id: u32) {
        if self.tracing() {
            self.world.stamps.borrow_mut().push((self.state.name, span, edge, id));
        }
    }

    fn hunt(&self, wanted: &Name) -> Result<(), HuntError> {
        if *wanted == self.state.name {
            return Err(HuntError::Own);
        }
        match self.world.find(wanted) {
            Some(_) => self.world.connect(&self.state.name, wanted),
            None => self.world.hunts.borrow_mut().push((self.state.name, *wanted)),
        }
        Ok(())
    }
    fn give_up(&self, wanted: &Name) {
        self.world.hunts.borrow_mut().retain(|hunt| *hunt != (self.state.name, *wanted));
    }
    fn event(&self) -> Option<News> {
        self.state.events.borrow_mut().pop_front()
    }
    fn close(&self, key: u32) {
        self.world.end(key as usize, &self.state.name, Lost::Closed);
    }

    fn has_engine(&self) -> bool {
        self.state.engine.get()
    }
    fn engine_store(
        &self,
        own: &Heap,
        offset: u32,
        from: &[u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        self.engine(offset, from.len(), fragment, |at, part| {
            own.write(at, &from[part]).map_err(|_| EngineError)
        })
    }
    fn engine_fetch(
        &self,
        peer: &Heap,
        offset: u32,
        to: &mut [u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        self.engine(offset, to.len(), fragment, |at, part| {
            peer.read(at, &mut to[part]).map_err(|_| EngineError)
        })
    }
}

impl Side {
    fn engine(
        &self,
        offset: u32,
        len: usize,
        fragment: u32,
        mut copy: impl FnMut(u32, std::ops::Range<usize>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if self.state.broken.get() || !self.state.engine.get() {
            return Err(EngineError);
        }
        self.state.engine_uses.set(self.state.engine_uses.get() + 1);
        for at in (0..len).step_by(fragment as usize) {
            copy(offset + at as u32, at..len.min(at + fragment as usize))?;
        }
        Ok(())
    }
}

pub type End = Rc<RefCell<Node<Side>>>;

/// Two nodes with a link between them: `a`, which a test drives, and `b`, which serves.
pub struct Pair {
    pub world: Rc<World>,
    pub a: Node<Side>,
    pub b: End,
    /// The link as `a` and as `b` name it.
    pub to_b: LinkId,
    pub to_a: LinkId,
}

pub fn pair() -> Pair {
    pair_with(Limits::default(), Limits::default(), |_| {})
}

/// A pair of nodes of these limits; `prepare` sees each platform before they are linked.
pub fn pair_with(a: Limits, b: Limits, prepare: impl Fn(&State)) -> Pair {
    let world = World::new();
    let (mut a, mut b) = (world.node("a", a), world.node("b", b));
    prepare(&a.platform().state);
    prepare(&b.platform().state);
    let to_b = a.hunt(&name("b"), None).expect("b is there");
    let to_a = b.hunt(&name("a"), None).expect("a is there");
    let b = Rc::new(RefCell::new(b));
    let end = b.clone();
    a.platform().on_wait(move || {
        serve(&mut end.borrow_mut());
    });
    Pair { world, a, b, to_b, to_a }
}

impl Pair {
    pub fn flow(&mut self, function: &str, strategy: Strategy, longest: u32) -> FlowId {
        let opened = self.a.flow(self.to_b, &name(function), strategy, longest, SECOND);
        opened.expect("the function is there")
    }

    /// Nothing is lent or held on either side, once both have caught up.
    pub fn check_empty(&mut self) {
        for _ in 0..3 {
            serve(&mut self.b.borrow_mut());
            self.a.poll();
            self.a.arm();
            self.a.disarm();
            let mut b = self.b.borrow_mut();
            b.arm();
            b.disarm();
        }
        assert_eq!(in_use(&mut self.a, self.to_b), (0, 0), "blocks of a");
        assert_eq!(in_use(&mut self.b.borrow_mut(), self.to_a), (0, 0), "blocks of b");
    }
}

/// Blocks lent and held, with what the peer has returned taken into account.
pub fn in_use(node: &mut Node<Side>, link: LinkId) -> (u32, u32) {
    node.reclaim(link);
    node.blocks_in_use(link).expect("a link")
}

pub const SECOND: Option<Duration> = Some(Duration::from_secs(1));

pub fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + seed * 7 + i / 256) as u8).collect()
}

pub fn all(source: &dyn Source) -> Vec<u8> {
    let mut bytes = vec![0; source.len()];
    source.read(0, &mut bytes).expect("all of it");
    bytes
}

/// Serves what is there with the functions `echo`, `refuse`, `long` (as many bytes as the request's
/// first word says) and `count` (how often it ran).
pub fn serve(node: &mut Node<Side>) -> usize {
    use narrows::endpoint::Failure;
    let mut echo = |request: &dyn Source, response: &mut dyn Sink| response.write(0, &all(request));
    let mut refuse = |_: &dyn Source, response: &mut dyn Sink| {
        response.write(0, b"half")?;
        Err(Failure::Refused)
    };
    let mut long = |request: &dyn Source, response: &mut dyn Sink| {
        let mut word = [0; 4];
        request.read(0, &mut word)?;
        response.write(0, &bytes(u32::from_le_bytes(word) as usize, 5))
    };
    node.try_serve(&mut [
        Function { name: name("echo"), run: &mut echo },
        Function { name: name("refuse"), run: &mut refuse },
        Function { name: name("long"), run: &mut long },
    ])
}
