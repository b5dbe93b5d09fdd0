//! The nodes of this process. A thread that looks for an endpoint serves the nodes that no thread
//! is in, since the endpoint may be on one of them, and be this thread's own.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::shared::Shared;
use super::sync::{Mutex, lasting};
use crate::memory::fork::{self, Maker};

/// Between two looks whether another thread still serves a node that ends.
const PAUSE: Duration = Duration::from_micros(50);

/// The nodes, each with the process that made it.
static NODES: Mutex<Vec<(Maker, Weak<Shared>)>> = lasting(Vec::new());

/// A child that is forked finds the table whole: nobody forks while it is locked.
fn with<R>(act: impl FnOnce(&mut Vec<(Maker, Weak<Shared>)>) -> R) -> R {
    let _whole = fork::hold_off();
    act(&mut NODES.lock())
}

/// Adds a node, until [`remove`].
pub(super) fn add(node: &Arc<Shared>) {
    with(|nodes| {
        nodes.retain(|(maker, node)| !maker.is_another() && node.strong_count() > 0);
        nodes.push((Maker::this(), Arc::downgrade(node)));
    });
}

/// Takes out a node that ends, and waits until no other thread serves it: whichever had it last
/// would give its name back, at some later time.
pub(super) fn remove(node: &Arc<Shared>) {
    let mut served = false;
    with(|nodes| {
        nodes.retain(|(maker, other)| {
            let found = std::ptr::eq(other.as_ptr(), Arc::as_ptr(node));
            served |= found && !maker.is_another();
            !found
        });
    });
    while served && Arc::strong_count(node) > 1 {
        // Not by yielding alone: the other thread may have a lower priority and this one's core.
        std::thread::sleep(PAUSE);
    }
}

/// Does what there is to do for the other nodes of this process that no thread is in or leads.
pub(super) fn serve(own: &Shared) {
    let others: Vec<Arc<Shared>> = with(|nodes| {
        let mine = nodes.iter().filter(|(maker, _)| !maker.is_another());
        mine.filter_map(|(_, node)| node.upgrade()).collect()
    });
    for other in others.iter().filter(|other| !std::ptr::eq(own, &raw const ***other)) {
        if let Some(mut core) = other.try_enter()
            && core.around.waits.leader.is_none()
        {
            core.around.node.platform().turn();
            core.around.node.poll();
            core.pump();
        }
    }
}
