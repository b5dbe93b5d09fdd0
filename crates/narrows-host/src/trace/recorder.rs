//! A node's side of a trace: what it notes goes into a ring, and the process's tracer writes it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use narrows::link::Name;
use narrows::memory::Layout;
use narrows::platform::Memory;
use narrows::span::{Carried, Note, Passage};
use narrows_trace::{Category, Value};

use super::event::Event;
use super::payloads::Payloads;
use super::ring::Ring;
use super::tracer::Tracer;
use crate::clock;
use crate::memory::LINE;
use crate::rendezvous::Linked;

/// What is known of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fact {
    /// The platform's name for it.
    pub key: u32,
    /// The peer.
    pub peer: Name,
    /// Tells what this node sends over it from what anybody sends anywhere; its peer knows the
    /// same number.
    pub sends: u64,
    /// The same of what the peer sends.
    pub receives: u64,
}

/// The number of one direction of a link, which both ends find: of the life of its sender and the
/// number that the ring in the sender's half begins with, another for each of its links.
fn direction(incarnation: u64, half: &impl Memory) -> u64 {
    let start = Layout::read(half, LINE).map_or(0, |layout| layout.start_of_messages());
    message_id(incarnation, start)
}

/// Tells a message from all others of a trace: by its direction and its number there.
fn message_id(direction: u64, number: u32) -> u64 {
    // The finalizer of SplitMix64: every bit of the number changes half of the result's.
    let mut mixed = direction ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// As [`message_id`], of anything that passes: entries of each channel are numbered apart.
pub(super) fn passage_id(direction: u64, passage: &Passage) -> u64 {
    let direction = match passage.kind {
        Carried::Packet | Carried::Scalar => message_id(!direction, passage.target.into()),
        Carried::Message | Carried::Request | Carried::Response | Carried::Control => direction,
    };
    message_id(direction, passage.number)
}

/// What a node and the tracer share.
pub(super) struct Shared {
    pub ring: Ring,
    pub facts: Mutex<Vec<Fact>>,
    payloads: Mutex<Payloads>,
}

impl Shared {
    pub fn payloads(&self) -> MutexGuard<'_, Payloads> {
        self.payloads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See the module page. When it is dropped, all that was noted is in the file.
pub(crate) struct Recorder {
    shared: Arc<Shared>,
    tracer: Arc<Tracer>,
    node: u64,
    /// Which life of its name the node is.
    incarnation: u64,
    /// Whether what messages carry is kept too.
    with_payload: bool,
}

impl Recorder {
    /// The recorder of a node of this name, in this life.
    pub fn new(tracer: Arc<Tracer>, name: &Name, incarnation: u64, with_payload: bool) -> Recorder {
        let (facts, payloads) = (Mutex::default(), Mutex::default());
        let shared = Arc::new(Shared { ring: Ring::new(), facts, payloads });
        let node = tracer.enter(name, &shared);
        Recorder { shared, tracer, node, incarnation, with_payload }
    }

    /// Notes something that happened at this tick.
    #[inline]
    pub fn note(&self, ticks: u64, event: &Event) {
        self.shared.ring.put(ticks, event);
    }

    /// Notes that a message is sent, and keeps what it carries if that is wanted.
    pub fn sent(&self, ticks: u64, passage: &Passage, carried: &mut dyn FnMut(&mut [u8]) -> bool) {
        let event = Event::Note(Note::Sent(*passage));
        if !self.with_payload {
            return self.note(ticks, &event);
        }
        let mut bytes = vec![0; passage.bytes as usize];
        let carried = carried(&mut bytes).then_some(bytes);
        // The tracer finds the event when it is in the ring, and waits here for what belongs to it.
        let mut payloads = self.shared.payloads();
        if self.shared.ring.put(ticks, &event) {
            payloads.put(carried);
        }
    }

    /// Notes that a link is up.
    pub fn linked(&self, link: &Linked) {
        let fact = Fact {
            key: link.key,
            peer: link.name,
            sends: direction(self.incarnation, &link.own),
            receives: direction(link.incarnation, &link.peer),
        };
        let mut facts = self.shared.facts.lock().unwrap_or_else(PoisonError::into_inner);
        let number = facts.len() as u32;
        facts.push(fact);
        drop(facts);
        self.note(clock::ticks(), &Event::Linked(number));
    }

    /// Writes what a program has to say of this moment.
    pub fn mark(&self, category: Category, name: &str, values: &[(&str, Value<'_>)]) {
        self.tracer.mark(self.node, category, name, values);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.tracer.leave(self.node);
    }
}
