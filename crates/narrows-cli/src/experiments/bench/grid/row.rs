//! Cells of the grid, and what they say.

use super::carry::{Carried, Pair};
use super::traffic::Traffic;
use crate::base::table::{Align, Table, counted, wrap};
use crate::experiments::advice::Judge;
use crate::rig::plan::Machine;
use serde::Serialize;

/// The part of the best static load by which `auto` may take more: it does not switch for less
/// than that ([`Settings::saves`](narrows_tune::control::Settings::saves)).
const SAVES: f64 = 0.02;

/// Whether `auto` takes no more than that. What is no difference to `advise` is none here.
fn within(auto: f64, fixed: f64) -> bool {
    auto <= (fixed * (1.0 + SAVES)).max(fixed + Judge::LITTLE)
}

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
    pub auto_failed_in_scenes: bool,
    pub auto_scenes_percent: Option<f64>,
    pub static_scenes_percent: Option<f64>,
    pub tried: usize,
    pub late_in_scenes: usize,
    pub no_worse: bool,
}

impl GridRow {
    pub fn new(
        platform: &str,
        machine: &Machine,
        traffic: Traffic,
        auto: &Carried,
        best: Option<&(Pair, Carried)>,
    ) -> GridRow {
        let load = best.map(|(_, carried)| carried.load);
        let no_worse = load.is_none_or(|load| auto.holds() && within(auto.load, load));
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
            auto_failed_in_scenes: false,
            auto_scenes_percent: None,
            static_scenes_percent: None,
            tried: 0,
            late_in_scenes: 0,
            no_worse,
        }
    }

    /// What both take in the mean of scenes decides; `auto` has to carry all of them in time.
    pub fn in_scenes(&mut self, auto: Option<f64>, fixed: f64) {
        self.auto_scenes_percent = auto;
        self.static_scenes_percent = Some(fixed);
        self.no_worse = auto.is_some_and(|auto| within(auto, fixed));
    }

    /// `auto` is late in the scenes that static choices were held to, or refuses a session there.
    pub fn has_failed_in_scenes(&mut self) {
        (self.auto_failed_in_scenes, self.no_worse) = (true, false);
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
            "Not compared: {} more, whose sessions no static strategies carry in time.",
            counted(without, "cell", "cells"),
        ));
    }
    let lucky = rows.iter().filter(|row| row.no_worse && row.static_scenes_percent.is_some());
    match lucky.count() {
        0 => {}
        cells => notes.push(format!(
            "In {} of these it took more in the run, and no more in the mean of scenes in \
             which the sessions begin at other moments.",
            counted(cells, "cell", "cells"),
        )),
    }
    let late = rows.iter().filter(|row| row.late_in_scenes > 0).count();
    if late > 0 {
        notes.push(format!(
            "In {} static strategies that took less do not count: they were late when the sessions \
             began at other moments or some of them were not there.",
            counted(late, "cell", "cells"),
        ));
    }
    notes.extend(worse.iter().map(|row| {
        let mut why = match row.difference_percent {
            Some(more) => format!("{more:+.1} %"),
            None => String::new(),
        };
        if let (Some(auto), Some(fixed)) = (row.auto_scenes_percent, row.static_scenes_percent) {
            why += &format!(", {:+.1} % in the mean of scenes", 100.0 * (auto / fixed - 1.0));
        }
        if row.auto_refused > 0 {
            why += &format!(", {} not carried", counted(row.auto_refused, "session", "sessions"));
        }
        if row.auto_late > 0 {
            let late = usize::try_from(row.auto_late).unwrap_or(usize::MAX);
            why += &format!(", {} late", counted(late, "response", "responses"));
        }
        if row.auto_failed_in_scenes {
            why += ", responses late or sessions refused in scenes";
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
