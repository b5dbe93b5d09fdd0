//! The layered placement: the interrupt's work, the connection's receiving side and the link handler
//! in a thread each, which hand over to each other what the layers hand over.
//!
//! ```text
//!   application ── outbox ──► link handler ── connection, driver ──► the other side
//!   application ◄── queue ─── receiver ◄── frames ── interrupt ◄──── the other side
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use narrows::connection::Refused;
use narrows::linx::HandlerError;

use super::core::Core;
use super::shared::{Guard, Shared};
use super::waits::Awaited;

/// How long a signal without room waits before it is tried again, if nothing says so earlier.
const AGAIN: Duration = Duration::from_millis(1);
/// Frames that may wait for the receiving thread: then the driver has to keep them.
const FRAMES: usize = 256;

/// Frames of one link that may wait for room on another, before those of all links do: more than a peer
/// that keeps to its window has under way.
const PUT_OFF: usize = 16384;
/// How long a node, or an endpoint, that closes waits at most until what it has sent is on its way.
const LINGER: Duration = Duration::from_secs(2);

/// A thread's name, and what it does until the node ends.
type Work = (&'static str, fn(&Shared));

/// Starts the three threads of a layered node.
pub(super) fn start(shared: &Arc<Shared>) -> std::io::Result<Vec<JoinHandle<()>>> {
    begin(
        shared,
        &[("linx-interrupt", interrupt), ("linx-receive", receive), ("linx-handler", handle)],
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

/// Waits, for a bounded time, until what a layered node, or one endpoint of it, has sent is in the memory
/// that its receivers read, or with the connection that brings it there.
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

/// Takes frames off the driver and hands them on.
fn interrupt(shared: &Shared) {
    let mut core = shared.enter();
    while !over(shared) {
        // Taking none is what masking the interrupt is on a chip.
        let most = core.counter.mask.unwrap_or(FRAMES);
        while core.frames.len() < most && core.copy_frame() {}
        if !core.frames.is_empty() {
            core.around.waits.tell(Awaited::Incoming);
        }
        core.see_to_the_rest();
        let timer = core.look_at_timers();
        let within = core.until(timer);
        if core.frames.len() >= most {
            shared.sleep(&mut core, Awaited::Room, Some(AGAIN));
        } else {
            shared.wait(&mut core, Awaited::Anything, within, None);
        }
    }
}

/// Puts signals together and delivers them. A link whose signals are for another that has no room waits
/// for that by itself.
fn receive(shared: &Shared) {
    let mut core = shared.enter();
    while !over(shared) {
        let next = core.frames.pop_front();
        if let Some((at, link, frame)) = next {
            core.around.waits.tell(Awaited::Room);
            if core.is_current(at, link) {
                core.put_off(at, frame);
            }
            core.work_off();
            while core.put_off_frames(at) >= PUT_OFF && !over(shared) {
                shared.sleep(&mut core, Awaited::Incoming, Some(AGAIN));
                core.work_off();
            }
        } else {
            let left = core.work_off();
            shared.sleep(&mut core, Awaited::Incoming, left.then_some(AGAIN));
        }
    }
}

/// Sends what applications have handed over.
fn handle(shared: &Shared) {
    let mut core = shared.enter();
    while !over(shared) {
        let next = if core.stopped { None } else { core.outbox.pop_front() };
        let Some((from, to, signal)) = next else {
            shared.sleep(&mut core, Awaited::Outgoing, None);
            continue;
        };
        let core_now = &mut *core;
        let len = signal.bytes().len();
        let sent = core_now.handler.send(&mut core_now.around, from, to, (signal, len));
        match sent {
            Err((HandlerError::Refused(Refused::Full), signal)) => {
                core.outbox.push_front((from, to, signal));
                shared.sleep(&mut core, Awaited::Outgoing, Some(AGAIN));
            }
            // Whoever is attached to it hears that it is gone.
            Ok(()) | Err(_) => core.around.waits.tell(Awaited::Room),
        }
    }
}
