//! `bench soak`: two processes at full load for a long time. Again and again what both have of the
//! system's is looked at and how long calls take, and at the end whether that stayed as it was.
//!
//! On a simulated chip both sides are in this process, and time is virtual.

mod chips;
mod page;
mod sample;
mod text;
mod verdict;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use narrows::endpoint::Node;
use narrows::link::LinkId;
use narrows::platform::{Instant, Lost};
use narrows_host::{Host, Options};
use narrows_sim::chip::Chip;
use serde::{Deserialize, Serialize};

use super::choice;
use super::traffic::churn::{self, Churn, Churning};
use super::traffic::{
    Count, Counts, Footprint, Load, PATIENCE, Part, Partner, Profile, Role, STARTER, Trouble,
    agree, lull, node,
};
use crate::base::failure::{Failure, Kind};
use crate::base::latencies::{self, Latencies};
use crate::base::machine::Root;
use crate::base::options::Global;
use crate::base::progress::Progress;
use crate::base::signals::catch_signals;
use crate::base::table::number;
use crate::experiments::bench::flags::{self, Axes};
use crate::experiments::bench::task::Asked;
use crate::rig::peer;
use crate::rig::peer::cores_of;
use crate::rig::place::Place;
use sample::Sample;
use verdict::Check;

const TIME: Duration = Duration::from_secs(3600);
/// The usual time of a soak on a simulated chip.
const VIRTUAL: Duration = Duration::from_secs(1);
const DEFAULTS: [&[&str]; 3] = [&["copy_batched"], &["hybrid"], &["external"]];
/// Intervals that a soak has, if they are not longer than this and not shorter than that.
const INTERVALS: u32 = 64;
const LONGEST: Duration = Duration::from_secs(10);
const SHORTEST: Duration = Duration::from_millis(20);
/// The shortest and the longest lull. Where wake-ups are lost, a second counts one, for that is how
/// long a sleeper sleeps then.
const LULLS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];
/// What a link of those that come and go may take of shared memory: both regions, of which each
/// side counts a half.
const REGION_KIB: f64 = 4096.0;
/// Links of others that may have ended and have memory yet: a node keeps the last eight, and the
/// coming and the end of each may be two of the 64 pieces of news that wait for it.
const ENDED: f64 = 8.0 + 32.0;
/// How often a wait is measured where others come and go: it takes a thousandth of a second.
const WAIT_EVERY: Duration = Duration::from_millis(20);

/// A row of the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "lowercase")]
enum Row {
    Check(Check),
    Sample(Sample),
    Churn(Churn),
}

/// What a soak is made with.
struct Soak<'a, P: Place = Host> {
    node: &'a mut Node<P>,
    link: LinkId,
    counts: &'a Counts,
    theirs: &'a Counts,
    /// What both sides have now: here, and there if that is another process.
    footprints: &'a dyn Fn() -> Option<[Footprint; 2]>,
    stopped: &'a AtomicBool,
    progress: &'a Progress,
    taken: &'a mut Taken,
    /// Waits for a message that ends late, again and again, where others come and go.
    wait: &'a mut dyn FnMut(&mut Node<P>),
}

/// How long a soak is, and of what.
#[derive(Clone, Copy)]
struct Length {
    profile: Profile,
    time: Duration,
    interval: Duration,
    /// Link-ups a second of others.
    churn: Option<u32>,
    /// Of the lull behind the traffic.
    lull: Duration,
}

/// What a soak has measured.
struct Taken {
    samples: Vec<Sample>,
    /// Of calls of this side, of all samples.
    latencies: Latencies,
    /// What others did that came and went.
    churn: Option<Churn>,
    /// Messages to a side that sleeps, in the lull behind the traffic.
    knocks: u64,
    /// Waits of both sides that ended by deadline though something was there.
    unrung: u64,
    /// Service routines of a simulated chip, each with a stack that is mapped when it first runs.
    routines: usize,
}

/// Runs a soak and prints the verdict.
///
/// # Errors
/// Something did not stay as it was, was lost, or the soak could not go on.
pub(super) fn run(asked: &Asked<'_>, args: &flags::Soak) -> Result<(), Failure> {
    let Asked { global, chip, .. } = asked;
    if chip.is_some() && args.churn.is_some() {
        let sentence = "nodes come and go on this machine only: leave --churn or --on away";
        return Err(Failure::new(Kind::Usage, sentence));
    }
    let usual = if chip.is_some() { VIRTUAL } else { TIME };
    let time = args.time.unwrap_or(usual);
    let Axes { transfer, notify, placement } = &args.axes;
    let chosen = choice::strategies([&transfer[..], notify, placement], DEFAULTS)?;
    let [strategy] = chosen[..] else {
        let sentence = "bench soak runs one strategy: name one of each axis";
        return Err(Failure::new(Kind::Usage, sentence));
    };
    let stopped = catch_signals()?;
    let shortest = if chip.is_some() { Duration::from_micros(1) } else { SHORTEST };
    let interval = (time / INTERVALS).clamp(shortest, LONGEST);
    let profile = Profile { active: true, strategy, seed: 1 };
    // On a chip nothing that a core stored is unseen by the other.
    let lull = if chip.is_some() { Duration::ZERO } else { (time / 10).clamp(LULLS[0], LULLS[1]) };
    let length = Length { profile, time, interval, churn: args.churn, lull };
    let progress = Progress::new(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), global.json);
    let intervals = time.as_nanos() / interval.as_nanos();
    let room = usize::try_from(intervals).unwrap_or(0) + 1;
    let (samples, latencies) = (Vec::with_capacity(room), Latencies::default());
    let mut taken = Taken { samples, latencies, churn: None, knocks: 0, unrung: 0, routines: 0 };
    let counts = Counts::default();
    let ended = match chip {
        Some(chip) => chips::run(global, chip, length, &stopped, &progress, &mut taken, &counts),
        None => processes(global, length, &stopped, &progress, &mut taken, &counts),
    };
    drop(progress);
    if let Some(path) = &args.hdr {
        let all = ("calls".to_owned(), taken.latencies.distribution(0.0));
        latencies::write(path, &[all])?;
    }
    let checks = checks(&taken, chip.as_ref(), args.churn.is_some());
    let machine = asked.machine();
    text::print(&machine, asked, &strategy.to_string(), &taken, &checks, &counts)?;
    asked.page.write(|| page::page(&machine, &strategy.to_string(), &taken, &checks))?;
    ended?;
    let broken = taken.churn.iter().flat_map(|churn| &churn.broken);
    let broken: Vec<&str> = broken.map(String::as_str).collect();
    if !broken.is_empty() {
        return Err(Failure::new(Kind::Internal, broken.join("; ")));
    }
    let rising: Vec<&str> =
        checks.iter().filter(|check| !check.flat).map(|check| check.what.as_str()).collect();
    if rising.is_empty() {
        return Ok(());
    }
    let sentence = format!(
        "not flat: {}; see with 'narrows doctor' whether something else kept the cores busy, and \
         report it if it happens again",
        rising.join(", ")
    );
    Err(Failure::new(Kind::Internal, sentence))
}

/// A soak of two processes of this machine.
fn processes(
    global: &Global,
    length: Length,
    stopped: &AtomicBool,
    progress: &Progress,
    taken: &mut Taken,
    counts: &Counts,
) -> Result<(), Failure> {
    let cores = cores_of(global)?;
    let directory = peer::directory()?;
    let profile = length.profile;
    let engine = profile.strategy.transfer == narrows::strategy::Transfer::CopyEngine;
    let mut options = Options::new(STARTER).directory(directory.path()).core(cores.caller);
    if engine {
        options = options.copy_engine(None);
    }
    let mut node = node(options, churn::PLACES + 4)?;
    let (name, core, priority) = ("partner", cores.callee, None);
    let role = Role { name, core, priority, engine, hunts: true, profile, part: Part::Traffic };
    // Before the partner, which sends from its link on.
    let turn = || {
        node.wait_any(Some(Duration::from_millis(1)));
        node.poll();
    };
    let churning = length.churn.map(|rate| Churning::start(directory.path(), core, rate, turn));
    let mut churning = churning.transpose()?;
    let mut partner = Partner::start(directory.path(), &role)?;
    let link = partner.link(&mut node, &role)?;
    let there = partner.process.id();
    let mut waited = std::time::Instant::now();
    let mut wait = |node: &mut Node<Host>| {
        let Some(churning) = &mut churning else { return };
        if waited.elapsed() >= WAIT_EVERY {
            churning.wait(node);
            waited = std::time::Instant::now();
        }
    };
    let footprints = || {
        let look = |process| Footprint::look(&Root::default(), process);
        Some([look(std::process::id())?, look(there)?])
    };
    let made = Soak {
        node: &mut node,
        link,
        counts,
        theirs: &partner.record,
        footprints: &footprints,
        stopped,
        progress,
        taken: &mut *taken,
        wait: &mut wait,
    }
    .work(length);
    if let Some(mut churning) = churning {
        // Calls are the honest round trips here, behind all that is under way.
        churning.trips(&taken.latencies);
        taken.churn = Some(churning.end());
    }
    let ended = made.unwrap_or_else(|reason| {
        let how = partner.ended(Duration::from_secs(1));
        let how = how.unwrap_or_else(|| format!("is lost: {reason}"));
        Err(Failure::new(Kind::Peer, format!("the other process {how}")))
    });
    node.link(link).close();
    let left = match partner.ended(PATIENCE) {
        Some(how) if how.contains("exit status: 0") => Ok(()),
        Some(how) => Err(Failure::new(Kind::Peer, format!("the other process {how}"))),
        None => Err(Failure::new(Kind::Peer, "the other process does not end with its link")),
    };
    ended.and(left)
}

impl<P: Place> Soak<'_, P> {
    /// Makes traffic, takes samples, and lets all arrive in the end.
    ///
    /// # Errors
    /// The link is lost; within, what else went wrong.
    fn work(mut self, length: Length) -> Result<Result<(), Failure>, Lost> {
        let made = match self.make(length) {
            Ok(made) => made,
            Err(Trouble::Lost(reason)) => return Err(reason),
            Err(Trouble::Defect(what)) => Err(Failure::new(Kind::Internal, what)),
        };
        let wrong = self.counts.get(Count::Wrong) + self.theirs.get(Count::Wrong);
        let unrung = self.counts.get(Count::Unrung) + self.theirs.get(Count::Unrung);
        self.taken.unrung = unrung;
        let what = match (wrong, unrung) {
            (0, 0) => return Ok(made),
            (0, unrung) => format!("{unrung} waits ended by deadline though something was there"),
            (wrong, _) => format!("{wrong} payloads came damaged, doubled or out of order"),
        };
        Ok(made.and(Err(Failure::new(Kind::Internal, what))))
    }

    fn make(&mut self, length: Length) -> Result<Result<(), Failure>, Trouble> {
        let Length { profile, time, interval, .. } = length;
        let mut load = Load::new(self.node, self.link, profile)?;
        let start = self.now();
        let mut from = start;
        let mut before = self.totals();
        while self.now().since(start) < time && !self.stopped.load(Ordering::Relaxed) {
            if !load.turn(self.node, self.counts)? {
                load.rest(self.node, self.counts)?;
            }
            (self.wait)(self.node);
            let now = self.now();
            if now.since(from) < interval {
                continue;
            }
            let totals = self.totals();
            let rate = |at: usize| {
                let done = totals.get(at).zip(before.get(at)).map_or(0, |(now, then)| now - then);
                done as f64 / now.since(from).as_secs_f64()
            };
            let taken = load.latencies.summary(0.0).map(|nanos| nanos / 1e3);
            let sample = Sample {
                at_s: now.since(start).as_secs_f64(),
                messages_per_second: rate(0),
                calls_per_second: rate(1),
                median_us: taken.median,
                p99_us: taken.p99,
                p999_us: taken.p999,
                p9999_us: taken.p9999,
                max_us: taken.max,
                ..Sample::default()
            };
            self.taken.latencies.join(&load.latencies);
            load.latencies.clear();
            if let Err(failure) = self.look(sample) {
                return Ok(Err(failure));
            }
            let done = now.since(start).as_millis();
            self.progress.reach(u64::try_from(done).unwrap_or(u64::MAX));
            // What looking took is in no interval.
            (from, before) = (self.now(), self.totals());
        }
        load.settle(self.node, self.counts, self.theirs, |_| ())?;
        if !self.stopped.load(Ordering::Relaxed) {
            self.taken.knocks = lull(&mut load, self.node, self.counts, length.lull, |_| ())?;
        }
        let blocks = self.node.link(self.link).blocks_in_use();
        if !agree(self.counts, self.theirs) || blocks != Ok((0, 0)) {
            let sentence = format!(
                "when all was quiet, something was missing: {:?} here, {:?} there, blocks {blocks:?}",
                self.counts, self.theirs
            );
            return Ok(Err(Failure::new(Kind::Internal, sentence)));
        }
        Ok(match self.stopped.load(Ordering::Relaxed) {
            true => Err(Failure::new(Kind::Stopped, "stopped before the end")),
            false => Ok(()),
        })
    }

    fn now(&self) -> Instant {
        self.node.platform().time()
    }

    /// Messages received on both sides, and calls answered here, so far.
    fn totals(&self) -> [u64; 2] {
        let received = self.counts.get(Count::Received) + self.theirs.get(Count::Received);
        [received, self.counts.get(Count::Finished)]
    }

    fn look(&mut self, sample: Sample) -> Result<(), Failure> {
        let Some([here, there]) = (self.footprints)() else {
            let sentence = "the kernel does not tell what a process has: /proc/PID/smaps, \
                            smaps_rollup, fd or maps cannot be read";
            return Err(Failure::new(Kind::Internal, sentence));
        };
        let blocks = self.node.link(self.link).blocks_in_use().map_or(0, |(lent, _)| lent.into());
        self.taken.samples.push(Sample { blocks, here, there, ..sample });
        let median = number(sample.median_us);
        self.progress.say(&format!("{median} µs a call, {} KiB here", here.private_kib));
        Ok(())
    }
}

/// Every figure that has to stay as it was; none if there are too few samples.
///
/// A simulated chip is in one process, in which memory of the chip has none before it is used, and
/// a service routine no stack before it first runs.
///
/// Others that come and go have places, not all of which are taken when a sample is.
fn checks(taken: &Taken, chip: Option<&Chip>, churn: bool) -> Vec<Check> {
    let samples = &taken.samples;
    // The page below a stack is a mapping of its own.
    let stacks = 2.0 * taken.routines as f64;
    let links = if churn { churn::PLACES as f64 } else { 0.0 };
    let blocks = |chip: &Chip| chip.link.classes.iter().map(|of| of.size * of.count).sum::<u32>();
    let untouched = chip.map_or(0.0, |chip| 2.0 * f64::from(blocks(chip)) / 1024.0);
    let of = |figure: &dyn Fn(&Sample) -> f64| samples.iter().map(figure).collect::<Vec<f64>>();
    type Part = (&'static str, fn(&Sample) -> Footprint);
    let sides: [Part; 2] = [("here", |sample| sample.here), ("there", |sample| sample.there)];
    let mut checks = Vec::new();
    for (side, part) in sides.into_iter().take(if chip.is_some() { 1 } else { 2 }) {
        let named = |what: &str| format!("{what} {side}");
        // They link with this side only.
        let places = if side == "here" { links } else { 0.0 };
        let pss = of(&|sample| part(sample).pss_kib as f64);
        let private = of(&|sample| part(sample).private_kib as f64);
        let descriptors = of(&|sample| part(sample).descriptors as f64);
        let mappings = of(&|sample| part(sample).mappings as f64);
        // A region is this side's own once the peer is gone.
        let touched = untouched + places * REGION_KIB;
        checks.push(verdict::memory(&named("memory"), &pss, touched));
        checks.push(verdict::memory(&named("private memory"), &private, touched));
        let ended = if places > 0.0 { ENDED } else { 0.0 };
        // A link has a socket and two bells, and two regions; and its peer's descriptors come in
        // before they are looked at. One that has ended has three mappings, the first page of its
        // peer's region being one of its own.
        checks.push(verdict::count(&named("descriptors"), &descriptors, 8.0 * places));
        let passing = 2.0 * places + 3.0 * ended + stacks;
        checks.push(verdict::count(&named("mappings"), &mappings, passing));
    }
    // A slow chip's interval may be too short for a call.
    let called = samples.iter().filter(|sample| sample.calls_per_second > 0.0);
    let medians: Vec<f64> = called.map(|sample| sample.median_us).collect();
    checks.push(verdict::latency("latency of a call, median", &medians));
    checks.into_iter().flatten().collect()
}
