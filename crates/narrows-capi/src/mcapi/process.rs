//! The nodes of this process: which one a call is for, its lock, and waiting.
//!
//! A thread that waits keeps the lock, so that what ends its wait costs nothing more than without
//! one; whoever wants the lock meanwhile rings it awake. Only one thread of a node waits so, its
//! leader; others are told when something has ended.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::OsStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use narrows::strategy::Notification;
use narrows_host::Bell;
use parking_lot::lock_api::{self, RawMutex as _};
use parking_lot::{Condvar, Mutex};

use super::attribute::INFINITE;
use super::id::{EndpointId, Handle, NodeId};
use super::node::Node;
use super::request::Done;
use super::status::{Outcome, Status};

/// Places for nodes, of which the first [`Handle::SLOTS`] are used: whatever number the upper bits of
/// a handle are is a place.
const SLOTS: usize = 1 << 6;
/// A slot without a node.
const NOBODY: u32 = u32::MAX;
/// How long a thread usually looks before it sleeps.
const LOOK: Duration = Duration::from_micros(50);
/// The variable of the environment that says otherwise, in microseconds.
const LOOK_VARIABLE: &str = "NARROWS_MCAPI_LOOK";
/// How long it looks before it sees whether somebody wants the lock.
const GLANCE: Duration = Duration::from_micros(2);
/// How often a call looks before it makes a request: for about as long as an answer takes.
const LOOKS: u32 = 64;

/// A place for a node, in lines of its own: the locks of two do not share one. The lock is first,
/// so that the slot's address is the lock's.
#[repr(C, align(128))]
pub(super) struct Slot {
    node: lock_api::Mutex<Lock, Option<Box<Node>>>,
    /// The node that is there.
    id: AtomicU32,
    /// The first life of the next node's handles: whatever a handle of an earlier node is kept for, it
    /// is none of this one's.
    first: AtomicU16,
    /// Threads that want the lock.
    wanting: AtomicU32,
    /// Whether the leader sleeps with the lock.
    asleep: AtomicBool,
    bell: OnceLock<Bell>,
    /// How often something ended, for the threads that do not lead.
    ended: Mutex<u64>,
    told: Condvar,
    followers: AtomicU32,
}

/// A locked slot.
pub(super) type Guard<'a> = lock_api::MutexGuard<'a, Lock, Option<Box<Node>>>;

/// A node's lock, whose ways in and out are as short as can be if nobody waits for it.
#[repr(C)]
pub(super) struct Lock {
    /// [`TAKEN`], and [`AWAITED`] if somebody waits for it, taken or not.
    state: AtomicU32,
    /// How many wait.
    waiting: Mutex<u32>,
    free: Condvar,
}

const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

// SAFETY: only who sets TAKEN, where it was not, has it; only that one takes it off again, unlocking.
unsafe impl lock_api::RawMutex for Lock {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Lock =
        Lock { state: AtomicU32::new(0), waiting: Mutex::new(0), free: Condvar::new() };
    type GuardMarker = lock_api::GuardNoSend;

    #[inline(never)]
    fn lock(&self) {
        let mut waiting = self.waiting.lock();
        *waiting += 1;
        // Who unlocks from now on asks for `waiting`, and so finds this thread behind `wait`.
        while self.state.fetch_or(TAKEN | AWAITED, Ordering::Acquire) & TAKEN != 0 {
            self.free.wait(&mut waiting);
        }
        *waiting -= 1;
        if *waiting == 0 {
            // Relaxed: whoever waits next sets it again, behind `waiting`.
            self.state.fetch_and(!AWAITED, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn try_lock(&self) -> bool {
        self.state.fetch_or(TAKEN, Ordering::Acquire) & TAKEN == 0
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        if self.is_passed_on() {
            self.pass_on();
        }
    }
}

impl Lock {
    /// Unlocks. True if it is to be passed on to somebody who waits.
    #[inline(always)]
    fn is_passed_on(&self) -> bool {
        self.state.fetch_sub(TAKEN, Ordering::Release) != TAKEN
    }

    #[cold]
    #[inline(never)]
    extern "C" fn pass_on(&self) {
        drop(self.waiting.lock());
        self.free.notify_one();
    }
}

struct Process {
    slots: [Slot; SLOTS],
    /// The slot of the node that was initialised last of those whose numbers end in the same bits.
    near: [AtomicU32; SLOTS],
    lives: AtomicU64,
    nodes: AtomicU32,
    /// One node is opened at a time.
    opening: Mutex<()>,
}

/// The process's nodes. A child that was forked has none: it starts with a new one of these, since
/// the locks of the old are as other threads left them.
static PROCESS: AtomicPtr<Process> = AtomicPtr::new((&raw const NOTHING).cast_mut());

/// The slot of the node that last gave a packet back the long way, one of [`process`]'s.
static RELEASING: AtomicPtr<Slot> = AtomicPtr::new((&raw const NOTHING.slots[0]).cast_mut());

/// What there is before the first node.
static NOTHING: Process = Process::new();

impl Process {
    const fn new() -> Process {
        let slots = [const { Slot::new() }; SLOTS];
        let (lives, nodes) = (AtomicU64::new(1), AtomicU32::new(0));
        let near = [const { AtomicU32::new(0) }; SLOTS];
        Process { slots, near, lives, nodes, opening: Mutex::new(()) }
    }
}

thread_local! {
    /// The node that this thread initialised: its slot and its life.
    static BOUND: Cell<Option<(usize, u64)>> = const { Cell::new(None) };
}

#[inline]
fn process() -> &'static Process {
    // Acquire: pairs with the release in `make`. What it points to is made.
    let at = PROCESS.load(Ordering::Acquire);
    // SAFETY: `NOTHING`, or what was leaked; and nobody ever has it mutably.
    unsafe {
        std::hint::assert_unchecked(!at.is_null());
        &*at
    }
}

/// The process's nodes, made if there never was one.
#[cold]
fn make() -> &'static Process {
    extern "C" fn in_child() {
        PROCESS.store((&raw const NOTHING).cast_mut(), Ordering::Release);
        RELEASING.store((&raw const NOTHING.slots[0]).cast_mut(), Ordering::Release);
        BOUND.set(None);
    }
    static FORKS: std::sync::Once = std::sync::Once::new();
    // SAFETY: the function is there as long as the library is, and calls nothing that a child must
    // not.
    FORKS.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    });
    let nothing = (&raw const NOTHING).cast_mut();
    if !std::ptr::eq(process(), nothing) {
        return process();
    }
    let new = Box::into_raw(Box::new(Process::new()));
    // Release: pairs with the acquire in `process`. Acquire: as there, if another thread was first.
    if PROCESS.compare_exchange(nothing, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
        // SAFETY: made just now, and nobody has seen it.
        drop(unsafe { Box::from_raw(new) });
    }
    process()
}

impl Slot {
    const fn new() -> Slot {
        Slot {
            id: AtomicU32::new(NOBODY),
            first: AtomicU16::new(0),
            node: lock_api::Mutex::new(None),
            wanting: AtomicU32::new(0),
            asleep: AtomicBool::new(false),
            bell: OnceLock::new(),
            ended: Mutex::new(0),
            told: Condvar::new(),
            followers: AtomicU32::new(0),
        }
    }

    /// Locks the slot.
    #[inline]
    pub fn lock(&self) -> Guard<'_> {
        self.node.try_lock().unwrap_or_else(|| self.lock_in_turn())
    }

    #[cold]
    fn lock_in_turn(&self) -> Guard<'_> {
        // SeqCst, with the fence: the leader says that it sleeps and then looks here; this thread
        // says that it wants the lock and then looks whether the leader sleeps. One sees the other.
        self.wanting.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst)
            && let Some(bell) = self.bell.get()
        {
            bell.ring();
        }
        let guard = self.node.lock();
        self.wanting.fetch_sub(1, Ordering::SeqCst);
        guard
    }

    /// Lets those who want the lock have it first.
    fn lend<'a>(&'a self, guard: Guard<'a>) -> Guard<'a> {
        drop(guard);
        while self.wanting.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        self.lock()
    }

    /// Tells the threads that do not lead that something may have ended.
    fn tell(&self) {
        // Relaxed: it changes with the lock held.
        if self.followers.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut ended = self.ended.lock();
        *ended = ended.wrapping_add(1);
        self.told.notify_all();
    }

    /// Waits, without the lock, until something has ended or time is up.
    fn follow<'a>(&'a self, guard: Guard<'a>, until: Option<Instant>) -> Guard<'a> {
        let mut ended = self.ended.lock();
        // From here on nothing can end unheard: who tells needs this second lock.
        self.followers.fetch_add(1, Ordering::Relaxed);
        drop(guard);
        let before = *ended;
        let same = |now: &mut u64| *now == before;
        match until {
            Some(until) => drop(self.told.wait_while_until(&mut ended, same, until)),
            None => self.told.wait_while(&mut ended, same),
        }
        drop(ended);
        let guard = self.lock();
        self.followers.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Waits as the leader until something came, somebody wants the lock or time is up.
    fn lead<'a>(&'a self, mut guard: Guard<'a>, until: Option<Instant>, look: bool) -> Guard<'a> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let wanted = || self.wanting.load(Ordering::SeqCst) > 0;
        if let Some(node) = guard.as_mut().filter(|node| !wanted() && !node.unheard) {
            node.credit_shorts();
            if look {
                let glance = left.map_or(GLANCE, |left| left.min(GLANCE));
                node.stack.wait_by(Notification::Spin, Some(glance));
            } else {
                self.asleep.store(true, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                if !wanted() {
                    node.stack.wait_by(Notification::Interrupt, left);
                }
                self.asleep.store(false, Ordering::SeqCst);
            }
        }
        if wanted() { self.lend(guard) } else { guard }
    }
}

/// How long threads look before they sleep in a node that is opened now, by a thread that may use so
/// many cores: what the environment says, or else no time where looking takes the other side's core.
fn look(said: Option<&OsStr>, cores: usize) -> Outcome<Duration> {
    let Some(said) = said else { return Ok(if cores > 1 { LOOK } else { Duration::ZERO }) };
    let micros = said.to_str().and_then(|text| text.parse().ok());
    micros.map(Duration::from_micros).ok_or(Status::NodeInitFailed)
}

/// A node that a call has locked.
pub(super) struct Call<'a> {
    slot: &'a Slot,
    guard: Guard<'a>,
    life: u64,
}

impl<'a> Call<'a> {
    #[inline(never)]
    fn new(slot: &'a Slot) -> Outcome<Call<'a>> {
        let guard = slot.lock();
        let life = guard.as_ref().ok_or(Status::NodeNotInit)?.life;
        Ok(Call { slot, guard, life })
    }

    /// The node.
    #[inline]
    pub fn node(&mut self) -> Outcome<&mut Node> {
        let node = self.guard.as_deref_mut().filter(|node| node.life == self.life);
        node.ok_or(Status::NodeNotInit)
    }

    /// Tries at once, and then for a moment if the node looks before it sleeps: what comes that soon
    /// needs no request.
    #[inline]
    pub fn soon<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Node) -> Option<T>,
    ) -> Outcome<Option<T>> {
        let node = self.node()?;
        let looks = if node.look.is_zero() { 1 } else { LOOKS };
        let mut look = || {
            std::hint::spin_loop();
            attempt(node)
        };
        Ok((0..looks).find_map(|_| look()))
    }

    /// Tries until there is an outcome or so many milliseconds are over, and then has `give_up`
    /// take back what was begun. `attempt` sees to all that can be done without waiting.
    pub fn until<T>(
        self,
        timeout: u32,
        mut attempt: impl FnMut(&mut Node) -> Option<Outcome<T>>,
        mut give_up: impl FnMut(&mut Node),
    ) -> Outcome<T> {
        let mut outcome = Err(Status::Timeout);
        let mut over = |node: &mut Node| match attempt(node) {
            Some(done) => {
                outcome = done;
                true
            }
            None => false,
        };
        self.wait(timeout, &mut over, &mut give_up)?;
        outcome
    }

    /// Waits until `over` says that it is, or so many milliseconds are over, and then has `give_up`
    /// take back what was begun.
    fn wait(
        mut self,
        timeout: u32,
        over: &mut dyn FnMut(&mut Node) -> bool,
        give_up: &mut dyn FnMut(&mut Node),
    ) -> Outcome<()> {
        if over(self.node()?) {
            self.end();
            return Ok(());
        }
        let start = Instant::now();
        let until =
            (timeout != INFINITE).then(|| start + Duration::from_millis(u64::from(timeout)));
        let look = self.node()?.look;
        let mut leads = false;
        let outcome = loop {
            let node = self.node()?;
            if until.is_some_and(|until| Instant::now() >= until) {
                give_up(node);
                break Err(Status::Timeout);
            }
            if !leads && !node.led {
                leads = true;
                node.led = true;
            }
            if std::mem::take(&mut node.news) {
                self.slot.tell();
            }
            let Call { slot, guard, life } = self;
            let guard = match leads {
                true => slot.lead(guard, until, start.elapsed() < look),
                false => slot.follow(guard, until),
            };
            self = Call { slot, guard, life };
            if over(self.node()?) {
                break Ok(());
            }
        };
        if leads {
            let node = self.node()?;
            node.led = false;
            // Another has to lead.
            node.news = true;
        }
        self.end();
        outcome
    }

    /// Waits for a request of the call's own.
    pub fn until_ended(self, request: Handle, timeout: u32) -> Done {
        let attempt = |node: &mut Node| node.ended_by_now(request);
        self.until(timeout, attempt, |node| {
            node.cancel(request);
        })
    }

    /// Ends the call: whoever waits for something that has ended is told.
    #[inline(never)]
    pub fn end(mut self) {
        if let Some(node) = self.guard.as_mut()
            && std::mem::take(&mut node.news)
        {
            self.slot.tell();
        }
    }
}

/// A node that nobody had locked, for the short way of calls that usually find what they want. It
/// has the slot's lock, as a guard would: one pointer less than with a guard.
pub(super) struct Quickly(&'static Slot);

impl Drop for Quickly {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: `new` has locked it.
        unsafe { self.0.node.force_unlock() };
    }
}

impl Quickly {
    #[inline(always)]
    fn new(slot: &'static Slot) -> Option<Quickly> {
        // SAFETY: what it locks `drop` unlocks.
        let locked = unsafe { slot.node.raw() }.try_lock();
        if locked { Some(Quickly(slot)) } else { None }
    }

    /// The node, if there is one.
    #[inline(always)]
    pub fn node(&mut self) -> Option<&mut Node> {
        // SAFETY: this has the lock, and lends what is behind it to one at a time.
        unsafe { &mut *self.0.node.data_ptr() }.as_deref_mut()
    }

    /// Ends it, handing on what it came to: a value that need not outlive a call then.
    #[inline(always)]
    pub fn end_with(self, value: u64) -> u64 {
        #[cold]
        #[inline(never)]
        extern "C" fn pass_on(lock: &Lock, value: u64) -> u64 {
            lock.pass_on();
            // Not seen to be what it was, it is not kept by the caller either.
            std::hint::black_box(value)
        }
        // SAFETY: it is unlocked as `drop` would, which is left out.
        let lock = unsafe { self.0.node.raw() };
        std::mem::forget(self);
        if lock.is_passed_on() { pass_on(lock, value) } else { value }
    }

    /// Sees to what else there was to do when something was done with a handle, or none.
    #[inline(always)]
    pub fn follow_up(mut self, handle: Handle) {
        let slot = self.0;
        let Some(node) = self.node() else { return };
        node.follow_up(handle);
        node.turn();
        if std::mem::take(&mut node.news) {
            slot.tell();
        }
    }
}

/// The node that a handle belongs to.
#[inline(always)]
pub(super) fn quickly_for(handle: u32) -> Option<Quickly> {
    Quickly::new(process().slots.get((handle >> 26) as usize)?)
}

/// The node of an endpoint, if it is found at once.
#[inline(always)]
pub(super) fn quickly_at(endpoint: EndpointId) -> Option<Quickly> {
    let (process, id) = (process(), endpoint.node());
    // Relaxed: the lock orders what is behind it.
    let at = process.near.get(near(id))?.load(Ordering::Relaxed);
    let slot = process.slots.get(at as usize & (SLOTS - 1))?;
    if slot.id.load(Ordering::Relaxed) != id.0 {
        return None;
    }
    Quickly::new(slot)
}

/// Where [`Process::near`] has the slot of a node.
#[inline(always)]
fn near(id: NodeId) -> usize {
    id.0 as usize & (SLOTS - 1)
}

/// The node that a packet may be of that is given back.
#[inline(always)]
pub(super) fn quickly_releasing() -> Option<Quickly> {
    // Acquire: as in `process`. Whichever it is, the packet is looked for there.
    let at = RELEASING.load(Ordering::Acquire);
    // SAFETY: a slot of `NOTHING` or of what was leaked; and nobody ever has it mutably.
    Quickly::new(unsafe {
        std::hint::assert_unchecked(!at.is_null());
        &*at
    })
}

/// Has a node give a packet back that it may have.
pub(super) fn release(mut give_back: impl FnMut(&mut Node) -> Option<()>) -> Option<()> {
    let process = process();
    let slot = process.slots.iter().take(Handle::SLOTS as usize).find(|slot| {
        let Ok(mut call) = Call::new(slot) else { return false };
        let given = call.node().ok().and_then(&mut give_back);
        call.end();
        given.is_some()
    })?;
    RELEASING.store(std::ptr::from_ref(slot).cast_mut(), Ordering::Release);
    Some(())
}

/// Whether the process has no node at all.
#[inline(never)]
pub(super) fn is_empty() -> bool {
    process().nodes.load(Ordering::Relaxed) == 0
}

/// The slot that a node of this process is in.
#[inline]
fn slot_of(id: NodeId) -> Option<&'static Slot> {
    // Relaxed: the lock orders what is behind it.
    let slots: &[Slot] = process().slots.get(..Handle::SLOTS as usize)?;
    slots.iter().find(|slot| slot.id.load(Ordering::Relaxed) == id.0)
}

/// The slots that nodes can have.
#[inline(always)]
fn used_slots() -> impl Iterator<Item = &'static Slot> {
    process().slots.first_chunk::<{ Handle::SLOTS as usize }>().into_iter().flatten()
}

/// A call for the node of an endpoint if that is of this process, else for the thread's.
#[inline(never)]
pub(super) fn of_endpoint(id: EndpointId) -> Outcome<Call<'static>> {
    match slot_of(id.node()) {
        Some(slot) => Call::new(slot),
        None => current(),
    }
}

/// A call for the node that a handle belongs to; `otherwise` if it belongs to none.
#[inline(never)]
pub(super) fn of_handle(handle: Handle, otherwise: Status) -> Outcome<Call<'static>> {
    if is_empty() {
        // In a child that was forked, `NOTHING` may be as another thread of its parent left it.
        return Err(Status::NodeNotInit);
    }
    let slot = handle.slot().and_then(|at| process().slots.get(at));
    match slot.map(Call::new) {
        Some(Ok(call)) => Ok(call),
        _ if is_empty() => Err(Status::NodeNotInit),
        _ => Err(otherwise),
    }
}

/// A call for each node of the process in turn, until one has an answer.
pub(super) fn any<T>(mut ask: impl FnMut(&mut Node) -> Option<T>) -> Option<T> {
    used_slots().find_map(|slot| {
        let mut call = Call::new(slot).ok()?;
        let answer = ask(call.node().ok()?);
        call.end();
        answer
    })
}

/// A call for the node that this thread initialised, if it has not ended.
fn bound() -> Option<Call<'static>> {
    let (slot, life) = BOUND.get()?;
    let call = process().slots.get(slot).and_then(|slot| Call::new(slot).ok());
    let call = call.filter(|call| call.life == life);
    if call.is_none() {
        BOUND.set(None);
    }
    call
}

/// A call for the node that this thread initialised, or for the only one there is.
pub(super) fn current() -> Outcome<Call<'static>> {
    if let Some(call) = bound() {
        return Ok(call);
    }
    let there = |slot: &&Slot| slot.id.load(Ordering::Relaxed) != NOBODY;
    let mut nodes = used_slots().filter(there);
    match (nodes.next(), nodes.next()) {
        (Some(slot), None) => Call::new(slot),
        _ => Err(Status::NodeNotInit),
    }
}

/// Opens a node and binds this thread to it.
pub(super) fn initialize(id: NodeId) -> Outcome<()> {
    let process = make();
    if bound().is_some() {
        return Err(Status::NodeInitialized);
    }
    let _alone = process.opening.lock();
    if slot_of(id).is_some() {
        return Err(Status::NodeInitialized);
    }
    // Acquire: pairs with the release in `finalize`.
    let free = |(_, slot): &(usize, &Slot)| slot.id.load(Ordering::Acquire) == NOBODY;
    let free = used_slots().enumerate().find(free);
    let (at, slot) = free.ok_or(Status::NodeInitFailed)?;
    let bell = match slot.bell.get() {
        Some(bell) => bell,
        None => {
            let bell = Bell::new().map_err(|_| Status::NodeInitFailed)?;
            slot.bell.get_or_init(|| bell)
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let look = look(std::env::var_os(LOOK_VARIABLE).as_deref(), cores)?;
    let life = process.lives.fetch_add(1, Ordering::Relaxed);
    let first = slot.first.load(Ordering::Relaxed);
    let node = Node::open(id, (at as u32, first), life, bell, look)?;
    *slot.lock() = Some(Box::new(node));
    slot.id.store(id.0, Ordering::Relaxed);
    if let Some(near) = process.near.get(near(id)) {
        near.store(at as u32, Ordering::Relaxed);
    }
    process.nodes.fetch_add(1, Ordering::Relaxed);
    BOUND.set(Some((at, life)));
    Ok(())
}

/// Ends a node.
pub(super) fn finalize() -> Outcome<()> {
    let mut call = current()?;
    let lives = call.node()?.lives();
    call.slot.first.fetch_add(lives, Ordering::Relaxed);
    // Release: who takes the slot next takes the handles from where they are now.
    call.slot.id.store(NOBODY, Ordering::Release);
    process().nodes.fetch_sub(1, Ordering::Relaxed);
    let node = call.guard.take();
    BOUND.set(None);
    let Call { slot, guard, .. } = call;
    drop(guard);
    slot.tell();
    drop(node);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_how_long_to_look() {
        let of = |said: &str, cores| look(Some(OsStr::new(said)), cores);
        assert_eq!((look(None, 2), look(None, 1)), (Ok(LOOK), Ok(Duration::ZERO)));
        assert_eq!((of("0", 2), of("0", 1)), (Ok(Duration::ZERO), Ok(Duration::ZERO)));
        assert_eq!(of("250", 1), Ok(Duration::from_micros(250)));
        for nonsense in ["", "-1", "1.5", "50us", "99999999999999999999"] {
            assert_eq!(of(nonsense, 2), Err(Status::NodeInitFailed), "{nonsense}");
        }
    }
}
