//! `narrows run`: carries a workload to the other core and back by each of its strategies, and
//! measures every step of the way.

pub(crate) mod apart;
mod arrivals;
mod asked;
mod changes;
mod cut;
pub mod flags;
mod lane;
mod live;
mod open;
mod page;
mod parts;
mod passage;
mod pilot;
mod returned;
mod round;
mod row;
mod setup;
mod summary;
mod text;

pub(crate) use round::{Fared, Outcome};
pub(crate) use setup::{Own, Setup};

use crate::base::failure::{Failure, Kind};
use crate::base::latencies;
use crate::base::machine::{Machine, Root};
use crate::base::options::{Cores, Global};
use crate::base::output;
use crate::base::page::PageOut;
use crate::base::progress::Progress;
use crate::base::report::{DecisionRow, Report, RunReport, RunRow};
use crate::base::signals::catch_signals;
use crate::base::table::{counted, listed};
use crate::base::usage::ChipRow;
use crate::experiments::run::flags::Run;
use crate::formats::platform;
use crate::formats::strategy::Policy;
use crate::formats::workload::{self, Offers, Workload};
use crate::rig::peer::{Options, Peer, cores_of};
use crate::rig::place::Place;
use crate::rig::{costs, sim};
use live::Live;
use narrows::strategy::Transfer;
use narrows_sim::chip::Chip;
use narrows_sim::engine::Usage;
use narrows_tune::model::Parameters;
use page::Distribution;
use returned::Returned;
use round::{Plan, millis};
use row::Made;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs the workload of a file, whose text was read, and prints the report.
///
/// # Errors
/// Whatever ends it early, after a report of what was measured until then.
pub fn run(global: &Global, args: &Run, text: &str) -> Result<(), Failure> {
    carry_out(global, args, &workload::parse(&args.workload, text)?)
}

/// As [`run`], of a workload at hand.
///
/// # Errors
/// As of [`run`].
pub fn carry_out(global: &Global, args: &Run, workload: &Workload) -> Result<(), Failure> {
    let inputs = workload.inputs()?;
    let strategies = match args.strategies() {
        none if none.is_empty() => workload.strategies.clone(),
        named => named,
    };
    asked::check(global, args, workload, &strategies)?;
    let returned = args.out.as_deref().map(Returned::new).transpose()?;
    let page_out = PageOut::new(&args.page)?;
    let live = args.live.then(Live::new).transpose()?;
    let duration = args.duration.unwrap_or(workload.duration);
    let chip = args.place.chip()?;
    let offers = Offers::new(workload, chip.as_ref().map(|chip| chip.name.as_str()))?;
    let auto = strategies.contains(&Policy::Auto);
    let costs = match (&args.costs, &chip) {
        (Some(name), _) => Some(setup::costs(&Global::default(), &platform::load(name)?)?),
        (None, Some(chip)) if auto => Some(setup::costs(global, chip)?),
        _ => None,
    };
    let stop = catch_signals()?;
    let count = u32::try_from(strategies.len()).unwrap_or(u32::MAX);
    let quiet = global.json || args.live;
    let progress = Progress::new(millis(duration.saturating_mul(count)), quiet);
    let mut carried = Carried::default();
    let traffic = Traffic {
        workload,
        inputs: &inputs,
        offers: &offers,
        strategies: &strategies,
        memory: args.memory.or(workload.memory),
        costs,
        duration,
        distributed: args.hdr.is_some(),
        drawn: page_out.is_wanted(),
        live: live.as_ref(),
        returned: returned.as_ref(),
        stop: &stop,
        progress: &progress,
    };
    let ended = match &chip {
        None => here(global, &traffic, &mut carried),
        Some(chip) => {
            let longest = traffic.longest();
            let offers = offers.further();
            let callees = workload.dsps().into();
            let needs = sim::Needs { longest, offers, callees, ..sim::Needs::default() };
            let on = Some((chip, sim::cores(global, chip)?));
            sim::run(global, chip, &needs, |mut peer| carry(&mut peer, &traffic, on, &mut carried))
        }
    };
    drop(progress);
    drop(live);
    if carried.rows.is_empty() && ended.is_err() {
        return ended;
    }
    if let Some(path) = &args.hdr {
        latencies::write(path, &carried.trips)?;
    }
    let notes = notes(&carried, &ended);
    let machine = chip.as_ref().map_or_else(|| Machine::look(&Root::default()), sim::machine);
    let mut report = Report::new("run", machine, std::mem::take(&mut carried.rows));
    report.notes = notes;
    let decisions = std::mem::take(&mut carried.decisions);
    let used = |chip| carried.usage.iter().map(move |(of, usage)| ChipRow::new(of, chip, usage));
    let chip = chip.iter().flat_map(used).collect();
    let report = RunReport { report, decisions, chip };
    if global.json {
        report.print()?;
    } else {
        let text = text::text(&workload.name, duration, &report, args.details);
        output::print(text.as_bytes())?;
    }
    page_out.write(|| page::page(workload, duration, &report, &carried.points))?;
    ended
}

/// What is to be carried, and how.
struct Traffic<'a> {
    workload: &'a Workload,
    inputs: &'a [Option<Vec<i16>>],
    offers: &'a Offers,
    strategies: &'a [Policy],
    /// Bytes of internal memory that flows may be given; what there is without.
    memory: Option<u32>,
    /// What to reckon with; what is measured without.
    costs: Option<Parameters<f64>>,
    /// Of each strategy.
    duration: Duration,
    /// Whether it is asked how round trips are distributed.
    distributed: bool,
    /// Whether it is to be drawn how they are.
    drawn: bool,
    live: Option<&'a Live>,
    returned: Option<&'a Returned>,
    stop: &'a AtomicBool,
    progress: &'a Progress,
}

impl Traffic<'_> {
    /// The longest request or response, of those too that the machine is measured by.
    fn longest(&self) -> usize {
        let measured = if self.strategies.contains(&Policy::Auto) { costs::LONG } else { 0 };
        longest(self.workload).max(measured)
    }
}

/// What came of it.
#[derive(Default)]
struct Carried {
    rows: Vec<RunRow>,
    decisions: Vec<DecisionRow>,
    /// What the chip did by each strategy.
    usage: Vec<(String, Usage)>,
    /// What round trips were of, and how they were distributed, if that is asked for.
    trips: Vec<(String, String)>,
    /// The same as points, if it is to be drawn.
    points: Vec<Distribution>,
    warnings: Vec<String>,
    /// What a stamp of either side costs, in nanoseconds.
    stamps: [f64; 2],
}

/// Carries it between two processes of this machine. The other one is gone when this returns.
fn here(global: &Global, traffic: &Traffic<'_>, carried: &mut Carried) -> Result<(), Failure> {
    let cores = cores_of(global)?;
    let options = options(global, traffic);
    carry(&mut Peer::start(cores, &options)?, traffic, None, carried)
}

fn carry<P: Place>(
    peer: &mut Peer<P>,
    traffic: &Traffic<'_>,
    chip: Option<(&Chip, Cores)>,
    carried: &mut Carried,
) -> Result<(), Failure> {
    let setup = Setup::new(peer, traffic, chip)?;
    let scale = peer.scale();
    carried.warnings.clone_from(&peer.warnings);
    let core = chip.and_then(|(chip, cores)| chip.cores.get(cores.callee));
    carried.warnings.extend(core.and_then(|core| traffic.offers.untimed(core)));
    carried.stamps = [scale.own.usual, scale.theirs.usual];
    let plan = Plan {
        workload: traffic.workload,
        inputs: traffic.inputs,
        offers: traffic.offers,
        duration: traffic.duration,
        scale,
        stop: traffic.stop,
        progress: traffic.progress,
        setup: setup.as_ref(),
        live: traffic.live,
    };
    all(peer, &plan, traffic, carried)
}

/// Carries a workload by strategies that are not chosen, for its duration, without a report.
///
/// # Errors
/// The other side is gone or silent before the flows run. Later, that is in the outcome.
pub(crate) fn once<P: Place>(
    peer: &mut Peer<P>,
    (workload, offers): (&Workload, &Offers),
    inputs: &[Option<Vec<i16>>],
    policy: Policy,
    stop: &AtomicBool,
) -> Result<Outcome, Failure> {
    let (scale, duration) = (peer.scale(), workload.duration);
    let progress = &Progress::new(0, true);
    let (setup, live) = (None, None);
    let plan = Plan { workload, inputs, offers, duration, scale, stop, progress, setup, live };
    round::run(peer, &plan, policy, Duration::ZERO)
}

/// Carries a workload whose machine and flows are known, for its duration, without a report.
///
/// # Errors
/// As [`once`].
pub(crate) fn known<P: Place>(
    peer: &mut Peer<P>,
    workload: &Workload,
    policy: Policy,
    setup: &Setup,
) -> Result<Outcome, Failure> {
    let (scale, duration) = (peer.scale(), workload.duration);
    let (inputs, stop) = (&vec![None; workload.flows.len()], &AtomicBool::new(false));
    let (progress, setup, live) = (&Progress::new(0, true), Some(setup), None);
    let offers = &Offers::new(workload, None)?;
    let plan = Plan { workload, inputs, offers, duration, scale, stop, progress, setup, live };
    round::run(peer, &plan, policy, Duration::ZERO)
}

/// One strategy after the other. Rows are added as they come, so that what was measured before
/// something failed is not lost.
fn all<P: Place>(
    peer: &mut Peer<P>,
    plan: &Plan<'_>,
    traffic: &Traffic<'_>,
    carried: &mut Carried,
) -> Result<(), Failure> {
    let mut written = Ok(());
    let mut done = Duration::ZERO;
    let Carried { rows, decisions, usage, trips, points, .. } = carried;
    for strategy in traffic.strategies {
        plan.progress.say(&strategy.to_string());
        let mut outcome = round::run(peer, plan, *strategy, done)?;
        done += plan.duration;
        plan.progress.reach(millis(done));
        let failure = outcome.failure.take();
        let failed = failure.is_some();
        decisions.append(&mut outcome.decisions);
        usage.extend(outcome.usage.take().map(|used| (strategy.to_string(), used)));
        for Made { mut row, audio: samples, trips: taken } in row::rows(plan, *strategy, outcome) {
            let worth = row.sent > 0 || row.refused.is_some();
            if failed && !worth {
                continue;
            }
            if let (Some(returned), Some(audio)) = (traffic.returned, &mut row.audio) {
                match returned.write(plan.workload, &row.flow, *strategy, &samples) {
                    Ok(file) => audio.file = file,
                    Err(error) => written = written.and(Err(error)),
                }
            }
            if let Some((latencies, stamps)) = taken {
                let (flow, strategy) = (row.flow.clone(), row.strategy.clone());
                if traffic.distributed {
                    trips.push((format!("{flow}-{strategy}"), latencies.distribution(stamps)));
                }
                if traffic.drawn {
                    points.push(Distribution { flow, strategy, points: latencies.points(stamps) });
                }
            }
            rows.push(row);
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        if plan.stop.load(Ordering::Relaxed) {
            return Err(Failure::new(
                Kind::Stopped,
                "stopped before the end; the report has what was measured until then",
            ));
        }
    }
    written?;
    for (number, flow) in plan.workload.flows.iter().enumerate() {
        let wrong = rows.iter().filter(|row| row.flow == flow.name).map(|row| row.wrong).sum();
        if let (Some(offer), 1..) = (plan.offers.get(number), wrong) {
            return Err(offer.body.differs(wrong));
        }
    }
    match rows.iter().find_map(|row| row.refused.as_ref()) {
        Some(why) if rows.iter().all(|row| row.refused.is_some()) => Err(Failure::new(
            Kind::Workload,
            format!("no flow could be carried by any of the strategies; the first because {why}"),
        )),
        _ => Ok(()),
    }
}

fn options(global: &Global, traffic: &Traffic<'_>) -> Options {
    let usual = Options::default();
    let engine = |policy: &Policy| match policy {
        Policy::Same(strategy) => strategy.transfer == Transfer::CopyEngine,
        Policy::Static => {
            let all = traffic.workload.flows.iter().filter_map(|flow| flow.r#static);
            all.into_iter().any(|strategy| strategy.transfer == Transfer::CopyEngine)
        }
        Policy::Auto => false,
    };
    Options {
        priority: global.priority,
        lock_memory: global.lock_memory,
        engine: traffic.strategies.iter().any(engine),
        longest: traffic.longest().max(usual.longest),
        functions: traffic.offers.foreign(),
        ..usual
    }
}

/// The longest request or response.
pub(crate) fn longest(workload: &Workload) -> usize {
    let all = (0..workload.flows.len()).flat_map(|flow| workload.longest(flow));
    all.max().unwrap_or(0)
}

/// What was not carried for want of room, in a sentence.
fn turned_away(rows: &[RunRow]) -> Option<String> {
    let refused: u64 = rows.iter().map(|row| row.refusals).sum();
    let first = rows.iter().find(|row| row.refusals > 0)?;
    let names = rows.iter().filter(|row| row.refusals > 0).map(|row| row.flow.as_str());
    let why = first.first_refusal.as_deref().unwrap_or_default();
    Some(format!(
        "{} refused, of {}, the first because {why}: what they would have sent is in no figure, so \
         loads and times are those of less traffic",
        counted(refused as usize, "session was", "sessions were"),
        listed(&summary::distinct(names)),
    ))
}

/// What to know when reading the figures.
fn notes(carried: &Carried, ended: &Result<(), Failure>) -> Vec<String> {
    let rows = &carried.rows;
    let mut notes = carried.warnings.clone();
    if let Err(failure) = ended {
        notes.push(format!("this is not the whole run: {failure}"));
    }
    if rows.iter().any(|row| row.phase_calls > 0) {
        let [own, theirs] = carried.stamps;
        let beyond = match own == theirs {
            true => String::new(),
            false => format!(", {theirs:.0} on the other core"),
        };
        notes.push(format!(
            "a stamp costs {own:.0} ns{beyond}; round trips and phases are less the stamps in them"
        ));
    }
    notes.extend(turned_away(rows));
    let pool = |row: &&RunRow| {
        row.strategy.starts_with("single_copy") || row.strategy.starts_with("in_place")
    };
    if rows.iter().any(|row| pool(&row) && row.received > 0) {
        notes.push(
            "single_copy and in_place: requests are made in the pool before the call, so A \
             copies nothing"
                .into(),
        );
    }
    if rows.iter().any(|row| row.phase_calls < row.received && row.phase_calls > 0) {
        notes.push(
            "where calls are many, phases are of a sample of them: phase_calls with --json says of \
             how many"
                .into(),
        );
    }
    if rows.iter().any(|row| row.phase_calls > 0 && row.strategy.contains("/parts=")) {
        notes
            .push("with parts=P phases are of a part, and the trip is of the whole request".into());
    }
    if rows.iter().any(|row| row.phase_calls == 0 && row.received > 0) {
        notes.push(
            "there are no phases of flows that come and go, whose strategy is chosen, or of which \
             each has its own: fetching their stamps would keep other flows back"
                .into(),
        );
    }
    let overlaps: u64 = rows.iter().map(|row| row.overlaps).sum();
    if overlaps > 0 {
        notes.push(format!(
            "calls answered before their caller was out of B, whose C counts as 0: {overlaps}"
        ));
    }
    notes
}
