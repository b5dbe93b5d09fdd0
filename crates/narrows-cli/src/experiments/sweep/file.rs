//! Sweep files: the grid to go through, described in TOML. What each key may be is in
//! `sweeps/README.md`.

use super::fingerprint::Fingerprint;
use crate::base::failure::Failure;
use crate::base::input;
use crate::experiments::bench::clusters::{divides, throughput};
use crate::formats::platform::{self, Written};
use crate::formats::workload::{self, Work, Workload, parse, units};
use narrows::strategy::Strategy;
use narrows_sim::file::{At, Mistake, Text, Value};
use std::path::{Path, PathBuf};
use std::time::Duration;

const KEYS: [&str; 8] =
    ["platform", "strategy", "transfer", "sizes", "calls", "workload", "duration", "set"];
const A_PLATFORM: &str = "the name of a platform or the path of its file, or a list of them";
const A_WORKLOAD: &str = "the path of a workload file, relative to this file, or a list of them";
const SIZES: &str = "a list of bytes of a call or packet, such as [64, 1024]";
const VALUES: &str =
    "a list of values for that key of the platform, such as [\"100ns\", \"200ns\"]";
const A_STRATEGY: &str = "the name of a strategy, or a list of them; on clusters transfer instead";
const A_TRANSFER: &str =
    "\"packets\", which go between clusters; elsewhere name a strategy instead";
/// Calls of each size that are measured, unless the file says how many.
const CALLS: u64 = 100;
const MOST_CALLS: u64 = 1_000_000;

/// A sweep, all of whose keys have passed their checks on their own.
pub(super) struct Sweep {
    pub path: PathBuf,
    pub text: String,
    pub platforms: Vec<Written>,
    pub settings: Vec<Setting>,
    pub carried: Carried,
    /// Of everything that rows depend on.
    pub fingerprint: Fingerprint,
}

/// A key of the platform, and what it is set to in turn.
#[derive(Clone)]
pub(super) struct Setting {
    /// As in `memory.ddr.read`: tables by their names.
    pub key: String,
    /// As written, with their places.
    pub values: Vec<At<String>>,
}

/// What is carried on each chip.
pub(super) enum Carried {
    /// Over links of the stack: all traffic by each strategy.
    Links { strategies: Vec<Strategy>, traffic: Vec<Traffic> },
    /// Between clusters: packets of each of these bytes, by each mechanism.
    Packets { sizes: Vec<u32> },
}

/// What links carry at a point.
pub(super) enum Traffic {
    /// `count` calls of `echo` with `bytes` bytes, one after the other.
    Calls { bytes: usize, count: u64 },
    /// A workload, for its duration.
    Workload { workload: Workload, inputs: Vec<Option<Vec<i16>>> },
}

impl Traffic {
    /// Rows that it gives.
    pub fn rows(&self) -> usize {
        match self {
            Traffic::Calls { .. } => 1,
            Traffic::Workload { workload, .. } => workload.flows.len(),
        }
    }
}

impl Sweep {
    /// The file, to say where something is.
    pub fn file(&self) -> Text<'_> {
        Text { path: &self.path, text: &self.text }
    }
}

/// Reads and checks a sweep file, and what it names.
///
/// # Errors
/// [`Kind::Workload`](crate::base::failure::Kind::Workload) with file, line and column of the first
/// mistake.
pub(super) fn read(path: &Path) -> Result<Sweep, Failure> {
    let text = input::text(path, "the sweep", "a sweep file, such as sweeps/memory.toml")?;
    let file = Text { path, text: &text };
    let directory = path.parent().unwrap_or(Path::new(""));
    let raw = raw(&file, directory).map_err(input::wrong)?;
    let missing = |key: &str, expected: &str| {
        let sentence = format!("{key} is missing; expected {expected}");
        input::wrong(file.fail(&file.end(), sentence))
    };
    let Some(platforms) = raw.platforms.map(|all| all.value) else {
        return Err(missing("platform", A_PLATFORM));
    };
    let carried = match raw.transfer {
        Some(_) => packets(&file, raw.carried).map_err(input::wrong)?,
        None => links(&file, directory, raw.carried, missing)?,
    };
    let settings = raw.settings;
    let fingerprint = fingerprint(&text, &platforms, &carried);
    let text = text.clone();
    Ok(Sweep { path: path.to_owned(), text, platforms, settings, carried, fingerprint })
}

/// Packets between clusters, of which most keys say nothing.
fn packets(file: &Text<'_>, raw: RawCarried) -> Result<Carried, Mistake> {
    let RawCarried { strategies, sizes, calls, workloads, duration } = raw;
    if let Some(strategies) = strategies {
        let expected = "nothing with transfer: packets go by each mechanism, and by no strategy";
        return Err(strategies.wrong(file, expected));
    }
    let counted = "nothing with transfer: 16 KiB go one way, and a packet there and back";
    calls.map_or(Ok(()), |calls| Err(calls.wrong(file, counted)))?;
    duration.map_or(Ok(()), |duration| Err(duration.wrong(file, counted)))?;
    if let Some(workloads) = workloads {
        return Err(workloads.wrong(file, "nothing with transfer: name sizes of packets"));
    }
    let Some(sizes) = sizes else {
        let sentence = format!("sizes is missing; expected {SIZES}");
        return Err(file.fail(&file.end(), sentence));
    };
    let most = throughput::TOTAL;
    let expected = format!("packets of 4, 8, 16 and so on up to {most} bytes");
    let size =
        |size: At<usize>| divides(size.value, most).ok_or_else(|| size.wrong(file, &expected));
    Ok(Carried::Packets { sizes: sizes.value.into_iter().map(size).collect::<Result<_, _>>()? })
}

/// Calls or workloads over links of the stack.
fn links(
    file: &Text<'_>,
    directory: &Path,
    raw: RawCarried,
    missing: impl Fn(&str, &str) -> Failure,
) -> Result<Carried, Failure> {
    let RawCarried { strategies, sizes, calls, workloads, duration } = raw;
    let Some(strategies) = strategies.map(|all| all.value) else {
        return Err(missing("strategy", A_STRATEGY));
    };
    let traffic = match (sizes, workloads) {
        (Some(sizes), None) => {
            if let Some(duration) = duration {
                let expected = "nothing, where calls are counted: name a workload, or leave it out";
                return Err(input::wrong(duration.wrong(file, expected)));
            }
            let count = calls.map_or(CALLS, |calls| calls.value);
            let calls = |bytes: At<usize>| Traffic::Calls { bytes: bytes.value, count };
            sizes.value.into_iter().map(calls).collect()
        }
        (None, Some(workloads)) => {
            if let Some(calls) = calls {
                let expected = "nothing with a workload: it says how many itself";
                return Err(input::wrong(calls.wrong(file, expected)));
            }
            let duration = duration.map(|duration| duration.value);
            traffic(file, directory, workloads.value, duration)?
        }
        (Some(_), Some(workloads)) => {
            let sentence = "sizes and workload; expected one of them";
            return Err(input::wrong(file.fail(&workloads.span, sentence)));
        }
        (None, None) => return Err(missing("sizes", &format!("{SIZES}, or workload"))),
    };
    Ok(Carried::Links { strategies, traffic })
}

/// The file as written.
struct Raw {
    platforms: Option<At<Vec<Written>>>,
    transfer: Option<At<()>>,
    carried: RawCarried,
    settings: Vec<Setting>,
}

/// What is carried, as written.
struct RawCarried {
    strategies: Option<At<Vec<Strategy>>>,
    sizes: Option<At<Vec<At<usize>>>>,
    calls: Option<At<u64>>,
    workloads: Option<At<Vec<At<String>>>>,
    duration: Option<At<Duration>>,
}

fn raw(file: &Text<'_>, directory: &Path) -> Result<Raw, Mistake> {
    let document = file.parse()?;
    let top = document.top(&KEYS)?;
    let mut settings = Vec::new();
    if let Some(value) = top.find("set") {
        set("", &value, &mut settings)?;
    }
    Ok(Raw {
        platforms: top.read("platform", |value| platforms(directory, value))?,
        transfer: top.read("transfer", |value| match value.string(A_TRANSFER)? {
            "packets" => Ok(()),
            _ => Err(value.wrong(A_TRANSFER)),
        })?,
        carried: RawCarried {
            strategies: top.read("strategy", parse::strategies)?,
            sizes: top.read("sizes", sizes)?,
            calls: top.read("calls", |value| value.number(1..=MOST_CALLS))?,
            workloads: top.read("workload", workloads)?,
            duration: top.read("duration", units::duration)?,
        },
        settings,
    })
}

/// What the rows depend on, but for what the command line says.
fn fingerprint(text: &str, platforms: &[Written], carried: &Carried) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.add(env!("CARGO_PKG_VERSION").as_bytes());
    print.add(text.as_bytes());
    for Written { path, text } in platforms {
        print.add(path.to_string_lossy().as_bytes());
        print.add(text.as_bytes());
    }
    let traffic = match carried {
        Carried::Links { traffic, .. } => &traffic[..],
        // The text of the sweep says all of them.
        Carried::Packets { .. } => &[],
    };
    for one in traffic {
        let Traffic::Workload { workload, inputs } = one else { continue };
        print.add(format!("{workload:?}").as_bytes());
        for samples in inputs.iter().flatten() {
            let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
            print.add(&bytes);
        }
        let works = workload.flows.iter().map(|flow| &flow.work);
        for named in works.filter_map(Work::foreign) {
            // One that cannot be read is told when it is loaded.
            print.add(&std::fs::read(&named.file).unwrap_or_default());
        }
    }
    print
}

/// The platforms of a list; their paths are relative to `directory`.
fn platforms(directory: &Path, value: &Value<'_>) -> Result<Vec<Written>, Mistake> {
    let mut all: Vec<Written> = Vec::new();
    for one in value.each(A_PLATFORM)? {
        let found = platform::find(one.string(A_PLATFORM)?, directory)
            .map_err(|failure| one.fail(failure.to_string()))?;
        if all.iter().any(|other| other.name() == found.name()) {
            return Err(one.wrong("platforms that differ by the names of their files"));
        }
        all.push(found);
    }
    Ok(all)
}

fn sizes(value: &Value<'_>) -> Result<Vec<At<usize>>, Mistake> {
    let mut all: Vec<At<usize>> = Vec::new();
    for one in value.each(SIZES)? {
        let size = units::bytes(&one)?;
        if all.iter().any(|other| other.value == size) {
            return Err(one.wrong("each size once"));
        }
        all.push(one.at(size));
    }
    Ok(all)
}

fn workloads(value: &Value<'_>) -> Result<Vec<At<String>>, Mistake> {
    let path = |one: Value<'_>| Ok(one.at(one.string(A_WORKLOAD)?.to_owned()));
    value.each(A_WORKLOAD)?.into_iter().map(path).collect()
}

fn traffic(
    file: &Text<'_>,
    directory: &Path,
    paths: Vec<At<String>>,
    duration: Option<Duration>,
) -> Result<Vec<Traffic>, Failure> {
    let mut names = Vec::new();
    let mut all = Vec::new();
    for path in paths {
        let mut workload = workload::read(&directory.join(&path.value))
            .map_err(|failure| input::wrong(file.fail(&path.span, failure.to_string())))?;
        if names.contains(&workload.name) {
            return Err(input::wrong(path.wrong(file, "workloads of different names")));
        }
        names.push(workload.name.clone());
        workload.duration = duration.unwrap_or(workload.duration);
        let inputs = workload.inputs()?;
        all.push(Traffic::Workload { workload, inputs });
    }
    Ok(all)
}

/// Keys in quotes or not: `"memory.ddr.read" = …` and `memory.ddr.read = …` are the same.
fn set(before: &str, value: &Value<'_>, all: &mut Vec<Setting>) -> Result<(), Mistake> {
    let table =
        value.any_table_or("a table of keys of the platform, each with a list of values")?;
    for (key, place, value) in table.entries() {
        let path = format!("{before}{key}");
        if value.as_table().is_some() {
            set(&format!("{path}."), &value, all)?;
            continue;
        }
        let values = value.array(VALUES)?;
        if values.is_empty() {
            return Err(value.wrong(VALUES));
        }
        if all.iter().any(|other| other.key == path) {
            return Err(table.fail(&place, format!("{path} is set twice")));
        }
        let values = values.iter().map(|one| one.at(one.written().to_owned())).collect();
        all.push(Setting { key: path, values });
    }
    Ok(())
}
