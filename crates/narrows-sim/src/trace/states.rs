//! What each process is in: at any time one thing.

use super::tracer::Tracer;
use crate::time::Time;
use narrows_trace::{Category, Row, state};

/// What a process has to do where its core and the buses let it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It computes.
    #[default]
    Work,
    /// It copies payload.
    Copy,
    /// It looks, or waits, for what has this name.
    Wait(&'static str),
}

impl Doing {
    /// What that is called while it has its core.
    pub fn name(self) -> &'static str {
        match self {
            Doing::Work => state::RUNNING,
            Doing::Copy => state::COPY,
            Doing::Wait(what) => what,
        }
    }
}

/// What is known of a process's states.
#[derive(Default)]
pub(crate) struct States {
    pub(super) row: Option<Row>,
    /// What it is in, and since when, in the trace's time.
    now: Option<(&'static str, u64)>,
    /// What it is in from a moment on, unless something comes before.
    ahead: Option<(&'static str, u64)>,
    /// What it does.
    pub doing: Doing,
    /// Whether its transfer waits for its turn.
    pub queued: bool,
    /// What it sleeps for.
    pub rests: &'static str,
    /// What its next wait is for, if a sender said so.
    pub waits: Option<&'static str>,
    /// Whether it was woken and has not run since.
    pub woken: bool,
    /// What became of its bell, if that is not what should.
    pub bell: Option<&'static str>,
}

impl Tracer {
    /// What is known of a process's states.
    pub fn states(&mut self, process: usize) -> &mut States {
        &mut self.processes[process].states
    }

    /// A process is in something from now on, and in another from `ahead` on, unless it is shown in
    /// something else before.
    pub fn show(
        &mut self,
        process: usize,
        state: Option<&'static str>,
        now: Time,
        ahead: Option<(&'static str, Time)>,
    ) {
        let at = self.at(now);
        let ahead = ahead.map(|(state, from)| (state, self.at(from)));
        let states = &mut self.processes[process].states;
        if let Some((next, from)) = states.ahead.take_if(|(_, from)| *from <= at) {
            self.change(process, Some(next), from);
        }
        self.change(process, state, at);
        self.processes[process].states.ahead = ahead;
    }

    /// The stretch before is written once it is over: one that takes no time never is.
    fn change(&mut self, process: usize, state: Option<&'static str>, at: u64) {
        let states = &mut self.processes[process].states;
        let (was, since) = match states.now {
            Some((was, _)) if Some(was) == state => return,
            Some(was) => was,
            None => {
                states.now = state.map(|state| (state, at));
                return;
            }
        };
        states.now = state.map(|state| (state, at));
        self.row(process);
        if let Some(row) = self.processes[process].states.row {
            self.file.stretch(row, (since, at), (Category::State, was));
        }
    }
}
