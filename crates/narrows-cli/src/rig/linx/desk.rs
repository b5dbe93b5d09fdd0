//! What does the work of a [`Station`]: flat, the process that calls; layered, a thread for each
//! process of a core, with S4's roles.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use narrows::link::Name;
use narrows::linx::station::{self, AGAIN};
use narrows::platform::{Platform, Wait};
use narrows_host::{Bell, Host};
use parking_lot::{Condvar, Mutex};

use super::around::Letter;
use super::processes::{Running, Shared, State};
use super::station::{Attempt, Setup, Station};
use crate::formats::linx::{Counter, Stack};

/// Signals that the application may have handed to the link handler.
pub const OUTBOX: usize = 1024;

/// A node that sends and receives signals.
pub enum Desk {
    Flat(Box<(Host, Station)>),
    Layered(Layered),
}

impl Desk {
    /// A node over a platform that was opened with the layout of the setup's shape.
    ///
    /// # Errors
    /// There is no room for threads.
    pub fn new(host: Host, setup: Setup) -> std::io::Result<Desk> {
        let station = Station::new(setup, &host).ok_or(std::io::ErrorKind::OutOfMemory)?;
        Ok(match setup.stack {
            Stack::Flat => Desk::Flat(Box::new((host, station))),
            Stack::Layered => Desk::Layered(Layered::start(host, station, setup.counter)?),
        })
    }

    /// Looks for the application of a node: its address.
    pub fn find(&mut self, name: &Name, within: Duration) -> Option<u32> {
        match self {
            Desk::Flat(flat) => {
                flat.0.hunt(name).ok()?;
                flat.1.hunt(name)?;
            }
            Desk::Layered(layered) => {
                let mut state = layered.shared.state.lock();
                state.hunts.push_back(*name);
                state.station.hunt(name)?;
                layered.shared.bell.ring();
            }
        }
        self.until(within, Station::found)
    }

    /// A signal to be filled, with what is written where.
    pub fn make(
        &mut self,
        to: u32,
        len: usize,
        parts: &[(usize, &[u8])],
        within: Duration,
    ) -> Option<Letter> {
        self.until(within, |station| {
            let letter = station.make(to, len)?;
            for (at, bytes) in parts {
                station.write(&letter, *at, bytes)?;
            }
            Some(letter)
        })
    }

    /// Sends a signal, waiting for room.
    pub fn send(&mut self, letter: Letter, within: Duration) -> Option<()> {
        match self {
            Desk::Flat(flat) => {
                let (host, station) = &mut **flat;
                let end = Instant::now() + within;
                let mut letter = Some(letter);
                while let Some(next) = letter.take() {
                    match station.send(next) {
                        Attempt::Sent => break,
                        Attempt::Failed => return None,
                        Attempt::Full(back) => letter = Some(back),
                    }
                    if Instant::now() > end {
                        return None;
                    }
                    attend(host, station);
                    if station.must_look() {
                        std::thread::yield_now();
                    } else {
                        sleep(host, AGAIN);
                        attend(host, station);
                    }
                }
                Some(())
            }
            Desk::Layered(layered) => layered.hand_over(letter, within),
        }
    }

    /// Receives the next signal.
    pub fn receive(&mut self, within: Duration) -> Option<Letter> {
        self.until(within, Station::receive)
    }

    /// Reads bytes of a signal.
    pub fn read(&mut self, letter: &Letter, at: usize, to: &mut [u8]) -> Option<()> {
        match self {
            Desk::Flat(flat) => flat.1.read(letter, at, to),
            Desk::Layered(layered) => layered.shared.state.lock().station.read(letter, at, to),
        }
    }

    /// Notes that a signal is used up.
    pub fn used(&mut self, letter: Letter) {
        match self {
            Desk::Flat(flat) => flat.1.used(letter),
            Desk::Layered(layered) => {
                let mut state = layered.shared.state.lock();
                state.station.used(letter);
                let left = state.station.leaves_work();
                drop(state);
                if left {
                    layered.shared.bell.ring();
                }
            }
        }
    }

    /// Stops the link handler, or starts it again.
    pub fn stop_handler(&self, stopped: bool) {
        if let Desk::Layered(layered) = self {
            layered.shared.state.lock().stopped = stopped;
            layered.shared.outgoing.notify_one();
        }
    }

    /// Waits until something is there.
    fn until<T>(
        &mut self,
        within: Duration,
        mut there: impl FnMut(&mut Station) -> Option<T>,
    ) -> Option<T> {
        let end = Instant::now() + within;
        match self {
            Desk::Flat(flat) => {
                let (host, station) = &mut **flat;
                loop {
                    if let Some(found) = there(station) {
                        return Some(found);
                    }
                    if !attend(host, station) {
                        return None;
                    }
                    if let Some(found) = there(station) {
                        return Some(found);
                    }
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    sleep(host, if station.owes() { AGAIN } else { left });
                }
            }
            Desk::Layered(layered) => {
                let mut state = layered.shared.state.lock();
                loop {
                    if let Some(found) = there(&mut state.station) {
                        return Some(found);
                    }
                    if layered.shared.changed.wait_until(&mut state, end).timed_out() {
                        return there(&mut state.station);
                    }
                }
            }
        }
    }
}

/// Does what there is to do, all layers in the caller's own thread. False if a link cannot be used.
fn attend(host: &Host, station: &mut Station) -> bool {
    let fits = station.hear(host);
    station.serve();
    fits
}

fn sleep(host: &Host, within: Duration) {
    let _ = host.wait(std::iter::empty(), Wait::Bell, Some(host.now() + within));
}

/// A node with threads.
pub struct Layered {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Layered {
    fn start(host: Host, station: Station, counter: Option<Counter>) -> std::io::Result<Layered> {
        let bell = Bell::new()?;
        host.listen(&bell)?;
        let (hunts, outbox) = (VecDeque::new(), VecDeque::new());
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                station,
                hunts,
                outbox,
                stopped: false,
                masked: false,
                over: false,
            }),
            bell,
            changed: Condvar::new(),
            outgoing: Condvar::new(),
            incoming: Condvar::new(),
            coalesces: counter == Some(Counter::Coalesce),
        });
        let mut layered = Layered { shared, threads: Vec::new() };
        let mut begin = |name: &str, work: Box<dyn FnOnce(&Shared) + Send>| {
            let shared = Arc::clone(&layered.shared);
            let thread = Builder::new().name(name.to_owned()).spawn(move || work(&shared))?;
            layered.threads.push(thread);
            std::io::Result::Ok(())
        };
        begin(
            "linx-interrupt",
            Box::new(move |shared| station::interrupts(&mut Running::enter(shared, Some(&host)))),
        )?;
        let receive = |shared: &Shared| station::receive(&mut Running::enter(shared, None));
        begin("linx-receive", Box::new(receive))?;
        let handle = |shared: &Shared| station::handle(&mut Running::enter(shared, None));
        begin("linx-handler", Box::new(handle))?;
        Ok(layered)
    }

    /// Gives a signal to the link handler.
    fn hand_over(&self, letter: Letter, within: Duration) -> Option<()> {
        let mut state = self.shared.state.lock();
        let end = Instant::now() + within;
        while state.outbox.len() >= OUTBOX {
            if self.shared.changed.wait_until(&mut state, end).timed_out() {
                return None;
            }
        }
        state.outbox.push_back(letter);
        self.shared.outgoing.notify_one();
        Some(())
    }
}

impl Drop for Layered {
    fn drop(&mut self) {
        self.shared.state.lock().over = true;
        self.shared.outgoing.notify_all();
        self.shared.incoming.notify_all();
        self.shared.bell.ring();
        for thread in self.threads.drain(..) {
            // It has nothing to say but that it panicked, which is said already.
            let _ = thread.join();
        }
    }
}
