//! `narrows advise` of a file of tasks: which belong on one processor of a board whose processors
//! share no memory, and what that saves.

use serde::Serialize;

use super::flags::Advise;
use super::print;
use crate::base::failure::{Failure, Kind};
use crate::base::options::{Global, HOST};
use crate::base::page::PageOut;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::table::{Align, Table, wrap};
use crate::experiments::cluster::{self, Advice, Placement};
use crate::formats::platform;
use crate::formats::tasks::Graph;
use crate::rig::sim;
use narrows_sim::chip::Chip;

/// A placement of all tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// `clustered`, which is advised, or `spread`: the tasks in turn, one for each processor.
    pub placement: &'static str,
    /// How DMA is driven.
    pub mode: &'static str,
    /// The processors, in the order of the platform's file.
    pub processors: Vec<Processor>,
    /// For which share of a processor messages were reckoned to hold all processors together.
    pub messages_percent: f64,
    /// The same in the simulator; none if a processor would have more to do than it may.
    pub simulated_messages_percent: Option<f64>,
    /// By how much more of that came out than was predicted, in percent of it.
    pub error_percent: Option<f64>,
}

/// A processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Processor {
    /// Its name.
    pub processor: String,
    /// Its tasks.
    pub tasks: Vec<String>,
    /// How busy it was reckoned to be, messages included.
    pub busy_percent: f64,
    /// How busy it is in the simulator.
    pub simulated_busy_percent: Option<f64>,
}

/// Whether everything that was asked for means something for tasks.
fn sensible(global: &Global, args: &Advise) -> Result<(), Failure> {
    if let Some(flag) = args.of_strategies(global) {
        let text = format!("{flag} is for workloads of flows: leave it out for one of tasks");
        return Err(Failure::new(Kind::Usage, text));
    }
    if args.on == HOST {
        let text = "a workload of tasks is placed on a board whose processors have ports: name one \
                    with --on, such as quatro67";
        return Err(Failure::new(Kind::Usage, text));
    }
    Ok(())
}

/// Places the tasks, tries that, and says so.
///
/// # Errors
/// The board has no ports, or no placement is possible.
pub(super) fn run(
    global: &Global,
    args: &Advise,
    page: &PageOut,
    graph: &Graph,
) -> Result<(), Failure> {
    sensible(global, args)?;
    let chip = platform::load_any(&args.on)?;
    if chip.ports.ports.is_empty() {
        let text = format!(
            "--on {}: it has no ports, and tasks are placed on processors with ports: name \
             quatro67 or pci44",
            args.on
        );
        return Err(Failure::new(Kind::Usage, text));
    }
    let progress = Progress::new(0, global.json);
    progress.say("simulating");
    let advice = cluster::advise(&chip, graph, args.load / 100.0)?;
    drop(progress);
    let Advice { clustered, spread } = &advice;
    let rows = vec![row(&chip, graph, "clustered", clustered), row(&chip, graph, "spread", spread)];
    let mut report = Report::new("advise", sim::machine(&chip), rows);
    report.notes = said(&report.results);
    print(global, page, &graph.name, &report, text)
}

fn row(chip: &Chip, graph: &Graph, name: &'static str, of: &Placement) -> Row {
    let Placement { at, mode, predicted, simulated } = of;
    let names = |processor: usize| {
        let there = graph.tasks.iter().zip(at).filter(|(_, core)| **core == processor);
        there.map(|(task, _)| task.name.clone()).collect()
    };
    let processors = chip.cores.iter().enumerate().map(|(processor, core)| Processor {
        processor: core.name.clone(),
        tasks: names(processor),
        busy_percent: predicted.busy[processor] * 100.0,
        simulated_busy_percent: simulated.as_ref().map(|sum| sum.busy[processor] * 100.0),
    });
    let messages = simulated.as_ref().map(|sum| sum.messages);
    let error = messages.filter(|_| predicted.messages > 0.0);
    Row {
        placement: name,
        mode: mode.name(),
        processors: processors.collect(),
        messages_percent: predicted.messages * 100.0,
        simulated_messages_percent: messages.map(|share| share * 100.0),
        error_percent: error.map(|share| (share / predicted.messages - 1.0) * 100.0),
    }
}

/// What it saves, in sentences.
fn said(rows: &[Row]) -> Vec<String> {
    let [clustered, spread] = rows else { return Vec::new() };
    let together: Vec<String> = clustered
        .processors
        .iter()
        .filter(|one| !one.tasks.is_empty())
        .map(|one| format!("{} on {}", one.tasks.join(", "), one.processor))
        .collect();
    let mut said = vec![format!("Best: {}.", together.join("; "))];
    let predicted = spread.messages_percent - clustered.messages_percent;
    said.push(format!(
        "Messages then hold processors for {:.2} % of one, by what each costs; for {:.2} % if the \
         tasks are spread in turn.",
        clustered.messages_percent, spread.messages_percent
    ));
    said.push(match (clustered.simulated_messages_percent, spread.simulated_messages_percent) {
        (Some(clustered), Some(spread)) => format!(
            "That saves {predicted:.2} % of a processor; in the simulator it is {:.2} ({clustered:.2} \
             in place of {spread:.2}).",
            spread - clustered
        ),
        (Some(clustered), None) => format!(
            "In the simulator it is {clustered:.2} %. In turn the tasks would be more than a \
             processor may carry, so that was not simulated."
        ),
        _ => "It was not simulated.".to_owned(),
    });
    said
}

fn text(report: &Report<Row>) -> String {
    let mut table = Table::new(&[
        ("placement", Align::Left),
        ("processor", Align::Left),
        ("busy %", Align::Right),
        ("simulated", Align::Right),
        ("tasks", Align::Left),
    ]);
    let percent = |share: Option<f64>| share.map_or_else(|| "-".into(), |it| format!("{it:.2}"));
    for row in &report.results {
        for (at, one) in row.processors.iter().enumerate() {
            table.row(vec![
                if at == 0 { row.placement.to_owned() } else { String::new() },
                one.processor.clone(),
                percent(Some(one.busy_percent)),
                percent(one.simulated_busy_percent),
                one.tasks.join(", "),
            ]);
        }
        table.row(vec![
            String::new(),
            "messages".into(),
            percent(Some(row.messages_percent)),
            percent(row.simulated_messages_percent),
            format!("({}, all processors)", row.mode),
        ]);
    }
    let notes: String = report.notes.iter().map(|note| wrap("", note)).collect();
    format!("{}\n{notes}", table.render())
}
