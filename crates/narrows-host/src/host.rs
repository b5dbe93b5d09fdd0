//! The platform: what the stack asks of this machine.

use std::array;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use narrows::link::Name;
use narrows::platform::{
    Connected, EngineError, Event, FlowNote, FlowStage, HuntError, Instant, NoStorage, Platform,
    Wait, Watch, Woken,
};
use narrows::span::{Edge, Note, Passage, Span};
use narrows_trace::{Category, Value};
use rustix::event::epoll;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::thread::{sched_getcpu, sched_yield};
use rustix::time::Timespec;

use crate::bells::Bell;
use crate::bells::set::{WAKER, is_supervision, listen_to, no_events};
use crate::bells::sets::Sets;
use crate::clock;
use crate::engine::Engine;
use crate::looks::Looks;
use crate::memory::books::Books;
use crate::memory::sync;
use crate::memory::words::PeerWords;
use crate::memory::{LINE, PeerRegion, Region};
use crate::rendezvous::door::{Background, Door};
use crate::rendezvous::{Farewell, Linked, News, Rendezvous};
use crate::trace::{Recorder, Stamps, Trace};

/// Nanoseconds after which a spinning node looks at the rendezvous again.
const LOOK_EVERY: u64 = 1_000_000;
/// Rounds of looking at words before time is looked at.
const ROUNDS: u32 = 8;
/// Pauses between two looks at the words: without any the looks slow the writer down.
const PAUSES: u32 = 1;
/// Words that are looked at without going through the set that names them.
const KEPT: usize = 4;
/// Seconds of one sleep; a longer one is several.
const LONGEST_SLEEP: u64 = 3600;
/// Turns of hearing without waiting: a bound, should peers never stop ringing or linking. What is
/// left then makes the descriptor readable anew.
const HEARD_AT_ONCE: u32 = 8;

/// This process's side of the platform, for one node.
///
/// It can be put into an application's own epoll set (mio, tokio): its descriptor is readable when
/// a peer has rung or the rendezvous has something to do. Before such a wait the node is
/// [armed](narrows::endpoint::Node::arm); after it, this platform [hears](Host::hear) what came and
/// the node is polled. `docs/HOWTO.md` has the whole turn.
///
/// A peer that breaks the rules is refused or lost. What the kernel lets any process of the same
/// user do to another it can do all the same: link with other users only if they may take this
/// node's time and places. CAVEATS.md says what is left to them.
///
/// A node belongs to the process that opened it. In a process that was forked and runs no other
/// program, the copy of it finds its links lost ([`Lost::Forked`](narrows::platform::Lost::Forked))
/// and changes nothing that the parent or a peer sees; a node that such a process opens itself is
/// as good as any. Until the copy is used, the child has the sockets of its parent's links: if the
/// parent dies, its peers hear of it when the child ends or looks at the copy.
pub struct Host {
    /// Before `door`: its thread ends before the node leaves.
    _background: Option<Background>,
    door: Arc<Door>,
    /// A bell was heard in a wait that ended for another reason.
    rung: Cell<bool>,
    /// When, in ticks, the rendezvous is looked at next by a thread that does not sleep.
    next_look: Cell<u64>,
    look_ticks: u64,
    /// The last sleep ended with nothing to do at the rendezvous: the next look would find out the
    /// same.
    looked: Cell<bool>,
    sets: Arc<Sets>,
    stamps: Stamps,
    looks: Looks,
    engine: Option<Engine>,
}

impl Host {
    pub(crate) fn new(
        (door, background): (Arc<Door>, Option<Background>),
        sets: Arc<Sets>,
        engine: Option<Engine>,
        recorder: Option<Recorder>,
    ) -> Host {
        Host {
            _background: background,
            door,
            rung: Cell::new(false),
            next_look: Cell::new(clock::ticks()),
            look_ticks: clock::ticks_in(LOOK_EVERY),
            looked: Cell::new(false),
            sets,
            stamps: Stamps::new(recorder),
            looks: Looks::default(),
            engine,
        }
    }

    /// Turns stamping on or off. Off, a stamp costs one load and one branch.
    pub fn set_tracing(&mut self, on: bool) {
        self.stamps.set(on);
    }

    /// The stamps since the last time, and forgets them.
    pub fn take_trace(&self) -> Trace {
        self.stamps.take()
    }

    /// Writes something of the program's own to the trace that `NARROWS_TRACE` asks for, at this
    /// moment on the node's row; does nothing if no trace is written.
    pub fn mark(&self, category: Category, name: &str, values: &[(&str, Value<'_>)]) {
        self.stamps.mark(category, name, values);
    }

    /// Nanoseconds of one tick of [`Record::ticks`](crate::Record::ticks), measured once per
    /// process.
    #[must_use]
    pub fn nanos_per_tick() -> f64 {
        clock::nanos_per_tick()
    }

    /// What one stamp costs when stamping is on, in nanoseconds.
    #[must_use]
    pub fn stamp_cost() -> f64 {
        crate::trace::stamp_cost()
    }

    /// CPU time that the copy engine has used, if there is one.
    #[must_use]
    pub fn engine_time(&self) -> Option<Duration> {
        self.engine.as_ref().and_then(Engine::time)
    }

    /// Has a bell of the caller's end this node's waits too: so another thread wakes the one that
    /// has the node and waits. It counts from here on, until the bell is dropped.
    ///
    /// # Errors
    /// What the system says if it has no room for it.
    pub fn listen(&self, bell: &Bell) -> std::io::Result<()> {
        if self.is_copy() {
            return Err(Errno::CHILD.into());
        }
        Ok(listen_to(&self.sets.bells, bell.as_fd(), WAKER, true)?)
    }

    /// Takes what made the descriptor readable, so that it is not readable until there is more, and
    /// does not wait. Call it after each wait of the application's own and before
    /// [`Node::poll`](narrows::endpoint::Node::poll); where such a wait reports changes only
    /// (tokio, mio), its readiness is cleared before this call, not after it.
    pub fn hear(&self) {
        if self.is_copy() {
            return self.turn();
        }
        let mut events = no_events::<16>();
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        for _ in 0..HEARD_AT_ONCE {
            let heard = epoll::wait(&self.sets.bells, &mut events[..], Some(&at_once));
            let heard = heard.unwrap_or(0);
            if heard == 0 {
                break;
            }
            if events.iter().take(heard).any(is_supervision) {
                self.turn();
            }
        }
        self.sets.idle.begins();
        if let Some(carry) = self.sets.carry.get() {
            // The wait that comes is the application's own.
            carry.hand_over();
        }
    }

    /// Does something at the rendezvous.
    pub(crate) fn at_door<R>(&self, act: impl FnOnce(&mut Rendezvous) -> R) -> R {
        self.door.with(act)
    }

    pub(crate) fn door(&self) -> &Arc<Door> {
        &self.door
    }

    /// What this node sleeps on, for a thread that waits without having the node.
    pub(crate) fn sets(&self) -> Arc<Sets> {
        Arc::clone(&self.sets)
    }

    /// Does what has become possible at the rendezvous.
    pub(crate) fn turn(&self) {
        match &self.sets.told {
            // The thread has taken it.
            Some(told) if !self.is_copy() => told.hear(),
            _ => self.door.with(Rendezvous::turn),
        }
    }

    /// Looks at the rendezvous if that is due, for a thread that does not sleep.
    #[inline]
    fn look(&self, ticks: u64) {
        if ticks.wrapping_sub(self.next_look.get()) as i64 >= 0 || self.is_copy() {
            self.next_look.set(ticks.wrapping_add(self.look_ticks));
            if !self.looked.take() || self.is_copy() {
                // On a core that this thread has to itself, at real-time priority, there may be no
                // time for the one in the background.
                self.door.try_turn();
            }
            if self.door.has_to_fill() {
                self.door.with(Rendezvous::fill);
            }
        }
    }

    fn spin<'a, S>(&self, set: S, deadline: Option<Instant>, between: impl Fn()) -> Woken
    where
        S: Iterator<Item = Watch<'a, PeerWords>> + Clone,
    {
        let mut end = None;
        // Taken apart once: to go through the set costs as much as many looks at its words.
        let mut beyond = set;
        let kept: [Option<Watch<'a, PeerWords>>; KEPT] = array::from_fn(|_| beyond.next());
        let more = beyond.clone().next().is_some();
        let mut waiting = None;
        loop {
            for _ in 0..ROUNDS {
                let changed = || kept.iter().map_while(|watch| *watch).any(|watch| watch.changed());
                // The first are the likeliest: however many the others are, they do not wait for
                // their turn.
                if changed() || (more && beyond.clone().any(|watch| watch.changed() || changed())) {
                    return Woken::Word;
                }
                for _ in 0..PAUSES {
                    std::hint::spin_loop();
                }
            }
            between();
            if let Some(waiting) = waiting.get_or_insert_with(|| self.sets.waiting()) {
                waiting.carry();
            }
            let ticks = clock::ticks();
            self.look(ticks);
            if self.door.has_news() {
                return Woken::Event;
            }
            let Some(deadline) = deadline else { continue };
            if ticks.wrapping_sub(*end.get_or_insert_with(|| ticks_at(ticks, deadline))) as i64 >= 0
            {
                if clock::now() >= deadline {
                    return Woken::Deadline;
                }
                end = None;
            }
        }
    }

    fn sleep(&self, bell: bool, deadline: Option<Instant>) -> Woken {
        let mut events = no_events::<16>();
        if self.is_copy() {
            self.turn();
        }
        loop {
            if self.door.has_news() {
                return Woken::Event;
            }
            if bell && self.rung.take() {
                return Woken::Bell;
            }
            let left = deadline.map(|at| at.since(clock::now()));
            let sleep = if self.door.has_to_fill() { Some(Duration::ZERO) } else { left };
            let timeout = sleep.map(|sleep| Timespec {
                tv_sec: sleep.as_secs().min(LONGEST_SLEEP) as i64,
                tv_nsec: i64::from(sleep.subsec_nanos()),
            });
            let heard = match bell {
                true => self.sets.sleep(&mut events, timeout),
                false => self.sets.sleep_on_supervision(timeout),
            };
            let heard = match heard {
                Ok(heard) => heard,
                Err(Errno::INTR) => continue,
                // Cannot be: the set is this node's own. Never a busy loop, if it is.
                Err(_) => return Woken::Deadline,
            };
            if heard == 0 {
                if left.is_some_and(|left| left.is_zero())
                    || deadline.is_some_and(|at| clock::now() >= at)
                {
                    return Woken::Deadline;
                }
                if self.door.has_to_fill() {
                    self.door.with(Rendezvous::fill);
                }
                continue;
            }
            let of_supervision = |event: &epoll::Event| !bell || is_supervision(event);
            let heard = events.get(..heard).unwrap_or(&events);
            let news = heard.iter().any(of_supervision);
            self.looked.set(!news);
            if !news {
                return Woken::Bell;
            }
            if !heard.iter().all(of_supervision) {
                self.rung.set(true);
            }
            self.turn();
            // A stranger that comes again and again to be refused brings no news, and puts no
            // deadline off.
            if !self.door.has_news() && deadline.is_some_and(|at| clock::now() >= at) {
                return Woken::Deadline;
            }
        }
    }
}

/// The tick at which a deadline comes.
fn ticks_at(ticks: u64, deadline: Instant) -> u64 {
    let left = deadline.since(clock::now()).as_nanos();
    // Far enough away to be looked at again, near enough not to look like the past.
    let left = u64::try_from(left).unwrap_or(u64::MAX).min(1 << 40);
    ticks.wrapping_add(clock::ticks_in(left))
}

impl AsFd for Host {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sets.bells.as_fd()
    }
}

impl Platform for Host {
    type Own = Region;
    type Peer = PeerRegion;
    type Bell = Bell;
    type Slice<T> = Box<[T]>;
    type Books = Books;

    const LINE: u32 = LINE;
    const LOOKS: u32 = 100;

    fn storage<T>(&self, len: usize, make: impl FnMut(usize) -> T) -> Result<Box<[T]>, NoStorage> {
        let mut table = Vec::new();
        table.try_reserve_exact(len).map_err(|_| NoStorage)?;
        table.extend((0..len).map(make));
        Ok(table.into_boxed_slice())
    }

    fn zeroed(&self, len: usize) -> Result<Box<[u8]>, NoStorage> {
        // The macro alone asks for pages that are zero already, but says nothing if there are none.
        Vec::<u8>::new().try_reserve_exact(len).map_err(|_| NoStorage)?;
        Ok(vec![0; len].into_boxed_slice())
    }

    fn books(&self, own: &Region, len: usize) -> Result<Books, NoStorage> {
        own.books(len).ok_or(NoStorage)
    }

    fn flow(&self, place: u16, flow: Option<&FlowNote>) {
        self.door.with(|r| r.flow(place, flow));
        if let Some(FlowNote { strategy, stage: FlowStage::Running, .. }) = flow
            && self.stamps.on()
        {
            let (flow, strategy) = (Value::Number(place.into()), strategy.to_string());
            let values = [("flow", flow), ("strategy", Value::Text(&strategy))];
            self.mark(Category::Decision, "strategy", &values);
        }
    }

    #[inline]
    fn wait<'a, S>(&self, set: S, how: Wait, deadline: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, PeerWords>> + Clone,
    {
        self.stamps.waits(how);
        let woken = match how {
            Wait::Spin => self.spin(set, deadline, || ()),
            Wait::Look if !self.looks.pay() => Woken::Deadline,
            Wait::Look => {
                let woken = self.spin(set, deadline, || ());
                self.looks.ended(woken);
                woken
            }
            Wait::Yield => self.spin(set, deadline, sched_yield),
            Wait::Bell => self.sleep(true, deadline),
            Wait::Timer => self.sleep(false, deadline),
        };
        self.stamps.woken(woken);
        woken
    }

    #[inline]
    fn core_number(&self) -> u32 {
        u32::try_from(sched_getcpu()).map_or(0, |core| core.wrapping_add(1))
    }

    #[inline(always)]
    fn fence(&self) {
        sync::full_fence();
    }

    #[inline(never)]
    fn ring(&self, bell: &Bell) {
        if !self.is_copy() {
            bell.ring();
            self.stamps.rang();
        }
    }

    fn sends_by_ring(&self, bell: &Bell) -> bool {
        bell.sends()
    }

    #[inline]
    fn is_copy(&self) -> bool {
        self.sets.maker.is_another()
    }

    #[inline]
    fn now(&self) -> Instant {
        clock::now()
    }

    #[inline(always)]
    fn tracing(&self) -> bool {
        self.stamps.on()
    }

    #[inline(always)]
    fn stamp(&self, span: Span, edge: Edge, id: u32) {
        self.stamps.push(span, edge, id);
    }

    fn note(&self, note: &Note) {
        self.stamps.note(note);
    }

    fn note_sent(&self, passage: Passage, carried: &mut dyn FnMut(&mut [u8]) -> bool) {
        self.stamps.note_sent(passage, carried);
    }

    fn hunt(&self, name: &Name) -> Result<(), HuntError> {
        self.door.with(|r| r.hunt(name))
    }

    fn give_up(&self, name: &Name) {
        self.door.with(|r| r.give_up(name));
    }

    #[inline]
    fn has_event(&self) -> bool {
        self.door.has_news()
    }

    #[inline]
    fn event(&self) -> Option<Result<Event<Host>, (Name, HuntError)>> {
        if !self.door.has_news() {
            self.look(clock::ticks());
            if !self.door.has_news() {
                return None;
            }
        }
        loop {
            return Some(match self.door.next()? {
                // It has ended the wait, and that is all.
                News::Offers => continue,
                News::Connected(linked) => {
                    self.stamps.linked(&linked);
                    let Linked { key, name, incarnation, own, peer, bell } = *linked;
                    Ok(Event::Connected(Connected { key, name, incarnation, own, peer, bell }))
                }
                News::Lost(key, reason) => {
                    self.stamps.lost(key);
                    Ok(Event::Lost { key, reason })
                }
                News::Failed(name, why) => Err((name, why)),
            });
        }
    }

    fn close(&self, key: u32) {
        self.door.with(|r| r.close(key, Farewell::Closed));
    }

    fn refuse(&self, key: u32) {
        self.door.with(|r| r.close(key, Farewell::Full));
    }

    fn has_engine(&self) -> bool {
        self.engine.is_some()
    }

    fn engine_store(
        &self,
        own: &Region,
        offset: u32,
        from: &[u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        self.engine.as_ref().ok_or(EngineError)?.store(own, offset, from, fragment)
    }

    fn engine_fetch(
        &self,
        peer: &PeerRegion,
        offset: u32,
        to: &mut [u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        self.engine.as_ref().ok_or(EngineError)?.fetch(peer, offset, to, fragment)
    }
}
