//! The signals of `bench t0` to `t6` as CSV, a line for each.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::measure::{Row, Single};
use crate::base::failure::Failure;
use crate::base::output;
use crate::base::page::chart::Data;

/// Where they are written.
pub(super) struct Out(PathBuf);

/// A line.
#[derive(Serialize)]
struct Line<'a> {
    driver: &'static str,
    stack: &'static str,
    counter: Option<&'static str>,
    cached: bool,
    mtu: Option<usize>,
    signal: &'static str,
    from: usize,
    to: usize,
    bytes: usize,
    /// From 1 on, in the order of sending.
    number: usize,
    #[serde(flatten)]
    single: &'a Single,
}

impl Out {
    /// Sees whether the file can be written.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn new(path: &Path) -> Result<Out, Failure> {
        output::probe_file(path)?;
        Ok(Out(path.to_owned()))
    }

    /// Writes all signals.
    ///
    /// # Errors
    /// As [`output::write_file`].
    pub fn write(self, rows: &[Row]) -> Result<(), Failure> {
        output::write_file(&self.0, text(rows).as_bytes())
    }
}

fn text(rows: &[Row]) -> String {
    let line = |row: &Row, number, single| Line {
        driver: row.driver,
        stack: row.stack,
        counter: row.counter,
        cached: row.cached,
        mtu: row.mtu,
        signal: row.signal,
        from: row.from,
        to: row.to,
        bytes: row.bytes,
        number,
        single,
    };
    let lines: Vec<Line<'_>> = rows
        .iter()
        .flat_map(|row| row.signals.iter().zip(1..).map(move |(one, at)| line(row, at, one)))
        .collect();
    Data::of(&lines).csv()
}
