//! Messages in MQX's terms between processes: queues whose ids name processor and queue, over
//! links of nodes, memory or streams, and over several of them.
//!
//! A [`Processor`] is a node and a thread, which receives what comes and passes on what is for
//! others. Threads use it through a [`Task`] each. The calls are those of [`narrows::mqx`], where a
//! message is a [`Message`] with its bytes, which is freed when it is dropped, and where a receive
//! waits. A message for a processor to which no link leads any more waits for one for five seconds.
//!
//! ```
//! use std::time::Duration;
//!
//! use narrows_host::mqx::{Limits, Processor, QueueId};
//!
//! let dir = tempfile::tempdir()?;
//! // A line: 1 and 3 are adjacent to 2 only.
//! let adjacent = [(1, 2), (2, 3)];
//! let open = |number, neighbours: &[u8]| {
//!     let limits = Limits::default();
//!     Processor::open(number, neighbours, &adjacent, limits, |o| o.directory(dir.path()))
//! };
//! let (first, middle, last) = (open(1, &[2])?, open(2, &[1, 3])?, open(3, &[2])?);
//!
//! let (here, there) = (first.task(), last.task());
//! first.create_system_pool(64, 4, 0, 4)?;
//! let queue = there.open(8, 0)?;
//!
//! let soon = Some(Duration::from_secs(5));
//! first.wait_for(2, soon)?;
//! middle.wait_for(3, soon)?;
//! let mut message = here.alloc_system(5)?;
//! message.copy_from_slice(b"hello");
//! message.header.target = QueueId::new(3, 8);
//! here.send(message).map_err(|(why, _message)| why)?;
//! let got = there.receive(queue, soon)?.expect("it came in time");
//! assert_eq!(&got[..], b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod memory;
mod service;
mod task;
mod way;

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use narrows::link::LinkId;
use narrows::link::Name as NodeName;
use narrows::link::route::Table;

pub use memory::HEAD;
pub use narrows::mqx::{
    Broadcast, Control, Counts, Header, Limits, MessageError, NoProcessor, PoolError, PoolId,
    QueueError, QueueId, SendError,
};
pub use task::{Message, Name, Task};

use crate::bells::Bell;
use crate::error::OpenError;
use crate::options::Options;
use crate::{Node, system};
use memory::Heap;

/// What the owner of a queue is told with: run for each message that comes, by the thread that
/// brought it, which holds nothing meanwhile.
pub type Notification = Arc<dyn Fn() + Send + Sync>;

/// A tick of MQX's clock, in which [`Task::receive_ticks`] counts.
pub const TICK: Duration = Duration::from_millis(5);

type Core = narrows::mqx::Processor<Heap, Notification>;

/// Why a processor did not open. Nothing is left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessorError {
    /// Its node did not open.
    Node(OpenError),
    /// Its tables were not made.
    Tables(NoProcessor),
    /// Its thread did not start, or has nothing to sleep on.
    Thread(String),
}

impl fmt::Display for ProcessorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcessorError::Node(error) => error.fmt(f),
            ProcessorError::Tables(error) => error.fmt(f),
            ProcessorError::Thread(error) => {
                write!(f, "the processor's thread did not start: {error}")
            }
        }
    }
}

impl std::error::Error for ProcessorError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ProcessorError::Node(error) => error.source(),
            ProcessorError::Tables(error) => error.source(),
            _ => None,
        }
    }
}

/// A neighbour was not linked with in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLinked;

impl fmt::Display for NotLinked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the neighbour was not linked with in time, or is no neighbour")
    }
}

impl std::error::Error for NotLinked {}

/// A link of a processor.
struct Neighbour {
    number: u8,
    name: NodeName,
    link: Option<LinkId>,
}

/// What the thread and the tasks of a processor share, one at a time.
struct Inner {
    core: Core,
    /// Nothing any more once the processor is closed.
    node: Option<Node>,
    neighbours: Vec<Neighbour>,
    /// Bytes of the frame that is being sent.
    frame: Vec<u8>,
    /// Tasks that wait.
    waiting: usize,
}

struct Shared {
    inner: Mutex<Inner>,
    /// Something came into a queue, or a link came up.
    came: Condvar,
    /// Wakes the thread.
    bell: Bell,
    tasks: AtomicU32,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the processor, sends what is to be sent for it, and tells those whom
    /// that concerns when nothing is held any more.
    fn with<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> R {
        let mut inner = self.lock();
        let done = act(&mut inner);
        let more = inner.settle(false);
        self.leave(inner);
        if more {
            self.bell.ring();
        }
        done
    }

    fn leave(&self, mut inner: MutexGuard<'_, Inner>) {
        let notices: Vec<_> = std::iter::from_fn(|| inner.core.notice()).collect();
        let waiting = inner.waiting > 0;
        drop(inner);
        if waiting {
            self.came.notify_all();
        }
        notices.iter().for_each(|notice| notice());
    }

    /// Asks until there is an answer, or the time is over.
    fn wait<R>(
        &self,
        within: Option<Duration>,
        mut ask: impl FnMut(&mut Inner) -> Option<R>,
    ) -> Option<R> {
        // A time that no clock shows never comes.
        let end = within.map(|within| Instant::now().checked_add(within));
        let mut inner = self.lock();
        loop {
            if let Some(answer) = ask(&mut inner) {
                return Some(answer);
            }
            inner.waiting += 1;
            inner = match end {
                None | Some(None) => self.came.wait(inner).unwrap_or_else(PoisonError::into_inner),
                Some(Some(end)) => {
                    let left = end.saturating_duration_since(Instant::now());
                    let woken = self.came.wait_timeout(inner, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            inner.waiting -= 1;
            if end.flatten().is_some_and(|end| Instant::now() >= end) {
                return ask(&mut inner);
            }
        }
    }
}

/// One processor of this process.
pub struct Processor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The name of a processor's node.
fn name_of(number: u8) -> String {
    format!("processor-{number}")
}

/// A number for the next life of a processor: later ones are higher.
fn next_life() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let last = LAST.fetch_max(now, Ordering::Relaxed);
    if now > last { now } else { LAST.fetch_add(1, Ordering::Relaxed) + 1 }
}

impl Processor {
    /// Opens the processor of this number, whose links lead to its neighbours, where `adjacent` has
    /// all pairs of processors that have links. It finds them by itself, again and again if they
    /// start anew. `host` says what else its node is to be: its directory, its carrier.
    ///
    /// # Errors
    /// See [`ProcessorError`].
    pub fn open(
        number: u8,
        neighbours: &[u8],
        adjacent: &[(u8, u8)],
        limits: Limits,
        host: impl FnOnce(Options) -> Options,
    ) -> Result<Processor, ProcessorError> {
        Processor::routed(number, Table::new(number, neighbours, adjacent), limits, host)
    }

    /// The same with routes that are written down: see [`Table::prefer`].
    ///
    /// # Errors
    /// See [`ProcessorError`].
    pub fn routed(
        number: u8,
        table: Table,
        limits: Limits,
        host: impl FnOnce(Options) -> Options,
    ) -> Result<Processor, ProcessorError> {
        let numbers: Vec<u8> = (0..).map_while(|link| table.neighbour(link)).collect();
        let core = Core::new(Heap, (number, next_life()), table, limits);
        let core = core.map_err(ProcessorError::Tables)?;
        let node = host(Options::new(name_of(number))).node();
        let mut node = node.map_err(ProcessorError::Node)?;
        way::open(&mut node);
        let thread = |error: &dyn fmt::Display| ProcessorError::Thread(error.to_string());
        let neighbour = |number| {
            let name = name_of(number).parse().map_err(|e| thread(&e))?;
            Ok(Neighbour { number, name, link: None })
        };
        let neighbours: Result<Vec<Neighbour>, ProcessorError> =
            numbers.into_iter().map(neighbour).collect();
        let bell = Bell::new().map_err(|e| thread(&e))?;
        node.platform().listen(&bell).map_err(|e| thread(&e))?;
        let sets = node.platform().sets();
        let inner = Inner {
            core,
            node: Some(node),
            neighbours: neighbours?,
            frame: Vec::new(),
            waiting: 0,
        };
        let shared = Arc::new(Shared {
            inner: Mutex::new(inner),
            came: Condvar::new(),
            bell,
            tasks: AtomicU32::new(1),
        });
        let served = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("narrows-mqx".into());
        let started = builder.spawn(move || {
            system::run_anywhere();
            service::run(&served, &sets);
        });
        Ok(Processor { shared, thread: Some(started.map_err(|e| thread(&e))?) })
    }

    /// A task, for a thread of its own.
    pub fn task(&self) -> Task {
        let number = self.shared.tasks.fetch_add(1, Ordering::Relaxed);
        Task::new(Arc::clone(&self.shared), number)
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        self.shared.lock().core.counts()
    }

    /// Waits until a neighbour is linked with.
    ///
    /// # Errors
    /// [`NotLinked`].
    pub fn wait_for(&self, neighbour: u8, within: Option<Duration>) -> Result<(), NotLinked> {
        let linked = self.shared.wait(within, |inner| {
            let mut all = inner.neighbours.iter();
            let at = all.position(|one| one.number == neighbour);
            at.is_none_or(|at| inner.core.is_up(at)).then_some(at.is_some())
        });
        if linked == Some(true) { Ok(()) } else { Err(NotLinked) }
    }

    /// Ends the link with a neighbour, if there is one. It is hunted again at once; meanwhile
    /// messages go another way, if there is one.
    pub fn relink(&self, neighbour: u8) {
        self.shared.with(|inner| {
            let mut all = inner.neighbours.iter();
            if let Some(at) = all.position(|one| one.number == neighbour) {
                inner.unlink(at);
            }
        });
        self.shared.bell.ring();
    }

    /// Makes a pool: see [`narrows::mqx::Processor::create_pool`].
    ///
    /// # Errors
    /// See [`PoolError`].
    pub fn create_pool(
        &self,
        bytes: u32,
        initial: u16,
        grow: u16,
        limit: u16,
    ) -> Result<PoolId, PoolError> {
        self.shared.lock().core.create_pool(bytes, initial, grow, limit)
    }

    /// Makes a pool for all tasks: see [`narrows::mqx::Processor::create_system_pool`].
    ///
    /// # Errors
    /// See [`PoolError`].
    pub fn create_system_pool(
        &self,
        bytes: u32,
        initial: u16,
        grow: u16,
        limit: u16,
    ) -> Result<(), PoolError> {
        self.shared.lock().core.create_system_pool(bytes, initial, grow, limit)
    }

    /// Ends a pool: see [`narrows::mqx::Processor::destroy_pool`].
    ///
    /// # Errors
    /// See [`PoolError`].
    pub fn destroy_pool(&self, pool: PoolId) -> Result<(), PoolError> {
        self.shared.lock().core.destroy_pool(pool)
    }

    /// Messages of a pool that are free.
    pub fn available(&self, pool: PoolId) -> Option<u16> {
        self.shared.lock().core.available(pool)
    }

    /// Messages of all system pools that are free.
    pub fn available_system(&self) -> u32 {
        self.shared.lock().core.available_system()
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        let node = {
            let mut inner = self.shared.lock();
            (0..inner.neighbours.len()).for_each(|at| inner.core.disconnect(at));
            inner.node.take()
        };
        // Tells the neighbours, and frees the name.
        drop(node);
        self.shared.bell.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
