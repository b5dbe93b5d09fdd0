//! Links over frames that a node carries itself while it waits.
//!
//! Each such link has a thread of its own, which carries it while the node computes. To a node that
//! waits a thread in between costs two wake-ups for each message. So the threads leave what comes
//! to a node that waits, and have it back when the node has not waited for a while.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::epoll;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io;
use rustix::time::Timespec;

use crate::bells::set::{SUPERVISION, WAKER, key, listen_to, no_events, wait_for};
use crate::bells::timer::Timer;

/// How long without a wait until the threads carry again.
const LONGEST_AWAY: Duration = Duration::from_millis(1);
/// What the set of streams says of the set of all bells.
const BELLS: u64 = SUPERVISION;

/// What came of carrying a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// Nothing that the node asked to be woken for.
    Nothing,
    /// Something that it did ask for.
    Something,
    /// The link's end.
    End,
}

/// An end of a link over frames, as the node that waits has it.
pub(crate) trait Carries: Send + Sync {
    /// Its end of the stream.
    fn stream(&self) -> BorrowedFd<'_>;
    /// Sends what the node has published, and has it ring for what it publishes from here on.
    fn prepare(&self);
    /// Sends what the node has published: it has rung.
    fn push(&self);
    /// Takes what came.
    fn carry(&self) -> Came;
    /// Wakes the thread, which carries from here on.
    fn hand_over(&self);
}

/// Whether the node carries its links, as it waits from time to time. Either way a thread that
/// carries where it need not does no harm.
#[derive(Clone, Default)]
pub(crate) struct ByNode(Arc<AtomicBool>);

impl ByNode {
    pub(crate) fn get(&self) -> bool {
        // Acquire: pairs with the release in `set`; what is rung after it finds it so.
        self.0.load(Ordering::Acquire)
    }

    #[cfg(test)]
    pub(crate) fn always() -> ByNode {
        let by_node = ByNode::default();
        by_node.set(true);
        by_node
    }

    fn set(&self, by_node: bool) {
        self.0.store(by_node, Ordering::Release);
    }
}

#[derive(Default)]
struct State {
    links: Vec<(u32, Arc<dyn Carries>)>,
    /// Threads that wait.
    waiting: u32,
    /// A wait has begun since the timer expired last.
    waited: bool,
    /// The timer is set.
    watched: bool,
}

/// The links that a node carries while it waits.
pub(crate) struct Carry {
    /// The streams of all links, and the set of all bells.
    all: OwnedFd,
    /// Expires some time after a wait.
    timer: Timer,
    by_node: ByNode,
    /// How many links there are.
    count: AtomicUsize,
    state: Mutex<State>,
}

impl Carry {
    /// None are carried yet.
    ///
    /// # Errors
    /// What the system says if it has no room for it.
    pub(crate) fn new(bells: BorrowedFd<'_>) -> io::Result<Carry> {
        let all = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        listen_to(&all, bells, BELLS, false)?;
        Ok(Carry {
            all,
            timer: Timer::new()?,
            by_node: ByNode::default(),
            count: AtomicUsize::new(0),
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn by_node(&self) -> ByNode {
        self.by_node.clone()
    }

    /// Whether there are links to carry.
    #[inline]
    pub(crate) fn has_links(&self) -> bool {
        // Relaxed: the thread carries what a wait that began before does not.
        self.count.load(Ordering::Relaxed) > 0
    }

    /// One link more.
    ///
    /// # Errors
    /// What the system says if it has no room for it.
    pub(crate) fn add(&self, key: u32, link: Arc<dyn Carries>) -> io::Result<()> {
        let mut state = self.state();
        listen_to(&self.all, link.stream(), u64::from(key), false)?;
        state.links.push((key, link));
        self.count.store(state.links.len(), Ordering::Relaxed);
        Ok(())
    }

    /// One less, if it is one: its stream says that it is at its end for as long as it is listened
    /// to.
    pub(crate) fn remove(&self, key: u32) {
        let mut state = self.state();
        for (_, link) in state.links.extract_if(.., |(of, _)| *of == key) {
            let _ = epoll::delete(&self.all, link.stream());
        }
        self.count.store(state.links.len(), Ordering::Relaxed);
    }

    fn link(&self, key: u32) -> Option<Arc<dyn Carries>> {
        let state = self.state();
        state.links.iter().find(|(of, _)| *of == key).map(|(_, link)| Arc::clone(link))
    }

    /// From here on a thread waits.
    pub(crate) fn begin(&self) -> Waiting<'_> {
        let mut state = self.state();
        state.waiting += 1;
        state.waited = true;
        self.by_node.set(true);
        state.links.iter().for_each(|(_, link)| link.prepare());
        Waiting(self)
    }

    /// Has the threads carry from here on: how long the node will not wait is not known.
    pub(crate) fn hand_over(&self) {
        if self.has_links() && self.by_node.get() {
            self.give_up(&self.state());
        }
    }

    fn give_up(&self, state: &State) {
        self.by_node.set(false);
        state.links.iter().for_each(|(_, link)| link.hand_over());
    }

    /// The timer has expired: hands over if the node has not waited since the last time.
    pub(crate) fn look_after(&self) {
        self.timer.hear();
        let mut state = self.state();
        state.watched = false;
        if state.waiting > 0 {
            // The end of the wait sets the timer.
        } else if std::mem::take(&mut state.waited) {
            self.watch(&mut state);
        } else {
            self.give_up(&state);
        }
    }

    fn watch(&self, state: &mut State) {
        if std::mem::replace(&mut state.watched, true) {
            return;
        }
        if self.timer.once(LONGEST_AWAY).is_err() {
            state.watched = false;
            self.give_up(state);
        }
    }
}

impl AsFd for Carry {
    /// What is readable when [`Carry::look_after`] has something to do.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

/// A wait of one thread.
pub(crate) struct Waiting<'a>(&'a Carry);

impl Waiting<'_> {
    /// Takes what streams have brought. Whether the node is to look.
    pub(crate) fn carry(&self) -> bool {
        self.take(Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|(came, _)| came)
    }

    /// Sleeps until a stream brings something or a bell rings. What the bells say is in `events`;
    /// what came over streams is said as if this process's own bell had been rung.
    pub(crate) fn sleep(
        &self,
        bells: &OwnedFd,
        events: &mut [epoll::Event],
        timeout: Option<Timespec>,
    ) -> io::Result<usize> {
        let (came, rung) = self.take(timeout.as_ref())?;
        let mut heard = 0;
        let most = events.len().saturating_sub(1);
        if let (true, Some(events)) = (rung, events.get_mut(..most)) {
            heard = epoll::wait(bells, events, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        }
        if let (true, Some(event)) = (came, events.get_mut(heard)) {
            event.data = epoll::EventData::new_u64(WAKER);
            heard += 1;
        }
        Ok(heard)
    }

    /// Takes what streams bring within `timeout`. Whether the node is to look, and whether bells
    /// have rung.
    fn take(&self, timeout: Option<&Timespec>) -> io::Result<(bool, bool)> {
        let mut events = no_events::<16>();
        let heard = wait_for(&self.0.all, &mut events, timeout.copied())?;
        let (mut came, mut rung) = (false, false);
        for event in events.iter().take(heard) {
            if key(event) == BELLS {
                rung = true;
                continue;
            }
            let key = key(event) as u32;
            // Not with the state locked: another thread may begin to wait.
            let link = self.0.link(key);
            let what = link.map_or(Came::Nothing, |link| link.carry());
            came |= what != Came::Nothing;
            if what == Came::End {
                self.0.remove(key);
            }
        }
        Ok((came, rung))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.waiting -= 1;
        self.0.watch(&mut state);
    }
}
