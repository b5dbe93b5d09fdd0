//! Threads that wait for something of a node, and how the one concerned is told.
//!
//! One of them, the leader, sleeps on what peers ring; the others each on their own. A thread that
//! brings something about tells those that wait for exactly that. The leader's place never stays
//! free while a thread that may lead sleeps: one that goes on without having it tells the next.

use std::sync::Arc;
use std::time::Duration;

use narrows::linx::Spid;

use super::sync::{Bell, Condvar, Mutex};

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// A signal for an endpoint.
    Signal(Spid),
    /// Room for a signal, on a link or in a queue between threads.
    Room,
    /// Work for the link handler's thread.
    Outgoing,
    /// Work for the receiving thread.
    Incoming,
    /// Nothing of its own: it sees to what comes.
    Anything,
}

/// Where one thread sleeps.
#[derive(Default)]
pub(super) struct Turn {
    told: Mutex<bool>,
    changed: Condvar,
}

impl Turn {
    fn tell(&self) {
        *self.told.lock() = true;
        self.changed.notify_one();
    }

    /// Sleeps until it is told, at most `within`.
    pub fn sleep(&self, within: Option<Duration>) {
        let mut told = self.told.lock();
        if !*told {
            match within {
                Some(within) => self.changed.wait_for(&mut told, within),
                None => self.changed.wait(&mut told),
            }
        }
    }
}

struct Sleeper {
    awaited: Awaited,
    /// Whether it may take the leader's place.
    leads: bool,
    turn: Arc<Turn>,
}

/// The threads that wait; all under the node's lock.
pub(super) struct Waits {
    /// Ends the leader's sleep.
    bell: Bell,
    /// What the leader waits for, while it sleeps.
    pub leader: Option<Awaited>,
    sleepers: Vec<Sleeper>,
}

impl Waits {
    pub fn new(bell: Bell) -> Waits {
        Waits { bell, leader: None, sleepers: Vec::new() }
    }

    /// A place to sleep, for after the lock was let go.
    pub fn add(&mut self, awaited: Awaited, leads: bool) -> Arc<Turn> {
        let turn = Arc::new(Turn::default());
        self.sleepers.push(Sleeper { awaited, leads, turn: Arc::clone(&turn) });
        turn
    }

    /// Forgets a place, if nobody was told there.
    pub fn remove(&mut self, turn: &Arc<Turn>) {
        self.sleepers.retain(|sleeper| !Arc::ptr_eq(&sleeper.turn, turn));
    }

    /// Something that is waited for is there.
    pub fn tell(&mut self, what: Awaited) {
        if self.leader == Some(what) {
            self.bell.ring();
        }
        if !self.sleepers.is_empty() {
            self.wake(|sleeper| sleeper.awaited == what);
        }
    }

    fn wake(&mut self, mut whom: impl FnMut(&Sleeper) -> bool) {
        self.sleepers.retain(|sleeper| {
            let wakes = whom(sleeper);
            if wakes {
                sleeper.turn.tell();
            }
            !wakes
        });
    }

    /// What the leader has to look at may be another.
    pub fn stir(&self) {
        if self.leader.is_some() {
            self.bell.ring();
        }
    }

    /// Has everybody look around.
    pub fn rouse(&mut self) {
        self.stir();
        self.wake(|_| true);
    }

    /// Has a thread that may lead take the leader's place, if it is free.
    #[inline]
    pub fn appoint(&mut self) {
        if self.leader.is_none() && !self.sleepers.is_empty() {
            let next = self.sleepers.iter().position(|sleeper| sleeper.leads);
            if let Some(next) = next.map(|at| self.sleepers.remove(at)) {
                next.turn.tell();
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const NOW: Option<Duration> = Some(Duration::ZERO);

    fn told(turn: &Turn) -> bool {
        turn.sleep(NOW);
        *turn.told.lock()
    }

    #[test]
    fn only_who_waits_for_it_is_told_and_one_takes_the_leaders_place() {
        let mut waits = Waits::new(Bell::new().unwrap());
        let [one, two] = [1, 2].map(|n| Awaited::Signal(Spid(n)));
        let turns = [(one, true), (two, true), (Awaited::Room, false), (two, true)];
        let turns = turns.map(|(awaited, leads)| waits.add(awaited, leads));
        let all = |turns: &[Arc<Turn>; 4]| turns.each_ref().map(|turn| told(turn));
        waits.tell(Awaited::Incoming);
        assert_eq!(all(&turns), [false; 4]);
        waits.tell(two);
        assert_eq!(all(&turns), [false, true, false, true]);
        waits.leader = Some(one);
        waits.appoint();
        assert_eq!(all(&turns), [false, true, false, true], "there is a leader");
        waits.leader = None;
        waits.appoint();
        assert_eq!(all(&turns), [true, true, false, true]);
        waits.appoint();
        assert!(!told(&turns[2]), "it may not lead");
        waits.rouse();
        assert!(told(&turns[2]) && waits.sleepers.is_empty());
    }

    #[test]
    fn the_place_of_one_that_gave_up_waiting_is_not_appointed() {
        let mut waits = Waits::new(Bell::new().unwrap());
        let [first, second] = [1, 2].map(|n| waits.add(Awaited::Signal(Spid(n)), true));
        waits.remove(&first);
        waits.appoint();
        assert!(told(&second) && !told(&first));
    }
}
