//! `bench storm`: one of two processes under full load is killed at any moment, again and again:
//! how soon the other is told, and whether everything is accounted for.
//!
//! The survivor is one node for the whole storm. Its victims are processes that are started, linked
//! with, and killed by a thread of the survivor's process; a [bystander] is linked with
//! it all the while. What a victim was told lies in memory that outlives it
//! ([`Record`](super::traffic::Record)), and is compared with what the survivor was told when the
//! victim is dead.
//!
//! With `--members` any of a mesh of processes is killed, each of which is linked with each other
//! ([mesh]).
//!
//! On a simulated chip each life is a simulation of two cores, one of which dies at a store that is
//! drawn.

mod account;
mod bystander;
mod cause;
mod chips;
mod churn;
mod leftovers;
mod mesh;
mod page;
mod plan;
mod report;
mod round;
mod stop;

use std::sync::atomic::Ordering;
use std::time::Duration;

use narrows_host::{Node, system};
use tempfile::TempDir;

use super::traffic::{Footprint, Part, Profile, Role, STARTER, open, prioritise};
use crate::base::failure::{Failure, Kind};
use crate::base::machine::Root;
use crate::base::options::{Cores, Global};
use crate::base::progress::Progress;
use crate::base::signals::catch_signals;
use crate::experiments::bench::flags;
use crate::experiments::bench::task::Asked;
use crate::rig::peer;
use crate::rig::peer::cores_of;
use bystander::Bystander;
use leftovers::Possessions;
use plan::{Life, Plan};
use report::Storm;

const ROUNDS: u16 = 1000;
const SEED: u64 = 1;
/// Rounds from which on the peer is stopped more than once, and others come and go for longer.
const LONG: u16 = 100;
/// How long others come and go.
const CHURN: Duration = Duration::from_secs(2);

/// What lasts from one life to the next.
struct Scene {
    node: Node,
    bystander: Bystander,
    cores: Cores,
    priority: Option<u8>,
    killer: Killer,
    engine: bool,
    directory: TempDir,
}

/// Where and how urgently the thread runs that kills: on a spare core or, if there is none, on the
/// victim's, so that the survivor's goes on undisturbed; and before the victim.
#[derive(Clone, Copy)]
struct Killer {
    core: usize,
    priority: Option<u8>,
}

impl Killer {
    /// Has the calling thread kill from here. If either is refused, kills come from the survivor's
    /// core or somewhat later: they are timed from when they are made.
    fn settle(self) {
        // First: on its way to a core where the victim spins, it must be above that already.
        let _ = self.priority.map(system::real_time);
        let _ = system::pin(self.core);
    }
}

impl Scene {
    fn open(global: &Global, engine: bool) -> Result<Scene, Failure> {
        // Before this thread is pinned.
        let allowed = system::cores();
        let cores = cores_of(global)?;
        let spare = allowed.into_iter().find(|core| ![cores.caller, cores.callee].contains(core));
        let priority = global.priority;
        let above = priority.map(|priority| priority.checked_add(1).filter(|above| *above < 100));
        let above = above.map(|above| above.ok_or_else(no_priority_above)).transpose()?;
        let killer = Killer { core: spare.unwrap_or(cores.callee), priority: above };
        let directory = peer::directory()?;
        let mut node = open(directory.path(), STARTER, cores.caller, engine)?;
        prioritise(priority)?;
        let bystander = Bystander::start(&mut node, directory.path(), killer.core, above)?;
        Ok(Scene { node, bystander, cores, priority, killer, engine, directory })
    }

    /// What a victim is to be.
    fn role(&self, life: &Life, profile: Profile) -> Role<'static> {
        Role {
            name: "victim",
            core: self.cores.callee,
            priority: self.priority,
            engine: self.engine,
            hunts: life.victim_hunts,
            profile,
            part: Part::Traffic,
        }
    }

    /// What a life has left behind. A node removes what the dead left at the rendezvous as it goes
    /// on.
    fn left(&mut self, before: &Possessions) -> Option<String> {
        let Scene { node, directory, .. } = self;
        let meanwhile = || node.wait_any(Some(Duration::from_millis(1)));
        before.left(directory.path(), meanwhile).map(left)
    }
}

/// Runs a storm and prints what it came to.
///
/// # Errors
/// A promise was broken, or the storm could not go on.
pub(super) fn run(asked: &Asked<'_>, flags: &flags::Storm) -> Result<(), Failure> {
    let Asked { global, args, chip, .. } = asked;
    let seed = flags.seed.unwrap_or(SEED);
    if let Some(members) = flags.members {
        return mesh::run(asked, members, seed);
    }
    let rounds = args.rounds.unwrap_or(ROUNDS);
    let mut storm = Storm::new(seed, asked.machine());
    if chip.is_some() && flags.churn.is_some() {
        let sentence = "nodes come and go on this machine only: leave --churn or --on away";
        return Err(Failure::new(Kind::Usage, sentence));
    }
    if let Some(chip) = chip {
        return chips::run(asked, chip, (rounds, seed), &mut storm);
    }
    let plan = Plan::new(&args.axes, seed, true, &plan::PLACEMENTS);
    let stopped = catch_signals()?;
    let stops = if rounds < LONG { 1 } else { plan.notifications().len() };
    let steps = u64::from(rounds) + stops as u64 + u64::from(flags.churn.is_some());
    let progress = Progress::new(steps, global.json);

    let nowhere = std::path::Path::new("/nonexistent");
    let before = Possessions::look(nowhere);
    let mut scene = Scene::open(global, plan.engine())?;
    let directory = scene.directory.path().to_owned();
    let between = Possessions::look(&directory);
    let ended = (|| {
        for number in 0..u64::from(rounds) {
            if stopped.load(Ordering::Relaxed) {
                return Err(interrupted());
            }
            let life = plan.life(number)?;
            progress.say(&format!("{} kills, {} broken promises", number, storm.broken()));
            let mut outcome = round::run(&mut scene, &life)?;
            outcome.broken.extend(scene.left(&between));
            storm.add(number, &life, outcome);
            if number == u64::from(rounds / 4) {
                storm.memory[0] = memory();
            }
            progress.reach(number + 1);
        }
        storm.memory[1] = memory();
        for (number, _) in (0..stops).enumerate() {
            if stopped.load(Ordering::Relaxed) {
                return Err(interrupted());
            }
            progress.say("the peer is stopped for two seconds");
            let life = plan.life(number as u64)?;
            let mut stop = stop::run(&mut scene, &life)?;
            stop.broken.extend(scene.left(&between));
            storm.stops.push(stop);
            progress.reach(u64::from(rounds) + number as u64 + 1);
        }
        Ok(())
    })();
    let Scene { mut node, bystander, directory: made, cores, priority, .. } = scene;
    (storm.bystander, storm.bystander_ms) = (bystander.answered, cause::ms(bystander.longest));
    let left_alone = bystander.end(&mut node);
    drop(node);
    let churned = match (flags.churn, &ended) {
        (Some(rate), Ok(())) => {
            progress.say("others link and go again");
            let time = if rounds < LONG { CHURN } else { 5 * CHURN };
            churn::run(priority, cores, (rate, time), &stopped)
                .map(|churn| storm.churn = Some(churn))
        }
        _ => Ok(()),
    };
    drop(progress);
    storm.left.extend(made.close().err().map(|error| format!("the directory stays: {error}")));
    storm.left.extend(before.left(nowhere, std::thread::yield_now).map(left));
    storm.left.extend(directory.exists().then(|| format!("{} is left", directory.display())));
    storm.print(asked)?;
    asked.page.write(|| page::page(&storm))?;
    ended?;
    churned?;
    left_alone?;
    storm.verdict()
}

/// Private memory of this process in KiB, if the system says.
fn memory() -> Option<u64> {
    Footprint::look(&Root::default(), std::process::id()).map(|has| has.private_kib)
}

fn no_priority_above() -> Failure {
    let sentence = "bench storm takes a priority up to 98: what kills has to run above it";
    Failure::new(Kind::Usage, sentence)
}

fn left(what: String) -> String {
    format!("something is left: {what}")
}

fn interrupted() -> Failure {
    Failure::new(Kind::Stopped, "stopped before the end; the report has the kills until then")
}
