//! The nodes of a process, and finding one of them, or what it has, by a handle of C's.
//!
//! Nobody waits for a node that another call has: a node belongs to one thread at a time, and a
//! program that breaks that is told so.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use narrows::link::LinkId;
use narrows_host::Bell;

use super::code::{Code, Outcome};
use super::handle::{Handle, Kind, SLOTS};
use super::node::{Flow, Settings, State, below};
use super::topics::{Publishing, Subscribed};
use crate::per_process::OfProcess;

/// A place for a node.
#[derive(Default)]
struct Slot {
    state: Mutex<Option<Box<State>>>,
    /// Of the node of this life: what any thread rings.
    bell: Mutex<Option<(u64, Arc<Bell>)>>,
}

/// A process's places, each made when it is needed.
struct Slots(Box<[OnceLock<Slot>]>);

impl Default for Slots {
    fn default() -> Slots {
        Slots((0..SLOTS).map(|_| OnceLock::new()).collect())
    }
}

static NODES: OfProcess<Slots> = OfProcess::new();

type Held<'a> = MutexGuard<'a, Option<Box<State>>>;

fn try_lock(slot: &Slot) -> Option<Held<'_>> {
    match slot.state.try_lock() {
        Ok(held) => Some(held),
        Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Opens a node. Its handle.
pub(super) fn open(name: &str, settings: &Settings<'_>) -> Outcome<usize> {
    for (at, slot) in (0..).zip(&NODES.get_or_make().0) {
        let slot = slot.get_or_init(Slot::default);
        let Some(mut place) = try_lock(slot).filter(|place| place.is_none()) else { continue };
        let (state, bell) = State::open(name, settings, at)?;
        let serial = state.serial;
        *place = Some(Box::new(state));
        drop(place);
        *slot.bell.lock().unwrap_or_else(PoisonError::into_inner) = Some((serial, bell));
        return Ok(Handle { kind: Kind::Node, slot: at, place: 0, serial }.word());
    }
    Err(Code::Full.into())
}

/// The place of the node that a handle is of.
fn slot(handle: Handle) -> Outcome<&'static Slot> {
    let slot = NODES.get().and_then(|nodes| nodes.0.get(usize::from(handle.slot))?.get());
    slot.ok_or(Code::Closed.into())
}

/// The node that a handle is of, for a call with it.
#[inline]
fn hold(word: usize, kind: Kind) -> Outcome<(Handle, Held<'static>)> {
    let handle = Handle::of(word, kind).ok_or(Code::Closed)?;
    let held = try_lock(slot(handle)?).ok_or(Code::Busy)?;
    Ok((handle, held))
}

/// Does something with a node.
#[inline]
pub(super) fn node<R>(word: usize, act: impl FnOnce(&mut State) -> Outcome<R>) -> Outcome<R> {
    let (handle, mut held) = hold(word, Kind::Node)?;
    let meant = held.as_deref_mut().filter(|state| state.serial == handle.serial);
    act(meant.ok_or(Code::Closed)?)
}

/// Does something with a peer's link.
#[inline]
pub(super) fn peer<R>(
    word: usize,
    act: impl FnOnce(&mut State, LinkId) -> Outcome<R>,
) -> Outcome<R> {
    let (handle, mut held) = hold(word, Kind::Peer)?;
    let state = held.as_deref_mut().ok_or(Code::Closed)?;
    let link = *state.peers.get(handle.place, handle.serial).ok_or(Code::Closed)?;
    act(state, link)
}

/// Parts with a peer.
pub(super) fn part(word: usize) -> Outcome {
    let (handle, mut held) = hold(word, Kind::Peer)?;
    let state = held.as_deref_mut().ok_or(Code::Closed)?;
    let link = *state.peers.get(handle.place, handle.serial).ok_or(Code::Closed)?;
    state.part(link)?;
    state.peers.take(handle.place, handle.serial);
    Ok(())
}

/// What a call over a flow has.
pub(super) struct Over<'a> {
    pub node: &'a mut narrows_host::Node,
    pub flow: &'a mut Flow,
    pub memory: &'a mut super::memory::Memory,
}

/// Does something with a flow.
#[inline]
pub(super) fn flow<R>(word: usize, act: impl FnOnce(Over<'_>) -> Outcome<R>) -> Outcome<R> {
    let (handle, mut held) = hold(word, Kind::Flow)?;
    let State { node, flows, memory, .. } = held.as_deref_mut().ok_or(Code::Closed)?;
    let flow = flows.get(handle.place, handle.serial).ok_or(Code::Closed)?;
    act(Over { node: &mut *below(node)?, flow, memory })
}

/// Does something with the node of a flow, which is at this place of its node's table.
pub(super) fn node_of<R>(
    word: usize,
    act: impl FnOnce(&mut State, u16) -> Outcome<R>,
) -> Outcome<R> {
    let (handle, mut held) = hold(word, Kind::Flow)?;
    let state = held.as_deref_mut().ok_or(Code::Closed)?;
    let place = state.flows.get(handle.place, handle.serial).ok_or(Code::Closed)?.id.place();
    act(state, place)
}

/// Closes a flow.
pub(super) fn close_flow(word: usize) -> Outcome {
    let (handle, mut held) = hold(word, Kind::Flow)?;
    let State { node, flows, memory, .. } = held.as_deref_mut().ok_or(Code::Closed)?;
    let flow = flows.get(handle.place, handle.serial).ok_or(Code::Closed)?;
    if memory.is_out_for(flow.id) {
        return Err(Code::Outstanding.into());
    }
    let mut node = below(node)?;
    match node.flow(flow.id).close() {
        // Its link was closed, and the flow with it.
        Ok(()) | Err(narrows::endpoint::FlowError::Unknown) => {}
        Err(error) => return Err(error.into()),
    }
    flows.take(handle.place, handle.serial);
    Ok(())
}

/// Does something with a publisher.
pub(super) fn publisher<R>(
    word: usize,
    act: impl FnOnce(&mut Publishing) -> Outcome<R>,
) -> Outcome<R> {
    let (handle, mut held) = hold(word, Kind::Publisher)?;
    let state = held.as_deref_mut().ok_or(Code::Closed)?;
    act(state.publishers.get(handle.place, handle.serial).ok_or(Code::Closed)?)
}

/// Closes a publisher.
pub(super) fn close_publisher(word: usize) -> Outcome {
    let (handle, mut held) = hold(word, Kind::Publisher)?;
    let publishers = &mut held.as_deref_mut().ok_or(Code::Closed)?.publishers;
    publishers.get(handle.place, handle.serial).ok_or(Code::Closed)?.outlet()?;
    publishers.take(handle.place, handle.serial);
    Ok(())
}

/// Does something with a subscriber.
pub(super) fn subscriber<R>(
    word: usize,
    act: impl FnOnce(&mut Subscribed) -> Outcome<R>,
) -> Outcome<R> {
    let (handle, mut held) = hold(word, Kind::Subscriber)?;
    let state = held.as_deref_mut().ok_or(Code::Closed)?;
    act(state.subscribers.get(handle.place, handle.serial).ok_or(Code::Closed)?)
}

/// Closes a subscriber.
pub(super) fn close_subscriber(word: usize) -> Outcome {
    let (handle, mut held) = hold(word, Kind::Subscriber)?;
    let subscribers = &mut held.as_deref_mut().ok_or(Code::Closed)?.subscribers;
    if subscribers.get(handle.place, handle.serial).ok_or(Code::Closed)?.is_out() {
        return Err(Code::Outstanding.into());
    }
    subscribers.take(handle.place, handle.serial);
    Ok(())
}

/// Closes a node.
pub(super) fn close(word: usize) -> Outcome {
    let (handle, mut held) = hold(word, Kind::Node)?;
    let state = held.as_deref().filter(|state| state.serial == handle.serial);
    if state.ok_or(Code::Closed)?.is_out() {
        return Err(Code::Outstanding.into());
    }
    let state = held.take();
    // Behind the lock: the place is free for another.
    drop(held);
    if let Ok(slot) = slot(handle) {
        let mut bell = slot.bell.lock().unwrap_or_else(PoisonError::into_inner);
        bell.take_if(|(life, _)| *life == handle.serial);
    }
    drop(state);
    Ok(())
}

/// Ends a node's wait, from any thread.
pub(super) fn wake(word: usize) -> Outcome {
    let handle = Handle::of(word, Kind::Node).ok_or(Code::Closed)?;
    let bell = slot(handle)?.bell.lock().unwrap_or_else(PoisonError::into_inner);
    let bell = bell.as_ref().filter(|(life, _)| *life == handle.serial);
    let bell = bell.map(|(_, bell)| Arc::clone(bell)).ok_or(Code::Closed)?;
    bell.ring();
    Ok(())
}
