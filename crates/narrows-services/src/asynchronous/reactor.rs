//! The descriptor of a node, and what waits for it.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::error::Error;
use crate::node::Node;
use crate::parked::{Parked, Ticket};

/// How often is looked in a row before other tasks have their turn.
const ROUNDS: usize = 16;
/// The longest time that the system is asked to wait for.
const LONGEST: Duration = Duration::from_secs(1 << 30);

/// A descriptor that a runtime watches.
pub trait Watch {
    /// Whether the descriptor can be read from by now. If not, the task is woken when it can be.
    /// That it could be is forgotten before this returns, so that it is told of what comes next.
    ///
    /// # Errors
    /// What the runtime says if it watches the descriptor no more.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// What a look came to.
pub(super) enum Look<T> {
    /// What was looked for is there.
    Done(T),
    /// It is looked again when something comes, and after this time.
    Again(Option<Duration>),
}

pub(super) struct Reactor<W> {
    node: Node,
    watch: W,
    timer: OwnedFd,
    /// When the timer ends.
    due: Cell<Option<Instant>>,
    parked: Arc<Parked>,
    /// What the node had heard of services when that was looked at last.
    heard: Cell<u32>,
    /// Wakes all that wait.
    waker: Waker,
}

impl<W: Watch> Reactor<W> {
    pub(super) fn new(
        node: &Node,
        watch: impl FnOnce(OwnedFd) -> io::Result<W>,
    ) -> Result<Reactor<W>, Error> {
        let failed = |error: io::Error| Error::Descriptor(error.to_string());
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags);
        let timer = timer.map_err(|error| failed(error.into()))?;
        let set = (|| {
            let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            let data = epoll::EventData::new_u64(0);
            epoll::add(&set, &timer, data, epoll::EventFlags::IN)?;
            let below = node.below().map_err(|error| io::Error::other(error.to_string()))?;
            epoll::add(&set, below.platform().as_fd(), data, epoll::EventFlags::IN)?;
            watch(set)
        })();
        let parked = Arc::clone(node.parked());
        let waker = Waker::from(Arc::clone(&parked));
        let (node, due, heard) = (node.clone(), Cell::new(None), Cell::new(0));
        Ok(Reactor { node, watch: set.map_err(failed)?, timer, due, parked, heard, waker })
    }

    pub(super) fn ticket(&self) -> Ticket {
        Ticket::new(&self.parked)
    }

    /// Looks again and again until it is there.
    pub(super) async fn wait<T>(
        &self,
        mut look: impl FnMut() -> Result<Look<T>, Error>,
    ) -> Result<T, Error> {
        let mut ticket = self.ticket();
        poll_fn(|cx| self.poll(cx, &mut ticket, &mut look)).await
    }

    /// Looks whether it is there. If not, the task is woken when something comes.
    pub(super) fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        ticket: &mut Ticket,
        mut look: impl FnMut() -> Result<Look<T>, Error>,
    ) -> Poll<Result<T, Error>> {
        ticket.leave();
        for _ in 0..ROUNDS {
            let done = match self.node.quietly(&mut look) {
                Ok(Look::Again(within)) => Err(within),
                Ok(Look::Done(value)) => Ok(Ok(value)),
                Err(error) => Ok(Err(error)),
            };
            let within = match done {
                Err(within) => within,
                Ok(done) => {
                    // What came with it may be another's, which this look has taken off the rings;
                    // and what this has used another may wait for.
                    self.parked.wake_all();
                    return Poll::Ready(done);
                }
            };
            match self.node.quietly(|| self.park(ticket, cx.waker(), within)) {
                Ok(true) => return Poll::Pending,
                Ok(false) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Waits, unless something has come. The node stays armed while a task waits, so nobody else's
    /// look spoils the wait.
    fn park(
        &self,
        ticket: &mut Ticket,
        waker: &Waker,
        within: Option<Duration>,
    ) -> Result<bool, Error> {
        let mut node = self.node.below()?;
        // One task's look may have heard of what another waits for.
        let heard = node.platform().offers_heard();
        if node.arm() || self.heard.replace(heard) != heard {
            node.poll();
            self.parked.wake_all();
            return Ok(false);
        }
        if let Some(within) = within {
            self.wake_after(within)?;
        }
        self.node.park(ticket, waker);
        match self.watch.poll_readable(&mut Context::from_waker(&self.waker)) {
            Poll::Pending => Ok(true),
            Poll::Ready(Ok(())) => {
                if rustix::io::read(&self.timer, &mut [0; 8]).is_ok() {
                    self.due.set(None);
                }
                node.platform().hear();
                node.poll();
                ticket.leave();
                self.parked.wake_all();
                Ok(false)
            }
            Poll::Ready(Err(error)) => Err(Error::Descriptor(error.to_string())),
        }
    }

    /// Has the descriptor be readable after `within` at the latest.
    fn wake_after(&self, within: Duration) -> Result<(), Error> {
        let within = within.clamp(Duration::from_nanos(1), LONGEST);
        let at = Instant::now() + within;
        if self.due.get().is_some_and(|due| due <= at) {
            return Ok(());
        }
        let it_value = Timespec::try_from(within).unwrap_or_default();
        let it_interval = Timespec::default();
        let times = Itimerspec { it_interval, it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &times)
            .map_err(|error| Error::Descriptor(error.to_string()))?;
        self.due.set(Some(at));
        Ok(())
    }
}
