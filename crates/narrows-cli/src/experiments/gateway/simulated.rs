//! The same sessions on a simulated chip, whose DSP takes as long for a frame as the one here.

use super::carry::Ended;
use super::plan::{self, Asked, Counts, Kind};
use super::row::Row;
use crate::base::failure::Failure;
use crate::base::report::{DecisionRow, RunRow};
use crate::experiments::run::apart::{costs, on_chip};
use crate::formats::strategy::Policy;
use narrows_sim::chip::Chip;
use narrows_tune::model::Parameters;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A chip, and what is simulated on it.
pub(super) struct Simulated<'a> {
    pub chip: &'a Chip,
    pub path: &'a Path,
    pub text: &'a str,
    pub asked: Asked,
    pub memory: Option<u32>,
    pub stop: &'a AtomicBool,
}

impl Simulated<'_> {
    /// What came of the sessions, by each of these ways; with `adding` of one more after the other.
    ///
    /// # Errors
    /// As for `narrows run`.
    pub fn rows(&self, ways: &[&str], adding: Option<Counts>) -> Result<Vec<Row>, Failure> {
        let costs = costs(self.chip)?;
        let row = |way: &&str| match adding {
            None => {
                let (rows, decisions) = self.run(way, &costs, &self.asked)?;
                Ok(self.row(way, &rows, &decisions, None))
            }
            Some(counts) => self.add(way, &costs, counts),
        };
        ways.iter().map(row).collect()
    }

    fn row(
        &self,
        way: &str,
        rows: &[RunRow],
        decisions: &[DecisionRow],
        carried: Option<(usize, Ended)>,
    ) -> Row {
        let seconds = self.asked.duration.as_secs_f64();
        Row::simulated((&self.chip.name, way), seconds, rows, decisions, carried)
    }

    fn run(
        &self,
        way: &str,
        costs: &Parameters<f64>,
        asked: &Asked,
    ) -> Result<(Vec<RunRow>, Vec<DecisionRow>), Failure> {
        let mut workload = plan::workload(self.path, self.text, asked)?;
        workload.memory = self.memory.or(workload.memory);
        let policy = if way == "auto" { Policy::Auto } else { Policy::Static };
        on_chip(self.chip, costs, &workload, policy, self.stop)
    }

    /// As many sessions as there can be, all the time, before a frame is late. The figures are of
    /// the last that were tried.
    fn add(&self, way: &str, costs: &Parameters<f64>, counts: Counts) -> Result<Row, Failure> {
        /// Long enough that a queue which grows is longer than any deadline.
        const TIME: Duration = Duration::from_secs(3);
        let kinds = plan::added(counts);
        let mut ended = Ended::Enough;
        let mut tried = (Vec::new(), Vec::new());
        let mut carried = 0;
        for number in 1..=kinds.len() {
            let count = |kind: Kind| kinds.iter().take(number).filter(|one| **one == kind).count();
            let sessions = Kind::ALL.map(|kind| Some(count(kind) as u16));
            let asked = Asked { sessions, duration: TIME, always: true, ..self.asked };
            tried = self.run(way, costs, &asked)?;
            let (rows, decisions) = &tried;
            let refused = rows.iter().any(|row| row.refused.is_some())
                || decisions.iter().any(|row| row.refused.is_some());
            if refused {
                ended = Ended::Refused;
            } else if rows.iter().any(|row| row.deadline_misses > 0) {
                ended = Ended::Late;
            } else if rows.iter().any(|row| row.lost > 0) {
                ended = Ended::Dropped;
            }
            if ended != Ended::Enough {
                break;
            }
            carried = number;
        }
        let mut row = self.row(way, &tried.0, &tried.1, Some((carried, ended)));
        row.seconds = TIME.as_secs_f64();
        Ok(row)
    }
}
