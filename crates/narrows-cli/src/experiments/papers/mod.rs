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
pub mod s2;
pub mod s3;
pub mod s4;
#[cfg(test)]
mod tests;
pub mod text;
pub mod ti;

use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::base::output;
use crate::base::page::PageOut;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::rig::sim;
use figures::Experiment;
use flags::Papers;
use narrows_sim::chip::Chip;
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
    let has = |id| experiments.iter().any(|one| one.id == id);
    let mut notes = Vec::new();
    if has(s0::READINGS_BESIDE) {
        notes.extend(s0::notes(&s0::chip()?)?);
    }
    if has(s0::GATEWAY_BESIDE) {
        notes.extend(s0::gateway_notes(&s0::chip()?)?);
    }
    if has(s2::GAINS_BESIDE) {
        notes.extend(s2::notes(&s2::chip()?)?);
    }
    drop(progress);
    let first = experiments.first().map_or("S0", |one| one.source());
    let alone = experiments.iter().all(|one| one.source() == first);
    let machine = sim::machine(&chip_of(if alone { first } else { "S0" })?);
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
    let (_, run) = known()
        .find(|(id, _)| *id == experiment.id)
        .ok_or_else(|| defect("there is no experiment"))?;
    let found = run(&chip_of(experiment.source())?)?;
    let figures = experiment.figures.iter().map(|figure| &figure.key);
    let mut wanted = figures.chain(experiment.orders.iter().flat_map(|order| &order.of));
    if !wanted.all(|key| found.contains_key(key)) {
        return Err(defect("a figure is missing"));
    }
    Ok(row::rows(experiment, &found))
}

/// All experiments, by their names, in the order of the sources.
fn known() -> impl Iterator<Item = (&'static str, s0::Run)> {
    let first = s0::EXPERIMENTS.into_iter().chain(s2::EXPERIMENTS);
    first.chain(s3::EXPERIMENTS).chain(s4::EXPERIMENTS).chain(ti::EXPERIMENTS)
}

/// The chip that most of a source's figures are of.
fn chip_of(source: &str) -> Result<Chip, Failure> {
    match source {
        "S2" => s2::chip(),
        "S3" => s3::chip(),
        "S4" => s4::chip(),
        "TI" => ti::chip(),
        _ => s0::chip(),
    }
}
