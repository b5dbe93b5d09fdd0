//! How nodes of a chip find each other. Nothing here takes time but the news: on a chip it happens
//! once, when it starts.

use super::bare::Bare;
use super::cluster::{Carried, End};
use super::region::{Part, PeerRegion, Plan, Region};
use super::{Cpu, Machine};
use crate::time::Time;
use narrows::link::Name;
use narrows::memory::{Layout, LayoutError};
use narrows::platform::{Connected, Event, HuntError, Lost, Platform};
use std::collections::VecDeque;
use std::rc::Rc;

/// A peer's doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bell {
    /// Wakes a process.
    Process(usize),
    /// Has what was published on a link carried, by what the stack calls it.
    Link(u32),
}

/// A node of a process. Its links end with it.
pub struct NodeName {
    /// The process, without the node.
    cpu: Cpu,
    number: usize,
}

pub(super) enum News {
    Connected { key: usize, side: usize },
    Lost { key: usize, side: usize, reason: Lost },
    Refused(Name, HuntError),
}

pub(super) struct Entry {
    name: Name,
    pub process: usize,
    /// Each with when it is heard of.
    pub news: VecDeque<(Time, News)>,
    alive: bool,
}

pub(super) struct Line {
    pub nodes: [usize; 2],
    pub plans: [Rc<Plan>; 2],
    pub open: bool,
    /// What carries it, if the two have no memory in common.
    pub carried: Option<Carried>,
}

/// Which nodes are there, which look for which, and which are linked.
pub(super) struct Registry {
    pub nodes: Vec<Entry>,
    pub lines: Vec<Line>,
    hunts: Vec<(usize, Name)>,
    /// From where each memory is free.
    ends: Vec<u32>,
    /// Of each cluster, the ports that are used.
    pub ports: Vec<u32>,
}

/// What a link is made of: the regions of both sides, and what carries them, if they need it.
type Made = ([Rc<Plan>; 2], Option<Carried>);

impl Entry {
    pub fn name(&self) -> &Name {
        &self.name
    }
}

impl Registry {
    pub fn new(ends: Vec<u32>) -> Registry {
        Registry {
            nodes: Vec::new(),
            lines: Vec::new(),
            hunts: Vec::new(),
            ends,
            ports: Vec::new(),
        }
    }

    fn find(&self, name: &Name) -> Option<usize> {
        self.nodes.iter().position(|node| node.alive && node.name == *name)
    }

    /// Room in a memory for a part of a region.
    pub fn take(&mut self, machine: &Machine, memory: usize, len: u32) -> Option<u32> {
        let start = self.ends[memory].checked_next_multiple_of(64)?;
        let end = start.checked_add(len)?;
        (end <= machine.chip.memories[memory].size).then(|| {
            self.ends[memory] = end;
            start
        })
    }

    /// A region, whose parts lie where the chip's file says, or all in one memory.
    pub fn plan(&mut self, machine: &Machine, layout: &Layout, one: Option<usize>) -> Option<Plan> {
        let link = &machine.chip.link;
        let blocks = layout.places().next().map_or(layout.size(), |(offset, _)| offset);
        let mut parts = vec![(0, blocks, link.control)];
        for (offset, class) in layout.places() {
            let len = class.size.next_multiple_of(layout.line()) * class.count;
            parts.push((offset, len, link.memory(class.placement)));
        }
        let parts = parts.into_iter().map(|(offset, len, memory)| {
            let memory = one.unwrap_or(memory);
            Some(Part { offset, len, memory, address: self.take(machine, memory, len)? })
        });
        Some(Plan { size: layout.size(), parts: parts.collect::<Option<_>>()? })
    }

    fn connect(&mut self, machine: &Machine, hunter: usize, found: usize) {
        let Some((plans, carried)) = self.made(machine, [hunter, found]) else {
            let name = self.nodes[found].name;
            let refused = News::Refused(name, HuntError::NoRoom);
            return self.tell(machine, hunter, refused, Time::ZERO);
        };
        let key = self.lines.len();
        self.lines.push(Line { nodes: [hunter, found], plans, open: true, carried });
        for (side, node) in [hunter, found].into_iter().enumerate() {
            let plan = &mut machine.state.borrow_mut().plan;
            for part in &self.lines[key].plans[side].parts {
                plan.has(self.nodes[node].process, (part.memory, part.address, part.len));
            }
        }
        for (side, node) in [hunter, found].into_iter().enumerate() {
            self.tell(machine, node, News::Connected { key, side }, Time::ZERO);
        }
    }

    /// What a link of two nodes is made of.
    fn made(&mut self, machine: &Machine, nodes: [usize; 2]) -> Option<Made> {
        let layout = layout(machine).ok()?;
        if machine.carrier.get().is_some() {
            let (plans, carried) = self.carried(machine, &layout, nodes)?;
            return Some((plans, Some(carried)));
        }
        let mut make = || {
            let plan = Rc::new(self.plan(machine, &layout, None)?);
            self.format(machine, &layout, &plan)?;
            Some(plan)
        };
        Some(([make()?, make()?], None))
    }

    pub fn format(&self, machine: &Machine, layout: &Layout, plan: &Plan) -> Option<()> {
        // Rings of several links do not all begin at the same slot.
        let start = (self.lines.len() as u32).wrapping_mul(3);
        layout.starting_at(start).format(&Bare { machine, plan }).ok()
    }

    pub fn tell(&mut self, machine: &Machine, node: usize, news: News, after: Time) {
        let entry = &mut self.nodes[node];
        let mut state = machine.state.borrow_mut();
        entry.news.push_back((state.now + after, news));
        state.tell(entry.process, after);
    }

    /// A node is no more: its peers are told after a while, and why.
    fn gone(&mut self, machine: &Machine, node: usize, reason: Lost, after: Time) {
        self.nodes[node].alive = false;
        // What it has not heard would wake its process again and again.
        self.nodes[node].news.clear();
        self.hunts.retain(|(hunter, _)| *hunter != node);
        for key in 0..self.lines.len() {
            if self.lines[key].nodes.contains(&node) {
                let side = usize::from(self.lines[key].nodes[0] != node);
                self.end(machine, (key, side), reason, after);
            }
        }
    }

    /// One side ends a link.
    pub fn end(
        &mut self,
        machine: &Machine,
        (key, side): (usize, usize),
        reason: Lost,
        after: Time,
    ) {
        let Some(line) = self.lines.get_mut(key).filter(|line| line.open) else { return };
        line.open = false;
        let other = 1 - side;
        let peer = line.nodes[other];
        if self.nodes[peer].alive {
            self.tell(machine, peer, News::Lost { key, side: other, reason }, after);
        }
    }
}

impl Machine {
    /// A process has died: the peers of its nodes are told after a while.
    pub fn died(&self, process: usize, after: Time) {
        let mut registry = self.registry.borrow_mut();
        for node in 0..registry.nodes.len() {
            if registry.nodes[node].process == process {
                registry.gone(self, node, Lost::Died, after);
            }
        }
    }
}

/// What the stack calls a side of a link: a node may have both.
fn shown(key: usize, side: usize) -> u32 {
    (key << 1 | side) as u32
}

/// The layout of the chip's links.
fn layout(machine: &Machine) -> Result<Layout, LayoutError> {
    machine.chip.link.layout(Cpu::LINE)
}

impl Cpu {
    /// This process as the platform of a node of that name, which others find from now on.
    #[must_use]
    pub fn named(&self, name: Name) -> Cpu {
        let machine = Rc::clone(&self.shared.machine);
        let mut registry = machine.registry.borrow_mut();
        let number = registry.nodes.len();
        let process = self.shared.process;
        registry.nodes.push(Entry { name, process, news: VecDeque::new(), alive: true });
        let hunters: Vec<usize> =
            registry.hunts.extract_if(.., |(_, wanted)| *wanted == name).map(|(h, _)| h).collect();
        for hunter in hunters {
            registry.connect(&machine, hunter, number);
        }
        drop(registry);
        let node = Rc::new(NodeName { cpu: self.bare(), number });
        Cpu { shared: Rc::clone(&self.shared), node: Some(node) }
    }

    /// The node of this platform dies as with its process: its peers hear that it died, and not
    /// that it closed its links.
    pub fn die(&self) {
        if let Some(own) = self.number() {
            let mut registry = self.machine().registry.borrow_mut();
            registry.gone(self.machine(), own, Lost::Died, Time::ZERO);
        }
    }

    fn number(&self) -> Option<usize> {
        self.node.as_ref().map(|node| node.number)
    }

    pub(super) fn hunt_for(&self, wanted: &Name) -> Result<(), HuntError> {
        self.tick();
        let Some(own) = self.number() else { return Err(HuntError::Own) };
        let machine = self.machine();
        let mut registry = machine.registry.borrow_mut();
        match registry.find(wanted) {
            Some(found) => registry.connect(machine, own, found),
            None => registry.hunts.push((own, *wanted)),
        }
        Ok(())
    }

    pub(super) fn stop_hunting(&self, wanted: &Name) {
        self.tick();
        let own = self.number();
        let mut registry = self.machine().registry.borrow_mut();
        registry.hunts.retain(|(hunter, name)| Some(*hunter) != own || name != wanted);
    }

    pub(super) fn next_news(&self) -> Option<Result<Event<Cpu>, (Name, HuntError)>> {
        self.tick();
        let own = self.number()?;
        self.carry();
        let machine = self.machine();
        let mut registry = machine.registry.borrow_mut();
        let now = self.moment();
        let due = |news: &(Time, News)| news.0 <= now;
        let first = registry.nodes[own].news.iter().position(due);
        let news = first.and_then(|at| registry.nodes[own].news.remove(at));
        let process = self.shared.process;
        let of = |node: &&Entry| node.process == process;
        let more = registry.nodes.iter().filter(of).any(|node| node.news.iter().any(due));
        machine.state.borrow_mut().processes[process].news = more;
        Some(match news?.1 {
            News::Refused(name, error) => Err((name, error)),
            News::Lost { key, side, reason } => {
                drop(registry);
                let key = shown(key, side);
                self.settle_link(key);
                Ok(Event::Lost { key, reason })
            }
            News::Connected { key, side } => {
                let line = &registry.lines[key];
                let (plan, mut seen) = (Rc::clone(&line.plans[side]), &line.plans[1 - side]);
                let peer = &registry.nodes[line.nodes[1 - side]];
                let mut bell = Bell::Process(peer.process);
                let carried = line.carried.clone();
                if let Some(carried) = &line.carried {
                    (seen, bell) = (&carried.seen[1 - side], Bell::Link(shown(key, side)));
                }
                let connected = Connected {
                    key: shown(key, side),
                    name: peer.name,
                    incarnation: line.nodes[1 - side] as u64,
                    own: Region::new(self.bare(), Rc::clone(&plan)),
                    peer: PeerRegion::new(self.bare(), Rc::clone(seen)),
                    bell,
                };
                drop(registry);
                if let Some(carried) = carried {
                    let link = (connected.key, own);
                    self.add_link(End::new(&self.bare(), link, side, &plan, &carried)?);
                }
                Ok(Event::Connected(connected))
            }
        })
    }

    /// This process without its node: a region does not keep the node alive that has it.
    fn bare(&self) -> Cpu {
        Cpu { shared: Rc::clone(&self.shared), node: None }
    }

    pub(super) fn close_link(&self, shown: u32) {
        self.tick();
        self.part_link(shown);
        let (key, side) = ((shown >> 1) as usize, (shown & 1) as usize);
        let machine = self.machine();
        let mut registry = machine.registry.borrow_mut();
        registry.end(machine, (key, side), Lost::Closed, Time::ZERO);
    }
}

impl Drop for NodeName {
    fn drop(&mut self) {
        self.cpu.part_links(self.number);
        let machine = self.cpu.machine();
        let mut registry = machine.registry.borrow_mut();
        registry.gone(machine, self.number, Lost::Closed, Time::ZERO);
    }
}
