//! The layered placement: the processes of a [station](narrows::linx::station) in a thread each,
//! which have the node's lock but while they wait.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use narrows::connection::Refused;
use narrows::linx::HandlerError;
use narrows::linx::station::{self, AGAIN, Handled, Process, Processes, Station};

use super::core::Core;
use super::shared::{Guard, Shared};
use super::unit::Unit;
use super::waits::Awaited;

/// Frames that may wait for the receiving thread: then the driver has to keep them.
const FRAMES: usize = 256;
/// How long a node, or an endpoint, that closes waits at most until what it has sent is on its way.
const LINGER: Duration = Duration::from_secs(2);

/// A thread's name, and what it does until the node ends.
type Work = (&'static str, fn(&Shared));

/// Starts the three threads of a layered node.
pub(super) fn start(shared: &Arc<Shared>) -> std::io::Result<Vec<JoinHandle<()>>> {
    begin(
        shared,
        &[
            ("linx-interrupt", |shared| station::interrupts(&mut enter(shared))),
            ("linx-receive", |shared| station::receive(&mut enter(shared))),
            ("linx-handler", |shared| station::handle(&mut enter(shared))),
        ],
    )
}

/// Starts the thread of a flat node that sees to what comes while its endpoints are waited for by
/// descriptor.
pub(super) fn watch(shared: &Arc<Shared>) -> std::io::Result<Vec<JoinHandle<()>>> {
    begin(shared, &[("linx-watch", keep_watch)])
}

fn begin(shared: &Arc<Shared>, works: &[Work]) -> std::io::Result<Vec<JoinHandle<()>>> {
    let mut threads = Vec::new();
    for &(name, work) in works {
        let own = Arc::clone(shared);
        match Builder::new().name(name.to_owned()).spawn(move || work(&own)) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                stop(shared, threads);
                return Err(error);
            }
        }
    }
    Ok(threads)
}

/// Ends the threads of a node, behind what it has sent.
pub(super) fn stop(shared: &Shared, threads: Vec<JoinHandle<()>>) {
    // With the lock: a thread that has just looked waits before it is roused.
    let mut core = shared.enter();
    core.stopped = false;
    linger(shared, &mut core, Core::is_all_sent);
    shared.over.store(true, Ordering::SeqCst);
    core.around.waits.rouse();
    drop(core);
    for thread in threads {
        // It has nothing to say but that it panicked, which is said already.
        let _ = thread.join();
    }
}

/// Waits, for a bounded time, until what a layered node, or one endpoint of it, has sent is in the
/// memory that its receivers read, or with the connection that brings it there.
pub(super) fn linger(shared: &Shared, core: &mut Guard<'_>, done: impl Fn(&Core) -> bool) {
    let end = Instant::now() + LINGER;
    while !done(core) && Instant::now() < end {
        core.around.waits.tell(Awaited::Outgoing);
        shared.sleep(core, Awaited::Room, Some(AGAIN));
    }
}

fn over(shared: &Shared) -> bool {
    shared.over.load(Ordering::SeqCst)
}

/// Sees to what comes.
fn keep_watch(shared: &Shared) {
    let mut core = shared.enter();
    while !over(shared) {
        core.pump();
        let timer = core.look_at_timers();
        let within = core.until(timer);
        shared.wait(&mut core, Awaited::Anything, within, None);
    }
}

/// A layered node, in one of its threads.
struct Layered<'a> {
    shared: &'a Shared,
    core: Guard<'a>,
}

fn enter(shared: &Shared) -> Layered<'_> {
    Layered { shared, core: shared.enter() }
}

impl Layered<'_> {
    /// Frames that may wait for the receiver.
    fn most(&self) -> usize {
        self.core.counter.mask.unwrap_or(FRAMES)
    }
}

impl Processes for Layered<'_> {
    fn is_over(&self) -> bool {
        over(self.shared)
    }

    fn wait(&mut self, own: Process, within: Option<Duration>) {
        let (shared, core) = (self.shared, &mut self.core);
        match own {
            Process::Interrupt if core.masked => shared.sleep(core, Awaited::Room, Some(AGAIN)),
            Process::Interrupt => {
                let timer = core.look_at_timers();
                let within = core.until(timer);
                shared.wait(core, Awaited::Anything, within, None);
            }
            Process::Receiver => shared.sleep(core, Awaited::Incoming, within),
            Process::Handler => shared.sleep(core, Awaited::Outgoing, within),
            Process::Application => shared.sleep(core, Awaited::Room, within),
        }
    }

    fn wake(&mut self, whom: Process) {
        self.core.around.waits.tell(match whom {
            Process::Receiver => Awaited::Incoming,
            Process::Handler => Awaited::Outgoing,
            Process::Interrupt | Process::Application => Awaited::Room,
        });
    }

    fn mask(&mut self, masked: bool) {
        self.core.masked = masked;
        if !masked {
            self.wake(Process::Interrupt);
        }
    }

    fn is_masked(&self) -> bool {
        self.core.masked
    }
}

impl Station for Layered<'_> {
    /// All links have one driver.
    fn links(&self) -> usize {
        1
    }

    /// The node below sees to that.
    fn acknowledge(&mut self) -> bool {
        false
    }

    fn take(&mut self, _: usize) -> Option<bool> {
        self.core.copy_frame().then_some(true)
    }

    fn is_enough(&self, _: usize) -> bool {
        self.core.ready() >= self.most() || self.core.is_clogged()
    }

    fn is_news(&self) -> bool {
        self.core.around.units.iter().flatten().any(Unit::has_news)
    }

    fn put_together(&mut self) -> bool {
        self.core.work_off()
    }

    fn is_little(&self) -> bool {
        self.core.ready() < self.most() && !self.core.is_clogged()
    }

    fn is_held(&self) -> bool {
        self.core.around.units.iter().flatten().any(Unit::waits)
    }

    fn send_next(&mut self) -> Handled {
        let core = &mut *self.core;
        let next = if core.stopped { None } else { core.outbox.pop_front() };
        let Some((from, to, signal)) = next else { return Handled::Nothing };
        let len = signal.bytes().len();
        match core.handler.send(&mut core.around, from, to, (signal, len)) {
            Err((HandlerError::Refused(Refused::Full), signal)) => {
                core.outbox.push_front((from, to, signal));
                Handled::NoRoom
            }
            // An endpoint that is attached to it hears that it is gone.
            Ok(()) | Err(_) => Handled::Sent,
        }
    }

    fn attend(&mut self) {
        self.core.see_to_the_rest();
    }
}
