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
use std::time::Duration;

use narrows::connection::Refused;
use narrows::link::handler::HandlerError;

use super::driver::Copied;
use super::shared::Shared;
use super::waits::Awaited;

/// How long a signal without room waits before it is tried again, if nothing says so earlier.
const AGAIN: Duration = Duration::from_millis(1);
/// Frames that may wait for the receiving thread: then the driver has to keep them.
const FRAMES: usize = 256;

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

/// Ends the threads of a node.
pub(super) fn stop(shared: &Shared, threads: Vec<JoinHandle<()>>) {
    // With the lock: a thread that has just looked waits before it is roused.
    let mut core = shared.enter();
    shared.over.store(true, Ordering::SeqCst);
    core.around.waits.rouse();
    drop(core);
    for thread in threads {
        // It has nothing to say but that it panicked, which is said already.
        let _ = thread.join();
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
        while core.frames.len() < FRAMES && core.copy_frame() {}
        if !core.frames.is_empty() {
            core.around.waits.tell(Awaited::Incoming);
        }
        core.see_to_the_rest();
        let timer = core.look_at_timers();
        let within = core.until(timer);
        if core.frames.len() >= FRAMES {
            shared.sleep(&mut core, Awaited::Room, Some(AGAIN));
        } else {
            shared.wait(&mut core, Awaited::Anything, within, None);
        }
    }
}

/// Puts signals together and delivers them.
fn receive(shared: &Shared) {
    let mut core = shared.enter();
    while !over(shared) {
        let Some((at, link, frame)) = core.frames.pop_front() else {
            shared.sleep(&mut core, Awaited::Incoming, None);
            continue;
        };
        core.around.waits.tell(Awaited::Room);
        if frame.is_none() {
            // Behind what waits for another link.
            while core.is_current(at, link) && core.is_stalled(at) && !over(shared) {
                if !core.take_frame(at, None) {
                    shared.sleep(&mut core, Awaited::Incoming, Some(AGAIN));
                }
            }
            if core.is_current(at, link) {
                core.lost(at);
            }
        }
        let mut copied = Copied(frame);
        while copied.0.is_some() && core.is_current(at, link) && !over(shared) {
            if !core.take_frame(at, Some(&mut copied)) && copied.0.is_some() {
                shared.sleep(&mut core, Awaited::Incoming, Some(AGAIN));
            }
        }
    }
}

/// Sends what applications have handed over.
fn handle(shared: &Shared) {
    let mut core = shared.enter();
    while !over(shared) {
        let Some((from, to, signal)) = core.outbox.pop_front() else {
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
