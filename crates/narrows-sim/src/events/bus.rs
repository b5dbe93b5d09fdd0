//! Buses: which process has one, which core is next, and what a transfer does when it is done. The
//! looks of processes that spin are let in between transfers as if each were one.

use super::BusUse;
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

#[derive(Clone)]
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
    /// Processes whose looks are not simulated one by one.
    pub(super) spinners: Vec<Spinner>,
    /// When the transfer or the look that was let in last is over.
    pub(super) free: Time,
    /// Looks of those that spun.
    looks: u64,
    /// Spinners' first looks that nobody has been told of: whose, and when each was over.
    pub(super) first: Vec<(Spinner, Time)>,
    /// What it has done, without those that spin.
    pub(super) used: BusUse,
    weights: Option<Vec<u32>>,
    /// Turns that the last core has had running; before the first turn the largest number, so that
    /// nobody has any left.
    streak: u32,
}

/// A process that spins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spinner {
    pub(super) process: usize,
    pub(super) core: usize,
    /// When it asks for the bus for its next look.
    pub(super) asked: Time,
    /// How long a look has the bus.
    pub(super) look: Time,
    /// From the end of a look until it asks for the next.
    pub(super) pause: Time,
    /// The word, and what it is looked at for.
    pub(super) memory: usize,
    pub(super) address: u32,
    pub(super) watch: Watch,
    /// Whether its first look is still to be noted for it.
    pub(super) unnoted: bool,
    /// Its looks that were let in.
    pub(super) looks: u64,
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
            spinners: Vec::new(),
            free: Time::ZERO,
            looks: 0,
            first: Vec::new(),
            used: BusUse::default(),
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

    /// The core whose turn it is among those that wait and spinners that have asked.
    pub(super) fn next(&self, now: Time) -> Option<usize> {
        let masters = self.waiting.len();
        let first = if self.again() { self.last } else { self.last + 1 };
        let mut turns = (first..first + masters).map(|turn| turn % masters);
        let looks = |core| self.spinners.iter().any(|one| one.core == core && one.asked <= now);
        turns.find(|&core| self.waiting[core].is_some() || looks(core))
    }

    #[inline]
    pub(super) fn granted(&mut self, core: usize, until: Time) {
        if self.weights.is_some() {
            // Before the first turn nobody has had any, whatever the last is said to be.
            let turns = self.streak.checked_add(1).unwrap_or(1);
            self.streak = if core == self.last { turns } else { 1 };
        }
        (self.last, self.free) = (core, until);
    }

    /// How many turns after the last one a core's is.
    #[inline(always)]
    fn turns(&self, last: usize, core: usize) -> usize {
        if core > last { core - last } else { core + self.waiting.len() - last }
    }

    /// The spinner that is let in next, and when, if nobody else asks.
    fn next_look(&self) -> Option<(usize, Time)> {
        let from = self.spinners.iter().map(|one| one.asked).min()?.max(self.free);
        let asked = self.spinners.iter().enumerate().filter(|(_, one)| one.asked <= from);
        let (next, _) = asked.min_by_key(|(_, one)| self.turns(self.last, one.core))?;
        Some((next, from))
    }

    /// A spinner has the bus for a look from a moment on.
    pub(super) fn let_in(&mut self, at: usize, from: Time) {
        let Some(one) = self.spinners.get_mut(at) else { return };
        let until = from + one.look;
        if std::mem::take(&mut one.unnoted) {
            self.first.push((*one, until));
        }
        one.asked = until + one.pause;
        one.looks += 1;
        (self.last, self.free) = (one.core, until);
    }

    /// Lets in all looks that begin before a moment. Nobody else asks until then.
    #[inline(always)]
    pub(super) fn look_until(&mut self, now: Time) {
        match &self.spinners[..] {
            [] => {}
            [one] => {
                if one.asked.max(self.free) < now {
                    self.look_alone_until(now);
                }
            }
            _ => self.look_on_until(now),
        }
    }

    /// The same of a single spinner, of whose looks the first alone can have to wait.
    fn look_alone_until(&mut self, now: Time) {
        let [one] = &mut self.spinners[..] else { return };
        let (first, step) = (one.asked.max(self.free), one.look + one.pause);
        let since = now.since(first).0;
        // Mostly there is one, and a division is slow.
        let more = if since <= step.0 { 0 } else { (since - 1) / step.0 };
        let until = first + step * more + one.look;
        if std::mem::take(&mut one.unnoted) {
            self.first.push((*one, first + one.look));
        }
        one.asked = until + one.pause;
        one.looks += 1 + more;
        (self.last, self.free) = (one.core, until);
    }

    fn look_on_until(&mut self, now: Time) {
        let mut repeats = Repeats::new();
        while let Some((next, from)) = self.next_look() {
            if from >= now {
                return;
            }
            self.let_in(next, from);
            repeats.looked(self, from, now);
        }
    }

    /// From when a core that asks now, alone but for spinners, has the bus. All looks that begin
    /// before now have been let in.
    #[inline(always)]
    pub(super) fn free_from(&self, core: usize, now: Time) -> Time {
        let from = now.max(self.free);
        match &self.spinners[..] {
            [] => now,
            [one]
                if one.asked <= from
                    && self.turns(self.last, one.core) < self.turns(self.last, core) =>
            {
                from + one.look
            }
            [_] => from,
            _ => self.free_behind_looks(core, from),
        }
    }

    fn free_behind_looks(&self, core: usize, mut from: Time) -> Time {
        let mut last = self.last;
        // A spinner that was let in meanwhile waits for its next turn, which is behind this core's.
        loop {
            let own = self.turns(last, core);
            let asked = self.spinners.iter().filter(|one| one.asked <= from);
            let before = asked.filter(|one| self.turns(last, one.core) < own);
            match before.min_by_key(|one| self.turns(last, one.core)) {
                None => return from,
                Some(one) => (from, last) = (from + one.look, one.core),
            }
        }
    }

    /// One of the spinners does not spin any more. It comes with the end of its look, if that is
    /// under way. All looks that begin before now have been let in.
    pub(super) fn release(&mut self, at: usize, now: Time) -> (Spinner, Option<Time>) {
        let one = self.spinners.swap_remove(at);
        let looks = self.free > now && self.looked_last(&one);
        let over = one.looks - u64::from(looks);
        self.looks += over;
        self.used.looked(over, one.look);
        (one, looks.then_some(self.free))
    }

    /// Whether a look of a spinner ends when the bus is free: one has it without an owner.
    fn looked_last(&self, one: &Spinner) -> bool {
        self.owner.is_none() && self.last == one.core && one.looks > 0
    }

    /// Looks that were let in.
    pub(crate) fn looks(&self) -> u64 {
        self.looks + self.spinners.iter().map(|one| one.looks).sum::<u64>()
    }

    /// What it has done until a moment. What ends then is not over yet.
    pub(super) fn used_until(&self, now: Time) -> BusUse {
        let mut bus = self.clone();
        bus.look_until(now);
        for one in &bus.spinners {
            let looks = bus.free >= now && bus.looked_last(one);
            bus.used.looked(one.looks - u64::from(looks), one.look);
        }
        bus.used
    }
}

/// Finds out that looks repeat: a process that waited begins when a look of another ends, so soon
/// all lie to each other as they did before, and whatever came then comes again.
struct Repeats {
    /// When the bus was free in an earlier state, whose look that was, and of each spinner when it
    /// asked next, and its looks until then.
    free: Time,
    last: usize,
    each: Vec<(Time, u64)>,
    /// Looks since, and how many of them there are before a later state is kept.
    since: u32,
    most: u32,
}

impl Repeats {
    /// Looks before the first state is kept: mostly there are no more.
    const FEW: u32 = 8;

    fn new() -> Repeats {
        Repeats { free: Time::ZERO, last: 0, each: Vec::new(), since: 0, most: Repeats::FEW }
    }

    /// A look was let in at a moment before `now`. If all lie to each other as in the state that is
    /// kept, lets in what comes again and begins before `now`.
    fn looked(&mut self, bus: &mut Bus, from: Time, now: Time) {
        self.since += 1;
        if self.since > self.most {
            (self.free, self.last, self.since) = (bus.free, bus.last, 0);
            self.most = self.most.saturating_mul(2);
            self.each.clear();
            self.each.extend(bus.spinners.iter().map(|one| (one.asked, one.looks)));
        } else if !self.each.is_empty() && self.is_met_again(bus) {
            let by = bus.free.since(self.free);
            let times = (now.since(from).0 - 1) / by.0;
            for (one, (_, looks)) in bus.spinners.iter_mut().zip(&self.each) {
                one.asked += by * times;
                one.looks += (one.looks - looks) * times;
            }
            bus.free += by * times;
            // What is left is less than comes again.
            (self.since, self.most) = (0, u32::MAX);
            self.each.clear();
        }
    }

    fn is_met_again(&self, bus: &Bus) -> bool {
        let lies = |(one, (asked, _)): (&Spinner, &(Time, u64))| {
            one.asked + self.free == *asked + bus.free
        };
        bus.last == self.last && bus.spinners.iter().zip(&self.each).all(lies)
    }
}

impl Watch {
    /// Whether a word is as wanted.
    pub fn found(self, word: u32) -> bool {
        (word == self.value) == self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    fn bus(random: &mut Rng) -> Bus {
        let spinners = random.usize(2..=4);
        let alike = random.bool().then(|| random.u64(1..300));
        let spinner = |random: &mut Rng, core: usize| {
            let look = Time(random.u64(0..60));
            let step = alike.unwrap_or(random.u64(1..300));
            Spinner {
                process: core,
                core,
                asked: Time(random.u64(0..1000)),
                look,
                pause: Time(step),
                memory: 0,
                address: 0,
                watch: Watch { value: 0, until: false, poll: Time(step), end: Time::NEVER },
                unnoted: random.bool(),
                looks: 0,
            }
        };
        Bus {
            owner: None,
            waiting: vec![None; spinners + random.usize(0..3)],
            count: 0,
            last: random.usize(0..spinners),
            choosing: false,
            spinners: (0..spinners).map(|core| spinner(random, core)).collect(),
            free: Time(random.u64(0..500)),
            looks: 0,
            first: Vec::new(),
            used: BusUse::default(),
            weights: None,
            streak: 0,
        }
    }

    /// What comes of looks: when each process asks, and how many looks there were; which process
    /// was last, and until when; and which are to be noted.
    fn outcome(bus: &Bus) -> impl PartialEq + std::fmt::Debug {
        let each: Vec<_> = bus.spinners.iter().map(|one| (one.asked, one.looks)).collect();
        let first: Vec<_> = bus.first.iter().map(|(one, end)| (one.core, *end)).collect();
        (each, bus.last, bus.free, first)
    }

    #[test]
    fn looks_that_repeat_are_those_that_would_come_one_by_one() {
        let mut random = Rng::with_seed(1);
        for _ in 0..2000 {
            let (mut one_by_one, mut now) = (bus(&mut random), 0);
            let mut at_once = one_by_one.clone();
            for _ in 0..4 {
                let longest = [100, 3000, 100_000][random.usize(0..3)];
                now += random.u64(1..longest);
                while let Some((next, from)) = one_by_one.next_look().filter(|it| it.1 < Time(now))
                {
                    one_by_one.let_in(next, from);
                }
                at_once.look_until(Time(now));
                assert_eq!(outcome(&at_once), outcome(&one_by_one));
            }
        }
    }

    #[test]
    fn a_long_wait_takes_few_turns() {
        let mut random = Rng::with_seed(2);
        let hour = Time(3_600_000_000_000_000);
        for _ in 0..100 {
            let mut bus = bus(&mut random);
            bus.look_until(hour);
            assert!(bus.looks() > 1_000_000_000_000, "{}", bus.looks());
        }
    }
}
