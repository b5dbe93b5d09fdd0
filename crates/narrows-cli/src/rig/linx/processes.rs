//! The processes of a layered node in a thread each, with S4's roles.

use std::collections::VecDeque;
use std::time::Duration;

use narrows::link::Name;
use narrows::linx::station::{AGAIN, Handled, Process, Processes};
use narrows::platform::{Platform, Wait};
use narrows_host::{Bell, Host};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::around::Letter;
use super::station::{Attempt, Station};

/// Frames that the receiver is woken for, at once.
const COALESCED: usize = 4;
/// Frames that may still wait when interrupts are unmasked.
const FEW_WAITING: usize = 1;

pub struct State {
    pub station: Station,
    pub hunts: VecDeque<Name>,
    pub outbox: VecDeque<Letter>,
    pub stopped: bool,
    pub masked: bool,
    pub over: bool,
}

pub struct Shared {
    pub state: Mutex<State>,
    /// What the interrupt's thread sleeps on, beside what peers ring.
    pub bell: Bell,
    /// For the application, the link handler and the receiver.
    pub changed: Condvar,
    pub outgoing: Condvar,
    pub incoming: Condvar,
    pub coalesces: bool,
}

/// A node with threads, in one of them.
pub struct Running<'a> {
    shared: &'a Shared,
    state: MutexGuard<'a, State>,
    /// Where interrupts come from, in the thread that waits for them.
    host: Option<&'a Host>,
}

impl<'a> Running<'a> {
    /// Takes the lock, in one of the threads.
    pub fn enter(shared: &'a Shared, host: Option<&'a Host>) -> Running<'a> {
        Running { shared, state: shared.state.lock(), host }
    }
}

impl Processes for Running<'_> {
    fn is_over(&self) -> bool {
        self.state.over
    }

    fn wait(&mut self, own: Process, within: Option<Duration>) {
        let (shared, state) = (self.shared, &mut self.state);
        let condition = match own {
            Process::Interrupt => {
                // There may be room now.
                shared.outgoing.notify_one();
                shared.changed.notify_all();
                let Some(host) = self.host else { return };
                let end = state.station.owes().then(|| host.now() + AGAIN);
                MutexGuard::unlocked(state, || {
                    let _ = host.wait(std::iter::empty(), Wait::Bell, end);
                });
                return;
            }
            Process::Receiver => {
                shared.changed.notify_all();
                if state.station.leaves_work() {
                    shared.bell.ring();
                }
                &shared.incoming
            }
            Process::Handler => &shared.outgoing,
            Process::Application => &shared.changed,
        };
        match within {
            Some(within) => drop(condition.wait_for(state, within)),
            None => condition.wait(state),
        }
    }

    fn wake(&mut self, whom: Process) {
        match whom {
            Process::Interrupt => self.shared.bell.ring(),
            Process::Receiver => drop(self.shared.incoming.notify_one()),
            Process::Handler => drop(self.shared.outgoing.notify_one()),
            Process::Application => drop(self.shared.changed.notify_all()),
        }
    }

    fn mask(&mut self, masked: bool) {
        self.state.masked = masked;
        if !masked {
            self.wake(Process::Interrupt);
        }
    }

    fn is_masked(&self) -> bool {
        self.state.masked
    }
}

impl narrows::linx::station::Station for Running<'_> {
    fn links(&self) -> usize {
        self.state.station.links()
    }

    fn acknowledge(&mut self) -> bool {
        self.state.station.acknowledge();
        false
    }

    fn take(&mut self, link: usize) -> Option<bool> {
        self.state.station.take(link)
    }

    fn is_enough(&self, link: usize) -> bool {
        self.state.station.is_enough(link)
    }

    fn is_news(&self) -> bool {
        self.state.station.waiting() >= if self.shared.coalesces { COALESCED } else { 1 }
    }

    fn put_together(&mut self) -> bool {
        self.state.station.work_off()
    }

    fn is_little(&self) -> bool {
        self.state.station.waiting() <= FEW_WAITING
    }

    fn is_held(&self) -> bool {
        self.shared.coalesces || self.state.station.waiting() > 0
    }

    fn send_next(&mut self) -> Handled {
        let next = if self.state.stopped { None } else { self.state.outbox.pop_front() };
        let Some(letter) = next else { return Handled::Nothing };
        let link = letter.link();
        match self.state.station.send(letter) {
            Attempt::Full(back) => {
                self.state.outbox.push_front(back);
                return Handled::NoRoom;
            }
            Attempt::Sent | Attempt::Failed => {}
        }
        self.wake(Process::Application);
        // Where no acknowledgement rings, the driver is looked at until it has room.
        let sent = |state: &mut State| link.is_none_or(|link| state.station.transmit(link));
        while !self.state.over && !sent(&mut self.state) {
            MutexGuard::unlocked_fair(&mut self.state, std::thread::yield_now);
        }
        Handled::Sent
    }

    fn attend(&mut self) {
        let Some(host) = self.host else { return };
        while let Some(name) = self.state.hunts.pop_front() {
            // What cannot be hunted is not found.
            let _ = host.hunt(&name);
        }
        self.state.station.hear(host);
    }
}
