//! What ends a wait that has no deadline of its own, if the counterpart has gone.
//!
//! A thread, asleep meanwhile, and the same one for all batches: a core on which a thread has just
//! been started or has ended keeps its timer tick for a while, and sleeps less deep than under a
//! program that only waits.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const ALARM_AGAIN: Duration = Duration::from_millis(10);

/// The thread.
pub struct Guard {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    orders: Mutex<Orders>,
    changed: Condvar,
}

#[derive(Default)]
struct Orders {
    /// When the alarm is to sound.
    alarm: Option<Instant>,
    /// When the thread looks at this again; none if it is not to before it is told.
    looks: Option<Instant>,
    /// It is to end.
    end: bool,
}

/// While this is there, the alarm sounds when it is time.
pub struct Watch<'a>(&'a Guard);

impl Guard {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has none to give.
    pub fn start(alarm: impl Fn() + Send + 'static) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("limit guard".into());
        let thread = Some(thread.spawn(move || theirs.run(alarm))?);
        Ok(Self { shared, thread })
    }

    /// Has the alarm sound once `patience` is over, and from then on again and again.
    pub fn watch(&self, patience: Duration) -> Watch<'_> {
        let when = Instant::now() + patience;
        let mut orders = self.shared.lock();
        orders.alarm = Some(when);
        // Otherwise it looks early enough, and waking it would disturb what is measured.
        if orders.looks.is_none_or(|looks| looks > when) {
            self.shared.changed.notify_one();
        }
        Watch(self)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, alarm: impl Fn()) {
        let mut orders = self.lock();
        while !orders.end {
            let now = Instant::now();
            let due = orders.alarm.is_some_and(|when| when <= now);
            if due {
                alarm();
            }
            orders.looks = if due { Some(now + ALARM_AGAIN) } else { orders.alarm };
            orders = match orders.looks {
                Some(looks) => {
                    let left = looks.saturating_duration_since(now);
                    let woken = self.changed.wait_timeout(orders, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(orders).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.0.shared.lock().alarm = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.lock().end = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
