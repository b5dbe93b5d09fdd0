//! A mesh of processes, each linked with each other and sending to all, of which any is killed and
//! started again. Every account between any two lives is compared at the end.

mod account;

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use narrows::link::LinkId;
use narrows_host::{Node, Options, system};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::cause::ms;
use super::leftovers::Possessions;
use super::page;
use super::plan::{PLACEMENTS, Plan};
use super::{interrupted, left};
use crate::base::failure::{Failure, Kind};
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::signals::catch_signals;
use crate::base::statistics::Summary;
use crate::base::table::{Align, Table, number, wrap};
use crate::experiments::bench::task::Asked;
use crate::experiments::bench::traffic::member::named;
use crate::experiments::bench::traffic::{
    self, Cell, PATIENCE, Part, Partner, Phase, Profile, Record, Role, STARTER, Sheet,
};
use crate::rig::peer;
use account::{First, Side, Tally, compare};

/// Kills, if nothing else is said.
const ROUNDS: u16 = 100;
/// The longest time between two kills beyond what the mesh needs to hear of one.
const LATEST: Duration = Duration::from_millis(20);
/// How often it is looked what members were told.
const LOOK: Duration = Duration::from_micros(100);
/// Notes that the text has at most.
const SHOWN: usize = 20;

/// What a mesh came to, as a row of the report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mesh {
    /// Always `mesh`.
    pub row: String,
    /// Processes.
    pub members: u16,
    /// Kills.
    pub kills: u64,
    /// Links between two lives.
    pub links: u64,
    /// From just before a kill until the last of the others was told, behind all messages.
    pub told_ms: Summary,
    /// What became of all messages.
    pub tally: Tally,
    /// Each promise that was broken, as a sentence.
    pub broken: Vec<String>,
}

/// One life of a member.
struct Life {
    name: String,
    record: Rc<Record>,
    /// What peers know it by, and the starter's link with it, once there is one.
    linked: Option<(u64, LinkId)>,
    /// How many had been killed before it was, if it was.
    died: Option<u64>,
}

impl Life {
    fn sheet(&self) -> Sheet<'_> {
        Sheet::new(self.record.sheet())
    }

    fn key(&self) -> u64 {
        self.linked.map_or(0, |(key, _)| key)
    }
}

struct Scene {
    node: Node,
    plan: Plan,
    members: u16,
    cores: Vec<usize>,
    /// Every life there was.
    lives: Vec<Life>,
    /// The process and the life of each member.
    running: Vec<(Partner, usize)>,
    mesh: Mesh,
    told: Vec<f64>,
    directory: TempDir,
}

/// Runs a storm over a mesh and prints what it came to.
///
/// # Errors
/// A promise was broken, or the storm could not go on.
pub fn run(asked: &Asked<'_>, members: u16, seed: u64) -> Result<(), Failure> {
    let Asked { global, args, chip, .. } = asked;
    if chip.is_some() {
        let sentence = "a mesh is of processes of this machine: leave --members or --on away";
        return Err(Failure::new(Kind::Usage, sentence));
    }
    let rounds = args.rounds.unwrap_or(ROUNDS);
    let mut axes = args.axes.clone();
    if axes.notify.is_empty() {
        // Members that spin would keep each other from running.
        axes.notify = vec![super::super::choice::notify("interrupt").map_err(internal)?];
    }
    let plan = Plan::new(&axes, seed, false, &PLACEMENTS);
    let stopped = catch_signals()?;
    let progress = Progress::new(u64::from(rounds), global.json);
    let nowhere = std::path::Path::new("/nonexistent");
    let before = Possessions::look(nowhere);
    let mut scene = Scene::open(plan, members)?;
    let ended = scene.storm(rounds, seed, &stopped, &progress);
    drop(progress);
    let whole = ended.is_ok() || stopped.load(Ordering::Relaxed);
    let mut mesh = scene.close(whole)?;
    mesh.broken.extend(before.left(nowhere, std::thread::yield_now).map(left));
    print(asked, &mesh, seed)?;
    ended?;
    let count = mesh.broken.len();
    let sentence =
        format!("{count} promises were broken, as said above: report it with --seed {seed}");
    if count == 0 { Ok(()) } else { Err(Failure::new(Kind::Internal, sentence)) }
}

fn internal(sentence: impl Into<String>) -> Failure {
    Failure::new(Kind::Internal, sentence)
}

impl Scene {
    fn open(plan: Plan, members: u16) -> Result<Scene, Failure> {
        let directory = peer::directory()?;
        let options = Options::new(STARTER).directory(directory.path());
        let node = traffic::node(options, 2 * usize::from(members))?;
        let mut scene = Scene {
            node,
            plan,
            members,
            cores: system::cores(),
            lives: Vec::new(),
            running: Vec::new(),
            mesh: Mesh { row: "mesh".into(), members, ..Mesh::default() },
            told: Vec::new(),
            directory,
        };
        for number in 0..members {
            let started = scene.start(number)?;
            scene.running.push(started);
        }
        Ok(scene)
    }

    /// Starts a life of a member.
    fn start(&mut self, number: u16) -> Result<(Partner, usize), Failure> {
        let life = self.plan.life(self.lives.len() as u64)?;
        let name = named(number);
        let core = self.cores.get(usize::from(number) % self.cores.len().max(1));
        let role = Role {
            name: &name,
            core: core.copied().unwrap_or(0),
            priority: None,
            engine: false,
            hunts: true,
            profile: Profile { active: true, strategy: life.strategy, seed: life.seed },
            part: Part::Member(number, self.members),
        };
        let partner = Partner::start(self.directory.path(), &role)?;
        let record = Rc::clone(&partner.record);
        self.lives.push(Life { name, record, linked: None, died: None });
        Ok((partner, self.lives.len() - 1))
    }

    /// Waits until the starter has a link with each running life.
    fn await_all(&mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.node.poll();
            let links: Vec<(LinkId, String)> =
                self.node.links().map(|(link, name)| (link, name.as_str().to_owned())).collect();
            let mut missing = None;
            for (partner, at) in &mut self.running {
                let Some(life) = self.lives.get_mut(*at) else { continue };
                if life.linked.is_some() {
                    continue;
                }
                let found = links.iter().find(|(_, name)| *name == life.name);
                let key =
                    found.and_then(|(link, _)| Some((self.node.link(*link).peer().ok()?.1, *link)));
                life.linked = key;
                if key.is_none() {
                    if let Some(how) = partner.ended(Duration::ZERO) {
                        return Err(Failure::new(
                            Kind::Peer,
                            format!("{}'s process {how}", life.name),
                        ));
                    }
                    missing = Some(life.name.clone());
                }
            }
            let Some(name) = missing else { return Ok(()) };
            if Instant::now() >= deadline {
                return Err(Failure::new(Kind::Peer, format!("{name}'s process does not answer")));
            }
            self.node.wait_any(Some(Duration::from_millis(1)));
        }
    }

    fn storm(
        &mut self,
        rounds: u16,
        seed: u64,
        stopped: &AtomicBool,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let mut random = fastrand::Rng::with_seed(seed);
        self.await_all()?;
        for round in 0..u64::from(rounds) {
            if stopped.load(Ordering::Relaxed) {
                self.settle();
                return Err(interrupted());
            }
            progress.say(&format!("{round} kills of {} members", self.members));
            // Some while the one before is still meeting the others.
            std::thread::sleep(LATEST.mul_f64(random.f64()));
            self.kill(random.usize(..self.running.len()))?;
            self.await_all()?;
            progress.reach(round + 1);
        }
        self.settle();
        Ok(())
    }

    /// Kills a member, waits until all others were told, and starts it again.
    fn kill(&mut self, at: usize) -> Result<(), Failure> {
        let Some((partner, number)) = self.running.get_mut(at) else { return Ok(()) };
        let number = *number;
        let begun = Instant::now();
        partner.process.signal(Signal::KILL).map_err(|error| internal(error.to_string()))?;
        if partner.ended(PATIENCE).is_none() {
            return Err(internal("a process that was killed does not end"));
        }
        let order = self.mesh.kills;
        self.mesh.kills += 1;
        let Some(life) = self.lives.get_mut(number) else { return Ok(()) };
        life.died = Some(order);
        let (key, name) = (life.key(), life.name.clone());
        if let Some((_, link)) = life.linked {
            self.node.link(link).close();
        }
        while let Some(untold) = self.untold(key) {
            if begun.elapsed() >= PATIENCE {
                self.mesh
                    .broken
                    .push(format!("kill {order}: {untold} was not told that {name} died"));
                break;
            }
            std::thread::sleep(LOOK);
        }
        self.told.push(ms(begun.elapsed()));
        let member = u16::try_from(at).unwrap_or(0);
        let started = self.start(member)?;
        if let Some(place) = self.running.get_mut(at) {
            *place = started;
        }
        Ok(())
    }

    /// The lives that have not been killed.
    fn alive(&self) -> impl Iterator<Item = &Life> {
        self.lives.iter().filter(|life| life.died.is_none())
    }

    /// One that has a link with the dead and was not told.
    fn untold(&self, key: u64) -> Option<&str> {
        let knows = |life: &&Life| {
            let row = life.sheet().find(key);
            row.is_some_and(|row| life.sheet().get(row, Cell::Ended) == 0)
        };
        self.alive().find(knows).map(|life| life.name.as_str())
    }

    /// Lets all fall quiet, and everything arrive.
    fn settle(&self) {
        self.alive().for_each(|life| life.sheet().set_phase(Phase::Settle));
        let deadline = Instant::now() + PATIENCE;
        let arrived = || {
            let mut pairs =
                self.alive().flat_map(|one| self.alive().map(move |other| (one, other)));
            self.alive().all(|life| life.sheet().is_quiet())
                && pairs.all(|(one, other)| {
                    let (to, from) =
                        (Side::of(one.sheet(), other.key()), Side::of(other.sheet(), one.key()));
                    one.key() == other.key() || to.sent == from.received
                })
        };
        while !arrived() && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
    }

    /// Compares all accounts, if everything has arrived, and lets everybody go.
    fn close(mut self, settled: bool) -> Result<Mesh, Failure> {
        if settled {
            self.compare();
        }
        self.alive().for_each(|life| life.sheet().set_phase(Phase::Leave));
        for (partner, life) in &mut self.running {
            let how = partner.ended(PATIENCE).unwrap_or_else(|| "does not end".into());
            if !how.contains("exit status: 0") {
                let name = self.lives.get(*life).map_or("", |life| life.name.as_str());
                self.mesh.broken.push(format!("{name}'s process {how}"));
            }
        }
        self.mesh.told_ms = Summary::of(&mut self.told).unwrap_or_default();
        let Scene { node, mut mesh, directory, .. } = self;
        drop(node);
        mesh.broken
            .extend(directory.close().err().map(|error| format!("the directory stays: {error}")));
        Ok(mesh)
    }

    fn compare(&mut self) {
        let Scene { lives, mesh, .. } = self;
        for (at, one) in lives.iter().enumerate() {
            for other in lives.iter().skip(at + 1).filter(|other| other.name != one.name) {
                let sides =
                    (Side::of(one.sheet(), other.key()), Side::of(other.sheet(), one.key()));
                if sides == Default::default() || one.key() == 0 || other.key() == 0 {
                    continue;
                }
                let first = match (one.died, other.died) {
                    (None, None) => First::Neither,
                    (Some(_), None) => First::One,
                    (None, Some(_)) => First::Other,
                    (Some(one), Some(other)) if one < other => First::One,
                    _ => First::Other,
                };
                mesh.links += 1;
                let broken = compare(&sides.0, &sides.1, first, &mut mesh.tally);
                let say = |what| format!("{} and {}: {what}", one.name, other.name);
                mesh.broken.extend(broken.into_iter().map(say));
            }
        }
    }
}

fn print(asked: &Asked<'_>, mesh: &Mesh, seed: u64) -> Result<(), Failure> {
    let mut report = Report::new("bench storm", asked.machine(), vec![mesh.clone()]);
    report.notes = mesh.broken.clone();
    asked.print(&report, || text(mesh, seed))?;
    asked.page.write(|| page::of_mesh(&report, mesh))
}

fn text(mesh: &Mesh, seed: u64) -> String {
    let Mesh { members, kills, links, told_ms, tally, broken, .. } = mesh;
    let mut text = wrap(
        "",
        &format!(
            "{kills} kills in a mesh of {members}, seed {seed}: all others told after {} ms (median), \
             {} (longest)",
            number(told_ms.median),
            number(told_ms.max)
        ),
    );
    text += &wrap(
        "",
        &match broken.len() {
            0 => "no promise broken, nothing left behind".to_owned(),
            count => format!("{count} PROMISES BROKEN, see below"),
        },
    );
    let mut table = Table::new(&[("what became of", Align::Left), ("", Align::Right)]);
    for (what, count) in [
        ("links between two lives", *links),
        ("messages", tally.sent),
        ("  delivered", tally.delivered - tally.untold),
        ("  delivered though their sender died before it was told", tally.untold),
        ("  came back", tally.returned),
        ("  died with the stack that had taken them", tally.died_with_peer),
    ] {
        table.row(vec![what.into(), count.to_string()]);
    }
    text += &format!("\n{}", table.render());
    for what in broken.iter().take(SHOWN) {
        text += &wrap("- ", what);
    }
    text
}
