//! The nodes of a process: which one a call is for, and their beginning and end.

use std::ffi::OsStr;
use std::sync::atomic::Ordering;

use super::call::Call;
use super::home::Home;
use super::id::{EndpointId, Handle, NodeId, number};
use super::node::Node;
use super::places::MAX_PEERS;
use super::request::Done;
use super::slot::{Locked, NOBODY, Slot};
use super::status::{Outcome, Status};
pub(super) use super::table::owns;
pub use super::table::{Process, Processes};
use super::table::{SLOTS, drive_others};

/// How long a thread usually looks before it sleeps, in microseconds.
const LOOK: u64 = 50;
/// The variable of the environment that says otherwise.
const LOOK_VARIABLE: &str = "NARROWS_MCAPI_LOOK";

/// How many microseconds threads look before they sleep in a node that is opened now: what the
/// environment says, or else no time where they [share](Home::shares) their core.
fn look(said: Option<&OsStr>, shares: bool) -> Outcome<u64> {
    let Some(said) = said else { return Ok(if shares { 0 } else { LOOK }) };
    match number(said.as_encoded_bytes(), u32::MAX) {
        Some((looks, [])) => Ok(looks.into()),
        _ => Err(Status::NodeInitFailed),
    }
}

const PEERS_VARIABLE: &str = "NARROWS_MCAPI_PEERS";

/// With how many others a node that is opened now deals at a time: what the environment says, or
/// else as many as there can be.
fn peers(said: Option<&OsStr>) -> Outcome<usize> {
    let Some(said) = said else { return Ok(MAX_PEERS) };
    match number(said.as_encoded_bytes(), MAX_PEERS as u32) {
        Some((peers @ 1.., [])) => Ok(peers as usize),
        _ => Err(Status::NodeInitFailed),
    }
}

/// The node that a handle belongs to, if nobody has it locked.
#[inline(always)]
pub(super) fn quickly_for<H: Processes>(handle: u32) -> Option<Locked<H>> {
    H::process().slots.get((handle >> 26) as usize)?.try_lock()
}

/// The node that an endpoint is of, most likely, if nobody has it locked. The caller looks there
/// whether the endpoint is its own.
#[inline(always)]
pub(super) fn quickly_at<H: Processes>(endpoint: EndpointId) -> Option<Locked<H>> {
    let process = H::process();
    // Relaxed: the lock orders what is behind it.
    let at = process.near.get(near(endpoint.node()))?.load(Ordering::Relaxed);
    process.slots.get(at as usize & (SLOTS - 1))?.try_lock()
}

/// Where [`Process::near`] has the slot of a node.
#[inline(always)]
fn near(id: NodeId) -> usize {
    id.0 as usize & (SLOTS - 1)
}

/// The node that a packet is of, most likely, that is given back, if nobody has it locked.
#[inline(always)]
pub(super) fn quickly_releasing<H: Processes>() -> Option<Locked<H>> {
    // The caller looks there whether the packet is its.
    H::releasing()?.try_lock()
}

/// Whether a received packet was given back, or gives it back.
#[inline(never)]
pub(super) fn packet<H: Processes>(at: usize, give_back: bool) -> Done {
    for slot in H::process().used() {
        let Some(mut call) = Call::new(slot) else { continue };
        let node = call.node();
        let lender = node.peers.lenders.iter().find(|lender| lender.contains(at));
        let Some(lender) = lender else { continue };
        let held = lender.has(at);
        if !give_back {
            return if held { Status::Pending.into() } else { Done::well(1) };
        }
        if held {
            let likely = lender.likely();
            node.release_packet(at, likely);
            H::released_by(slot);
            return Done::well(0);
        }
    }
    Status::BufInvalid.into()
}

/// Whether the process has a node at all: what calls see to first.
#[inline]
pub(super) fn any<H: Processes>() -> Outcome<()> {
    match H::process().nodes.load(Ordering::Relaxed) {
        0 => Err(Status::NodeNotInit),
        _ => Ok(()),
    }
}

/// The slot that a node of this process is in.
#[inline]
fn slot_of<H: Processes>(id: NodeId) -> Option<&'static Slot<H>> {
    // Relaxed: the lock orders what is behind it.
    H::process().used().iter().find(|slot| slot.id.load(Ordering::Relaxed) == id.0)
}

/// A call for the node that has to own an endpoint: the thread's, or, for a thread that is bound to
/// none, the node of the endpoint if that is of this process.
#[inline]
pub(super) fn of_owner<H: Processes>(id: EndpointId) -> Outcome<Call<H>> {
    let call = near_endpoint(id)?;
    if owns(call.slot()) {
        return Ok(call);
    }
    drop(call);
    of_thread()
}

/// A call for the node of an endpoint if that is of this process, else for the thread's.
#[inline(never)]
pub(super) fn near_endpoint<H: Processes>(id: EndpointId) -> Outcome<Call<H>> {
    match slot_of::<H>(id.node()) {
        Some(slot) => Call::new(slot).ok_or(Status::NodeNotInit),
        None => of_thread(),
    }
}

/// A call for the node that connects two endpoints: the thread's if it has got both.
#[inline]
pub(super) fn of_ends<H: Processes>(from: EndpointId, to: EndpointId) -> Outcome<Call<H>> {
    if let Some(mut call) = bound() {
        let node = call.node();
        if node.knows(from) && node.knows(to) {
            return Ok(call);
        }
    }
    let mut call = near_endpoint(from)?;
    if call.node().id == from.node() {
        return Ok(call);
    }
    // The sender's node is not of this process: the receiver's may ask, if it is.
    drop(call);
    near_endpoint(to)
}

/// A call for the node that a handle belongs to.
#[inline(never)]
pub(super) fn with_handle<H: Processes>(handle: Handle) -> Option<Call<H>> {
    Call::new(H::process().slots.get(handle.slot()?)?)
}

/// A call for the node that this thread initialised, if it has not ended.
fn bound<H: Processes>() -> Option<Call<H>> {
    let (slot, life) = H::bound().filter(|_| !H::process().is_waited_in())?;
    let call = H::process().slots.get(slot).and_then(Call::new);
    let call = call.and_then(|mut call| (call.node().life == life).then_some(call));
    if call.is_none() {
        H::bind(None);
    }
    call
}

/// A call for the node that this thread initialised, or for the only one there is.
#[inline(never)]
pub(super) fn of_thread<H: Processes>() -> Outcome<Call<H>> {
    if H::process().is_waited_in() {
        return Err(Status::General);
    }
    if let Some(call) = bound() {
        return Ok(call);
    }
    let there = |slot: &&Slot<H>| slot.id.load(Ordering::Relaxed) != NOBODY;
    let mut nodes = H::process().used().iter().filter(there);
    match (nodes.next(), nodes.next()) {
        (Some(slot), None) => Call::new(slot).ok_or(Status::NodeNotInit),
        _ => Err(Status::NodeNotInit),
    }
}

/// Opens a node and binds this thread to it. Gives how many others it can deal with at a time.
pub(super) fn initialize<H: Processes>(id: NodeId) -> Outcome<usize> {
    let process = H::make();
    if process.is_waited_in() {
        return Err(Status::NodeInitFailed);
    }
    if bound::<H>().is_some() {
        return Err(Status::NodeInitialized);
    }
    let _alone = process.opening.lock();
    if slot_of::<H>(id).is_some() {
        return Err(Status::NodeInitialized);
    }
    // Acquire: pairs with the release in `finalize`.
    let free = |(_, slot): &(usize, &Slot<H>)| slot.id.load(Ordering::Acquire) == NOBODY;
    let free = H::process().used().iter().enumerate().find(free);
    let (at, slot) = free.ok_or(Status::NodeInitFailed)?;
    let look = look(std::env::var_os(LOOK_VARIABLE).as_deref(), H::shares())?;
    let peers = peers(std::env::var_os(PEERS_VARIABLE).as_deref())?;
    if H::HELPED && process.helper.start(|| drive_others::<H>(None)).is_err() {
        return Err(Status::NodeInitFailed);
    }
    let life = process.lives.fetch_add(1, Ordering::Relaxed);
    let first = slot.first.load(Ordering::Relaxed);
    let look = look.saturating_mul(1000);
    let node = Node::open(id, (at as u32, first), life, &slot.bell, (look, peers));
    let Some(mut node) = node else {
        end_helper(process);
        return Err(Status::NodeInitFailed);
    };
    node.alone = process.nodes.fetch_add(1, Ordering::Relaxed) == 0;
    *slot.lock().place() = Some(node);
    slot.life.store(life, Ordering::Relaxed);
    slot.id.store(id.0, Ordering::Relaxed);
    if let Some(near) = process.near.get(near(id)) {
        near.store(at as u32, Ordering::Relaxed);
    }
    H::bind(Some((at, life)));
    // A thread that sleeps in another node is woken, and drives this one from now on.
    for other in process.used().iter().filter(|other| !std::ptr::eq(*other, slot)) {
        if other.id.load(Ordering::Relaxed) != NOBODY
            && let Some(node) = other.lock().node()
        {
            node.alone = false;
        }
    }
    Ok(peers)
}

/// Ends the thread that drives nodes, if there are none. With the lock of [`Process::opening`].
fn end_helper<H: Home>(process: &Process<H>) {
    if process.nodes.load(Ordering::Relaxed) == 0 {
        process.helper.stop();
    }
}

/// Ends a node.
pub(super) fn finalize<H: Processes>(mut call: Call<H>) {
    let lives = call.node().lives();
    let slot = call.slot();
    slot.first.fetch_add(lives, Ordering::Relaxed);
    // Release: pairs with the acquire in `initialize`. The next node begins with the lives of
    // handles that are noted here.
    slot.id.store(NOBODY, Ordering::Release);
    H::process().nodes.fetch_sub(1, Ordering::Relaxed);
    let mut locked = call.into_locked();
    let node = locked.place().take();
    H::bind(None);
    locked.end();
    slot.tell();
    drop(node);
    let process = H::process();
    let _alone = process.opening.lock();
    end_helper(process);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_how_long_to_look() {
        let of = |said: &str, shares| look(Some(OsStr::new(said)), shares);
        assert_eq!((look(None, false), look(None, true)), (Ok(LOOK), Ok(0)));
        assert_eq!((of("0", false), of("0", true)), (Ok(0), Ok(0)));
        assert_eq!(of("250", true), Ok(250));
        for nonsense in ["", "-1", "1.5", "50us", "4294967296"] {
            assert_eq!(of(nonsense, false), Err(Status::NodeInitFailed), "{nonsense}");
        }
    }
}
