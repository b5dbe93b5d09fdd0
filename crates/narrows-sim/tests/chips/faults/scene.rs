//! What a schedule is: a chip, a plan of faults and three sides, all drawn from its seed.

use super::side;
use super::world::{SIDES, World};
use crate::common::dice::Dice;
use narrows::memory::Class;
use narrows::strategy::Placement;
use narrows_sim::chip::{Cache, Chip};
use narrows_sim::engine::{Bells, Death, Faults, Lies, Mode, Settings, Simulation};
use narrows_sim::time::{Cost, Frequency, Time};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Longer than any run takes: what has not ended by then never will.
const BOUND: Time = Time::nanos(400_000_000);

/// How far schedules got: whether they try what they should.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub deaths: u64,
    /// Schedules in which everybody lived.
    pub lived: u64,
    pub bells_that_failed: u64,
    pub lies: u64,
    /// Of all pairs of sides.
    pub delivered: u64,
    pub returned: u64,
    /// Taken by a stack that died with them.
    pub died_with_it: u64,
    pub answered: u64,
    pub deadlines: u64,
    pub notices: u64,
    /// Links that ended because of what the hostile side's memory said.
    pub corrupt: u64,
    /// Why links ended, and how many.
    pub ends: BTreeMap<String, u64>,
    /// Dead sides that were linked to in their next life.
    pub again: u64,
    /// The longest from a death until a survivor had received the notice, in ns.
    pub longest_notice: u64,
    /// The longest run, in ns.
    pub longest: u64,
}

impl AddAssign for Told {
    fn add_assign(&mut self, other: Told) {
        self.deaths += other.deaths;
        self.lived += other.lived;
        self.bells_that_failed += other.bells_that_failed;
        self.lies += other.lies;
        self.delivered += other.delivered;
        self.returned += other.returned;
        self.died_with_it += other.died_with_it;
        self.answered += other.answered;
        self.deadlines += other.deadlines;
        self.notices += other.notices;
        self.corrupt += other.corrupt;
        self.again += other.again;
        for (why, count) in other.ends {
            *self.ends.entry(why).or_default() += count;
        }
        self.longest_notice = self.longest_notice.max(other.longest_notice);
        self.longest = self.longest.max(other.longest);
    }
}

impl Told {
    /// That a run of many schedules tried everything.
    pub fn reaches_everything(&self) {
        let all = [
            self.deaths,
            self.lived,
            self.bells_that_failed,
            self.lies,
            self.delivered,
            self.returned,
            self.died_with_it,
            self.answered,
            self.deadlines,
            self.notices,
            self.corrupt,
            self.again,
        ];
        assert!(all.iter().all(|count| *count > 0), "{self:#?}");
    }
}

pub struct Scene {
    seed: u64,
    dice: Dice,
    chip: Chip,
    faults: Faults,
}

fn class(placement: Placement, size: u32, count: u32) -> Class {
    Class { placement, size, count }
}

/// Three cores and little memory.
fn chip(dice: &Dice) -> Chip {
    let mut chip = crate::common::chip();
    chip.cores.truncate(1);
    chip.cores.extend(["second", "third"].map(crate::common::core));
    chip.memories[0].size = 64 << 10;
    chip.memories[1].size = 256 << 10;
    for core in &mut chip.cores {
        core.instructions = None;
        core.clock = Frequency(dice.pick(&[50, 100, 300]) * 1_000_000);
        core.poll = Cost::Cycles(2 + dice.roll(10));
        let (size, ways) = (512 << dice.roll(4), 1 << dice.roll(2));
        let cache = Cache { size, line: 32, ways, write_back: true, allocate: dice.one_in(2) };
        core.data = Some(cache).filter(|_| !dice.one_in(4));
        if dice.one_in(4) {
            core.system.tick = Cost::Time(Time::nanos(20_000));
            core.system.tick_service = Cost::Cycles(40);
        }
    }
    chip.buses[0].burst = 8 << dice.roll(4);
    chip.engines[0].cores = (0..chip.cores.len()).collect();
    chip.link.slots = 8;
    chip.link.classes = vec![
        class(Placement::Internal, 64, 3),
        class(Placement::Internal, 256, 2),
        class(Placement::External, 64, 4),
        class(Placement::External, 256, 3),
    ];
    chip
}

fn bells(dice: &Dice) -> Bells {
    let often = dice.pick(&[10, 100, 300]);
    Bells {
        lost: dice.roll(often) as u16,
        late: dice.roll(often) as u16,
        doubled: dice.roll(often) as u16,
        by: Time::nanos(1 + dice.roll(300_000)),
    }
}

impl Scene {
    pub fn new(seed: u64) -> Scene {
        let dice = Dice::new(seed);
        let chip = chip(&dice);
        let mut faults = Faults {
            supervision: Time::nanos(dice.roll(3) * dice.roll(200_000)),
            ..Faults::default()
        };
        let (dies, lies) = (dice.roll(16) < 9, dice.roll(16) < 6);
        if dies {
            let store = dice.roll(2 << dice.roll(11));
            let (process, reaches) = (usize::from(dice.one_in(2)), dice.one_in(2));
            faults.death = Some(Death { process, store, reaches });
        }
        if lies {
            faults.lies = Some(Lies { process: 1, often: dice.pick(&[5, 20, 50, 200]) });
        }
        if (!dies && !lies) || dice.one_in(4) {
            faults.bells = if dice.one_in(8) { Bells::default() } else { bells(&dice) };
        }
        Scene { seed, dice, chip, faults }
    }

    /// *b* dies at a store, and nothing else goes wrong. The same scene for each store of a seed.
    pub fn dying(seed: u64, store: u64, reaches: bool) -> Scene {
        let dice = Dice::new(seed);
        let chip = chip(&dice);
        let death = Some(Death { process: 1, store, reaches });
        let supervision = Time::nanos(dice.roll(50_000));
        Scene { seed, dice, chip, faults: Faults { death, supervision, ..Faults::default() } }
    }

    pub fn run(self, mode: Mode) -> Told {
        let Scene { seed, dice, chip, faults } = self;
        let world = World::new(&faults, &dice);
        let settings = Settings { mode, until: BOUND, seed, faults };
        let mut simulation = Simulation::new(&chip, settings);
        for own in 0..SIDES {
            let (world, dice) = (&world, dice.split());
            simulation.process(own, world.name(own), 1, move |cpu| {
                side::run(&cpu, world, own, &dice);
            });
        }
        if faults.death.is_some_and(|death| death.process == 1) {
            let world = &world;
            simulation.process(1, "next b", 2, move |cpu| side::live_again(&cpu, world));
        }
        // Something more urgent takes a core now and then.
        let (core, often, long) = (dice.roll(6), 5000 + dice.roll(50_000), dice.roll(3000));
        if core < SIDES as u64 {
            simulation.process(core as usize, "urgent", 3, move |cpu| {
                for _ in 0..100 {
                    cpu.pause(Time::nanos(often));
                    cpu.compute(Time::nanos(long));
                }
            });
        }
        let outcome = match simulation.run() {
            Ok(outcome) => outcome,
            Err(stuck) => panic!("{stuck}"),
        };
        assert_eq!(outcome.unfinished, [""; 0], "they had not ended after {BOUND}: {faults:?}");
        world.told(&outcome)
    }
}
