//! How a process that carries links waits: it rests until something comes for it from another
//! cluster, or from its own.

use super::Side;
use super::machine::Spot;
use crate::cpu::{Cpu, RegionWords};
use crate::events::state::WokenBy;
use crate::time::Time;
use narrows::platform::{Wait, Watch, Woken};

impl Cpu {
    /// Tries until something is so, each time that something has come.
    pub(super) fn timed<T>(
        &self,
        until: Time,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        self.timer(until);
        let found = loop {
            self.forget_come();
            let found = attempt();
            if found.is_some() || self.moment() >= until || self.gone() {
                break found;
            }
            self.rest_for_frames(until, false);
        };
        self.end_wait();
        found
    }

    /// As [`Cpu::pause`], carrying what comes meanwhile.
    pub(in crate::cpu) fn pause_carrying(&self, end: Time) {
        self.timed(end, || {
            self.carry_all();
            None::<()>
        });
    }

    /// Waits as the stack asks, carrying what there is.
    pub(in crate::cpu) fn wait_carrying<'a, S>(&self, set: &S, how: Wait, end: Time) -> Woken
    where
        S: Iterator<Item = Watch<'a, RegionWords>> + Clone,
    {
        let mut first = true;
        self.timer(end);
        let woken = loop {
            self.forget_come();
            let came = self.carry_all() | std::mem::take(&mut first);
            let rung = self.with_links(|links| {
                links.iter_mut().fold(false, |rung, end| std::mem::take(&mut end.rung) | rung)
            });
            let changed = || set.clone().any(|watch| watch.changed());
            match how {
                Wait::Bell if rung => break Woken::Bell,
                Wait::Spin | Wait::Look | Wait::Yield if came && changed() => break Woken::Word,
                _ => {}
            }
            if self.has_news() {
                // It may be another node's of this process: a process that waits again and again
                // looks.
                self.compute(self.rates().poll);
                break Woken::Event;
            }
            if self.moment() >= end || self.gone() {
                break Woken::Deadline;
            }
            self.rest_for_frames(end, true);
        };
        self.end_wait();
        woken
    }

    fn forget_come(&self) {
        let process = self.process();
        self.machine().clusters.borrow_mut().rests.entry(process).or_default().come = false;
    }

    /// Rests until something comes for this process from another cluster, or it has news, where it
    /// wants to know. A timer is set.
    fn rest_for_frames(&self, end: Time, news: bool) {
        self.act(|state, process| {
            let mut clusters = self.machine().clusters.borrow_mut();
            let rest = clusters.rests.entry(process).or_default();
            let told = news && state.processes[process].news;
            if rest.come || told || state.now >= end {
                return false;
            }
            rest.rests = true;
            let what = if end == Time::NEVER { "a frame" } else { "a frame or a timer" };
            state.sleep(process, WokenBy { bell: false, news }, what);
            true
        });
        let process = self.process();
        self.machine().clusters.borrow_mut().rests.entry(process).or_default().rests = false;
    }

    /// Has this process be told of what comes to a side, and of room at another; or no longer.
    pub(super) fn hear_of(&self, receiver: Side, sender: Side, hears: bool) {
        let mut clusters = self.machine().clusters.borrow_mut();
        for (side, wanted) in [(receiver, 1), (sender, 0)] {
            let spots = [Spot::Port(side.port), Spot::Word(side.words)];
            for spot in spots {
                let at = (side.cluster, spot);
                if hears {
                    clusters.hears.insert(at, (self.process(), wanted));
                } else {
                    clusters.hears.remove(&at);
                }
            }
        }
    }

    /// Has this process be told of what comes to a port only once `words` words have come: a store
    /// to a register.
    pub(super) fn tell_of(&self, side: Side, words: u32) {
        if let Some(memory) = self.shared_memory(side.cluster) {
            self.bus_access(memory);
        }
        let process = self.process();
        let mut clusters = self.machine().clusters.borrow_mut();
        clusters.hears.insert((side.cluster, Spot::Port(side.port)), (process, words));
    }

    /// Something has come to a place of a cluster: the process that is to hear of it goes on.
    pub(super) fn arrived(&self, cluster: usize, spot: Spot) {
        if self.machine().clusters.borrow().hears.is_empty() {
            return;
        }
        let takes = self
            .chip()
            .clusters
            .as_ref()
            .map_or(Time::ZERO, |clusters| clusters.dma.wake.at(self.bus_clock(cluster)));
        self.act(|state, _| {
            let mut clusters = self.machine().clusters.borrow_mut();
            let Some((process, wanted)) = clusters.hears.get(&(cluster, spot)).copied() else {
                return false;
            };
            if let Spot::Port(port) = spot
                && let Some(blocks) = clusters.blocks.get(cluster)
                && blocks.manager.come(port) < wanted
            {
                return false;
            }
            let rest = clusters.rests.entry(process).or_default();
            rest.come = true;
            if rest.rests {
                state.wake(process, takes);
            }
            false
        });
    }
}
