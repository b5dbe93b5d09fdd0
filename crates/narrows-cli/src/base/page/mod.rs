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
use chart::Chart;
use std::path::Path;
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
    /// What spoils a measurement where this was measured.
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

/// Sees whether a page that is asked for can be written, before a measurement that takes long.
///
/// # Errors
/// [`Kind::Output`](crate::base::failure::Kind) if it cannot.
pub fn probe(file: &PageFile) -> Result<(), Failure> {
    file.report.as_deref().map_or(Ok(()), output::probe_file)
}

/// Makes the page that is asked for, if one is, and writes it.
///
/// # Errors
/// [`Kind::Output`](crate::base::failure::Kind) if it cannot be written.
pub fn write(file: &PageFile, make: impl FnOnce() -> Page) -> Result<(), Failure> {
    file.report.as_deref().map_or(Ok(()), |path| make().write(path))
}

impl Page {
    /// A page without findings. If this machine was measured, it says what spoils that.
    pub fn new(title: impl Into<String>, machine: &Machine) -> Page {
        let spoils = match machine.r#virtual {
            true => Vec::new(),
            false => {
                let mut found = checks::examine(&Root::default());
                found.retain(|one| one.level != Level::Good);
                found.sort_by_key(|one| std::cmp::Reverse(one.level));
                found
            }
        };
        Page { title: title.into(), place: machine.line(), spoils, ..Page::default() }
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

    /// Writes the page.
    ///
    /// # Errors
    /// [`Kind::Output`](crate::base::failure::Kind) if it cannot be written.
    fn write(&self, path: &Path) -> Result<(), Failure> {
        let made = format!(
            "narrows {}, {}",
            env!("CARGO_PKG_VERSION"),
            humantime::format_rfc3339_seconds(SystemTime::now())
        );
        output::write_file(path, html::render(self, &command(std::env::args()), &made).as_bytes())
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
