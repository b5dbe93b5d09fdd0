//! Where a node and the thread that stands in for it take turns at the rendezvous.
//!
//! A node takes turns in its calls. While it is in none, a thread of its own takes them, so that
//! peers that look for it are linked, and their ends are noticed, however busy the application is.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io;

use super::{News, Rendezvous};
use crate::bells::Bell;
use crate::bells::sets::Sets;
use crate::memory::fork;
use crate::system;

/// News that wait for the node. With more, peers wait.
const MOST: usize = 64;

/// A rendezvous, for one thread at a time.
pub(crate) struct Door {
    rendezvous: Mutex<Rendezvous>,
    news: AtomicBool,
    filling: AtomicBool,
    offers: AtomicU32,
    sets: Arc<Sets>,
    /// Wakes the thread that takes turns, if there is one.
    wake: Option<Bell>,
    over: AtomicBool,
}

impl Door {
    pub(crate) fn new(rendezvous: Rendezvous, sets: Arc<Sets>) -> io::Result<Door> {
        let wake = sets.told.is_some().then(Bell::new).transpose()?;
        Ok(Door {
            rendezvous: Mutex::new(rendezvous),
            news: AtomicBool::new(false),
            filling: AtomicBool::new(false),
            offers: AtomicU32::new(0),
            sets,
            wake,
            over: AtomicBool::new(false),
        })
    }

    /// Whether there is news. Another thread may make some at any time.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        // Relaxed: a thread that reads the news has the lock.
        self.news.load(Ordering::Relaxed)
    }

    /// Whether pages are to be made while there is nothing else to do.
    #[inline]
    pub(crate) fn has_to_fill(&self) -> bool {
        // Relaxed: as above.
        self.filling.load(Ordering::Relaxed)
    }

    /// How often services came. Another thread may have heard of some at any time.
    #[inline]
    pub(crate) fn offers_heard(&self) -> u32 {
        // Relaxed: a thread that looks at the services has the lock.
        self.offers.load(Ordering::Relaxed)
    }

    /// Does something at the rendezvous, when it is this thread's turn.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut Rendezvous) -> R) -> R {
        let _whole = fork::hold_off();
        self.act(self.rendezvous.lock().unwrap_or_else(PoisonError::into_inner), act)
    }

    /// Does what has become possible, unless another thread is doing that.
    pub(crate) fn try_turn(&self) {
        let _whole = fork::hold_off();
        if let Ok(rendezvous) = self.rendezvous.try_lock() {
            self.act(rendezvous, Rendezvous::turn);
        }
    }

    fn act<R>(
        &self,
        mut rendezvous: MutexGuard<'_, Rendezvous>,
        act: impl FnOnce(&mut Rendezvous) -> R,
    ) -> R {
        let result = act(&mut rendezvous);
        self.news.store(!rendezvous.news.is_empty(), Ordering::Relaxed);
        self.filling.store(rendezvous.has_to_fill(), Ordering::Relaxed);
        self.offers.store(rendezvous.offers_heard(), Ordering::Relaxed);
        result
    }

    /// The oldest news.
    pub(crate) fn next(&self) -> Option<News> {
        let (news, was_full) = self.with(|r| (r.news.pop_front(), r.news.len() + 1 >= MOST));
        if let (true, Some(wake)) = (was_full, &self.wake) {
            wake.ring();
        }
        news
    }

    /// Takes turns until it is over.
    fn keep(&self, wake: &Bell, told: &Bell) {
        let mut full = false;
        loop {
            let mut both = [
                PollFd::new(wake, PollFlags::IN),
                PollFd::new(&self.sets.rendezvous, PollFlags::IN),
            ];
            let awaited = if full { &mut both[..1] } else { &mut both[..] };
            // What fails here is an interruption.
            let _ = poll(awaited, None);
            wake.hear();
            // Acquire: pairs with the release in `Background::drop`.
            if self.over.load(Ordering::Acquire) {
                return;
            }
            let (before, after) = self.with(|r| {
                let before = r.news.len();
                if before < MOST {
                    r.turn();
                }
                (before, r.news.len())
            });
            full = after >= MOST;
            if after > before {
                told.ring();
            }
        }
    }
}

/// The thread that takes turns while the node is busy. It ends when this goes.
pub(crate) struct Background {
    door: Arc<Door>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts it, if the node is to have one.
    pub(crate) fn start(door: &Arc<Door>) -> io::Result<Option<Background>> {
        if door.wake.is_none() {
            return Ok(None);
        }
        let own = Arc::clone(door);
        let keep = move || {
            if let (Some(wake), Some(told)) = (&own.wake, &own.sets.told) {
                own.keep(wake, told);
            }
        };
        let thread = system::in_background("narrows-door", keep)
            .map_err(|error| io::Errno::from_io_error(&error).unwrap_or(io::Errno::AGAIN))?;
        Ok(Some(Background { door: Arc::clone(door), thread: Some(thread) }))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if self.door.sets.maker.is_another() {
            // A copy's thread is its parent's, and cannot be waited for.
            std::mem::forget(thread);
            return;
        }
        // Release: pairs with the acquire in `Door::keep`.
        self.door.over.store(true, Ordering::Release);
        if let Some(wake) = &self.door.wake {
            wake.ring();
        }
        // It has nothing to say but that it panicked, which is said already.
        let _ = thread.join();
    }
}
