//! `bench susan`: smoothing, edges and corners of an image that is cut among CPUs: on a chip of
//! clusters by both mechanisms, as S3 did it (section V.A), and between processes of this machine.

mod chip;
pub mod file;
pub mod flags;
mod host;
mod job;
mod plan;

use narrows_sim::chip::Chip;
use serde::Serialize;

use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine, Root};
use crate::base::output;
use crate::base::page::Page;
use crate::base::report::Report;
use crate::base::table::{Align, Table, counted, wrap};
use crate::base::usage::Monitor;
use crate::experiments::bench::clusters;
use crate::experiments::bench::task::Asked;
use crate::formats::picture::{self, Picture};
use crate::formats::platform;
use crate::rig::cluster::Mechanism;
use crate::rig::sim;
use flags::Susan;
use job::Job;

/// What was measured with the image cut among `cpus` CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// How rows are moved.
    pub mechanism: &'static str,
    /// CPUs.
    pub cpus: u16,
    /// Cycles of a CPU until all rows have gone there and back, if pixels take no time. `None`
    /// where cycles are not known.
    pub communication_cycles: Option<u64>,
    /// Cycles of a CPU until all results are with the first.
    pub execution_cycles: Option<u64>,
    /// Communication as a time.
    pub communication_us: f64,
    /// Execution as a time.
    pub execution_us: f64,
    /// Packets: rows there and rows of results back.
    pub packets: u64,
    /// All bytes on the network. `None` where there is none.
    pub network_bytes: Option<u64>,
}

/// Measures one row. What was found comes with it.
///
/// # Errors
/// The chip has no clusters, fewer CPUs than `cpus` or no room, or rows cannot be moved.
fn row(
    (chip, monitor): (&Chip, Option<&Monitor>),
    mechanism: Mechanism,
    job: &Job,
    cpus: u16,
) -> Result<(Row, Vec<Picture>), Failure> {
    let count = usize::from(cpus);
    let alone = chip::run((chip, monitor), mechanism, job, (count, false))?;
    let whole = chip::run((chip, monitor), mechanism, job, (count, true))?;
    // All cores of a cluster's software are alike in what is shipped; times are in the first's.
    let clock = chip.cores.first().map(|core| core.clock);
    let cycles = |time| clock.map(|clock| clock.count(time));
    let row = Row {
        mechanism: mechanism.name(),
        cpus,
        communication_cycles: cycles(alone.time),
        execution_cycles: cycles(whole.time),
        communication_us: alone.time.micros(),
        execution_us: whole.time.micros(),
        packets: whole.packets,
        network_bytes: Some(whole.network),
    };
    Ok((row, whole.planes))
}

/// How much less of one measure the buffer manager takes than the DMA, in percent: the average over
/// all numbers of CPUs above one. `None` if there is no such number.
fn less(rows: &[Row], measure: impl Fn(&Row) -> f64) -> Option<f64> {
    let of = |mechanism: Mechanism, cpus: u16| {
        rows.iter().find(|row| row.mechanism == mechanism.name() && row.cpus == cpus)
    };
    let mut all = Vec::new();
    for bmm in rows.iter().filter(|row| row.mechanism == Mechanism::Bmm.name() && row.cpus > 1) {
        all.push((1.0 - measure(bmm) / measure(of(Mechanism::Dma, bmm.cpus)?)) * 100.0);
    }
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// How much less time communication takes by the buffer manager, of the usual image with all
/// results, in percent: the average of 2 to all CPUs of a chip.
///
/// # Errors
/// A row cannot be measured.
pub fn reduction(chip: &Chip) -> Result<f64, Failure> {
    let job = Job::of(&Susan::default())?;
    let most = chip.clusters.as_ref().map_or(0, |clusters| plan::cpus(clusters).len());
    let mut rows = Vec::new();
    for cpus in 2..=u16::try_from(most).unwrap_or(u16::MAX) {
        for mechanism in Mechanism::ALL {
            rows.push(row((chip, None), mechanism, &job, cpus)?.0);
        }
    }
    let none = || Failure::new(Kind::Workload, format!("{}: it has no two CPUs", chip.name));
    less(&rows, |row| row.communication_us).ok_or_else(none)
}

/// Results as they come.
struct Results {
    rows: Vec<Row>,
    /// What was found, which is the same each time.
    planes: Option<Vec<Picture>>,
}

impl Results {
    fn new() -> Results {
        Results { rows: Vec::new(), planes: None }
    }

    /// # Errors
    /// [`Kind::Internal`]: something else was found than before.
    fn add(&mut self, row: Row, planes: Vec<Picture>) -> Result<(), Failure> {
        if self.planes.as_ref().is_some_and(|before| *before != planes) {
            let text = format!(
                "{} CPUs by {} find something else than before: report this defect",
                row.cpus, row.mechanism
            );
            return Err(Failure::new(Kind::Internal, text));
        }
        self.planes = Some(planes);
        self.rows.push(row);
        Ok(())
    }
}

/// Measures and prints.
///
/// # Errors
/// What is asked for cannot be, the image cannot be read or is too large, or as [`row`].
pub(super) fn run(asked: &Asked<'_>, args: &Susan) -> Result<(), Failure> {
    measure(asked, args, "bench susan")
}

/// Does so for a command of this name.
fn measure(asked: &Asked<'_>, args: &Susan, command: &str) -> Result<(), Failure> {
    let global = asked.global;
    if let Some(out) = &args.out {
        picture::kind(out)?;
        output::probe_file(out)?;
    }
    let job = Job::of(args)?;
    let (machine, results, notes) = match args.place.platform() {
        Some(name) => {
            let chip = platform::load_any(name)?;
            let results = on_chip(asked, args, &job, &chip)?;
            let notes = compared(&results.rows);
            (sim::machine(&chip), results, notes)
        }
        None => {
            let counts = args.counts(host::usual());
            let results = host::run(global, &job, &counts)?;
            let notes = host::notes(&results.rows);
            (Machine::look(&Root::default()), results, notes)
        }
    };
    if let (Some(out), Some(planes)) = (&args.out, &results.planes) {
        picture::write(out, &job.shown(planes))?;
    }
    let mut report = Report::new(command, machine, results.rows);
    report.notes = notes;
    asked.print(&report, || text(&job, &report))?;
    asked.page.write(|| Page::of(&report))
}

fn on_chip(asked: &Asked<'_>, args: &Susan, job: &Job, chip: &Chip) -> Result<Results, Failure> {
    let Some(clusters) = &chip.clusters else {
        let text = format!("--on {}: it has no clusters: name bmm-clusters, or host", chip.name);
        return Err(Failure::new(Kind::Usage, text));
    };
    let most = u16::try_from(plan::cpus(clusters).len()).unwrap_or(u16::MAX);
    let usual = [1, 2, 4, 8, 16].into_iter().filter(|count| *count <= most).collect();
    let counts = args.counts(usual);
    // Said before minutes are spent on those that are there.
    if let Some(count) = counts.iter().find(|count| **count > most) {
        let larger = match count {
            ..=16 => ": name bmm-clusters-16, which has 16",
            _ => "",
        };
        let text = format!("--cpus {count}: {} has {most}{larger}", chip.name);
        return Err(Failure::new(Kind::Usage, text));
    }
    let mut results = Results::new();
    for (row, planes) in clusters::rows(asked, &counts, |one, cpus| {
        let of = counted(cpus.into(), "CPU", "CPUs");
        asked.global.monitor.of(format!("{}, {of}", one.name()));
        row((chip, asked.monitor()), one, job, cpus)
    })? {
        results.add(row, planes)?;
    }
    Ok(results)
}

/// What the mechanisms are beside each other.
fn compared(rows: &[Row]) -> Vec<String> {
    let said = |what: &str, less: Option<f64>| {
        less.map(|less| format!("{what} takes {less:.1} % less time"))
    };
    let communication = said("communication", less(rows, |row| row.communication_us));
    let execution = said("execution", less(rows, |row| row.execution_us));
    let less: Vec<String> = communication.into_iter().chain(execution).collect();
    if less.is_empty() {
        return Vec::new();
    }
    let less = less.join(" and ");
    vec![format!("by the buffer manager {less}, on average of all numbers of CPUs above 1")]
}

fn text(job: &Job, report: &Report<Row>) -> String {
    let mut table = Table::new(&[
        ("mechanism", Align::Left),
        ("CPUs", Align::Right),
        ("communication", Align::Right),
        ("execution", Align::Right),
        ("packets", Align::Right),
    ]);
    let shown = |cycles: Option<u64>, time: f64| {
        cycles.map_or_else(|| format!("{time:.0} µs"), |cycles| cycles.to_string())
    };
    for row in &report.results {
        table.row(vec![
            row.mechanism.to_owned(),
            row.cpus.to_string(),
            shown(row.communication_cycles, row.communication_us),
            shown(row.execution_cycles, row.execution_us),
            row.packets.to_string(),
        ]);
    }
    let heading = report.machine.elsewhere().map(|on| on + "\n\n").unwrap_or_default();
    let finds: Vec<&str> = job.finds.iter().map(|find| find.name()).collect();
    let unit = match report.machine.r#virtual {
        true => " Cycles; what a pixel takes is counted from the algorithm and assumed.",
        false => "",
    };
    let legend = format!(
        "{} of {} by {} pixels, cut among CPUs. Execution: from the first packet until the first \
         CPU has all results. Communication: the same if pixels took no time.{unit}",
        finds.join(", "),
        job.image.width,
        job.image.height
    );
    let notes: String = report.notes.iter().map(|note| wrap("", note)).collect();
    format!("{heading}{}\n{}{notes}", table.render(), wrap("", &legend))
}

#[cfg(test)]
mod tests;
