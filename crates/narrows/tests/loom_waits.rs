//! How the threads of a LINX node on a host wait for each other and for peers, under the model
//! checker: the host's own files, with the checker's locks and bells in place of its.
#![cfg(loom)]

#[path = "../../narrows-host/src/linx/lock.rs"]
mod lock;
#[path = "../../narrows-host/src/linx/waits.rs"]
#[allow(dead_code, reason = "what only timeouts and threads of a layered node need")]
mod waits;

/// What the two files wait with.
mod sync {
    use std::ops::{Deref, DerefMut};
    use std::sync::Arc;
    use std::time::Duration;

    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }
        pub fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard { of: self, guard: Some(self.0.lock().unwrap()) }
        }
    }

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Mutex<T> {
            Mutex::new(T::default())
        }
    }

    pub struct MutexGuard<'a, T> {
        of: &'a Mutex<T>,
        guard: Option<loom::sync::MutexGuard<'a, T>>,
    }

    impl<'a, T> MutexGuard<'a, T> {
        pub fn unlocked(guard: &mut MutexGuard<'a, T>, work: impl FnOnce()) {
            drop(guard.guard.take());
            work();
            guard.guard = Some(guard.of.0.lock().unwrap());
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            self.guard.as_ref().unwrap()
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.guard.as_mut().unwrap()
        }
    }

    pub struct Condvar(loom::sync::Condvar);

    impl Default for Condvar {
        fn default() -> Condvar {
            Condvar(loom::sync::Condvar::new())
        }
    }

    impl Condvar {
        pub fn notify_one(&self) {
            self.0.notify_one();
        }
        pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            guard.guard = guard.guard.take().map(|held| self.0.wait(held).unwrap());
        }
        pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) {
            self.wait(guard);
        }
    }

    /// A counter that is heard once however often it was rung.
    #[derive(Clone, Default)]
    pub struct Bell(Arc<(Mutex<bool>, Condvar)>);

    impl Bell {
        pub fn ring(&self) {
            *self.0.0.lock() = true;
            self.0.1.notify_one();
        }
        pub fn hear(&self) {
            let mut rung = self.0.0.lock();
            while !*rung {
                self.0.1.wait(&mut rung);
            }
            *rung = false;
        }
    }
}

use std::sync::Arc;

use lock::{Guard, Led, Lock};
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicUsize, fence};
use loom::thread::{JoinHandle, spawn};
use narrows::linx::Spid;
use sync::Bell;
use waits::{Awaited, Waits};

/// A peer's memory and this node's bell: a bit for each endpoint that a signal is there for.
struct Way {
    ring: AtomicUsize,
    /// How many signals there have to be before the peer rings; none if it is not to.
    armed: AtomicUsize,
    bell: Bell,
}

impl Way {
    /// Sends as a peer does: it rings a node that has armed.
    fn publish(&self, to: usize) {
        let all = self.ring.fetch_or(1 << to, Release) | 1 << to;
        fence(SeqCst);
        if (1..=all.count_ones() as usize).contains(&self.armed.load(Relaxed)) {
            self.bell.ring();
        }
    }
}

/// A node with an endpoint for each bit.
struct Node {
    waits: Waits,
    way: Arc<Way>,
    /// Of the ring, what was taken off it, what waits in the inbox, and what in the endpoints'
    /// queues.
    taken: usize,
    inbox: usize,
    queues: usize,
    fresh: bool,
    /// Signals that the leader sleeps for.
    messages: usize,
}

impl Led for Node {
    fn waits(&mut self) -> &mut Waits {
        &mut self.waits
    }
    fn arm(&mut self) -> bool {
        let armed = self.taken.count_ones() as usize + self.messages;
        self.way.armed.store(armed, Relaxed);
        fence(SeqCst);
        let changed = self.way.ring.load(Acquire).count_ones() as usize >= armed;
        std::mem::take(&mut self.fresh) || changed
    }
    fn fresh(&self) -> bool {
        self.fresh
    }
}

impl Node {
    /// Takes off the ring what is there, as every look does.
    fn look(&mut self) {
        let new = self.way.ring.load(Acquire) & !self.taken;
        self.taken |= new;
        self.inbox |= new;
        self.fresh |= new != 0;
    }

    /// Gives what the inbox has to the endpoints it is for.
    fn pump(&mut self) {
        self.look();
        let new = std::mem::take(&mut self.inbox);
        self.queues |= new;
        for to in (0..2).filter(|to| new >> to & 1 == 1) {
            self.waits.tell(Awaited::Signal(Spid(to)));
        }
    }

    fn take(&mut self, own: u32) -> bool {
        let there = self.queues >> own & 1 == 1;
        self.queues &= !(1 << own);
        there
    }
}

fn node(messages: usize) -> (Arc<Lock<Node>>, Arc<Way>) {
    let bell = Bell::default();
    let (ring, armed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let way = Arc::new(Way { ring, armed, bell: bell.clone() });
    let waits = Waits::new(bell);
    let (taken, inbox, queues, fresh) = (0, 0, 0, false);
    let node = Node { waits, way: Arc::clone(&way), taken, inbox, queues, fresh, messages };
    (Arc::new(Lock::new(node)), way)
}

/// Waits for a signal as an endpoint does. It hangs, which the checker tells, if nobody says that
/// it is there.
fn receive(lock: &Lock<Node>, bell: &Bell, own: u32) {
    let mut node: Guard<'_, Node> = lock.enter();
    while !node.take(own) {
        let what = Awaited::Signal(Spid(own));
        if node.waits.leader.is_some() {
            node.sleep(what, true, None);
            continue;
        }
        node.pump();
        if node.take(own) {
            break;
        }
        node.lead(what, || bell.hear());
        node.way.armed.store(0, Relaxed);
    }
    node.waits.appoint();
}

fn receiver(lock: &Arc<Lock<Node>>, way: &Way, own: u32) -> JoinHandle<()> {
    let (lock, bell) = (Arc::clone(lock), way.bell.clone());
    spawn(move || receive(&lock, &bell, own))
}

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn each_of_two_threads_gets_its_signal_whoever_of_them_leads() {
    explore(3, || {
        let (lock, way) = node(1);
        let other = receiver(&lock, &way, 1);
        let peer = spawn({
            let way = Arc::clone(&way);
            move || [1, 0].into_iter().for_each(|to| way.publish(to))
        });
        receive(&lock, &way.bell, 0);
        other.join().unwrap();
        peer.join().unwrap();
    });
}

#[test]
fn what_another_finds_on_the_ring_is_the_leaders_to_see_to() {
    explore(3, || {
        // The leader sleeps for more than come.
        let (lock, way) = node(2);
        let leader = receiver(&lock, &way, 0);
        way.publish(0);
        // As in a send that looks round for room.
        lock.enter().look();
        leader.join().unwrap();
    });
}

#[test]
fn a_sleeper_takes_the_place_of_a_leader_that_goes() {
    explore(3, || {
        let (lock, way) = node(1);
        way.publish(0);
        let other = receiver(&lock, &way, 1);
        receive(&lock, &way.bell, 0);
        way.publish(1);
        other.join().unwrap();
    });
}

#[test]
fn who_waits_hears_of_what_another_thread_delivers_whether_it_leads_or_not() {
    explore(3, || {
        let (lock, way) = node(1);
        let threads = [0, 1].map(|own| receiver(&lock, &way, own));
        for to in 0..2 {
            // As a timeout that is due, or a signal of an endpoint of the same node.
            let mut node = lock.enter();
            node.queues |= 1 << to;
            node.waits.tell(Awaited::Signal(Spid(to)));
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
