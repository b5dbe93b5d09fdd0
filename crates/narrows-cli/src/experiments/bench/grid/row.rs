//! Cells of the grid, and what they say.

use super::carry::{Carried, Pair};
use super::traffic::Traffic;
use crate::base::table::{Align, Table, wrap};
use crate::experiments::advice::Judge;
use crate::rig::plan::Machine;
use serde::Serialize;

/// The part of the best static load by which `auto` may take more: it does not switch for less
/// than that ([`Settings::saves`](narrows_tune::control::Settings::saves)).
const SAVES: f64 = 0.02;

/// A cell.
#[derive(Clone, Debug, Serialize)]
pub(super) struct GridRow {
    pub platform: String,
    pub engine: bool,
    pub memory_bytes: u32,
    pub audio: u32,
    pub video: u32,
    pub staggered: bool,
    pub auto_load_percent: f64,
    pub auto_late: u64,
    pub auto_refused: usize,
    pub auto_switches: u64,
    /// One for each kind of session that there is.
    pub r#static: Vec<String>,
    pub static_load_percent: Option<f64>,
    pub difference_percent: Option<f64>,
    pub tried: usize,
    pub no_worse: bool,
}

impl GridRow {
    pub fn new(
        platform: &str,
        machine: &Machine,
        traffic: Traffic,
        auto: &Carried,
        best: Option<&(Pair, Carried)>,
        tried: usize,
    ) -> GridRow {
        let load = best.map(|(_, carried)| carried.load);
        // What is no difference to `advise` is none here.
        let no_worse = match load {
            Some(load) => {
                auto.holds() && auto.load <= (load * (1.0 + SAVES)).max(load + Judge::LITTLE)
            }
            None => true,
        };
        GridRow {
            platform: platform.to_owned(),
            engine: machine.engine,
            memory_bytes: machine.memory,
            audio: traffic.sessions[0],
            video: traffic.sessions[1],
            staggered: traffic.staggered,
            auto_load_percent: auto.load,
            auto_late: auto.late,
            auto_refused: auto.refused,
            auto_switches: auto.switches,
            r#static: best.map_or_else(Vec::new, |(pair, _)| {
                traffic.kinds().map(|kind| pair[kind].to_string()).collect()
            }),
            static_load_percent: load,
            difference_percent: load.map(|load| 100.0 * (auto.load / load - 1.0)),
            tried,
            no_worse,
        }
    }

    /// Whether it takes a larger part more than a switch has to save.
    fn is_more(&self) -> bool {
        self.difference_percent.is_some_and(|more| more > 100.0 * SAVES)
    }

    fn name(&self) -> String {
        let memory = match self.memory_bytes {
            bytes if bytes % 1024 == 0 => format!("{} KiB", bytes / 1024),
            bytes => format!("{bytes} B"),
        };
        let engine = if self.engine { "" } else { " without engine" };
        let begin = if self.staggered { " staggered" } else { "" };
        format!("{}{engine}, {memory}, {}A+{}V{begin}", self.platform, self.audio, self.video)
    }
}

/// A sentence for all, and one for each cell in which `auto` is worse.
pub(super) fn notes(rows: &[GridRow]) -> Vec<String> {
    let compared = rows.iter().filter(|row| row.static_load_percent.is_some()).count();
    let worse: Vec<&GridRow> = rows.iter().filter(|row| !row.no_worse).collect();
    let little = rows.iter().filter(|row| row.no_worse && row.is_more()).count();
    let mut notes = vec![format!(
        "In {} of {compared} cells auto is no worse than the best static strategies that carry the \
         same sessions and are never late: it is never late, and takes no more than {} % more, \
         which is the least that a switch has to save, or {} % of the calling core. In {little} of \
         these it takes more than {} % more.",
        compared - worse.len(),
        100.0 * SAVES,
        Judge::LITTLE,
        100.0 * SAVES,
    )];
    let without = rows.len() - compared;
    if without > 0 {
        notes.push(format!(
            "{without} cells more are not compared: no static strategies carry their sessions in \
             time."
        ));
    }
    notes.extend(worse.iter().map(|row| {
        let mut why = match row.difference_percent {
            Some(more) => format!("{more:+.1} %"),
            None => String::new(),
        };
        if row.auto_refused > 0 {
            why += &format!(", {} sessions not carried", row.auto_refused);
        }
        if row.auto_late > 0 {
            why += &format!(", {} responses late", row.auto_late);
        }
        format!("Worse: {}: {why} beside {}.", row.name(), row.r#static.join(" and "))
    }));
    notes
}

pub(super) fn text(rows: &[GridRow], notes: &[String]) -> String {
    let mut table = Table::new(&[
        ("cell", Align::Left),
        ("auto %", Align::Right),
        ("static %", Align::Right),
        ("more %", Align::Right),
        ("late", Align::Right),
        ("refused", Align::Right),
        ("no worse", Align::Right),
    ]);
    for row in rows {
        let figure = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        table.row(vec![
            row.name(),
            figure(Some(row.auto_load_percent), 3),
            figure(row.static_load_percent, 3),
            figure(row.difference_percent, 1),
            row.auto_late.to_string(),
            row.auto_refused.to_string(),
            if row.no_worse { "yes" } else { "no" }.to_owned(),
        ]);
    }
    let said: String = notes.iter().map(|note| wrap("", note)).collect();
    said + "\n" + &table.render()
}
