//! Published figures beside ours: `narrows papers`.
//!
//! [`figures`] reads what was published. A room for each chip that a paper measured, such as
//! [`s0`], has the experiments: each runs the stack's own code in the simulator on that chip's
//! platform file and says what came of it. [`mod@row`] puts both side by side, [`text`] on a
//! screen. [`pair`] is what most experiments are made of.

pub mod figures;
pub mod flags;
mod page;
pub mod pair;
pub mod row;
pub mod s0;
pub mod s4;
#[cfg(test)]
mod tests;
pub mod text;

use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::base::output;
use crate::base::page::PageOut;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::rig::sim;
use figures::Experiment;
use flags::Papers;
use row::Row;

/// `narrows papers`.
///
/// # Errors
/// [`Kind::Internal`] for an experiment that the simulator cannot carry out, [`Kind::Output`] for a
/// result that cannot be written.
pub fn run(global: &Global, args: &Papers) -> Result<(), Failure> {
    let page = PageOut::new(&args.page)?;
    let wanted = |experiment: &Experiment| {
        let named = |source: &flags::Source| source.name() == experiment.source();
        args.source.is_empty() || args.source.iter().any(named)
    };
    let mut experiments = figures::published()?;
    experiments.retain(wanted);
    let progress = Progress::new(experiments.len() as u64, global.json);
    let mut results = Vec::new();
    for (done, experiment) in experiments.iter().enumerate() {
        progress.reach(done as u64);
        progress.say(&experiment.id);
        results.push((experiment, measure(experiment)?));
    }
    // Of what the source describes and has no figures of.
    let notes = match experiments.iter().any(|one| one.id == s0::TWO_DSPS_BESIDE) {
        true => vec![s0::two_dsps(&s0::chip()?)?],
        false => Vec::new(),
    };
    drop(progress);
    let only_s4 = args.source.iter().all(|one| one.name() == "S4") && !args.source.is_empty();
    let machine = sim::machine(&if only_s4 { s4::chip()? } else { s0::chip()? });
    if global.json {
        let rows = results.iter().flat_map(|(_, rows)| rows.clone()).collect();
        let mut report = Report::new("papers", machine.clone(), rows);
        report.notes.clone_from(&notes);
        report.print()?;
    } else {
        output::print(text::text(&results, &notes).as_bytes())?;
    }
    page.write(|| page::page(&machine, &results, &notes))
}

/// Carries out an experiment. The rows of its figures.
///
/// # Errors
/// [`Kind::Internal`] if the simulator cannot, or there is no such experiment.
pub fn measure(experiment: &Experiment) -> Result<Vec<Row>, Failure> {
    let defect = |what: &str| {
        let text = format!("{what} for {}: report this defect", experiment.id);
        Failure::new(Kind::Internal, text)
    };
    let known = s0::EXPERIMENTS.iter().chain(&s4::EXPERIMENTS).find(|(id, _)| *id == experiment.id);
    let (_, run) = known.ok_or_else(|| defect("there is no experiment"))?;
    let chip = if experiment.source() == "S4" { s4::chip() } else { s0::chip() };
    let found = run(&chip?)?;
    if !experiment.figures.iter().all(|figure| found.contains_key(&figure.key)) {
        return Err(defect("a figure is missing"));
    }
    Ok(row::rows(experiment, &found))
}
