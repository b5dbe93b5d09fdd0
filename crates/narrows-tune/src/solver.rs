//! The same problem by HiGHS: a solver to check [`optimise`](crate::optimise) against, and for what
//! is too large for it at design time. It allocates and takes milliseconds.

use std::vec;
use std::vec::Vec;

use highs::{HighsModelStatus, RowProblem, Sense};

use crate::optimise::{Choice, Pick, Problem};

/// The least cost and picks that have it; none if nothing fits, or HiGHS gives up.
///
/// The program is x(flow, choice, DSP) in {0, 1}: one for each flow, memory and time of each DSP,
/// and the load of the calling core. Flows of a group are one integer variable for each choice and
/// DSP, as they are alike.
pub fn solve(problem: &Problem<'_>) -> Option<(u64, Vec<Pick>)> {
    let mut program = RowProblem::default();
    let mut all = Vec::new();
    for group in problem.groups {
        let from = group.first as usize;
        let choices = problem.choices.get(from..from + usize::from(group.choices))?;
        let most = f64::from(group.flows);
        let mut columns = Vec::new();
        for (number, choice) in choices.iter().enumerate() {
            for dsp in 0..problem.dsps.len() {
                let column = program.add_integer_column(f64::from(choice.cost), 0.0..=most);
                columns.push((column, choice, Pick { choice: number as u16, dsp: dsp as u8 }));
            }
        }
        program.add_row(most..=most, columns.iter().map(|(column, ..)| (*column, 1.0)));
        all.extend(columns);
    }
    let on = |dsp: usize, of: &dyn Fn(&Choice) -> u32| {
        all.iter()
            .filter(|(.., pick)| usize::from(pick.dsp) == dsp)
            .map(|(column, choice, _)| (*column, f64::from(of(choice))))
            .collect::<Vec<_>>()
    };
    for (number, dsp) in problem.dsps.iter().enumerate() {
        program.add_row(..=f64::from(dsp.memory), on(number, &|choice| choice.memory));
        program.add_row(..=f64::from(dsp.work), on(number, &|choice| choice.work));
    }
    if problem.load < u64::MAX {
        let loads = all.iter().map(|(column, choice, _)| (*column, f64::from(choice.load)));
        program.add_row(..=problem.load as f64, loads.collect::<Vec<_>>());
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
    let mut counts = values.columns().iter().map(|value| value.round() as usize);
    let (mut cost, mut picks) = (0, Vec::new());
    let mut left = all.iter();
    for group in problem.groups {
        let ways = usize::from(group.choices) * problem.dsps.len();
        for (_, choice, pick) in left.by_ref().take(ways) {
            let count = counts.next()?;
            cost += u64::from(choice.cost) * count as u64;
            picks.extend(vec![*pick; count]);
        }
    }
    Some((cost, picks))
}
