//! Whether anything can still happen. Waiting loops and clocks go on for ever, but where they are
//! all that goes on, a process that waits does so for good.

use super::Stuck;
use super::queue::Event;
use super::state::{INTERRUPT, Progress, State, TICK, Vain};
use crate::time::Time;
use std::cmp::Reverse;

/// Looks in vain after which the engine asks whether anything else goes on.
const LOOKS: u32 = 1 << 16;

impl State {
    /// The running process was on its core until now.
    #[inline]
    pub(super) fn ran_on(&mut self, process: usize) {
        if self.processes[process].vain.is_none() && !self.serves_clock(process) {
            self.acted = self.now;
        }
    }

    fn serves_clock(&self, process: usize) -> bool {
        self.processes[process].priority == INTERRUPT + TICK as u32
    }

    /// The running process, which looks again and again for good, has looked in vain. True if it
    /// has to leave: no process is left that could change what it looks at.
    pub(crate) fn in_vain(&mut self, process: usize, vain: Vain) -> bool {
        let before = self.processes[process].vain.replace(vain);
        if before.is_none() {
            self.acted = self.now;
        }
        self.vain = self.vain.wrapping_add(1);
        let over = self.vain.is_multiple_of(LOOKS) && self.over();
        if over {
            self.stuck = Some(self.deadlock());
        }
        over
    }

    /// Whether nothing is going to happen but ticks that nobody waits for and looks in vain.
    pub(super) fn over(&self) -> bool {
        let coming = |event| {
            matches!(event, Event::Interrupt { .. } | Event::Ring { .. } | Event::News { .. })
        };
        self.processes.iter().all(|process| process.timer == Time::NEVER)
            && !self.queue.due().any(coming)
            && (0..self.cores.len()).all(|core| self.looks_for_good(core))
    }

    /// Whether the process that a core is for, its clock aside, is none, or finds nothing however
    /// often it looks.
    fn looks_for_good(&self, core: usize) -> bool {
        let all = self.cores[core].processes.iter().copied();
        let able = all.filter(|&p| {
            let process = &self.processes[p];
            (process.progress == Progress::Running || process.could_run()) && !self.serves_clock(p)
        });
        let urgent = |&p: &usize| (self.processes[p].priority, Reverse(self.processes[p].readied));
        able.max_by_key(urgent).is_none_or(|process| {
            let one = &self.processes[process];
            // What it looks at may have changed since it began to look.
            let looked = one.vain.is_some_and(|vain| vain.began > self.acted);
            !one.news && (looked || self.spins(process))
        })
    }

    /// Which process waits for what, once nothing will happen any more.
    pub(super) fn deadlock(&mut self) -> Stuck {
        self.first_looks();
        let all = self.processes.iter().enumerate();
        let left = all.filter(|(_, p)| !p.daemon && p.progress != Progress::Done);
        let waiting = left.map(|(_, process)| {
            let what = match (process.vain, process.progress) {
                _ if process.stops > 0 => "to be started again".into(),
                (Some(Vain { word: Some((memory, address)), .. }), _) => {
                    format!("the word at byte {address} of {} to change", self.names[memory])
                }
                (Some(_), _) => "a peer".into(),
                (None, Progress::Ready) => "its core".into(),
                (None, _) => process.waits_for.clone().into_owned(),
            };
            (process.name.clone(), what)
        });
        Stuck::Deadlock { at: self.acted, waiting: waiting.collect() }
    }
}
