//! The rounds: every pair is visited in each, in an order that a seed decides.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use indicatif::{ProgressBar, ProgressStyle};

use crate::contender::{self, Contender, Measure, Mode, named};
use crate::flags::Flags;
use crate::report::{self, Report};
use crate::results::Row;
use crate::supervise::{Cell, visit};
use crate::visit::Found;

/// Failures of one pair that are kept.
const KEPT: usize = 3;
/// The shortest visit that still warms up and measures.
const SHORTEST: u64 = 10;

/// Measures, and writes what was asked for.
///
/// # Errors
/// A flag asks for what cannot be, a file cannot be written, or, in a smoke test, a contender does
/// not work.
pub fn run(flags: &Flags) -> io::Result<()> {
    if let Some(file) = &flags.from {
        let text = std::fs::read(file).map_err(|error| contender::failed(&read(file), error))?;
        let report = Report::from_json(&text)?;
        return publish(&report, flags);
    }
    let chosen = choose(flags)?;
    let cores = flags.cores.map_or_else(two_cores, Ok)?;
    let cells = cells(&chosen, flags);
    let seed = flags.seed.unwrap_or_else(|| fastrand::u64(..));
    let rounds = if flags.smoke { 1 } else { u64::from(flags.rounds) };
    let visits = rounds * cells.len() as u64;
    let millis = match flags.smoke {
        true => 0,
        false => (u64::from(flags.seconds) * 1000 / visits.max(1)).max(SHORTEST),
    };
    let started = SystemTime::now();
    let mut rows: Vec<Row> = cells.iter().map(row).collect();
    let progress = bar(visits);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut number = 0;
    for _ in 0..rounds {
        for at in order(&cells, &mut random) {
            let (Some(cell), Some(row)) = (cells.get(at), rows.get_mut(at)) else { continue };
            number += 1;
            progress.set_message(format!("{}, {} B", row.contender, row.bytes));
            match visit(cell, cores, millis, number) {
                Ok(found) => add(&mut row.found, found),
                Err(error) if row.failures.len() < KEPT => row.failures.push(error.to_string()),
                Err(_) => {}
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    if flags.smoke {
        return smoked(&rows);
    }
    let took = started.elapsed().unwrap_or(Duration::ZERO);
    let settings = report::Settings {
        command: command(),
        seed,
        rounds: flags.rounds,
        millis,
        cores,
        date: humantime::format_rfc3339_seconds(started).to_string(),
        took,
        sizes: flags.bytes.clone(),
    };
    let report = Report::new(settings, rows);
    if let Some(file) = &flags.json {
        let text = serde_json::to_vec(&report)?;
        std::fs::write(file, text).map_err(|error| contender::failed(&name(file), error))?;
    }
    publish(&report, flags)
}

/// Writes the document, if it is meant, and says how it went.
fn publish(report: &Report, flags: &Flags) -> io::Result<()> {
    if let Some(directory) = output(flags) {
        report.write(&directory)?;
    }
    print!("{}", report.overview());
    Ok(())
}

/// Those that are meant.
fn choose(flags: &Flags) -> io::Result<Vec<&'static dyn Contender>> {
    if let Some(bytes) = flags.bytes.iter().find(|bytes| **bytes == 0 || **bytes % 8 != 0) {
        return Err(io::Error::other(format!("--bytes {bytes}: sizes are multiples of 8")));
    }
    let mut all = contender::all();
    all.retain(|contender| flags.group.is_none_or(|group| group == contender.over().group()));
    named(all, |contender| contender.name(), &flags.only)
}

/// The first two cores that this process may use.
fn two_cores() -> io::Result<(usize, usize)> {
    match narrows_host::system::cores()[..] {
        [first, second, ..] => Ok((first, second)),
        _ => Err(io::Error::other("this needs two cores")),
    }
}

/// Every pair that somebody offers.
fn cells(chosen: &[&'static dyn Contender], flags: &Flags) -> Vec<Cell> {
    let modes = Mode::ALL.into_iter();
    let mut cells = Vec::new();
    for mode in modes.filter(|mode| flags.mode.is_none_or(|only| only == *mode)) {
        for bytes in flags.bytes.iter().copied() {
            let measures = [Measure::RoundTrip, Measure::OneWay];
            let offered = chosen.iter().filter(|contender| {
                measures
                    .iter()
                    .any(|measure| contender::has(**contender, *measure, mode, bytes).is_ok())
            });
            cells.extend(offered.map(|contender| Cell { contender: *contender, mode, bytes }));
        }
    }
    cells
}

/// A round's order: those of one mode and size follow each other, so that what is compared is also
/// near in time; which contender comes first is chance, and so is which mode and size does.
fn order(cells: &[Cell], random: &mut fastrand::Rng) -> Vec<usize> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut before = None;
    for (at, cell) in cells.iter().enumerate() {
        if before.replace((cell.mode, cell.bytes)) != Some((cell.mode, cell.bytes)) {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.last_mut() {
            group.push(at);
        }
    }
    random.shuffle(&mut groups);
    for group in &mut groups {
        random.shuffle(group);
    }
    groups.concat()
}

fn row(cell: &Cell) -> Row {
    let Cell { contender, mode, bytes } = *cell;
    let (kind, sides) = (contender.kind(), contender.sides());
    let (found, failures) = (Found::default(), Vec::new());
    Row { contender: contender.name().to_owned(), kind, sides, mode, bytes, found, failures }
}

fn add(to: &mut Found, more: Found) {
    to.round_trip.extend(more.round_trip);
    to.single.extend(more.single);
    to.one_way.extend(more.one_way);
}

/// Where the document goes.
fn output(flags: &Flags) -> Option<PathBuf> {
    let all = flags.only.is_empty() && flags.group.is_none() && flags.mode.is_none();
    let docs = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    flags.output.clone().or_else(|| all.then(docs))
}

/// Says which contenders work.
fn smoked(rows: &[Row]) -> io::Result<()> {
    for row in rows {
        for failure in &row.failures {
            eprintln!("{}, {:?}, {} bytes: {failure}", row.contender, row.mode, row.bytes);
        }
    }
    let failed = rows.iter().filter(|row| !row.failures.is_empty()).count();
    println!("{} passed, {failed} failed", rows.len() - failed);
    match failed {
        0 => Ok(()),
        _ => Err(io::Error::other("contenders that do not work are named above")),
    }
}

/// The command line, without where the program lies and where results go.
fn command() -> String {
    let mut flags: Vec<String> = std::env::args().skip(1).collect();
    for place in ["--json", "--output"] {
        while let Some(at) = flags.iter().position(|flag| flag.starts_with(place)) {
            let apart = if flags.get(at).is_some_and(|flag| flag == place) { 2 } else { 1 };
            flags.drain(at..(at + apart).min(flags.len()));
        }
    }
    let features = if cfg!(feature = "aeron") { " --features aeron" } else { "" };
    let start = format!("cargo run --release --manifest-path bench/Cargo.toml{features}");
    if flags.is_empty() { start } else { format!("{start} -- {}", flags.join(" ")) }
}

fn bar(visits: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {eta} left  {msg}");
    let bar = ProgressBar::new(visits);
    style.map_or_else(|_| ProgressBar::hidden(), |style| bar.with_style(style))
}

fn read(file: &Path) -> String {
    format!("cannot read {}", file.display())
}

fn name(file: &Path) -> String {
    format!("cannot write {}", file.display())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn chosen(flags: &[&str]) -> Result<Vec<&'static str>, String> {
        let flags = Flags::try_parse_from([&["narrows-bench"], flags].concat());
        let chosen = choose(&flags.map_err(|error| error.to_string())?);
        let chosen = chosen.map_err(|error| error.to_string())?;
        Ok(chosen.iter().map(|contender| contender.name()).collect())
    }

    #[test]
    fn a_group_is_chosen_alone_and_a_name_within_it() {
        let [all, machine, sockets] =
            [&[][..], &["--group", "machine"], &["--group", "sockets"]].map(chosen);
        let (all, machine, sockets) = (all.unwrap(), machine.unwrap(), sockets.unwrap());
        assert_eq!(all.len(), machine.len() + sockets.len());
        assert!(machine.contains(&"ZeroMQ") && !sockets.contains(&"ZeroMQ"));
        assert!(sockets.contains(&"ZeroMQ over TCP") && !machine.contains(&"ZeroMQ over TCP"));
        assert_eq!(
            chosen(&["--group", "sockets", "--only", "zeromq"]).unwrap(),
            ["ZeroMQ over TCP"]
        );
    }

    #[test]
    fn a_name_that_its_group_has_not_is_refused_with_those_it_has() {
        let error = chosen(&["--group", "sockets", "--only", "pipe"]).unwrap_err();
        assert!(error.contains("--only pipe") && error.contains("nng over TCP"), "{error}");
        assert!(!error.contains("iceoryx2"), "{error}");
        assert!(chosen(&["--group", "nobody"]).unwrap_err().contains("sockets"));
    }

    #[test]
    fn a_part_of_the_contenders_does_not_overwrite_the_document() {
        for flags in [&["--group", "sockets"][..], &["--only", "pipe"], &["--mode", "blocked"]] {
            let flags = Flags::parse_from([&["narrows-bench"], flags].concat());
            assert!(output(&flags).is_none());
        }
        assert!(output(&Flags::parse_from(["narrows-bench"])).is_some());
    }
}
