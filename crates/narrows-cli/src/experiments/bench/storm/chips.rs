//! A storm on a simulated chip: in each life one of two cores dies at a store that is drawn.

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;
use std::time::Duration;

use narrows_sim::chip::Chip;
use narrows_sim::engine::{Death, Faults, Settings, Simulation};
use narrows_sim::time::Time;

use super::cause::{Telling, ms};
use super::interrupted;
use super::page;
use super::plan::{Life, PLACEMENTS, Plan};
use super::report::Storm;
use super::round::{Outcome, bury, live};
use crate::base::failure::{Failure, Kind};
use crate::base::options::Cores;
use crate::base::progress::Progress;
use crate::base::signals::catch_signals;
use crate::base::usage::{self, Monitor};
use crate::experiments::bench::task::Asked;
use crate::experiments::bench::traffic::{Counts, Profile, STARTER, Trouble, chips};
use crate::rig::sim;

/// The name of the node that dies.
const VICTIM: &str = "victim";
/// How urgent both sides are.
const PRIORITY: u32 = 1;
/// From the death of a core until its supervisor tells the other, as a watchdog would.
const SUPERVISION: Time = Time::nanos(1_000_000);

/// Runs a storm and prints what it came to.
///
/// # Errors
/// A promise was broken, or the storm could not go on.
pub fn run(
    asked: &Asked<'_>,
    chip: &Chip,
    (rounds, seed): (u16, u64),
    storm: &mut Storm,
) -> Result<(), Failure> {
    let Asked { global, args, .. } = asked;
    let cores = sim::cores(global, chip)?;
    let engine = |core| chip.engines.iter().any(|engine| engine.cores.contains(&core));
    let engines = engine(cores.caller) && engine(cores.callee);
    let plan = Plan::new(&args.axes, seed, engines, &asked.placements(&PLACEMENTS));
    let stopped = catch_signals()?;
    let progress = Progress::new(u64::from(rounds), global.json);
    let mut ended = Ok(());
    global.monitor.of("all kills");
    for number in 0..u64::from(rounds) {
        if stopped.load(Ordering::Relaxed) {
            ended = Err(interrupted());
            break;
        }
        let life = plan.life(number)?;
        progress.say(&format!("{} kills, {} broken promises", number, storm.broken()));
        storm.add(number, &life, round((chip, asked.monitor()), cores, &life)?);
        progress.reach(number + 1);
    }
    drop(progress);
    storm.print(asked)?;
    asked.page.write(|| page::page(storm))?;
    ended?;
    storm.verdict()
}

/// Runs a life.
fn round(
    (chip, monitor): (&Chip, Option<&Monitor>),
    cores: Cores,
    life: &Life,
) -> Result<Outcome, Failure> {
    let ours = Profile { active: life.traffic.here(), strategy: life.strategy, seed: life.seed };
    let theirs = Profile { active: life.traffic.there(), ..ours };
    // The second of the two. As many stores as its moment has microseconds.
    let store = u64::try_from(life.moment.as_micros()).unwrap_or(u64::MAX);
    let death = Death { process: 1, store, reaches: life.seed.is_multiple_of(2) };
    let faults = Faults { death: Some(death), supervision: SUPERVISION, ..Faults::default() };
    let counts = [Counts::default(), Counts::default()];
    let told = Cell::new(None);
    let said: RefCell<Result<(), Failure>> = RefCell::new(Ok(()));
    let outcome = RefCell::new(Outcome::default());
    let fail = |failure| drop(said.replace(Err(failure)));
    let mut simulation =
        Simulation::new(chip, Settings { seed: life.seed, faults, ..Settings::default() });
    simulation.process(cores.caller, STARTER, PRIORITY, |cpu| {
        let (mut node, link) = match chips::linked(&cpu, STARTER, VICTIM, !life.victim_hunts) {
            Ok(linked) => linked,
            // It may die before that.
            Err(failure) => return fail(failure),
        };
        let mut lived = live(&mut node, link, ours, &counts[0], |_| {});
        told.set(Some(cpu.time()));
        bury(&mut node, link, &mut lived, (&counts[0], &counts[1]), &mut outcome.borrow_mut());
    });
    simulation.process(cores.callee, VICTIM, PRIORITY, |cpu| {
        let (mut node, link) = match chips::linked(&cpu, VICTIM, STARTER, life.victim_hunts) {
            Ok(linked) => linked,
            Err(failure) => return fail(failure),
        };
        let ended = chips::work(&mut node, link, theirs, &counts[1]);
        if let Trouble::Defect(sentence) = ended {
            outcome.borrow_mut().broken.push(format!("the victim: {sentence}"));
        }
    });
    let ended = usage::run(monitor, simulation)
        .map_err(|stuck| Failure::new(Kind::Stuck, stuck.to_string()))?;
    said.into_inner()?;
    let mut outcome = outcome.into_inner();
    match (ended.died, told.get()) {
        (Some(died), Some(told)) if told >= died => {
            let told_ms = ms(Duration::from(told.since(died)));
            outcome.telling = Telling { told_ms, ..Telling::default() };
        }
        (Some(_), _) => outcome.broken.push("the survivor was told before the death".into()),
        (None, _) => outcome.broken.push("the victim did not come to the store it dies at".into()),
    }
    Ok(outcome)
}
