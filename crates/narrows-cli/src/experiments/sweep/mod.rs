//! `narrows sweep`: a grid of chips, strategies and traffic, or of packets between clusters,
//! simulated point by point on all cores of this machine.
//!
//! Each point is built and run inside one thread, and depends on nothing but its place in the grid.
//! So the rows are the same, whatever the number of threads and however often the sweep was
//! interrupted.

mod file;
mod fingerprint;
pub mod flags;
mod grid;
mod journal;
mod packets;
mod page;
mod point;
mod rows;
mod set;
#[cfg(test)]
mod tests;
mod text;

use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine, Root};
use crate::base::options::Global;
use crate::base::output;
use crate::base::page::PageOut;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::signals::catch_signals;
use crate::base::threads;
use crate::experiments::bench::clusters::ends::Ends;
use crate::rig::sim;
use file::{Carried, Sweep};
use flags::Sweep as Args;
use grid::{Grid, What};
use journal::Journal;
use rows::{Columns, Row};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Goes through a sweep and prints what came of it.
///
/// # Errors
/// The sweep is not possible, its rows cannot be written, a point failed, or the user stopped it.
/// What was simulated until then is in the file.
pub fn run(global: &Global, args: &Args) -> Result<(), Failure> {
    let page = PageOut::new(&args.page)?;
    let sweep = file::read(&args.sweep)?;
    let grid = Grid::new(&sweep, |chip| match sweep.carried {
        Carried::Links { .. } => sim::cores(global, chip).map(|_| ()),
        Carried::Packets { .. } => Ends::asked(global, chip).map(|_| ()),
    })?;
    let path = args.out.clone().unwrap_or_else(|| usual_file(&args.sweep));
    let columns = Columns::new(&sweep, fingerprint(global, &sweep));
    let mut journal = Journal::open(&path, columns, &grid)?;
    let kept = journal.points.len();
    let stop = catch_signals()?;
    let threads = args.threads.map_or_else(threads::cores, NonZero::get);
    let failed = simulate(global, &grid, &mut journal, threads, &stop)?;
    journal.close(args.json_lines.as_deref())?;
    let ended = ended(&grid, &journal, failed);
    if global.json {
        let rows: Vec<_> = journal.rows().map(|row| journal.columns.named(row)).collect();
        let machine = Machine::look(&Root::default());
        let mut report = Report::new("sweep", machine, rows);
        report.notes.extend(ended.as_ref().err().map(ToString::to_string));
        report.print()?;
    } else {
        let files = [Some(path.as_path()), args.json_lines.as_deref()];
        let files: Vec<&Path> = files.into_iter().flatten().collect();
        output::print(text::text(&grid, &journal, kept, &files).as_bytes())?;
    }
    page.write(|| page::page(&grid, &journal, ended.as_ref().err()))?;
    ended
}

fn usual_file(sweep: &Path) -> PathBuf {
    Path::new(sweep.file_stem().unwrap_or(sweep.as_os_str())).with_extension("csv")
}

/// Of all that the rows depend on.
fn fingerprint(global: &Global, sweep: &Sweep) -> String {
    let mut print = sweep.fingerprint;
    print.add(format!("{:?}", global.cores).as_bytes());
    print.to_string()
}

/// Simulates the points that are missing. Those that failed, in the order of the grid.
fn simulate(
    global: &Global,
    grid: &Grid<'_>,
    journal: &mut Journal,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Vec<(usize, Failure)>, Failure> {
    let missing: Vec<usize> =
        (0..grid.points).filter(|point| !journal.points.contains_key(point)).collect();
    let progress = Progress::new(grid.points as u64, global.json);
    progress.reach(journal.points.len() as u64);
    let columns = journal.columns.clone();
    let work = |number: &usize| -> Result<Option<Vec<Row>>, Failure> {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let point = grid.point(*number)?;
        let cells = match point.what {
            What::Links { strategy, traffic } => {
                let all = point::simulate(global, &point.chip, (strategy, traffic), stop)?;
                all.map(|all| all.iter().map(|one| one.cells(strategy)).collect())
            }
            What::Packets { mechanism, bytes } => {
                Some(vec![packets::simulate(global, &point.chip, mechanism, bytes)?])
            }
        };
        let rows =
            |all: Vec<Row>| all.into_iter().map(|cells| columns.row(&point, cells)).collect();
        Ok(cells.map(rows))
    };
    let mut failed = Vec::new();
    threads::share(&missing, threads, work, |at, simulated| {
        let number = missing[at];
        match simulated {
            // It was stopped.
            Ok(None) => {}
            Ok(Some(rows)) => {
                progress.say(&text::of(&journal.columns, rows.first()));
                journal.add(number, rows)?;
            }
            Err(failure) => failed.push((number, failure)),
        }
        progress.reach((journal.points.len() + failed.len()) as u64);
        Ok::<_, Failure>(())
    })?;
    failed.sort_by_key(|(number, _)| *number);
    Ok(failed)
}

/// How a sweep ended.
fn ended(grid: &Grid<'_>, journal: &Journal, failed: Vec<(usize, Failure)>) -> Result<(), Failure> {
    let (count, points) = (failed.len(), grid.points);
    if let Some((number, failure)) = failed.into_iter().next() {
        let text = match count {
            1 => format!("point {number} failed and has no row: {failure}"),
            _ => format!(
                "{count} of {points} points failed and have no rows, the first point {number}: \
                 {failure}"
            ),
        };
        return Err(Failure::new(failure.kind, text));
    }
    match points - journal.points.len() {
        0 => Ok(()),
        missing => {
            let text = format!(
                "stopped with {missing} of {points} points to go: the same command goes on there"
            );
            Err(Failure::new(Kind::Stopped, text))
        }
    }
}
