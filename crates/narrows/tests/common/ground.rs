//! What the nodes of a test stand on: regions on the heap, made-up time, a rendezvous in a table.
//!
//! In the test programs `framed` and `streamed` no two nodes share a region: frames carry what they
//! write.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use narrows::endpoint::Node;
use narrows::link::Name;
use narrows::memory::Layout;
use narrows::platform::{
    Connected, EngineError, Event, HuntError, Instant, Lost, Memory, NoStorage, OwnMemory,
    Platform, Wait, Watch, Woken,
};
use narrows::span::{Edge, Span};

use super::carried::{Carried, formatted};
use super::heap::{Heap, HeapWords};
use super::world::{Side, World, name};

type News = Result<Event<Ground>, (Name, HuntError)>;

const FRAMED: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"framed" | b"streamed");

/// Bytes of a slot: few in the test program `narrow`.
pub const LINE: u32 = match env!("CARGO_CRATE_NAME").as_bytes() {
    b"narrow" => 32,
    _ => 64,
};

/// Whether regions are memory that can be read and written like any other.
pub const ADDRESSED: bool = true;

/// Runs a test.
pub fn inside<R>(test: impl FnOnce() -> R) -> R {
    test()
}

struct Spot {
    name: Name,
    layout: Rc<Cell<Layout>>,
    events: RefCell<VecDeque<News>>,
    alive: Cell<bool>,
}

struct Line {
    names: [Name; 2],
    /// What the peers of these see of their regions.
    seen: [Heap; 2],
    carried: Option<Rc<Carried>>,
    open: bool,
}

/// The bell of one end of a link.
pub struct Bell {
    carried: Option<Rc<Carried>>,
    /// Which end hears it.
    end: usize,
}

/// Which nodes are there and linked with which, and the clock.
#[derive(Default)]
pub struct Net {
    spots: RefCell<Vec<Rc<Spot>>>,
    lines: RefCell<Vec<Line>>,
    hunts: RefCell<Vec<(Name, Name)>>,
    clock: Cell<u64>,
}

/// The platform of a node, bare.
pub struct Ground {
    net: Rc<Net>,
    spot: Rc<Spot>,
}

/// The platform of a new node.
pub fn make(net: &Rc<Net>, name: Name, layout: Rc<Cell<Layout>>) -> Ground {
    let (events, alive) = (RefCell::default(), Cell::new(true));
    let spot = Rc::new(Spot { name, layout, events, alive });
    net.spots.borrow_mut().push(spot.clone());
    let waiting: Vec<_> =
        net.hunts.borrow_mut().extract_if(.., |(_, wanted)| *wanted == name).collect();
    for (hunter, wanted) in waiting {
        net.connect(&hunter, &wanted);
    }
    Ground { net: net.clone(), spot }
}

/// A node is dead, without a word.
pub fn bury(world: &World, name: &str, dead: Node<Side>) {
    world.kill(name);
    drop(dead);
}

/// Rings the peer's bell, or that of what carries frames to the peer. Whether the peer is rung.
pub fn ring(_: &Ground, bell: &Bell) -> bool {
    let carried = bell.carried.as_ref().map(|carried| carried.carry());
    // What has ended the connection the test that brought it about looks for.
    carried.is_none_or(|rung| rung.is_ok_and(|rung| rung[bell.end]))
}

impl Net {
    fn find(&self, name: &Name) -> Option<Rc<Spot>> {
        self.spots.borrow().iter().find(|n| n.name == *name && n.alive.get()).cloned()
    }

    fn connect(&self, a: &Name, b: &Name) {
        let (Some(a), Some(b)) = (self.find(a), self.find(b)) else { return };
        let key = self.lines.borrow().len() as u32;
        let regions = [&a, &b].map(|node| formatted(&node.layout.get()));
        let (seen, carried) = if FRAMED {
            let replicas = [&a, &b].map(|node| formatted(&node.layout.get()));
            let carried = Carried::new(&regions, &replicas);
            (replicas, Some(carried))
        } else {
            (regions.clone(), None)
        };
        for (me, peer, own) in [(&a, &b, 0), (&b, &a, 1)] {
            me.events.borrow_mut().push_back(Ok(Event::Connected(Connected {
                key,
                name: peer.name,
                incarnation: u64::from(key),
                own: regions[own].clone(),
                peer: seen[1 - own].clone(),
                bell: Bell { carried: carried.clone(), end: 1 - own },
            })));
        }
        let names = [a.name, b.name];
        self.lines.borrow_mut().push(Line { names, seen, carried, open: true });
    }

    fn end(&self, key: usize, by: &Name, reason: Lost) {
        let mut lines = self.lines.borrow_mut();
        let Some(line) = lines.get_mut(key).filter(|line| line.open) else { return };
        let Some(at) = line.names.iter().position(|n| n == by) else { return };
        line.open = false;
        if let Some(carried) = &line.carried {
            let _ = carried.carry();
        }
        if let Some(peer) = self.find(&line.names[1 - at]) {
            let lost = Event::Lost { key: key as u32, reason };
            peer.events.borrow_mut().push_back(Ok(lost));
        }
    }

    fn pass(&self, nanos: u64) {
        self.clock.set(self.clock.get() + nanos);
    }
}

impl World {
    /// Ends every link of a node without a word. Its memory stays.
    pub fn kill(&self, text: &str) {
        let dead = self.net.find(&name(text)).expect("alive");
        dead.alive.set(false);
        let lines = self.net.lines.borrow().len();
        for key in 0..lines {
            self.net.end(key, &dead.name, Lost::Died);
        }
    }

    /// The region that `owner` wrote on the latest link between two nodes, as its peer sees it.
    pub fn region(&self, owner: &str, peer: &str) -> Heap {
        let (owner, peer) = (name(owner), name(peer));
        let lines = self.net.lines.borrow();
        let found = lines.iter().rev().find_map(|line| {
            let at = line.names.iter().position(|n| *n == owner)?;
            (line.names[1 - at] == peer).then(|| line.seen[at].clone())
        });
        found.expect("they are linked")
    }
}

impl Platform for Ground {
    type Own = Heap;
    type Peer = Heap;
    type Bell = Bell;
    type Slice<T> = Box<[T]>;
    type Books = Box<[u16]>;
    const LINE: u32 = LINE;

    fn storage<T>(&self, n: usize, make: impl FnMut(usize) -> T) -> Result<Box<[T]>, NoStorage> {
        Ok((0..n).map(make).collect())
    }

    fn books(&self, _own: &Heap, len: usize) -> Result<Box<[u16]>, NoStorage> {
        self.storage(len, |_| 0)
    }

    fn wait<'a, S>(&self, mut set: S, how: Wait, deadline: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, HeapWords>> + Clone,
    {
        if !self.spot.events.borrow().is_empty() {
            return Woken::Event;
        }
        if matches!(how, Wait::Spin | Wait::Look) && set.any(|watch| watch.changed()) {
            return Woken::Word;
        }
        if let Some(Instant(end)) = deadline {
            self.net.clock.set(self.net.clock.get().max(end));
        }
        Woken::Deadline
    }

    fn fence(&self) {}
    fn ring(&self, bell: &Bell) {
        ring(self, bell);
    }
    fn now(&self) -> Instant {
        self.net.pass(10);
        Instant(self.net.clock.get())
    }
    fn stamp(&self, _: Span, _: Edge, _: u32) {}

    fn hunt(&self, wanted: &Name) -> Result<(), HuntError> {
        if *wanted == self.spot.name {
            return Err(HuntError::Own);
        }
        match self.net.find(wanted) {
            Some(_) => self.net.connect(&self.spot.name, wanted),
            None => self.net.hunts.borrow_mut().push((self.spot.name, *wanted)),
        }
        Ok(())
    }
    fn give_up(&self, wanted: &Name) {
        self.net.hunts.borrow_mut().retain(|hunt| *hunt != (self.spot.name, *wanted));
    }
    fn event(&self) -> Option<News> {
        self.spot.events.borrow_mut().pop_front()
    }
    fn close(&self, key: u32) {
        self.net.end(key as usize, &self.spot.name, Lost::Closed);
    }

    fn has_engine(&self) -> bool {
        true
    }
    fn engine_store(
        &self,
        own: &Heap,
        offset: u32,
        from: &[u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        in_fragments(offset, from.len(), fragment, |at, part| {
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
        in_fragments(offset, to.len(), fragment, |at, part| {
            peer.read(at, &mut to[part]).map_err(|_| EngineError)
        })
    }
}

fn in_fragments(
    offset: u32,
    len: usize,
    fragment: u32,
    mut copy: impl FnMut(u32, Range<usize>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    for at in (0..len).step_by(fragment as usize) {
        copy(offset + at as u32, at..len.min(at + fragment as usize))?;
    }
    Ok(())
}
