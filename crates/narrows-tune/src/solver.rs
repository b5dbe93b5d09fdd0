//! The same problem by HiGHS: a solver to check [`optimise`](crate::optimise) against, and for what
//! is too large for it at design time. It allocates and takes milliseconds.

use std::vec;
use std::vec::Vec;

use highs::{Col, HighsModelStatus, RowProblem, Sense};

use crate::optimise::{Choice, Delay, Pick, Problem, Timing};

/// The least cost and picks that have it; none if nothing fits, or HiGHS gives up.
///
/// The program is x(flow, choice, DSP, way) in {0, 1}: one for each flow, memory, time and blocks
/// of each DSP, and the load of the calling core. Flows of a group are one integer variable for
/// each of the rest, as they are alike. With deadlines y(DSP, way) says how a DSP waits, and
/// z(group, choice, DSP, way) whether any flow of a group has that: then what all flows delay its
/// DSP by is no more than it bears, and itself.
///
/// Ways have to be in order, a DSP waiting in the first that any of its flows names; and no flow
/// may fall behind for a while, which is no linear constraint: none for other problems.
pub fn solve(problem: &Problem<'_>) -> Option<(u64, Vec<Pick>)> {
    let deadlines = &problem.deadlines;
    let ways = deadlines.ways.max(1) as u16;
    let pairs = (0..deadlines.ways as u16)
        .flat_map(|one| (0..deadlines.ways as u16).map(move |other| one.min(other)));
    if !pairs.eq(deadlines.joined.iter().copied())
        || deadlines.timings.iter().any(|one| one.slack.behind.is_some())
    {
        return None;
    }
    let mut program = RowProblem::default();
    let mut all: Vec<Column<'_>> = Vec::new();
    for (at, group) in problem.groups.iter().enumerate() {
        let from = group.first as usize;
        let choices = problem.choices.get(from..from + usize::from(group.choices))?;
        let most = f64::from(group.flows);
        let mut columns = Vec::new();
        for (number, choice) in choices.iter().enumerate() {
            let own = deadlines.own.get(from + number).copied().unwrap_or(0);
            for dsp in 0..problem.dsps.len() {
                if group.dsp.is_some_and(|served| usize::from(served) != dsp) {
                    continue;
                }
                for way in 0..ways.min(own + 1) {
                    let column = program.add_integer_column(f64::from(choice.cost), 0.0..=most);
                    let pick = Pick { choice: number as u16, dsp: dsp as u8 };
                    let (group, at) = (at, from + number);
                    columns.push(Column { column, choice, group, at, pick, own, way, most });
                }
            }
        }
        program.add_row(most..=most, columns.iter().map(|one| (one.column, 1.0)));
        all.extend(columns);
    }
    let on = |dsp: usize, of: &dyn Fn(&Column<'_>) -> u32| {
        all.iter()
            .filter(|one| usize::from(one.pick.dsp) == dsp)
            .map(|one| (one.column, f64::from(of(one))))
            .collect::<Vec<_>>()
    };
    let kinds = problem.blocks.there.len();
    for (number, dsp) in problem.dsps.iter().enumerate() {
        program.add_row(..=f64::from(dsp.memory), on(number, &|one| one.choice.memory));
        program.add_row(..=f64::from(dsp.work), on(number, &|one| one.choice.work));
        for (kind, there) in problem.blocks.there.iter().enumerate() {
            let needs = |one: &Column<'_>| problem.blocks.needs[one.at * kinds + kind];
            program.add_row(..=f64::from(*there), on(number, &needs));
        }
    }
    if problem.load < u64::MAX {
        let loads = all.iter().map(|one| (one.column, f64::from(one.choice.load)));
        program.add_row(..=problem.load as f64, loads.collect::<Vec<_>>());
    }
    if deadlines.ways > 0 {
        wait(problem, &mut program, &all);
        bear(problem, &mut program, &all);
    }
    let mut model = program.optimise(Sense::Minimise);
    model.make_quiet();
    // Equal means equal: no gap is good enough.
    model.set_option("mip_rel_gap", 0.0);
    model.set_option("mip_abs_gap", 0.5);
    model.set_option("threads", 1);
    let solved = model.solve();
    if solved.status() != HighsModelStatus::Optimal {
        return None;
    }
    let values = solved.get_solution();
    let counts = values.columns().iter().map(|value| value.round() as usize);
    let (mut cost, mut picks) = (0, Vec::new());
    for (one, count) in all.iter().zip(counts) {
        cost += u64::from(one.choice.cost) * count as u64;
        picks.extend(vec![one.pick; count]);
    }
    Some((cost, picks))
}

/// How many flows of a group have a choice on a DSP that waits so.
struct Column<'p> {
    column: Col,
    choice: &'p Choice,
    group: usize,
    /// Its number in [`Problem::choices`].
    at: usize,
    pick: Pick,
    /// The way in which a DSP waits for it alone.
    own: u16,
    way: u16,
    most: f64,
}

/// A DSP with flows waits in one way, which one of them names.
fn wait(problem: &Problem<'_>, program: &mut RowProblem, all: &[Column<'_>]) {
    for dsp in 0..problem.dsps.len() {
        let mut ways = Vec::new();
        for way in 0..problem.deadlines.ways as u16 {
            let y = program.add_integer_column(0.0, 0.0..=1.0);
            let here = all.iter().filter(|one| usize::from(one.pick.dsp) == dsp && one.way == way);
            for one in here.clone() {
                program.add_row(..=0.0, [(one.column, 1.0), (y, -one.most)]);
            }
            let named = here.filter(|one| one.own == way).map(|one| (one.column, -1.0));
            program.add_row(..=0.0, named.chain([(y, 1.0)]).collect::<Vec<_>>());
            ways.push((y, 1.0));
        }
        program.add_row(..=1.0, ways);
    }
}

/// Nobody is delayed by more than it bears.
fn bear(problem: &Problem<'_>, program: &mut RowProblem, all: &[Column<'_>]) {
    let timing = |one: &Column<'_>| problem.deadlines.of(one.at, one.way);
    let figures: [fn(&Delay) -> u64; 2] = [|delay| delay.most, |delay| delay.lasting];
    for one in all {
        let Timing { here, slack, .. } = timing(one);
        let z = program.add_integer_column(0.0, 0.0..=1.0);
        program.add_row(..=0.0, [(one.column, 1.0), (z, -one.most)]);
        let room = [
            slack.deadline.saturating_sub(slack.bound).saturating_sub(slack.beside.most),
            slack.pace.saturating_sub(slack.alone).saturating_sub(slack.beside.lasting),
        ];
        // What takes too long alone has no room, not even for what it delays itself by.
        let alone = slack.worst(Delay::default()).is_some_and(|worst| worst <= slack.deadline);
        if !alone {
            program.add_row(..=0.0, [(one.column, 1.0)]);
            continue;
        }
        for (figure, room) in figures.into_iter().zip(room) {
            let delay = |other: &Column<'_>| {
                let Timing { here, elsewhere, .. } = timing(other);
                figure(if other.pick.dsp == one.pick.dsp { &here } else { &elsewhere })
            };
            let mut each = vec![0.0_f64; problem.groups.len()];
            for other in all {
                let sum = &mut each[other.group];
                *sum = sum.max(delay(other) as f64 * other.most);
            }
            let most: f64 = each.iter().sum();
            let room = room as f64 + figure(&here) as f64;
            if room >= most {
                continue;
            }
            let row = all.iter().map(|other| (other.column, delay(other) as f64));
            // Up to all of it if no flow has this, or else up to what it bears.
            let row = row.chain([(z, most - room)]);
            program.add_row(..=most, row.collect::<Vec<_>>());
        }
    }
}
