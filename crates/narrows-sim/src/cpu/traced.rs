//! What a trace is told of a process by what its own code says.

use super::{Cpu, Machine};
use crate::events::state::State;
use crate::time::Time;
use crate::trace::{Doing, Signal, Trace, Tracer};
use narrows::span::{Edge, Note, Span};
use narrows::strategy::Strategy;

impl Machine {
    /// Has all that happens traced.
    pub fn trace(&self, to: &Trace) {
        let chip = &self.chip;
        let count = chip.cores.len();
        let mut state = self.state.borrow_mut();
        let name = |core: usize| {
            let named = chip.cores.get(core).map(|core| core.name.clone());
            named.unwrap_or_else(|| format!("part {}", core - count))
        };
        let cores = (0..state.cores.len()).map(name).collect();
        let buses = chip.buses.iter().map(|bus| bus.name.clone()).collect();
        state.trace_to(Tracer::new(to, cores, count, buses));
        self.traced.set(true);
    }
}

impl Cpu {
    /// This process does something else from now on.
    #[inline]
    pub(super) fn does(&self, doing: Doing) {
        if self.machine().traced.get() {
            self.traced(|state, process| state.does(process, doing));
        }
    }

    #[inline]
    pub(super) fn trace_span(&self, span: Span, edge: Edge, id: u32) {
        if self.machine().traced.get() {
            self.traced(|state, process| state.trace_span(process, span, edge, id));
        }
    }

    /// A flow of this process's node travels by a strategy from now on.
    pub(super) fn trace_agreed(&self, flow: u16, strategy: &Strategy) {
        if self.machine().traced.get() {
            let name = strategy.to_string();
            self.traced(|state, process| state.trace_decision(process, flow, &name));
        }
    }

    #[inline]
    pub(super) fn trace_note(&self, note: &Note) {
        if self.machine().traced.get() {
            let peer = self.peer_of(note);
            self.traced(|state, process| state.trace_note(process, note, &peer));
        }
    }

    /// The node at the other end of the link that something is sent on.
    fn peer_of(&self, note: &Note) -> String {
        let Note::Sent(passage) = note else { return String::new() };
        let registry = self.machine().registry.borrow();
        let line = registry.lines.get((passage.link >> 1) as usize);
        let node = line.map(|line| line.nodes[1 - (passage.link & 1) as usize]);
        node.and_then(|node| registry.nodes.get(node))
            .map(|n| n.name().to_string())
            .unwrap_or_default()
    }

    /// Says that this process has sent a signal, for a trace: it takes no time.
    pub fn signal_sent(&self, signal: &Signal<'_>) {
        if self.machine().traced.get() {
            self.traced(|state, process| state.trace_signal(process, signal));
        }
    }

    /// Says that this process has had a signal since a moment, by its number in the simulation, for
    /// a trace: it takes no time.
    pub fn signal_received(&self, id: u64, at: Time) {
        if self.machine().traced.get() {
            self.traced(|state, process| state.trace_signal_received(process, id, at));
        }
    }

    /// What is being taken down says nothing.
    fn traced(&self, what: impl FnOnce(&mut State, usize)) {
        let mut state = self.machine().state.borrow_mut();
        if state.runs(self.shared.process) {
            what(&mut state, self.shared.process);
        }
    }
}
