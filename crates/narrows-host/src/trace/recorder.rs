//! A node's side of a trace: what it notes goes into a ring, and the process's tracer writes it.

use std::sync::{Arc, Mutex, PoisonError};

use narrows::link::Name;
use narrows_trace::{Category, Value};

use super::event::Event;
use super::ring::Ring;
use super::tracer::Tracer;
use crate::clock;

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

impl Fact {
    /// The number of one direction of a link: of the life of its sender and the number that the
    /// sender's ring begins with, which is another for each of its links.
    pub fn direction(incarnation: u64, start: u32) -> u64 {
        message_id(incarnation, start)
    }
}

/// Tells a message from all others of a trace: by its direction and its number there.
pub(super) fn message_id(direction: u64, number: u32) -> u64 {
    // The finalizer of SplitMix64: every bit of the number changes half of the result's.
    let mut mixed = direction ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// What a node and the tracer share.
pub(super) struct Shared {
    pub ring: Ring,
    pub facts: Mutex<Vec<Fact>>,
}

/// See the module page. When it is dropped, all that was noted is in the file.
pub(crate) struct Recorder {
    shared: Arc<Shared>,
    tracer: Arc<Tracer>,
    node: u64,
}

impl Recorder {
    /// The recorder of a node of this name.
    pub fn new(tracer: Arc<Tracer>, name: &Name) -> Recorder {
        let shared = Arc::new(Shared { ring: Ring::new(), facts: Mutex::default() });
        let node = tracer.enter(name, &shared);
        Recorder { shared, tracer, node }
    }

    /// Notes something, now.
    #[inline]
    pub fn note(&self, event: &Event) {
        self.note_at(clock::ticks(), event);
    }

    /// Notes something that happened at this tick.
    #[inline]
    pub fn note_at(&self, ticks: u64, event: &Event) {
        self.shared.ring.put(ticks, event);
    }

    /// Notes that a link is up.
    pub fn linked(&self, fact: Fact) {
        let mut facts = self.shared.facts.lock().unwrap_or_else(PoisonError::into_inner);
        let number = facts.len() as u32;
        facts.push(fact);
        drop(facts);
        self.note(&Event::Linked(number));
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
