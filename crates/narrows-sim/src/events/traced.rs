//! What a trace is told of: what each process is in follows from what the engine knows of it.

use super::fault::Ring;
use super::state::{BELL, ENGINE, INTERRUPT, LINES, Progress, State, TICK};
use crate::time::Time;
use crate::trace::{Doing, Shown, Signal, Tracer};
use narrows::span::{Edge, Note, Span};
use narrows_trace::{Value, state};
use std::fmt::Display;

/// The priority of a fault by which a core stands still: nothing is more urgent.
pub(crate) const STOPPER: u32 = u32::MAX;

impl State {
    /// Has all that happens from now on traced.
    pub(crate) fn trace_to(&mut self, tracer: Tracer) {
        self.trace = Some(Box::new(tracer));
        for process in 0..self.processes.len() {
            self.trace_new(process);
        }
    }

    /// A process is there, whose number is the next.
    pub(super) fn trace_new(&mut self, process: usize) {
        let Some(trace) = &mut self.trace else { return };
        let one = &self.processes[process];
        let shown = match one.priority {
            STOPPER => Shown::Fault,
            INTERRUPT.. => Shown::Service,
            _ => Shown::Process,
        };
        trace.add(&one.name, one.core, shown);
    }

    /// Something has changed on a core: whatever its processes are in is shown.
    #[inline]
    pub(super) fn retrace(&mut self, core: usize) {
        if self.trace.is_some() {
            self.retrace_all(core);
        }
    }

    #[cold]
    fn retrace_all(&mut self, core: usize) {
        for at in 0..self.cores[core].processes.len() {
            self.retrace_one(self.cores[core].processes[at]);
        }
    }

    /// What a process is in is shown.
    #[cold]
    fn retrace_one(&mut self, process: usize) {
        let Some(mut trace) = self.trace.take() else { return };
        let one = &self.processes[process];
        let now = self.now;
        if one.priority < INTERRUPT {
            let (name, ahead) = self.is_in(process, &mut trace);
            trace.show(process, name, now, ahead);
        } else if one.progress == Progress::Running {
            let number = (one.priority - INTERRUPT) as usize;
            let name = match number {
                BELL => "doorbell",
                ENGINE => "engine",
                TICK => "tick",
                _ => one.name.as_str(),
            };
            trace.serves(process, name, now);
        } else if one.progress == Progress::Asleep {
            trace.served(process, now);
        }
        self.trace = Some(trace);
    }

    /// What a process is in, and what it is in from a moment on.
    fn is_in(
        &self,
        process: usize,
        trace: &mut Tracer,
    ) -> (Option<&'static str>, Option<(&'static str, Time)>) {
        let one = &self.processes[process];
        let states = trace.states(process);
        let running = self.cores[one.core].running.map(|other| self.processes[other].priority);
        let name = match one.progress {
            Progress::Done => return (None, None),
            Progress::Asleep if one.mailbox && running == Some(STOPPER) => state::STOPPED,
            Progress::Asleep if one.mailbox => state::WAKING,
            Progress::Asleep => states.bell.unwrap_or(states.rests),
            Progress::Ready if one.stops > 0 => state::STOPPED,
            Progress::Ready => match running {
                Some(STOPPER) => state::STOPPED,
                Some(INTERRUPT..) if !states.woken => state::INTERRUPTED,
                Some(INTERRUPT..) => state::WAKING,
                None if states.woken => state::WAKING,
                _ => {
                    // From then on it is others that it waits for.
                    states.woken = false;
                    state::READY
                }
            },
            Progress::Running => {
                states.woken = false;
                let does = match states.doing {
                    Doing::Work | Doing::Copy if states.queued => state::BUS,
                    doing => doing.name(),
                };
                if self.now < one.switched {
                    return (Some(state::SWITCH), Some((does, one.switched)));
                }
                does
            }
        };
        (Some(name), None)
    }

    /// A process does something else from now on.
    pub(crate) fn does(&mut self, process: usize, doing: Doing) {
        if let Some(trace) = &mut self.trace {
            trace.states(process).doing = doing;
            self.retrace_one(process);
        }
    }

    /// A process goes to sleep for something.
    #[inline]
    pub(super) fn trace_sleep(&mut self, process: usize) {
        let Some(trace) = &mut self.trace else { return };
        let states = trace.states(process);
        states.rests = match (states.waits, states.doing, &*self.processes[process].waits_for) {
            (Some(what), ..) | (_, Doing::Wait(what), _) => what,
            (_, Doing::Copy, _) | (.., "the copy engine") => state::COPY,
            (.., "a timer") => state::TIMER,
            _ => state::ASLEEP,
        };
    }

    /// A wait is over.
    #[inline]
    pub(super) fn trace_waited(&mut self, process: usize) {
        let in_vain = self.processes[process].timer <= self.now;
        if let Some(trace) = &mut self.trace {
            let states = trace.states(process);
            // A process that has looked long enough goes on to sleep for the same.
            if !(in_vain && matches!(states.doing, Doing::Wait(_))) {
                states.waits = None;
            }
            (states.bell, states.doing) = (None, Doing::Work);
            self.retrace_one(process);
        }
    }

    /// A process looks, from now on, whether something has come.
    #[inline]
    pub(crate) fn trace_spin(&mut self, process: usize) {
        if let Some(trace) = &mut self.trace {
            let what = trace.states(process).waits.unwrap_or(state::SPINNING);
            self.does(process, Doing::Wait(what));
        }
    }

    /// A process that slept was woken.
    #[inline]
    pub(super) fn trace_wake(&mut self, process: usize) {
        if let Some(trace) = &mut self.trace {
            let states = trace.states(process);
            (states.woken, states.bell) = (true, None);
        }
    }

    /// A service routine is through and begins again at once.
    pub(crate) fn trace_again(&mut self, process: usize) {
        if let Some(trace) = &mut self.trace {
            trace.served(process, self.now);
            self.retrace_one(process);
        }
    }

    /// What a process's transfer waits for, or no longer.
    #[cold]
    pub(super) fn trace_queued(&mut self, process: usize, bus: usize, queued: bool) {
        let count = self.buses[bus].count;
        let now = self.now;
        if let Some(trace) = &mut self.trace {
            trace.states(process).queued = queued;
            trace.bus_awaited(bus, count, now);
        }
        self.retrace_one(process);
    }

    /// A packet has a stage of a network's way.
    pub(crate) fn trace_link(&mut self, stage: &impl Display, from: Time, to: Time) {
        if let Some(trace) = &mut self.trace {
            trace.has_link(stage.to_string(), from, to);
        }
    }

    /// This many words are under way to an end of a port.
    pub(crate) fn trace_words(
        &mut self,
        end: (usize, usize),
        name: impl FnOnce() -> String,
        words: usize,
    ) {
        let now = self.now;
        if let Some(trace) = &mut self.trace {
            trace.has_words(end, name, words, now);
        }
    }

    /// A process has a bus.
    #[cold]
    pub(super) fn trace_bus(&mut self, process: usize, bus: usize, from: Time, to: Time) {
        let core = self.processes[process].core;
        let now = self.now;
        let Some(trace) = &mut self.trace else { return };
        trace.has_bus(bus, core, from, to);
        let does = trace.states(process).doing;
        if from > now && !matches!(does, Doing::Wait(_)) {
            trace.show(process, Some(state::BUS), now, None);
            trace.show(process, Some(does.name()), from, None);
        }
    }

    /// Which cores leave their looks by a bus to the engine has changed.
    #[inline]
    pub(super) fn trace_looks(&mut self, bus: usize, from: Time) {
        if let Some(trace) = &mut self.trace {
            let cores = self.buses[bus].spinners.iter().map(|spinner| spinner.core).collect();
            trace.looks_by(bus, cores, from);
        }
    }

    /// A bell does not ring as it should.
    pub(crate) fn trace_ring(&mut self, own: usize, process: usize, ring: &Ring) {
        let now = self.now;
        let Some(trace) = &mut self.trace else { return };
        let of = Value::Text(&self.processes[process].name);
        let nanos = |by: &Time| Value::Number(by.as_nanos());
        match ring {
            Ring::Once => return,
            Ring::Never => {
                trace.fault(own, state::BELL_LOST, &[("of", of)], now);
                trace.states(process).bell = Some(state::BELL_LOST);
            }
            Ring::Late(by) => {
                trace.fault(own, state::BELL_LATE, &[("of", of), ("nanoseconds", nanos(by))], now);
                trace.states(process).bell = Some(state::BELL_LATE);
            }
            Ring::Twice(by) => {
                let values = [("of", of), ("nanoseconds", nanos(by))];
                return trace.fault(own, "bell doubled", &values, now);
            }
        }
        self.retrace_one(process);
    }

    /// A bell has come for a process, and the service routine sees to it.
    #[inline]
    pub(crate) fn trace_rung(&mut self, process: usize) {
        if let Some(trace) = &mut self.trace {
            trace.states(process).bell = None;
            self.retrace_one(process);
        }
    }

    /// Something that was planned goes wrong with a process.
    pub(crate) fn trace_fault(&mut self, process: usize, what: &str) {
        if let Some(trace) = &mut self.trace {
            trace.fault(process, what, &[], self.now);
        }
    }

    /// A process stamps a span.
    pub(crate) fn trace_span(&mut self, process: usize, span: Span, edge: Edge, id: u32) {
        let now = self.now;
        if let Some(trace) = &mut self.trace {
            trace.stamped(process, span, edge, id, now);
        }
    }

    /// The stack notes something.
    pub(crate) fn trace_note(&mut self, process: usize, note: &Note, peer: &str) {
        let now = self.now;
        if let Some(trace) = &mut self.trace {
            trace.noted(process, note, peer, now);
        }
    }

    /// A flow of a process's node travels by a strategy from now on.
    pub(crate) fn trace_decision(&mut self, process: usize, flow: u16, strategy: &str) {
        if let Some(trace) = &mut self.trace {
            trace.decided(process, flow, strategy, self.now);
        }
    }

    /// An application has sent a signal.
    pub(crate) fn trace_signal(&mut self, process: usize, signal: &Signal<'_>) {
        if let Some(trace) = &mut self.trace {
            trace.signal_sent(process, signal);
        }
    }

    /// An application has a signal.
    pub(crate) fn trace_signal_received(&mut self, process: usize, id: u64, at: Time) {
        if let Some(trace) = &mut self.trace {
            trace.signal_received(process, id, at);
        }
    }

    /// The simulation is over.
    pub(crate) fn trace_end(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.finish(self.now);
        }
    }
}

const _: () = assert!(STOPPER > INTERRUPT + LINES as u32 + u16::MAX as u32);
