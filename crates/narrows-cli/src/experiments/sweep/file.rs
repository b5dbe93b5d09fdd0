//! Sweep files: the grid to go through, described in TOML. What each key may be is in
//! `sweeps/README.md`.

use super::fingerprint::Fingerprint;
use crate::base::failure::Failure;
use crate::base::input;
use crate::formats::platform::{self, Written};
use crate::formats::workload::parse::{At, Reader};
use crate::formats::workload::{self, Workload};
use narrows::strategy::Strategy;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const KEYS: &str = "platform, strategy, sizes, calls, workload, duration or [set]";
const A_PLATFORM: &str = "the name of a platform or the path of its file, or a list of them";
const A_WORKLOAD: &str = "the path of a workload file, relative to this file, or a list of them";
const SIZES: &str = "a list of bytes of a call, such as [64, 1024]";
const VALUES: &str =
    "a list of values for that key of the platform, such as [\"100ns\", \"200ns\"]";
/// Calls of each size that are measured, unless the file says how many.
const CALLS: u64 = 100;
const MOST_CALLS: u64 = 1_000_000;

/// A sweep, all of whose keys have passed their checks on their own.
pub(super) struct Sweep {
    pub path: PathBuf,
    pub text: String,
    pub platforms: Vec<Written>,
    pub settings: Vec<Setting>,
    pub strategies: Vec<Strategy>,
    pub traffic: Vec<Traffic>,
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

/// What is carried at a point.
pub(super) enum Traffic {
    /// So many calls of `echo`, one after the other.
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
    /// Knows the file, to say where something is.
    pub fn reader(&self) -> Reader<'_> {
        Reader { path: &self.path, text: &self.text }
    }
}

/// Reads and checks a sweep file, and what it names.
///
/// # Errors
/// [`Kind::Workload`](crate::base::failure::Kind::Workload) with file, line and column of the first
/// mistake.
pub(super) fn read(path: &Path) -> Result<Sweep, Failure> {
    let text = input::text(path, "the sweep", "a sweep file, such as sweeps/memory.toml")?;
    let reader = Reader { path, text: &text };
    let table = reader.table()?;
    let mut file = File { reader: &reader, directory: path.parent().unwrap_or(Path::new("")) };
    let (mut platforms, mut settings, mut strategies) = (Vec::new(), Vec::new(), Vec::new());
    let (mut sizes, mut calls, mut workloads, mut duration) = (None, None, None, None);
    for (key, value) in table.get_ref() {
        match key.get_ref().as_ref() {
            "platform" => platforms = file.platforms(value)?,
            "strategy" => strategies = reader.strategies(value)?,
            "sizes" => sizes = Some(file.sizes(value)?),
            "calls" => calls = Some(reader.number("calls", value, 1, MOST_CALLS)?),
            "workload" => workloads = Some(file.workloads(value)?),
            "duration" => duration = Some(reader.duration("duration", value)?),
            "set" => file.settings("", value, &mut settings)?,
            other => return Err(reader.unknown(&key.span(), other, KEYS)),
        }
    }
    let missing = |key: &str, expected: &str| {
        let end = text.trim_end().len();
        reader.fail(&(end..end), &format!("{key} is missing; expected {expected}"))
    };
    if platforms.is_empty() {
        return Err(missing("platform", A_PLATFORM));
    }
    if strategies.is_empty() {
        return Err(missing("strategy", "the name of a strategy, or a list of them"));
    }
    let traffic = match (sizes, workloads) {
        (Some(sizes), None) => {
            if let Some(duration) = duration {
                let expected = "nothing, where calls are counted: name a workload, or leave it out";
                return Err(reader.wrong("duration", &duration.span, expected));
            }
            let count = calls.map_or(CALLS, |calls| calls.value);
            sizes.into_iter().map(|bytes| Traffic::Calls { bytes, count }).collect()
        }
        (None, Some(workloads)) => {
            if let Some(calls) = calls {
                let expected = "nothing with a workload: it says how many itself";
                return Err(reader.wrong("calls", &calls.span, expected));
            }
            file.traffic(workloads, duration.map(|duration| duration.value))?
        }
        (Some(_), Some(_)) => {
            let place = table.get_ref().get("workload").map_or(0..0, Spanned::span);
            return Err(reader.fail(&place, "sizes and workload; expected one of them"));
        }
        (None, None) => return Err(missing("sizes", &format!("{SIZES}, or workload"))),
    };
    let fingerprint = fingerprint(&text, &platforms, &traffic);
    let text = text.clone();
    Ok(Sweep { path: path.to_owned(), text, platforms, settings, strategies, traffic, fingerprint })
}

/// What the rows depend on, but for what the command line says.
fn fingerprint(text: &str, platforms: &[Written], traffic: &[Traffic]) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.add(env!("CARGO_PKG_VERSION").as_bytes());
    print.add(text.as_bytes());
    for Written { path, text } in platforms {
        print.add(path.to_string_lossy().as_bytes());
        print.add(text.as_bytes());
    }
    for one in traffic {
        let Traffic::Workload { workload, inputs } = one else { continue };
        print.add(format!("{workload:?}").as_bytes());
        for samples in inputs.iter().flatten() {
            let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
            print.add(&bytes);
        }
    }
    print
}

/// The file, and where its paths begin.
struct File<'a> {
    reader: &'a Reader<'a>,
    directory: &'a Path,
}

impl File<'_> {
    /// Each of a list, which has some, or the one there is.
    fn some<'v>(
        &self,
        key: &str,
        value: &'v Spanned<DeValue<'v>>,
        expected: &str,
    ) -> Result<Vec<&'v Spanned<DeValue<'v>>>, Failure> {
        match value.get_ref() {
            DeValue::Array(all) if all.is_empty() => {
                Err(self.reader.wrong(key, &value.span(), expected))
            }
            DeValue::Array(all) => Ok(all.iter().collect()),
            _ => Ok(vec![value]),
        }
    }

    fn platforms(&mut self, value: &Spanned<DeValue<'_>>) -> Result<Vec<Written>, Failure> {
        let mut all: Vec<Written> = Vec::new();
        for one in self.some("platform", value, A_PLATFORM)? {
            let text = self.reader.string("platform", one, A_PLATFORM)?;
            let found = platform::find(&text, self.directory)
                .map_err(|failure| self.reader.fail(&one.span(), &failure.to_string()))?;
            if all.iter().any(|other| other.name() == found.name()) {
                let expected = "platforms that differ by the names of their files";
                return Err(self.reader.wrong("platform", &one.span(), expected));
            }
            all.push(found);
        }
        Ok(all)
    }

    fn sizes(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<usize>, Failure> {
        let mut all = Vec::new();
        for one in self.some("sizes", value, SIZES)? {
            let size = self.reader.bytes("sizes", one)?;
            if all.contains(&size.value) {
                return Err(self.reader.wrong("sizes", &size.span, "each size once"));
            }
            all.push(size.value);
        }
        Ok(all)
    }

    fn workloads(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<At<String>>, Failure> {
        let path = |one: &Spanned<DeValue<'_>>| {
            let text = self.reader.string("workload", one, A_WORKLOAD)?;
            Ok(At { value: text, span: one.span() })
        };
        self.some("workload", value, A_WORKLOAD)?.into_iter().map(path).collect()
    }

    fn traffic(
        &self,
        files: Vec<At<String>>,
        duration: Option<Duration>,
    ) -> Result<Vec<Traffic>, Failure> {
        let mut names = Vec::new();
        let mut all = Vec::new();
        for file in files {
            let mut workload = workload::read(&self.directory.join(&file.value))
                .map_err(|failure| self.reader.fail(&file.span, &failure.to_string()))?;
            if names.contains(&workload.name) {
                let expected = "workloads of different names";
                return Err(self.reader.wrong("workload", &file.span, expected));
            }
            names.push(workload.name.clone());
            workload.duration = duration.unwrap_or(workload.duration);
            let inputs = workload.inputs()?;
            all.push(Traffic::Workload { workload, inputs });
        }
        Ok(all)
    }

    /// Keys in quotes or not: `"memory.ddr.read" = …` and `memory.ddr.read = …` are the same.
    fn settings(
        &self,
        before: &str,
        value: &Spanned<DeValue<'_>>,
        all: &mut Vec<Setting>,
    ) -> Result<(), Failure> {
        let expected = "a table of keys of the platform, each with a list of values";
        let table: &DeTable<'_> = match value.get_ref() {
            DeValue::Table(table) => table,
            _ => return Err(self.reader.wrong("set", &value.span(), expected)),
        };
        for (key, value) in table {
            let path = format!("{before}{}", key.get_ref());
            let values = match value.get_ref() {
                DeValue::Table(_) => {
                    self.settings(&format!("{path}."), value, all)?;
                    continue;
                }
                DeValue::Array(values) if !values.is_empty() => values,
                _ => return Err(self.reader.wrong(&path, &value.span(), VALUES)),
            };
            if all.iter().any(|other| other.key == path) {
                return Err(self.reader.fail(&key.span(), &format!("{path} is set twice")));
            }
            let written = |one: &Spanned<DeValue<'_>>| {
                let text = self.reader.text.get(one.span()).unwrap_or_default();
                At { value: text.to_owned(), span: one.span() }
            };
            all.push(Setting { key: path, values: values.iter().map(written).collect() });
        }
        Ok(())
    }
}
