//! A page of what a command found: one file for a browser, which needs nothing else.
//!
//! A [`Page`] knows nothing of commands. It has words first: a headline, why, and findings; then
//! sections of [charts](chart::Chart), each with its data as a table and as CSV; then what spoils
//! the machine, and notes. [`words`] makes sentences of figures. Script and style come from the
//! folder `web/`, where `ci/web` bundles them into `assets/`.

pub mod chart;
mod html;
#[cfg(test)]
mod tests;
pub mod words;

use crate::base::checks::{self, Finding, Level};
use crate::base::failure::Failure;
use crate::base::machine::{Machine, Root};
use crate::base::options::PageFile;
use crate::base::output;
use crate::base::report::Report;
use crate::base::table::counted;
use chart::{Chart, Data};
use serde::Serialize;
use std::cmp::Reverse;
use std::path::PathBuf;
use std::time::SystemTime;

/// A page in the making.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What was run.
    pub title: String,
    /// On what.
    pub place: String,
    /// The finding above all others.
    pub headline: String,
    /// Why that is so, in sentences.
    pub why: String,
    /// What else was found: what each is about, and a sentence.
    pub findings: Vec<(String, String)>,
    /// The chart that shows the headline.
    pub first: Option<Chart>,
    /// Everything else.
    pub sections: Vec<Section>,
    /// Whether this machine itself was measured.
    pub here: bool,
    /// What spoils a measurement on this machine; [`PageOut::write`] fills it in.
    pub spoils: Vec<Finding>,
    /// What else to know when reading the figures.
    pub notes: Vec<String>,
}

/// Charts that belong together.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// What they are about.
    pub heading: String,
    /// What can be read in them, or how to read them.
    pub words: String,
    /// The charts, and tables that have none.
    pub charts: Vec<Chart>,
}

/// What is known of a page before anything is measured.
pub struct PageOut {
    path: Option<PathBuf>,
    /// What spoils a measurement here. A measurement is work itself, and pins its thread to a core,
    /// so later would be too late to look.
    spoils: Vec<Finding>,
}

impl PageOut {
    /// Sees whether the page can be written, if one is asked for, and looks at the machine.
    ///
    /// # Errors
    /// [`Kind::Output`](crate::base::failure::Kind) if it cannot be written.
    pub fn new(file: &PageFile) -> Result<PageOut, Failure> {
        let Some(path) = &file.report else {
            return Ok(PageOut { path: None, spoils: Vec::new() });
        };
        output::probe_file(path)?;
        let mut spoils = checks::examine(&Root::default());
        spoils.retain(|one| one.level != Level::Good);
        spoils.sort_by_key(|one| Reverse(one.level));
        Ok(PageOut { path: Some(path.clone()), spoils })
    }

    /// Whether a page is asked for.
    pub fn is_wanted(&self) -> bool {
        self.path.is_some()
    }

    /// Makes the page, if one is asked for, and writes it.
    ///
    /// # Errors
    /// [`Kind::Output`](crate::base::failure::Kind) if it cannot be written.
    pub fn write(&self, make: impl FnOnce() -> Page) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut page = make();
        if page.here {
            page.spoils.clone_from(&self.spoils);
        }
        let made = format!(
            "narrows {}, {}",
            env!("CARGO_PKG_VERSION"),
            humantime::format_rfc3339_seconds(SystemTime::now())
        );
        let text = html::render(&page, &command(std::env::args()), &made);
        output::write_file(path, text.as_bytes())
    }
}

impl Page {
    /// A page without findings of what was measured there.
    pub fn new(title: impl Into<String>, machine: &Machine) -> Page {
        let (place, here) = (machine.line(), !machine.r#virtual);
        Page { title: title.into(), place, here, ..Page::default() }
    }

    /// A page of a report whose rows have no charts of their own: the first note is the headline,
    /// the second says why, and all rows are a table.
    pub fn of<R: Serialize>(report: &Report<R>) -> Page {
        let mut page = Page::new(&report.command, &report.machine);
        let mut notes = report.notes.iter().cloned();
        page.headline =
            notes.next().unwrap_or_else(|| counted(report.results.len(), "result", "results"));
        page.why = notes.next().unwrap_or_default();
        page.notes = notes.collect();
        page.first = Some(Chart::table("All figures", "", Data::of(&report.results)));
        page
    }

    /// Adds a finding, if there is anything to say.
    pub fn find(&mut self, about: impl Into<String>, says: impl Into<String>) {
        let says = says.into();
        if !says.is_empty() {
            self.findings.push((about.into(), says));
        }
    }

    /// Adds a section, unless there is no chart in it.
    pub fn section(&mut self, heading: &str, words: impl Into<String>, charts: Vec<Chart>) {
        let charts: Vec<Chart> = charts.into_iter().filter(|chart| !chart.is_empty()).collect();
        if !charts.is_empty() {
            self.sections.push(Section { heading: heading.into(), words: words.into(), charts });
        }
    }
}

/// A command line as a shell takes it.
fn command(arguments: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:%@+".contains(c);
    let quoted = arguments.skip(1).map(|one| match one.chars().all(plain) && !one.is_empty() {
        true => one,
        false => format!("'{}'", one.replace('\'', r"'\''")),
    });
    ["narrows".to_owned()].into_iter().chain(quoted).collect::<Vec<_>>().join(" ")
}
