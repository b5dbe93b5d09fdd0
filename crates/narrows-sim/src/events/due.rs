//! What each event does.

use super::queue::{Event, Rank};
use super::state::{BELL, INTERRUPT, Progress, State, TICK, WokenBy};
use super::{Mode, Stuck, Usage};
use crate::time::Time;

/// What the next event brings.
pub(crate) enum Due {
    /// The process that runs next, if the event has one run.
    Process(Option<usize>),
    /// The time is up.
    Over,
}

impl State {
    /// Works off the next event, unless a process is to run before it.
    ///
    /// # Errors
    /// Nothing can happen any more.
    pub(crate) fn due(&mut self) -> Result<Due, Stuck> {
        if let Some(next) = self.next.take() {
            return Ok(Due::Process(Some(next)));
        }
        let Some((at, event)) = self.queue.pop() else { return Err(self.deadlock()) };
        if !event.is_of_processes() && self.over() {
            return Err(self.deadlock());
        }
        if matches!(event, Event::Stop) {
            self.set_clock(at);
            return Ok(Due::Over);
        }
        Ok(Due::Process(self.happens(at, event)))
    }

    /// Everybody can run, until `until` at the latest. How many have to end.
    pub(crate) fn start(&mut self, until: Time) -> usize {
        if until != Time::NEVER {
            self.queue.push(until, Rank::Interrupt, Event::Stop);
        }
        for core in 0..self.cores.len() {
            if self.cores[core].ticks() {
                self.queue.push(self.cores[core].tick, Rank::Interrupt, Event::Tick { core });
            }
        }
        for (number, process) in self.processes.iter_mut().enumerate() {
            if process.priority < INTERRUPT {
                process.progress = Progress::Ready;
                process.readied = number as u64;
            }
        }
        self.readied = self.processes.len() as u64;
        for core in 0..self.cores.len() {
            self.rank(core);
            self.reconsider(core);
            self.retrace(core);
        }
        self.processes.iter().filter(|p| !p.daemon).count()
    }

    /// The running process has to leave its core, or to wait. What happens next happens here, so
    /// that its code is only left for another's. True if it goes on.
    pub(crate) fn leaves(&mut self, process: usize) -> bool {
        self.ran_on(process);
        self.current = None;
        if self.mode != Mode::Fast || self.swaps.is_some() {
            return false;
        }
        while self.next.is_none() && self.stuck.is_none() && self.plan.dying.is_none() {
            let Some((at, event)) = self.queue.pop_if(Event::is_of_processes) else { break };
            self.next = self.happens(at, event);
        }
        let on = self.next == Some(process) && self.stuck.is_none();
        if on {
            self.next = None;
            (self.current, self.ran) = (Some(process), Some(process));
        }
        on
    }

    /// Something happens. The process that goes on, if one does.
    fn happens(&mut self, at: Time, event: Event) -> Option<usize> {
        self.counts.events += 1;
        self.set_clock(at);
        self.tick();
        match event {
            Event::Resume { process, stretch } => {
                if self.processes[process].stretch != stretch {
                    return None;
                }
                if self.outranked(process) {
                    self.preempt(process);
                    return None;
                }
                return Some(process);
            }
            Event::Stop => {}
            Event::Arbitrate { bus } => self.arbitrate(bus),
            Event::Transferred { bus, .. } => return self.transferred(bus),
            Event::Interrupt { process } => {
                let entry = self.cores[self.processes[process].core].entry;
                self.interrupted(process, entry);
            }
            Event::Tick { core } => {
                let again = at + self.cores[core].tick;
                self.queue.push(again, Rank::Interrupt, Event::Tick { core });
                if let Some(service) = self.cores[core].service[TICK] {
                    // What a tick takes has its entry in it.
                    self.interrupted(service, Time::ZERO);
                }
            }
            Event::Ring { process } => {
                self.processes[process].mailbox = true;
                self.trace_rung(process);
                let core = self.processes[process].core;
                let entry = self.cores[core].entry;
                if let Some(service) = self.cores[core].service[BELL] {
                    self.interrupted(service, entry);
                }
            }
            Event::News { process } => {
                self.processes[process].news = true;
                self.nudge(process, WokenBy { news: true, bell: false }, Time::ZERO);
            }
            Event::Timer { process, sleep } => {
                if self.processes[process].sleep == sleep {
                    self.timer_ended(process);
                }
            }
        }
        None
    }

    pub(crate) fn end(&mut self, process: usize) {
        let core = self.processes[process].core;
        self.sleep(process, WokenBy::default(), "nothing");
        self.end_wait(process);
        let one = &mut self.processes[process];
        one.progress = Progress::Done;
        one.ended = self.now;
        self.acted = self.now;
        self.reconsider(core);
        self.retrace(core);
    }

    /// What everything but engines and other parts has done so far.
    pub(crate) fn usage(&self, cores: usize) -> Usage {
        Usage {
            time: self.now,
            cores: (0..cores).map(|core| self.used_so_far(core)).collect(),
            buses: self.buses.iter().map(|bus| bus.used_until(self.now)).collect(),
        }
    }

    /// Has a process told of news of the rendezvous.
    pub(crate) fn tell(&mut self, process: usize, after: Time) {
        let at = self.now + after.max(Time(1));
        self.queue.push(at, Rank::Interrupt, Event::News { process });
    }

    /// Has a service process of a core triggered after a while.
    pub(crate) fn interrupt(&mut self, service: usize, after: Time) {
        // Never at this very moment: what else happens at it may already have.
        let at = self.now + after.max(Time(1));
        self.queue.push(at, Rank::Interrupt, Event::Interrupt { process: service });
    }

    /// As [`State::interrupt`], by the line.
    pub(crate) fn interrupt_line(&mut self, core: usize, line: usize, after: Time) {
        if let Some(service) = self.cores[core].service[line] {
            self.interrupt(service, after);
        }
    }
}
