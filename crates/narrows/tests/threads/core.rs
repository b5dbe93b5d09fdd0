//! A core that is a thread, beside another over memory on the heap.
//!
//! Nothing but the shared words orders the two: a bell is a counter that orders nothing and that a
//! sleeper looks at again and again. A bell of the system's would order what came before it, and so
//! hide from ThreadSanitizer an ordering that a word lacks.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant as Clock};

use narrows::conformance::{Rig, Side};
use narrows::endpoint::{Limits, Node};
use narrows::link::{LinkId, Name};
use narrows::memory::Layout;
use narrows::platform::{
    Connected, EngineError, Event, HuntError, Instant, Lost, Memory, NoStorage, OwnMemory,
    Platform, Wait, Watch, Woken,
};
use narrows::span::{Edge, Span};

use super::memory::{Range, Region};

/// Longer than anything in here takes, unless something is lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a core lets the other see beside its region.
#[derive(Default)]
pub struct Door {
    rung: AtomicU32,
    gone: AtomicBool,
}

/// One of two cores, linked from the start.
pub struct Core {
    own: Arc<Door>,
    peer: Arc<Door>,
    heard: Cell<u32>,
    link: RefCell<Option<Connected<Core>>>,
    linked: Cell<bool>,
    begin: Clock,
}

impl Drop for Core {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `Core::gone`. All that was sent is seen before the
        // end.
        self.own.gone.store(true, Ordering::Release);
        self.ring(&self.peer);
    }
}

impl Core {
    /// Two cores with a link between them.
    pub fn pair() -> [Core; 2] {
        let layout = Layout::standard(Core::LINE).and_then(|layout| layout.with_channels(2, 16));
        let layout = layout.expect("possible");
        let regions = [(); 2].map(|()| Region::new(&layout));
        let doors = [(); 2].map(|()| Arc::new(Door::default()));
        [0, 1].map(|own| Core {
            own: doors[own].clone(),
            peer: doors[1 - own].clone(),
            heard: Cell::new(0),
            link: RefCell::new(Some(Connected {
                key: 0,
                name: ["caller", "callee"][1 - own].parse().expect("a name"),
                incarnation: 1,
                own: regions[own].clone(),
                peer: regions[1 - own].clone(),
                bell: doors[1 - own].clone(),
            })),
            linked: Cell::new(true),
            begin: Clock::now(),
        })
    }

    fn gone(&self) -> bool {
        // Acquire: pairs with the release in `Core::drop`.
        self.linked.get() && self.peer.gone.load(Ordering::Acquire)
    }

    fn news(&self) -> bool {
        self.link.borrow().is_some() || self.gone()
    }
}

impl Platform for Core {
    type Own = Region;
    type Peer = Region;
    type Bell = Arc<Door>;
    type Slice<T> = Box<[T]>;
    type Books = Box<[u16]>;
    const LINE: u32 = 64;

    fn storage<T>(&self, n: usize, make: impl FnMut(usize) -> T) -> Result<Box<[T]>, NoStorage> {
        Ok((0..n).map(make).collect())
    }

    fn books(&self, _own: &Region, len: usize) -> Result<Box<[u16]>, NoStorage> {
        self.storage(len, |_| 0)
    }

    fn wait<'a, S>(&self, set: S, how: Wait, deadline: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, Range>> + Clone,
    {
        let begin = self.now();
        loop {
            if self.news() {
                return Woken::Event;
            }
            if matches!(how, Wait::Spin | Wait::Look) && set.clone().any(|watch| watch.changed()) {
                return Woken::Word;
            }
            // Relaxed: a bell orders nothing here (module page).
            let rung = self.own.rung.load(Ordering::Relaxed);
            if how == Wait::Bell && self.heard.replace(rung) != rung {
                return Woken::Bell;
            }
            let now = self.now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Woken::Deadline;
            }
            assert!(now.since(begin) < PATIENCE, "nothing ends a wait: {how:?}");
            std::thread::yield_now();
        }
    }

    // ThreadSanitizer takes no account of it. It need not: what is on either side of this fence are
    // atomics, and a bell that was not rung shows as a wait that nothing ends.
    fn fence(&self) {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
    fn ring(&self, bell: &Arc<Door>) {
        // Relaxed: a bell orders nothing here (module page).
        bell.rung.fetch_add(1, Ordering::Relaxed);
    }
    fn now(&self) -> Instant {
        Instant(self.begin.elapsed().as_nanos() as u64)
    }
    fn tracing(&self) -> bool {
        false
    }
    fn stamp(&self, _: Span, _: Edge, _: u32) {}
    fn hunt(&self, _: &Name) -> Result<(), HuntError> {
        Err(HuntError::Own)
    }
    fn give_up(&self, _: &Name) {}
    fn event(&self) -> Option<Result<Event<Core>, (Name, HuntError)>> {
        if let Some(link) = self.link.take() {
            return Some(Ok(Event::Connected(link)));
        }
        if !self.gone() {
            return None;
        }
        self.linked.set(false);
        Some(Ok(Event::Lost { key: 0, reason: Lost::Closed }))
    }
    fn close(&self, _: u32) {
        self.linked.set(false);
        // Release: as in `Core::drop`.
        self.own.gone.store(true, Ordering::Release);
        self.ring(&self.peer);
    }

    fn has_engine(&self) -> bool {
        true
    }
    fn engine_store(
        &self,
        own: &Region,
        offset: u32,
        from: &[u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        for (part, bytes) in from.chunks(fragment as usize).enumerate() {
            own.write(offset + part as u32 * fragment, bytes).map_err(|_| EngineError)?;
        }
        Ok(())
    }
    fn engine_fetch(
        &self,
        peer: &Region,
        offset: u32,
        to: &mut [u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        for (part, bytes) in to.chunks_mut(fragment as usize).enumerate() {
            peer.read(offset + part as u32 * fragment, bytes).map_err(|_| EngineError)?;
        }
        Ok(())
    }
}

/// Two nodes in two threads.
pub struct Threads;

fn linked(core: Core) -> (Node<Core>, LinkId) {
    let mut node = Node::new(core, Limits::default()).expect("storage");
    node.poll();
    let (link, _) = node.links().next().expect("linked from the start");
    (node, link)
}

impl Rig for Threads {
    type Platform = Core;

    fn run(&self, caller: Side<'_, Core>, callee: Side<'_, Core>) {
        let [a, b] = Core::pair();
        std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                let (mut node, link) = linked(b);
                callee(&mut node, link);
            });
            let (mut node, link) = linked(a);
            caller(&mut node, link);
            drop(node);
            // By name: ThreadSanitizer sees the end of a thread that is joined, and not the count
            // by which a scope waits for the others.
            other.join().expect("the callee's checks passed");
        });
    }
}
