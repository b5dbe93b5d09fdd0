//! Buses: which process has one, which core is next, what is known of a process that spins on one,
//! and what a transfer does when it is done.

use crate::chip::{self, Arbitration};
use crate::time::Time;

/// Bytes of the longest transfer.
pub(crate) const BURST: usize = 256;

/// What a transfer does when it is done. Nothing of it happens earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Act {
    /// Nothing: fetching code.
    #[default]
    Nothing,
    /// Loads a word.
    Load,
    /// Loads a word that is looked at until it is as wanted.
    Look(Watch),
    /// Stores a word.
    Store(u32),
    /// Loads a word, and stores another if that was 0.
    Claim(u32),
    /// Loads bytes to the process's buffer.
    Read,
    /// Stores bytes from the process's buffer.
    Write,
}

/// What a word is looked at for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watch {
    /// What it is compared with.
    pub value: u32,
    /// Whether it has to be that, or something else.
    pub until: bool,
    /// How long it takes from one look to the next.
    pub poll: Time,
    /// When that ends at the latest.
    pub end: Time,
}

/// A transfer over the bus of a memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub memory: usize,
    pub bus: usize,
    pub address: u32,
    pub len: u32,
    pub time: Time,
    pub act: Act,
    pub bytes: [u8; BURST],
}

impl Default for Transfer {
    fn default() -> Transfer {
        Transfer {
            memory: 0,
            bus: 0,
            address: 0,
            len: 0,
            time: Time::ZERO,
            act: Act::Nothing,
            bytes: [0; BURST],
        }
    }
}

pub(crate) struct Bus {
    /// Whose process's transfer is under way.
    pub(super) owner: Option<usize>,
    /// Processes that wait, by their cores.
    pub(super) waiting: Vec<Option<usize>>,
    pub(super) count: usize,
    /// The core that had it last.
    pub(super) last: usize,
    /// Whether it is going to choose.
    pub(super) choosing: bool,
    /// The process whose looks are not simulated one by one.
    pub(super) spinner: Option<Spinner>,
    weights: Option<Vec<u32>>,
    /// Turns that the last core has had running; before the first turn the largest number, so that
    /// nobody has any left.
    streak: u32,
}

impl Bus {
    pub fn new(bus: &chip::Bus, masters: usize) -> Bus {
        let weights = match &bus.arbitration {
            Arbitration::RoundRobin => None,
            Arbitration::Weighted(weights) => Some(weights.clone()),
        };
        Bus {
            owner: None,
            waiting: vec![None; masters],
            count: 0,
            last: 0,
            choosing: false,
            spinner: None,
            weights,
            streak: u32::MAX,
        }
    }

    /// Whether looks can be computed rather than simulated: the order of turns must not depend on
    /// how many there were.
    pub(super) fn in_turn(&self) -> bool {
        self.weights.is_none()
    }

    /// Whether a core has another turn before the next: it has weight left and waits again.
    fn again(&self) -> bool {
        let weight = self.weights.as_ref().and_then(|w| w.get(self.last)).copied().unwrap_or(1);
        self.streak < weight && self.waiting[self.last].is_some()
    }

    /// The core whose turn it is among those that wait and `spinning`.
    pub(super) fn next(&self, spinning: Option<usize>) -> Option<usize> {
        let masters = self.waiting.len();
        let first = if self.again() { self.last } else { self.last + 1 };
        let mut turns = (first..first + masters).map(|turn| turn % masters);
        turns.find(|&core| self.waiting[core].is_some() || spinning == Some(core))
    }

    #[inline]
    pub(super) fn granted(&mut self, core: usize) {
        if self.weights.is_some() {
            // Before the first turn nobody has had any, whatever the last is said to be.
            let turns = self.streak.checked_add(1).unwrap_or(1);
            self.streak = if core == self.last { turns } else { 1 };
        }
        self.last = core;
    }
}

/// A process that spins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spinner {
    pub(super) process: usize,
    pub(super) core: usize,
    /// When it asked for the bus for its next look.
    pub(super) asked: Time,
    /// When that look begins; the later ones follow in steps of `step`.
    pub(super) base: Time,
    /// How long a look has the bus.
    pub(super) look: Time,
    pub(super) step: Time,
    /// The word, and what it is looked at for.
    pub(super) memory: usize,
    pub(super) address: u32,
    pub(super) watch: Watch,
    /// Whether its first look is still to be noted for it.
    pub(super) unnoted: bool,
}

/// Looks that were made before another's transfer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looked {
    pub count: u64,
    /// When the first of all was over, if it is to be noted.
    pub first: Option<Time>,
}

/// What the spinner's looks do to the bus at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    /// A look has the bus until then.
    pub under_way: Option<Time>,
    /// A look of this core waits for the bus.
    pub due: Option<usize>,
}

impl Spinner {
    /// When the last look that began at or before `now` began, which is not before `base`.
    #[inline]
    pub(super) fn began(&self, now: Time) -> Time {
        let since = now.since(self.base).0;
        if since < self.step.0 {
            return self.base;
        }
        Time(self.base.0 + since / self.step.0 * self.step.0)
    }
}

impl Bus {
    /// From when a core that asks now, alone but for a spinner's looks, has the bus.
    #[inline(always)]
    pub(super) fn free_from(&self, core: usize, now: Time) -> Time {
        let Some(spinner) = self.spinner.as_ref().filter(|spinner| now >= spinner.base) else {
            return now;
        };
        let began = spinner.began(now);
        if now > began {
            return now.max(began + spinner.look);
        }
        let masters = self.waiting.len();
        let last = if now > spinner.base { spinner.core } else { self.last };
        let turns = |of: usize| if of > last { of - last } else { of + masters - last };
        if turns(spinner.core) < turns(core) { now + spinner.look } else { now }
    }

    /// Another's transfer has the bus from `from` until `until`: the looks go on behind it.
    #[inline(always)]
    pub(super) fn spin_behind(&mut self, from: Time, until: Time) -> Looked {
        let Some(spinner) = &mut self.spinner else { return Looked::default() };
        let since = from.since(spinner.base).0;
        let count = match since {
            0 => 0,
            _ if since <= spinner.step.0 => 1,
            _ => since.div_ceil(spinner.step.0),
        };
        let first = (count > 0 && spinner.unnoted).then_some(spinner.base + spinner.look);
        spinner.unnoted &= first.is_none();
        let next = Time(spinner.base.0 + count * spinner.step.0);
        spinner.asked = next;
        spinner.base = next.max(until);
        Looked { count, first }
    }
}

impl Watch {
    /// Whether a word is as wanted.
    pub fn found(self, word: u32) -> bool {
        (word == self.value) == self.until
    }
}
