//! The file of rows: what is in it stays, whatever ends a sweep, and no row is in it by half.
//!
//! Rows are appended as their points are done. A sweep that begins again finds them, without a line
//! that was torn off and without a point that lacks rows, and goes on with the points that are
//! missing. When all are done, the rows are sorted into the order of the grid.

use super::grid::Grid;
use super::rows::{Columns, Row, line};
use crate::base::failure::{Failure, Kind};
use crate::base::output;
use crate::base::output::refusal;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The rows of a sweep, in memory and in their file.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    pub columns: Columns,
    /// By the number of their point.
    pub points: BTreeMap<usize, Vec<Row>>,
}

impl Journal {
    /// Opens the file, makes it if it is not there, and takes up what it has of this sweep. Nobody
    /// else writes to it from now on.
    ///
    /// # Errors
    /// [`Kind::Output`]: it cannot be written, or has something else in it.
    pub fn open(path: &Path, columns: Columns, grid: &Grid<'_>) -> Result<Journal, Failure> {
        let refuse = |error| refusal("write", path, &error);
        // Not truncated: it may have rows.
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(refuse)?;
        if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
            let text = format!("another sweep writes {}: wait for it", path.display());
            return Err(Failure::new(Kind::Output, text));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|error| refusal("read", path, &error))?;
        let Found { points, end } = found(&text, &columns, grid).map_err(|what| {
            let text = format!(
                "{} is not of this sweep: {what}: name another file with --out, or remove it",
                path.display()
            );
            Failure::new(Kind::Output, text)
        })?;
        file.set_len(end as u64).map_err(refuse)?;
        file.seek(SeekFrom::End(0)).map_err(refuse)?;
        if end == 0 {
            file.write_all(columns.header().as_bytes()).map_err(refuse)?;
        }
        Ok(Journal { path: path.to_owned(), file, columns, points })
    }

    /// Adds the rows of a point.
    ///
    /// # Errors
    /// [`Kind::Output`]: they cannot be written.
    pub fn add(&mut self, point: usize, rows: Vec<Row>) -> Result<(), Failure> {
        let lines: String = rows.iter().map(|row| line(row)).collect();
        let written = self.file.write_all(lines.as_bytes());
        written.map_err(|error| refusal("write", &self.path, &error))?;
        self.points.insert(point, rows);
        Ok(())
    }

    /// Every row, in the order of the grid.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.points.values().flatten()
    }

    /// Sorts the file, and writes the rows as JSON Lines as well if that is asked for.
    ///
    /// # Errors
    /// [`Kind::Output`]: one cannot be written.
    pub fn close(&self, json_lines: Option<&Path>) -> Result<(), Failure> {
        let sorted: String = self.rows().map(|row| line(row)).collect();
        output::write_file(&self.path, (self.columns.header() + &sorted).as_bytes())?;
        let Some(path) = json_lines else { return Ok(()) };
        let json = |row: &Row| serde_json::to_string(&self.columns.named(row)).unwrap_or_default();
        let lines: String = self.rows().map(|row| json(row) + "\n").collect();
        output::write_file(path, lines.as_bytes())
    }
}

/// What a file has.
#[derive(Debug, PartialEq)]
pub(super) struct Found {
    pub points: BTreeMap<usize, Vec<Row>>,
    /// Where the last whole point ends, in bytes.
    pub end: usize,
}

/// Takes up what is in a file; or says what is in it that does not belong there.
pub(super) fn found(text: &[u8], columns: &Columns, grid: &Grid<'_>) -> Result<Found, String> {
    let header = columns.header();
    if header.as_bytes().starts_with(text) && text.len() < header.len() {
        return Ok(Found { points: BTreeMap::new(), end: 0 });
    }
    if !text.starts_with(header.as_bytes()) {
        return Err("its first line is another".into());
    }
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let body = text.get(header.len()..whole).unwrap_or_default();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(body);
    let mut found = Found { points: BTreeMap::new(), end: header.len() };
    let mut open: Option<(usize, Vec<Row>)> = None;
    let mut record = csv::StringRecord::new();
    for number in 2.. {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => return Err(format!("line {number} is no row of it")),
        }
        let row: Row = record.iter().map(str::to_owned).collect();
        let point = columns.point(&row).filter(|point| *point < grid.points);
        let point = point.ok_or_else(|| match row.first() == Some(&columns.fingerprint) {
            true => format!("line {number} is no row of it"),
            false => format!("line {number} is a row of another, or of this one before a change"),
        })?;
        let mut rows = match open.take() {
            None => Vec::new(),
            Some((of, rows)) if of == point => rows,
            Some(_) => return Err(format!("before line {number}, a row is missing")),
        };
        rows.push(row);
        if rows.len() < grid.rows(point) {
            open = Some((point, rows));
            continue;
        }
        if found.points.insert(point, rows).is_some() {
            return Err(format!("line {number} is there twice"));
        }
        found.end = header.len() + reader.position().byte() as usize;
    }
    Ok(found)
}
