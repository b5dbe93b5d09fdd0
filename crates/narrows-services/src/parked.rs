//! Tasks that wait for a node, in an asynchronous program.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

#[derive(Default)]
struct Tasks {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

/// Tasks that wait for whatever comes to a node. All are woken by any of it: each looks for what is
/// its own.
#[derive(Default)]
pub(crate) struct Parked {
    tasks: Mutex<Tasks>,
}

impl Parked {
    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all.
    #[cold]
    pub(crate) fn wake_all(&self) {
        let wakers = std::mem::take(&mut self.tasks().wakers);
        wakers.into_values().for_each(Waker::wake);
    }
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }
}

/// A task's place among those that wait. Dropped, it is free.
pub(crate) struct Ticket {
    parked: Arc<Parked>,
    key: Option<u64>,
}

impl Ticket {
    pub(crate) fn new(parked: &Arc<Parked>) -> Ticket {
        Ticket { parked: Arc::clone(parked), key: None }
    }

    /// Waits from here on.
    pub(crate) fn park(&mut self, waker: &Waker) {
        let mut tasks = self.parked.tasks();
        let key = *self.key.get_or_insert_with(|| {
            tasks.next += 1;
            tasks.next
        });
        tasks.wakers.insert(key, waker.clone());
    }

    /// Waits no more.
    pub(crate) fn leave(&mut self) {
        if let Some(key) = self.key {
            self.parked.tasks().wakers.remove(&key);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn who_waits_is_woken_once_and_who_left_is_not() {
        let parked = Arc::new(Parked::default());
        let counts: [Arc<Count>; 3] = Default::default();
        let wakers = counts.clone().map(Waker::from);
        let mut tickets = [(); 3].map(|()| Ticket::new(&parked));
        for (ticket, waker) in tickets.iter_mut().zip(&wakers) {
            ticket.park(waker);
            ticket.park(waker);
        }
        let [_, _, last] = tickets;
        drop(last);
        parked.wake_all();
        parked.wake_all();
        let woken = counts.map(|count| count.0.load(Ordering::Relaxed));
        assert_eq!(woken, [1, 1, 0]);
    }
}
