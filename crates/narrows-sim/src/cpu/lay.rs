//! Links between nodes of clusters: where their regions, their FIFOs and their ports are. Like all
//! links of a chip they are made without taking time.

use super::cluster::{Carried, Line, Mechanism, Side, entries, holds_frames, side_bytes};
use super::region::Plan;
use super::rendezvous::{News, Registry};
use super::{Cpu, Machine};
use crate::chip::Partitioning;
use crate::time::Time;
use narrows::memory::Layout;
use narrows::platform::Lost;
use std::rc::Rc;

/// The regions of a link's sides, and what carries it.
type Parts = ([Rc<Plan>; 2], Carried);

/// Where one side of a link is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seat {
    cluster: usize,
    cpu: u8,
    /// The shared memory of its cluster.
    memory: usize,
}

impl Seat {
    fn of(machine: &Machine, core: usize) -> Option<Seat> {
        let (cluster, cpu) = machine.chip.cluster_of(core)?;
        let memory = machine.chip.clusters.as_ref()?.all.get(cluster)?.memory;
        Some(Seat { cluster, cpu: u8::try_from(cpu).ok()?, memory })
    }

    fn is_of(self, side: Side) -> bool {
        (self.cluster, self.cpu) == (side.cluster, side.cpu)
    }
}

impl Registry {
    /// What a link over frames of two nodes is made of. `None` if nothing carries links, or a
    /// memory or the ports of a cluster are used up.
    pub(super) fn carried(
        &mut self,
        machine: &Machine,
        layout: &Layout,
        nodes: [usize; 2],
    ) -> Option<Parts> {
        let mechanism = machine.carrier.get().filter(|_| holds_frames(&machine.chip))?;
        let core = |node: usize| {
            let process = self.nodes.get(node)?.process;
            Some(machine.state.borrow().processes[process].core)
        };
        let seats = [core(nodes[0])?, core(nodes[1])?].map(|core| Seat::of(machine, core));
        let [Some(one), Some(other)] = seats else { return None };
        let seats = [one, other];
        let (plans, carried) = match self.left(machine, seats) {
            Some(parts) => parts,
            None => self.new_parts(machine, layout, (seats, mechanism))?,
        };
        for plan in plans.iter().chain(&carried.seen) {
            self.format(machine, layout, plan)?;
        }
        if mechanism == Mechanism::Bmm && !set_up(machine, &carried.lines) {
            return None;
        }
        let mut state = machine.state.borrow_mut();
        for side in carried.lines.iter().flat_map(|line| [line.from, line.to]) {
            let memory = seats.iter().find(|seat| seat.cluster == side.cluster)?.memory;
            let at = side.words as usize;
            state.memories[memory].get_mut(at..at + side_bytes() as usize)?.fill(0);
        }
        Some((plans, carried))
    }

    /// What was an earlier link's, between the same CPUs, that nobody has any more.
    fn left(&mut self, machine: &Machine, seats: [Seat; 2]) -> Option<Parts> {
        let key = |(_, news): &(Time, News)| match *news {
            News::Connected { key, .. } | News::Lost { key, .. } => Some(key),
            News::Refused(..) => None,
        };
        let news = self.nodes.iter().flat_map(|node| &node.news);
        let unheard: Vec<usize> = news.filter_map(key).collect();
        let fits = |carried: &Carried| {
            let sides = [carried.lines[0].from, carried.lines[1].from];
            let straight = seats[0].is_of(sides[0]) && seats[1].is_of(sides[1]);
            let swapped = seats[0].is_of(sides[1]) && seats[1].is_of(sides[0]);
            straight || swapped
        };
        let (at, carried) = self.lines.iter().enumerate().find_map(|(at, line)| {
            let carried = line.carried.as_ref()?;
            let held =
                line.plans.iter().chain(&carried.seen).any(|plan| Rc::strong_count(plan) > 1);
            let free = !line.open && !held && !unheard.contains(&at);
            let ready = free && fits(carried) && carried.is_quiet(machine);
            ready.then(|| (at, carried.clone()))
        })?;
        carried.forget(machine);
        let line = self.lines.get_mut(at)?;
        line.carried = None;
        let none = || Rc::new(Plan { size: 0, parts: Vec::new() });
        let mut plans = std::mem::replace(&mut line.plans, [none(), none()]);
        let mut carried = carried.renewed();
        if !seats[0].is_of(carried.lines[0].from) {
            plans.reverse();
            carried.seen.reverse();
            carried.lines.reverse();
        }
        Some((plans, carried))
    }

    fn new_parts(
        &mut self,
        machine: &Machine,
        layout: &Layout,
        (seats, mechanism): ([Seat; 2], Mechanism),
    ) -> Option<Parts> {
        let [one, other] = seats;
        let plan = |registry: &mut Registry, seat: Seat| {
            Some(Rc::new(registry.plan(machine, layout, Some(seat.memory))?))
        };
        let plans = [plan(self, one)?, plan(self, other)?];
        let seen = [plan(self, other)?, plan(self, one)?];
        let line = |registry: &mut Registry, seats| registry.line(machine, mechanism, seats);
        let lines = [line(self, [one, other])?, line(self, [other, one])?];
        Some((plans, Carried::new(mechanism, seen, lines)))
    }

    /// A line, with a port at either end.
    fn line(
        &mut self,
        machine: &Machine,
        mechanism: Mechanism,
        [from, to]: [Seat; 2],
    ) -> Option<Line> {
        let clusters = machine.chip.clusters.as_ref()?;
        let bytes = clusters.manager.words * 4;
        let at_sender = clusters.manager.partitioning == Partitioning::AtSender;
        let in_memory = mechanism == Mechanism::Dma || !clusters.manager.hardware;
        let side = |registry: &mut Registry, seat: Seat, sends: bool| {
            let has_fifo = in_memory && sends == (mechanism == Mechanism::Bmm && at_sender);
            registry.ports.resize(clusters.all.len(), 0);
            let port = registry.ports.get_mut(seat.cluster)?;
            let number = u8::try_from(*port).ok()?;
            *port += 1;
            let words = registry.take(machine, seat.memory, side_bytes())?;
            let Seat { cluster, cpu, .. } = seat;
            let fifo = if has_fifo { registry.take(machine, seat.memory, bytes)? } else { 0 };
            Some(Side { cluster, cpu, port: number, words, fifo })
        };
        Some(Line { from: side(self, from, true)?, to: side(self, to, false)?, bytes })
    }
}

/// Enters lines into the tables of the buffer managers. False, which they have signalled, if an
/// entry cannot be.
fn set_up(machine: &Machine, lines: &[Line; 2]) -> bool {
    let at = machine.state.borrow().now;
    let mut clusters = machine.clusters.borrow_mut();
    let all = entries(&machine.chip, lines);
    all.into_iter().all(|(cluster, register, word)| clusters.enter(cluster, register, word, at))
}

impl Cpu {
    /// Whether of all links between clusters, once nothing moves, each word of credit is either a
    /// sender's or that of something in a FIFO.
    #[must_use]
    pub fn is_credit_whole(&self) -> bool {
        let registry = self.machine().registry.borrow();
        let mut carried = registry.lines.iter().filter_map(|line| line.carried.as_ref());
        carried.all(|carried| carried.is_quiet(self.machine()))
    }

    /// What carries a link has failed: both sides learn that the other is gone.
    pub(super) fn fail_link(&self, key: u32) {
        let (line, side) = ((key >> 1) as usize, (key & 1) as usize);
        let machine = self.machine();
        let mut registry = machine.registry.borrow_mut();
        let Some(failed) = registry.lines.get(line).filter(|line| line.open) else { return };
        let own = failed.nodes[side];
        registry.end(machine, (line, side), Lost::Died, Time::ZERO);
        let news = News::Lost { key: line, side, reason: Lost::Died };
        registry.tell(machine, own, news, Time::ZERO);
    }
}
