//! Layers that call each other, and the phases of calls between cores.

use super::tracer::{Tracer, below};
use crate::time::Time;
use narrows::span::{Edge, Span};
use narrows_trace::{Category, Row};
use std::collections::HashMap;

/// Calls of a process that have not returned.
#[derive(Default)]
pub(super) struct Calls {
    /// Each with whether its beginning could be written.
    open: Vec<(Span, bool)>,
    /// A row for each phase that goes on at the same time, and until when it is taken.
    lanes: Vec<(Row, u64)>,
}

/// Phases that have not ended: whose they are, and since when.
#[derive(Default)]
pub(super) struct Phases(HashMap<(Span, u32), (usize, u64)>);

/// Calls may be within each other so deep.
const DEEPEST: usize = 64;
/// Phases that are kept without their end; there are more only where ends do not come.
const OPEN: usize = 1 << 16;
/// Phases of one process at the same time.
const LANES: usize = 32;

impl Tracer {
    /// A process stamps a span; `id` tells calls apart.
    pub fn stamped(&mut self, process: usize, span: Span, edge: Edge, id: u32, now: Time) {
        match (span <= Span::PhaseE, edge) {
            (true, Edge::Enter) => {
                if self.phases.0.len() < OPEN {
                    self.phases.0.insert((span, id), (process, self.at(now)));
                }
            }
            (true, Edge::Leave) => self.phase_over(span, id, now),
            (false, Edge::Enter) => self.entered(process, span, now),
            (false, Edge::Leave) => self.left(process, span, now),
        }
    }

    fn entered(&mut self, process: usize, span: Span, now: Time) {
        if self.processes[process].calls.open.len() >= DEEPEST {
            return;
        }
        let (row, at) = (self.row(process), self.at(now));
        let written = self.file.write(at, |out| out.begin(row, at, Category::Call, span.name()));
        self.processes[process].calls.open.push((span, written));
    }

    /// A layer returns; what it called and what did not say so has returned before.
    fn left(&mut self, process: usize, span: Span, now: Time) {
        let open = &self.processes[process].calls.open;
        let Some(place) = open.iter().rposition(|(one, _)| *one == span) else { return };
        self.leave_to(process, place, now);
    }

    /// All that a process called has returned.
    pub(super) fn leave_all(&mut self, process: usize, now: Time) {
        self.leave_to(process, 0, now);
    }

    fn leave_to(&mut self, process: usize, depth: usize, now: Time) {
        while self.processes[process].calls.open.len() > depth {
            let last = self.processes[process].calls.open.pop();
            if last.is_some_and(|(_, written)| written) {
                let (row, at) = (self.row(process), self.at(now));
                self.file.end(row, at);
            }
        }
    }

    /// A phase is over, on whichever core: it is shown where it began.
    fn phase_over(&mut self, span: Span, id: u32, now: Time) {
        let Some((process, since)) = self.phases.0.remove(&(span, id)) else { return };
        let (parent, at) = (self.row(process), self.at(now));
        let lanes = &mut self.processes[process].calls.lanes;
        let found = lanes.iter().position(|(_, taken)| *taken <= since);
        let lane = match found {
            Some(lane) => lane,
            None if lanes.len() < LANES => {
                let name = match lanes.len() {
                    0 => "phases".to_owned(),
                    more => format!("phases {}", more + 1),
                };
                lanes.push((below(&self.file, parent.0, &name), 0));
                lanes.len() - 1
            }
            None => return,
        };
        lanes[lane].1 = at;
        let row = lanes[lane].0;
        self.file.stretch(row, (since, at), (Category::Phase, span.name()));
    }
}
