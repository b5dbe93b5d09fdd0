//! Faults: what goes wrong in a simulation, and when, follows from the plan, the seed and what the
//! simulation does, so that a failure is repeated by its numbers.

use crate::time::Time;

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A process dies.
    pub death: Option<Death>,
    /// How long it takes until the peers of a process that died are told.
    pub supervision: Time,
    /// Doorbells do not ring as they should.
    pub bells: Bells,
    /// A process is hostile.
    pub lies: Option<Lies>,
    /// What drivers forget to do for caches, everywhere.
    pub forgotten: Option<Upkeep>,
    /// A core stands still for a while.
    pub halt: Option<Halt>,
}

/// A core stands still: whatever runs there goes on behind that, interrupts too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halt {
    /// Which, by its place in the chip.
    pub core: usize,
    /// From when.
    pub at: Time,
    /// How long.
    pub lasts: Time,
}

/// A process dies in the middle of what it does, without a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// Which: the first that was added by
    /// [`Simulation::process`](crate::engine::Simulation::process) is 0.
    pub process: usize,
    /// At which of its transfers that store to a memory; the first is 0.
    pub store: u64,
    /// Whether that one still reaches the memory.
    pub reaches: bool,
}

/// How many bells of 1000 this happens to, each kind by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bells {
    /// Never come.
    pub lost: u16,
    /// Come later.
    pub late: u16,
    /// Come once more, later.
    pub doubled: u16,
    /// How much later, at most.
    pub by: Time,
}

/// A process's stack is in order, but its own regions are not its alone to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lies {
    /// Which: the first that was added by
    /// [`Simulation::process`](crate::engine::Simulation::process) is 0.
    pub process: usize,
    /// After this many of 1000 transfers of its own that store to one of its regions, a word of its
    /// regions is another.
    pub often: u16,
}

/// What a driver has to do for caches that are not coherent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// Writing back what was written before a peer reads it.
    Clean,
    /// Forgetting what was read before it is read anew.
    Invalidate,
}

/// How a bell rings.
pub(crate) enum Ring {
    /// As it should.
    Once,
    Never,
    Late(Time),
    Twice(Time),
}

/// The plan, and how far it has got.
#[derive(Default)]
pub(crate) struct Plan {
    pub faults: Faults,
    seed: u64,
    /// Processes added so far.
    added: usize,
    victim: Option<usize>,
    hostile: Option<usize>,
    /// Transfers of the victim that stored.
    stores: u64,
    /// Lies that could have been told.
    chances: u64,
    /// The parts of the hostile process's regions: memory, address, length. Those that matter most
    /// are first.
    parts: Vec<(usize, u32, u32)>,
    /// The process that dies now.
    pub dying: Option<usize>,
    /// When the victim died.
    pub died: Option<Time>,
}

/// A number that follows from others and looks like none of them.
fn mixed(seed: u64, of: u64, number: u64) -> u64 {
    let mut x = seed ^ of.rotate_left(32) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
    }
    x
}

impl Plan {
    pub fn new(faults: Faults, seed: u64) -> Plan {
        Plan { faults, seed, ..Plan::default() }
    }

    /// One more process was added.
    pub fn added(&mut self, process: usize) {
        let is = |planned: usize| planned == self.added;
        if self.faults.death.is_some_and(|death| is(death.process)) {
            self.victim = Some(process);
        }
        if self.faults.lies.is_some_and(|lies| is(lies.process)) {
            self.hostile = Some(process);
        }
        self.added += 1;
    }

    /// A process has a part of a region.
    pub fn has(&mut self, process: usize, part: (usize, u32, u32)) {
        if self.hostile == Some(process) {
            self.parts.push(part);
        }
    }

    /// How the `number`th bell of a process rings.
    pub fn ring(&self, process: usize, number: u64) -> Ring {
        let Bells { lost, late, doubled, by } = self.faults.bells;
        if lost + late + doubled == 0 {
            return Ring::Once;
        }
        let drawn = mixed(self.seed, process as u64, number);
        let later = Time(1 + (drawn >> 16) % by.0.max(1));
        match (drawn % 1000) as u16 {
            x if x < lost => Ring::Never,
            x if x < lost + late => Ring::Late(later),
            x if x < lost + late + doubled => Ring::Twice(later),
            _ => Ring::Once,
        }
    }

    /// Whether nothing special happens when a process stores.
    #[inline]
    pub fn spares(&self, process: usize) -> bool {
        self.victim != Some(process) && self.hostile != Some(process)
    }

    /// A process is about to store. False if it dies without that.
    pub fn stores(&mut self, process: usize) -> bool {
        if self.victim != Some(process) {
            return true;
        }
        let Some(death) = self.faults.death else { return true };
        self.stores += 1;
        let now = self.stores == death.store + 1;
        if now {
            self.dying = Some(process);
        }
        !now || death.reaches
    }

    /// The word that is another now, behind a store of a process to a memory: where, and how it
    /// changes.
    pub(super) fn lie(
        &mut self,
        process: usize,
        memory: usize,
        address: u32,
    ) -> Option<(usize, u32, u64)> {
        if self.hostile != Some(process) {
            return None;
        }
        let within = |part: &&(usize, u32, u32)| {
            part.0 == memory && (part.1..part.1 + part.2).contains(&address)
        };
        let here = *self.parts.iter().find(within)?;
        self.chances += 1;
        let drawn = mixed(self.seed, u64::MAX, self.chances);
        if drawn % 1000 >= u64::from(self.faults.lies?.often) {
            return None;
        }
        let drawn = mixed(self.seed, drawn, self.chances);
        let pick = (drawn >> 32) as u32;
        let all = self.parts.len();
        let (memory, start, len) = match drawn % 8 {
            // What it has just said is what counts.
            0..=3 => (memory, address & !63, 64.min(here.1 + here.2 - (address & !63))),
            4 | 5 => here,
            _ => self.parts[pick as usize % all],
        };
        Some((memory, start + 4 * (pick % (len / 4).max(1)), mixed(self.seed, drawn, 1)))
    }
}
