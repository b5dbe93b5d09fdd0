//! `narrows tune`: a strategy for every flow of a workload.
//!
//! `measure` finds the model's parameters on a chip or on this machine, `subjects` has the flows as
//! the model has them, `plan` asks it about every strategy and has the optimiser pick. What comes
//! of it is a `row`, `text` and a `chart`; the equations are in `docs/MODEL.md`.

mod chart;
pub mod flags;
mod page;
mod row;
#[cfg(test)]
mod tests;
mod text;

use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine as Here, Root};
use crate::base::options::{Global, HOST};
use crate::base::output;
use crate::base::page::PageOut;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::table::wrap;
use crate::experiments::run::longest;
use crate::formats::strategy::kind;
use crate::formats::workload::{self, Offers, Workload};
use crate::formats::{platform, strategy};
use crate::rig::costs::machine::{Measured, measured};
use crate::rig::plan::{
    Given, Least, Limits, Machine, NoPlan, Plan, Planner, Subject, refused, subjects,
};
use crate::rig::sim;
use flags::{Objective, Tune};
use narrows_sim::chip::{Chip, Core};
use narrows_sim::time::Frequency;
use narrows_tune::model::{Phases, picos};
use row::{BindingRow, FlowRow, NextRow, PlanRow, PointRow, StaticRow};

/// Picoseconds of a millisecond, and parts per million of a percent.
const MS: f64 = 1e9;
const PERCENT: f64 = 1e4;

/// Measures, plans and prints.
///
/// # Errors
/// [`Kind::Workload`] with the flows that cannot be planned and by how much, or what [`sim`] or
/// [`Peer`](crate::rig::peer::Peer) refuse.
pub fn run(global: &Global, args: &Tune) -> Result<(), Failure> {
    let page = PageOut::new(&args.page)?;
    let workload = workload::read(&args.workload)?;
    let chip = (args.on != HOST).then(|| platform::load(&args.on)).transpose()?;
    let mut named = Vec::new();
    strategy::append(&mut named, args.strategy.iter().flat_map(|choice| choice.0.clone()));
    let cores = chip.as_ref().map(|chip| sim::cores(global, chip)).transpose()?;
    let place = chip.as_ref().zip(cores.map(|cores| cores.callee));
    let own = chip.as_ref().zip(cores).and_then(|(chip, cores)| chip.cores.get(cores.caller));
    let clocks = clocks(args.objective, &args.clocks, own)?;
    let spin = args.objective == Objective::Latency;
    let subjects = subjects::subjects(&workload, place, &named, spin)?;
    let mut notes = Vec::from_iter(untimed(&workload, place)?);
    let progress = Progress::new(2, global.json);
    progress.say("measuring");
    let measured = measured(global, chip.as_ref(), longest(&workload))?;
    progress.reach(1);
    progress.say("planning");
    let (clock, machine) = match own {
        Some(core) if !clocks.is_empty() => {
            lowest(args, &workload, core, &clocks, &measured, &subjects)?
        }
        _ => (None, budgeted(args, &workload, &measured)?),
    };
    notes.extend(uncounted(&machine, &measured)?);
    let least = if args.objective == Objective::Latency { Least::Latency } else { Least::Load };
    let planner = Planner::new(&machine, &subjects, least);
    let planner = planner.map_err(|why| refused(&subjects, &why))?;
    let plan = planner.plan().map_err(|why| refused(&subjects, &why))?;
    let off = chip.as_ref().and_then(|chip| off(chip, &plan));
    let row = row(args, &workload, &planner, &plan, clock, off);
    drop(progress);

    if let Some(path) = &args.svg {
        let drawn = drawn(&row, &args.on);
        output::write_file(path, drawn.as_bytes())?;
    }
    let place = chip.as_ref().map_or_else(|| Here::look(&Root::default()), sim::machine);
    if global.json {
        let mut report = Report::new("tune", place.clone(), vec![row.clone()]);
        report.notes.extend(notes.iter().cloned());
        report.print()?;
    } else {
        let simulated = place.elsewhere().filter(|_| place.r#virtual);
        let heading = simulated.unwrap_or_else(|| format!("On {}.", place.line()));
        let notes: String = notes.iter().map(|note| wrap("- ", note)).collect();
        output::print((text::text(&row, &heading) + &notes).as_bytes())?;
    }
    page.write(|| {
        let mut made = page::page(&place, &row);
        made.notes.extend(notes);
        made
    })
}

/// Which functions take no time of the core of the chip that is called, in a sentence.
fn untimed(workload: &Workload, place: Option<(&Chip, usize)>) -> Result<Option<String>, Failure> {
    let Some((chip, core)) = place else { return Ok(None) };
    let offers = Offers::new(workload, Some(&chip.name))?;
    Ok(chip.cores.get(core).and_then(|core| offers.untimed(core)))
}

/// That blocks are not counted of more memory than there is, in a sentence.
fn uncounted(machine: &Machine, measured: &Measured) -> Result<Option<String>, Failure> {
    let there = measured.machine()?;
    let uncounted = machine.classes.is_empty() && !there.classes.is_empty();
    Ok(uncounted.then(|| {
        format!(
            "There are {} B of internal memory: of more it is not known which blocks it would \
             have, so no blocks are counted.",
            there.memory
        )
    }))
}

/// The clocks to choose from, the lowest first: those named, or else the platform's; none if the
/// objective is another.
pub(super) fn clocks(
    objective: Objective,
    named: &[Frequency],
    own: Option<&Core>,
) -> Result<Vec<u64>, Failure> {
    let mut clocks: Vec<u64> = match (objective, own) {
        (Objective::Energy, Some(core)) if named.is_empty() => {
            core.clocks.iter().map(|clock| clock.0).collect()
        }
        _ => named.iter().map(|clock| clock.0).collect(),
    };
    clocks.sort_unstable();
    let text = match (objective == Objective::Energy, clocks.is_empty()) {
        (true, _) if own.is_none() => {
            "--objective energy needs a platform, whose core's clock is known: name one with --on"
        }
        (true, true) => {
            "--objective energy chooses a clock, and the platform's file names none for the calling \
             core: name some with --clocks 99MHz,297MHz"
        }
        (false, false) => "--clocks says something to --objective energy only: leave it out",
        _ => return Ok(clocks),
    };
    Err(Failure::new(Kind::Usage, text))
}

/// What flows are planned for, with the budgets of the command line. Where that names no memory,
/// the budget is the workload's, or what is there if that is less.
fn budgeted(args: &Tune, workload: &Workload, measured: &Measured) -> Result<Machine, Failure> {
    let there = measured.machine()?.memory;
    let memory = args.memory.or(workload.memory.map(|memory| memory.min(there)));
    measured.within(memory, args.dsps, (args.load * PERCENT) as u64)
}

/// The lowest of the clocks at which there is a plan.
fn lowest(
    args: &Tune,
    workload: &Workload,
    core: &Core,
    clocks: &[u64],
    measured: &Measured,
    subjects: &[Subject],
) -> Result<(Option<u64>, Machine), Failure> {
    let mut last = None;
    for clock in clocks {
        let machine =
            budgeted(args, workload, &measured.slower(core.clock.0 as f64 / *clock as f64))?;
        let planned = Planner::new(&machine, subjects, Least::Load).and_then(|all| all.plan());
        match planned {
            Ok(_) => return Ok((Some(*clock), machine)),
            Err(why) => last = Some(why),
        }
    }
    let why = last.map(|why| refused(subjects, &why).to_string()).unwrap_or_default();
    let text = format!("no clock is enough; at the highest, {why}");
    Err(Failure::new(Kind::Workload, text))
}

/// Within what part of the simulated load that of a plan is, 95 times of 100.
fn off(chip: &Chip, plan: &Plan) -> Option<f64> {
    // Nothing was compared with a callee that is told in a way of its own.
    if plan.given.iter().any(|one| one.way.strategy.callee.is_some()) {
        return None;
    }
    let mut kinds = plan.given.iter().map(|one| kind(&one.way.strategy));
    let first = kinds.next()?;
    let name = if kinds.all(|kind| kind == first) { first } else { "mixed" };
    let within = chip.model.iter().find(|within| within.notification == name)?;
    Some(f64::from(within.load) / 100.0)
}

fn row(
    args: &Tune,
    workload: &Workload,
    planner: &Planner<'_>,
    plan: &Plan,
    clock: Option<u64>,
    off: Option<f64>,
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
        flows: (0..plan.given.len()).map(|flow| flow_row(planner, plan, flow, off)).collect(),
        load_percent: percent(plan.load()),
        load_together_percent: planner
            .load_together(plan, Phases::Random)
            .map(|ppm| percent(ppm.into())),
        load_budget_percent: args.load,
        memory_bytes: (0..machine.dsps).map(|dsp| plan.memory(dsp)).collect(),
        memory_budget_bytes: machine.memory,
        r#static: alike(planner),
        binds: binds(planner, plan),
        front: points.collect(),
        nodes: plan.found.nodes,
        gap_percent: plan.found.gap() as f64 / PERCENT,
        load_within_percent: off.map(|off| 100.0 * off),
    }
}

fn flow_row(planner: &Planner<'_>, plan: &Plan, flow: usize, off: Option<f64>) -> FlowRow {
    let subject = &planner.subjects[flow];
    let given = &plan.given[flow];
    let estimate = &given.way.estimate;
    let ms = |picos: u64| picos as f64 / MS;
    let percent = |ppm: u32| f64::from(ppm) / PERCENT;
    FlowRow {
        name: subject.name.clone(),
        strategy: given.way.strategy.to_string(),
        dsp: given.dsp,
        load_percent: percent(given.way.taken()),
        calls_per_second: (!given.way.paced).then(|| 1e12 / estimate.period.max(1) as f64),
        work_percent: if given.way.callee_spins() { 100.0 } else { percent(estimate.work) },
        memory_bytes: estimate.memory,
        latency_bound_ms: ms(given.bound()),
        latency_source_ms: ms(estimate.latency.source),
        latency_aligned_ms: ms(estimate.latency.aligned),
        latency_p99_ms: planner.queued(plan, flow, Phases::Random).map(|queued| ms(queued.at(99))),
        deadline_ms: subject.flow.deadline.map(|time| ms(picos(time))),
        next: planner.next(plan, flow).map(|way| {
            let [has, would] = [given.way, way].map(|one| one.taken());
            NextRow {
                strategy: way.strategy.to_string(),
                load_percent: percent(would),
                memory_bytes: way.estimate.memory,
                latency_bound_ms: ms(way.estimate.latency.bound.saturating_add(given.beside)),
                equal: off.map(|off| has.abs_diff(would) as f64 <= off * f64::from(has.min(would))),
            }
        }),
    }
}

/// The best plan that gives all flows of a kind the same strategy; for one core to call.
fn alike(planner: &Planner<'_>) -> Option<StaticRow> {
    if planner.machine.dsps > 1 {
        return None;
    }
    let limits = Limits { memory: planner.machine.memory, alike: true, ..Limits::default() };
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
        Least::Latency => plan.given.iter().map(Given::bound).sum(),
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
    if !planner.machine.classes.is_empty() {
        let many = Machine { classes: Vec::new(), ..planner.machine.clone() };
        let made = Planner::new(&many, planner.subjects, planner.least);
        consider("blocks", None, made.and_then(|planner| planner.plan()));
    }
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
