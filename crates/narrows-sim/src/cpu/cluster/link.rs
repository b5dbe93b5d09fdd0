//! Links between nodes of clusters: regions that each node carries itself, over frames, whenever it
//! waits, rings or looks for news.

use super::frames::{Medium, POINTER, Passed, SIDE, mtu};
use super::kept::Kept;
use super::{Line, Mechanism, Side};
use crate::chip::Chip;
use crate::cpu::region::{Plan, Region};
use crate::cpu::{Cpu, Machine};
use crate::part::buffer_manager::{Kind, Way};
use crate::part::window::{self, Part};
use crate::time::Time;
use narrows::connection::Closed;
use narrows::connection::replica::{Lane, Pulse, Replica, lanes};
use narrows::platform::{Instant, Platform};
use std::rc::Rc;

/// How long a link that ends in order waits until what was sent has gone.
const PATIENCE: Time = Time::nanos(1_000_000_000);
/// Turns of taking what comes, after which another link has its turn.
const TURNS: usize = 16;

/// What a link over frames is made of beside the two regions.
#[derive(Clone)]
pub(in crate::cpu) struct Carried {
    pub mechanism: Mechanism,
    /// What stands in for the region of each side at the other.
    pub seen: [Rc<Plan>; 2],
    /// From the first side to the second, and back.
    pub lines: [Line; 2],
    pub(super) passed: [Rc<Passed>; 2],
}

impl Carried {
    /// Of a link over which nothing has gone.
    pub fn new(mechanism: Mechanism, seen: [Rc<Plan>; 2], lines: [Line; 2]) -> Carried {
        Carried { mechanism, seen, lines, passed: Default::default() }
    }

    /// The same parts, for another link.
    pub fn renewed(self) -> Carried {
        Carried { passed: Default::default(), ..self }
    }

    /// Empties the tables of what nobody has taken.
    pub fn forget(&self, machine: &Machine) {
        let mut clusters = machine.clusters.borrow_mut();
        self.lines.iter().for_each(|line| clusters.forget(line));
    }

    /// Whether nothing of it is under way: all credit and all words are where they can be.
    pub fn is_quiet(&self, machine: &Machine) -> bool {
        match self.mechanism {
            Mechanism::Bmm => {
                let clusters = machine.clusters.borrow();
                self.lines.iter().all(|line| clusters.is_quiet(line))
            }
            Mechanism::Dma => self.lines.iter().zip(&self.passed).all(|(line, passed)| {
                let pointer = |side: Side| {
                    let memory = machine.chip.clusters.as_ref()?.all.get(side.cluster)?.memory;
                    Some(machine.state.borrow().word(memory, side.words + POINTER))
                };
                let [written, read] = &passed.bytes;
                (pointer(line.to), pointer(line.from)) == (Some(written.get()), Some(read.get()))
            }),
        }
    }
}

/// The entries of the tables of buffer managers that lines need, as stores to registers: of which
/// cluster, where, and what.
pub(in crate::cpu) fn entries(chip: &Chip, lines: &[Line; 2]) -> Vec<(usize, u32, u32)> {
    let Some(clusters) = &chip.clusters else { return Vec::new() };
    let of = |side: Side, way, words: Vec<u32>| {
        let last = words.len().saturating_sub(1);
        let store = move |(at, word)| {
            let address = side.access((way, Kind::Setup), at == last);
            let register = match window::part(address) {
                Some((_, Part::Manager(register))) => register,
                _ => address,
            };
            (side.cluster, register, word)
        };
        words.into_iter().enumerate().map(store).collect::<Vec<_>>()
    };
    let line = |line: &Line| {
        let [takes, sends] = [line.receiver(&clusters.manager), line.sender(&clusters.manager)];
        [of(line.to, Way::Read, takes), of(line.from, Way::Write, sends)].concat()
    };
    lines.iter().flat_map(line).collect()
}

/// Bytes of each side of a line, for its words and its buffer.
pub(in crate::cpu) const fn side_bytes() -> u32 {
    SIDE
}

/// Whether FIFOs of a chip hold frames at all.
pub(in crate::cpu) fn holds_frames(chip: &Chip) -> bool {
    chip.clusters.as_ref().is_some_and(|clusters| mtu(&clusters.manager).is_some())
}

/// One end of a link.
pub(in crate::cpu) struct End {
    /// What the stack calls it.
    pub key: u32,
    /// The node whose it is, by its number.
    pub node: usize,
    replica: Replica<Kept, Box<[Lane<Kept>]>>,
    medium: Medium,
    /// Something of what the node had published is not sent.
    behind: bool,
    /// The node is to be rung.
    pub(super) rung: bool,
    /// Nothing is carried any more.
    over: bool,
    /// The medium has failed, which nobody has been told.
    failed: bool,
}

impl End {
    /// An end of a process's node, on one side. `None` if the regions are none.
    pub fn new(
        cpu: &Cpu,
        (key, node): (u32, usize),
        side: usize,
        plan: &Rc<Plan>,
        carried: &Carried,
    ) -> Option<End> {
        let kept = |plan: &Rc<Plan>| Kept::new(Region::new(cpu.clone(), Rc::clone(plan)));
        let (own, replica) = (kept(plan), kept(&carried.seen[1 - side]));
        let lanes: Box<[_]> =
            lanes(&own, &replica, Cpu::LINE).ok()?.collect::<Result<_, _>>().ok()?;
        let regions = (own, replica);
        let replica = Replica::new(regions, lanes, Cpu::LINE, Pulse::default(), Instant(0)).ok()?;
        replica.arm_for_entries();
        let lines = (carried.lines[side], carried.lines[1 - side]);
        let passed = [side, 1 - side].map(|side| Rc::clone(&carried.passed[side]));
        let seen = kept(&carried.seen[side]);
        let medium = Medium::new(cpu.clone(), carried.mechanism, lines, passed, seen)?;
        let end = End {
            key,
            node,
            replica,
            medium,
            behind: false,
            rung: false,
            over: false,
            failed: false,
        };
        cpu.hear_of(end.medium.receiver(), end.medium.sender(), true);
        Some(end)
    }

    /// Sends what the node has published.
    fn send(&mut self) {
        if self.over {
            return;
        }
        match self.replica.send(&mut self.medium, Instant(0)) {
            Ok(all) => self.behind = !all,
            Err(why) => self.end(why),
        }
        self.replica.arm_for_entries();
    }

    /// Takes some of what has come. Whether anything has.
    fn receive(&mut self) -> bool {
        if self.over {
            return false;
        }
        let came = self.replica.receive(&mut self.medium, Instant(0));
        self.rung |= came != Ok(false) && self.replica.rings();
        if let Err(why) = came {
            self.end(why);
        }
        came == Ok(true)
    }

    fn end(&mut self, why: Closed) {
        self.over = true;
        self.rung = true;
        self.failed = why != Closed::Peer;
    }

    /// Carries what there is. Whether anything has come.
    fn carry(&mut self) -> bool {
        self.send();
        let came = (0..TURNS).take_while(|_| self.receive()).count() > 0;
        if came || self.behind {
            // Credit for what came.
            self.send();
        }
        came
    }
}

impl Cpu {
    /// Whether this process has links that it carries.
    pub(in crate::cpu) fn carries(&self) -> bool {
        !self.shared.links.borrow().is_empty()
    }

    /// Does something with the links of this process, which may take time.
    pub(super) fn with_links<T>(&self, work: impl FnOnce(&mut Vec<End>) -> T) -> T {
        let mut links = self.shared.links.take();
        let done = work(&mut links);
        let mut all = self.shared.links.borrow_mut();
        links.append(&mut all);
        *all = links;
        done
    }

    /// Sends what nodes of this process have published and takes what has come for them, where
    /// links are carried over frames. A program that waits in no call does it where it looks.
    pub fn carry(&self) {
        self.carry_all();
    }

    /// As [`Cpu::carry`]. Whether anything has come.
    pub(super) fn carry_all(&self) -> bool {
        if !self.carries() {
            return false;
        }
        let (came, failed) = self.with_links(|links| {
            let came = links.iter_mut().fold(false, |came, end| end.carry() | came);
            let failed = |end: &mut End| std::mem::take(&mut end.failed).then_some(end.key);
            (came, links.iter_mut().filter_map(failed).collect::<Vec<_>>())
        });
        failed.into_iter().for_each(|key| self.fail_link(key));
        came
    }

    /// Has one more link carried.
    pub(in crate::cpu) fn add_link(&self, end: End) {
        self.shared.links.borrow_mut().push(end);
    }

    /// Sends what a node has published on a link: it has rung.
    pub(in crate::cpu) fn push(&self, key: u32) {
        let failed = self.with_links(|links| {
            let end = links.iter_mut().find(|end| end.key == key)?;
            end.send();
            std::mem::take(&mut end.failed).then_some(())
        });
        if failed.is_some() {
            self.fail_link(key);
        }
    }

    /// Lets go of a link behind a farewell, once what its node had published has gone, or nobody
    /// takes it.
    pub(in crate::cpu) fn part_link(&self, key: u32) {
        self.let_go(|end| end.key == key);
    }

    /// As [`Cpu::part_link`], of all links of a node.
    pub(in crate::cpu) fn part_links(&self, node: usize) {
        while self.let_go(|end| end.node == node) {}
    }

    fn let_go(&self, which: impl Fn(&End) -> bool) -> bool {
        let until = self.moment() + PATIENCE;
        let mut end = {
            let mut links = self.shared.links.borrow_mut();
            let Some(at) = links.iter().position(which) else { return false };
            links.remove(at)
        };
        self.timed(until, || {
            end.send();
            // Room comes for what the peer is told meanwhile, too.
            self.carry_all();
            let parted = end.over || (!end.behind && end.replica.part(&mut end.medium, Instant(0)));
            parted.then_some(())
        });
        let _ = end.medium.settle();
        self.hear_of(end.medium.receiver(), end.medium.sender(), false);
        true
    }

    /// Takes what a peer that has ended had sent over a link, and lets go of it.
    pub(in crate::cpu) fn settle_link(&self, key: u32) {
        let mut end = {
            let mut links = self.shared.links.borrow_mut();
            let Some(at) = links.iter().position(|end| end.key == key) else { return };
            links.remove(at)
        };
        let until = self.moment() + PATIENCE;
        self.timed(until, || {
            while end.receive() {}
            (end.over || end.medium.is_drained()).then_some(())
        });
        self.hear_of(end.medium.receiver(), end.medium.sender(), false);
    }
}
