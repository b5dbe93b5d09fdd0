//! `narrows tune`: a strategy for every flow of a workload.
//!
//! `measure` finds the model's parameters on a chip or on this machine, `subjects` has the flows as the
//! model has them, `plan` asks it about every strategy and has the optimiser pick. What comes of it is
//! a `row`, `text` and a `chart`; the equations are in `docs/MODEL.md`.

mod chart;
pub mod flags;
pub(crate) mod measure;
pub(crate) mod plan;
pub(crate) mod rooms;
mod row;
pub(crate) mod subjects;
#[cfg(test)]
mod tests;
mod text;

use crate::bench::pair::Pair;
use crate::failure::{Failure, Kind};
use crate::flags::{Cores, Global};
use crate::machine::{Machine as Here, Root};
use crate::output;
use crate::platform;
use crate::progress::Progress;
use crate::report::Report;
use crate::sim;
use crate::strategy;
use crate::workload::{self, Workload};
use flags::{Objective, Tune};
use narrows::memory::Layout;
use narrows::platform::Platform;
use narrows::strategy::{Notification, Placement};
use narrows_host::Host;
use narrows_sim::chip::Chip;
use narrows_tune::model::{Parameters, Phases, Stream, latencies, picos};
use plan::{Least, Limits, Machine, NoPlan, Plan, Planner, Subject};
use row::{BindingRow, FlowRow, NextRow, PlanRow, PointRow, StaticRow};

/// The place that is no platform.
const HOST: &str = "host";
/// Rounds of measuring on this machine, and on a chip, where nothing disturbs.
pub(crate) const ROUNDS: usize = 5;
pub(crate) const VIRTUAL: usize = 1;
/// Latencies of which the 99th percentile is taken, and their seed.
const SAMPLES: usize = 2000;
const SEED: u64 = 1;
/// Picoseconds of a millisecond, and parts per million of a percent.
const MS: f64 = 1e9;
pub(crate) const PERCENT: f64 = 1e4;

/// Measures, plans and prints.
///
/// # Errors
/// [`Kind::Workload`] with the flows that cannot be planned and by how much, or what [`sim`] or
/// [`Peer`](crate::peer::Peer) refuse.
pub fn run(global: &Global, args: &Tune) -> Result<(), Failure> {
    check(args)?;
    let workload = workload::read(&args.workload)?;
    let chip = (args.on != HOST).then(|| platform::load(&args.on)).transpose()?;
    let mut named = Vec::new();
    strategy::append(&mut named, args.strategy.iter().flat_map(|choice| choice.0.clone()));
    let cores = chip.as_ref().map(|chip| sim::cores(global, chip)).transpose()?;
    let place = chip.as_ref().zip(cores.map(|cores| cores.callee));
    let spin = args.objective == Objective::Latency;
    let subjects = subjects::subjects(&workload, place, &named, spin)?;
    let progress = Progress::new(2, global.json);
    progress.say("measuring");
    let (parameters, engine) = measured(global, chip.as_ref(), &workload)?;
    progress.reach(1);
    progress.say("planning");
    let budget = Budget { memory: args.memory, dsps: args.dsps, load: args.load };
    let machine =
        |parameters: &Parameters<f64>| machine(&budget, chip.as_ref(), parameters, engine);
    let clock = |core: &narrows_sim::chip::Core| core.clock.0;
    let own = chip.as_ref().zip(cores).and_then(|(chip, cores)| chip.cores.get(cores.caller));
    let own = own.map(clock);
    let made = match args.objective {
        Objective::Energy => lowest(args, own, &parameters, &subjects, machine)?,
        _ => (None, machine(&parameters)?),
    };
    let (clock, machine) = made;
    let least = if args.objective == Objective::Latency { Least::Latency } else { Least::Load };
    let planner = Planner::new(&machine, &subjects, least);
    let planner = planner.map_err(|why| refused(&subjects, &why))?;
    let plan = planner.plan().map_err(|why| refused(&subjects, &why))?;
    let row = row(args, &workload, &planner, &plan, clock);
    drop(progress);

    if let Some(path) = &args.svg {
        let drawn = drawn(&row, &args.on);
        output::write_file(path, drawn.as_bytes())?;
    }
    let place = chip.as_ref().map_or_else(|| Here::look(&Root::default()), sim::machine);
    if global.json {
        return Report::new("tune", place, vec![row]).print();
    }
    let heading = place.simulated().unwrap_or_else(|| format!("On {}.", place.line()));
    output::print(text::text(&row, &heading).as_bytes())
}

/// Whether what was asked for goes together.
fn check(args: &Tune) -> Result<(), Failure> {
    let energy = args.objective == Objective::Energy;
    let text = match (energy, args.clocks.is_empty()) {
        (true, true) => "--objective energy chooses a clock: name some with --clocks 99MHz,297MHz",
        (false, false) => "--clocks says something to --objective energy only: leave it out",
        (true, false) if args.on == HOST => {
            "--objective energy needs a platform, whose core's clock is known: name one with --on"
        }
        _ => return Ok(()),
    };
    Err(Failure::new(Kind::Usage, text))
}

/// The model's parameters, and whether there is a copy engine.
fn measured(
    global: &Global,
    chip: Option<&Chip>,
    workload: &Workload,
) -> Result<(Parameters<f64>, bool), Failure> {
    let bytes = workload.flows.iter().map(|flow| flow.request.max(flow.response));
    let longest = bytes.max().unwrap_or(0).max(measure::LONG);
    let Some(chip) = chip else {
        let mut pair = Pair::start(global, false, longest, None)?;
        pair.warn();
        return Ok((measure::measure(&mut pair.peer, ROUNDS)?, false));
    };
    let needs = sim::Needs { longest, ..sim::Needs::default() };
    let found = sim::run(global, chip, &needs, |mut peer| measure::measure(&mut peer, VIRTUAL))?;
    let cores = sim::cores(global, chip)?;
    let mut parameters = found;
    ticks(&mut parameters, chip, cores);
    Ok((parameters, engine(chip, cores)))
}

/// Sets what the clocks of a chip's cores tick by.
pub(crate) fn ticks(parameters: &mut Parameters<f64>, chip: &Chip, cores: Cores) {
    let tick = |core: usize| {
        let core = chip.cores.get(core);
        core.map_or(0.0, |core| core.system.tick.at(core.clock).0 as f64 * 1e-12)
    };
    parameters.caller.tick = tick(cores.caller);
    parameters.callee.tick = tick(cores.callee);
}

/// Whether a chip has a copy engine for both of its cores.
pub(crate) fn engine(chip: &Chip, cores: Cores) -> bool {
    chip.engines
        .iter()
        .any(|engine| engine.cores.contains(&cores.caller) && engine.cores.contains(&cores.callee))
}

/// What flows may take.
pub(crate) struct Budget {
    /// Bytes of internal memory of each DSP; what the platform has if none are named.
    pub memory: Option<u32>,
    pub dsps: u8,
    /// Of the calling core, in percent.
    pub load: f64,
}

/// What flows are planned for.
pub(crate) fn machine(
    budget: &Budget,
    chip: Option<&Chip>,
    parameters: &Parameters<f64>,
    engine: bool,
) -> Result<Machine, Failure> {
    let standard = Layout::standard(Host::LINE).ok();
    let host = || standard.as_ref().map(Layout::classes).unwrap_or_default().to_vec();
    let classes = chip.map_or_else(host, |chip| chip.link.classes.clone());
    let of = |placement| classes.iter().filter(move |class| class.placement == placement);
    let longest = |placement| of(placement).map(|class| class.size).max().unwrap_or(0);
    // Requests lie in the caller's blocks, responses in those of the core that is called.
    let blocks: u64 =
        of(Placement::Internal).map(|one| 2 * u64::from(one.size) * u64::from(one.count)).sum();
    let memory = u32::try_from(blocks).unwrap_or(u32::MAX);
    let costs = parameters.costs().map_err(|error| {
        Failure::new(Kind::Internal, format!("what was measured is impossible: {error}"))
    })?;
    Ok(Machine {
        costs,
        dsps: budget.dsps,
        memory: budget.memory.unwrap_or(memory),
        load: (budget.load * PERCENT) as u64,
        longest: [longest(Placement::Internal), longest(Placement::External)],
        engine,
    })
}

/// The lowest of the clocks at which there is a plan. The calling core's own times go with its clock;
/// what memory takes does not.
fn lowest(
    args: &Tune,
    own: Option<u64>,
    parameters: &Parameters<f64>,
    subjects: &[Subject],
    machine: impl Fn(&Parameters<f64>) -> Result<Machine, Failure>,
) -> Result<(Option<u64>, Machine), Failure> {
    let mut clocks: Vec<u64> = args.clocks.iter().map(|clock| clock.0).collect();
    clocks.sort_unstable();
    let mut last = None;
    for clock in clocks {
        let slower = own.unwrap_or(clock) as f64 / clock as f64;
        let mut scaled = *parameters;
        let caller = &mut scaled.caller;
        for time in [
            &mut caller.request,
            &mut caller.interrupt,
            &mut caller.poll,
            &mut caller.look,
            &mut scaled.ack_interrupt,
            &mut scaled.ack_lazy,
            &mut scaled.ack_batched,
            &mut scaled.engine.descriptor,
        ] {
            *time *= slower;
        }
        let machine = machine(&scaled)?;
        let planned = Planner::new(&machine, subjects, Least::Load).and_then(|all| all.plan());
        match planned {
            Ok(_) => return Ok((Some(clock), machine)),
            Err(why) => last = Some(why),
        }
    }
    let why = last.map(|why| refused(subjects, &why).to_string()).unwrap_or_default();
    let text = format!("no clock that was named is enough; at the highest, {why}");
    Err(Failure::new(Kind::Workload, text))
}

/// What cannot be planned, and by how much.
fn refused(subjects: &[Subject], why: &NoPlan) -> Failure {
    let name = |flow: &usize| subjects.get(*flow).map_or("", |subject| subject.name.as_str());
    let text = match why {
        NoPlan::Impossible(flow, why) => format!("flow {} cannot be planned: {why}", name(flow)),
        NoPlan::Late { flow, least, beside } => {
            let deadline = subjects.get(*flow).and_then(|subject| subject.flow.deadline);
            let deadline = deadline.map_or(0, picos);
            format!(
                "flow {} cannot keep its deadline: {:.3} ms at least, {:.3} ms of them behind \
                 other flows, are {:.3} ms more than the {:.3} ms that it has",
                name(flow),
                *least as f64 / MS,
                *beside as f64 / MS,
                least.saturating_sub(deadline) as f64 / MS,
                deadline as f64 / MS
            )
        }
        NoPlan::Together(why) => {
            let names: Vec<&str> = subjects.iter().map(|one| one.name.as_str()).collect();
            format!("flows {} cannot be planned together: {why}", crate::table::listed(&names))
        }
    };
    Failure::new(Kind::Workload, text)
}

fn row(
    args: &Tune,
    workload: &Workload,
    planner: &Planner<'_>,
    plan: &Plan,
    clock: Option<u64>,
) -> PlanRow {
    let machine = planner.machine;
    let percent = |ppm: u64| ppm as f64 / PERCENT;
    let front = planner.front();
    let points = front
        .iter()
        .map(|(bytes, ppm)| PointRow { memory_bytes: *bytes, load_percent: percent(*ppm) });
    PlanRow {
        workload: workload.name.clone(),
        objective: args.objective.name(),
        clock_hz: clock,
        flows: (0..plan.given.len()).map(|flow| flow_row(planner, plan, flow)).collect(),
        load_percent: percent(plan.load()),
        load_budget_percent: args.load,
        memory_bytes: (0..machine.dsps).map(|dsp| plan.memory(dsp)).collect(),
        memory_budget_bytes: machine.memory,
        r#static: alike(planner),
        binds: binds(planner, plan),
        front: points.collect(),
        nodes: plan.found.nodes,
        gap_percent: plan.found.gap() as f64 / PERCENT,
    }
}

fn flow_row(planner: &Planner<'_>, plan: &Plan, flow: usize) -> FlowRow {
    let subject = &planner.subjects[flow];
    let given = &plan.given[flow];
    let estimate = &given.way.estimate;
    let ms = |picos: u64| picos as f64 / MS;
    let percent = |ppm: u32| f64::from(ppm) / PERCENT;
    FlowRow {
        name: subject.name.clone(),
        strategy: given.way.strategy.to_string(),
        dsp: given.dsp,
        load_percent: percent(estimate.load),
        work_percent: percent(estimate.work),
        memory_bytes: estimate.memory,
        latency_bound_ms: ms(given.bound()),
        latency_source_ms: ms(estimate.latency.source),
        latency_aligned_ms: ms(estimate.latency.aligned),
        latency_p99_ms: p99(plan, flow).map(ms),
        deadline_ms: subject.flow.deadline.map(|time| ms(picos(time))),
        next: planner.next(plan, flow).map(|way| NextRow {
            strategy: way.strategy.to_string(),
            load_percent: percent(way.estimate.load),
            memory_bytes: way.estimate.memory,
            latency_bound_ms: ms(way.estimate.latency.bound.saturating_add(given.beside)),
        }),
    }
}

/// The 99th percentile of a flow's latency, by queueing before its core.
fn p99(plan: &Plan, flow: usize) -> Option<u64> {
    let own = plan.given.get(flow)?;
    let here: Vec<usize> =
        (0..plan.given.len()).filter(|other| plan.given[*other].dsp == own.dsp).collect();
    let mut streams: Vec<Stream> = here
        .iter()
        .map(|other| {
            let way = &plan.given[*other].way;
            let poll = match way.strategy.notification {
                Notification::Poll { every } => picos(every),
                _ => 0,
            };
            let rest = way.estimate.latency.bound.saturating_sub(poll);
            Stream {
                period: way.estimate.period,
                burst: 1,
                service: way.estimate.callee,
                after: rest.saturating_sub(way.estimate.callee),
                poll,
                ..Stream::default()
            }
        })
        .collect();
    let of = here.iter().position(|other| *other == flow)?;
    let mut times = vec![0; SAMPLES];
    let made = latencies(&mut streams, of, Phases::Random, SEED, &mut times);
    made.then(|| times.get(SAMPLES * 99 / 100 - 1).copied()).flatten()
}

/// The best plan that gives all flows of a kind the same strategy; for one core to call.
fn alike(planner: &Planner<'_>) -> Option<StaticRow> {
    if planner.machine.dsps > 1 {
        return None;
    }
    let limits = Limits { memory: planner.machine.memory, alike: true, free: None };
    let plan = planner.plan_with(&limits).ok()?;
    Some(StaticRow {
        strategies: plan.given.iter().map(|one| one.way.strategy.to_string()).collect(),
        load_percent: plan.load() as f64 / PERCENT,
        memory_bytes: plan.memory(0),
    })
}

/// Limits without which there is a better plan.
fn binds(planner: &Planner<'_>, plan: &Plan) -> Vec<BindingRow> {
    let value = |plan: &Plan| match planner.least {
        Least::Load => plan.load(),
        Least::Latency => plan.given.iter().map(plan::Given::bound).sum(),
    };
    let unit = if planner.least == Least::Load { PERCENT } else { MS };
    let has = value(plan);
    let mut all = Vec::new();
    let mut consider = |limit, flow: Option<usize>, made: Result<Plan, NoPlan>| {
        let Some(without) = made.ok().map(|made| value(&made)).filter(|value| *value < has) else {
            return;
        };
        let flow = flow.map(|flow| planner.subjects[flow].name.clone());
        all.push(BindingRow { limit, flow, without: without as f64 / unit });
    };
    let usual = Limits { memory: planner.machine.memory, ..Limits::default() };
    consider("memory", None, planner.plan_with(&Limits { memory: u32::MAX, ..usual }));
    for (flow, subject) in planner.subjects.iter().enumerate() {
        if subject.flow.deadline.is_some() {
            let free = Limits { free: Some(flow), ..usual };
            consider("deadline", Some(flow), planner.plan_with(&free));
        }
    }
    if planner.least == Least::Latency {
        let idle = Machine { load: u64::MAX, ..planner.machine.clone() };
        let made = Planner::new(&idle, planner.subjects, planner.least);
        consider("load", None, made.and_then(|planner| planner.plan()));
    }
    all
}

fn drawn(row: &PlanRow, place: &str) -> String {
    let front: Vec<(f64, f64)> =
        row.front.iter().map(|one| (one.memory_bytes as f64, one.load_percent)).collect();
    let memory = row.memory_bytes.iter().max().copied().unwrap_or(0);
    chart::draw(&chart::Chart {
        heading: &format!("{} on {place}: load against internal memory", row.workload),
        front: &front,
        chosen: (memory as f64, row.load_percent),
        budget: f64::from(row.memory_budget_bytes),
    })
}
