//! Why Narrows is behind, where it is: what is known of each is in bench/reasons.toml.

use std::io;

use serde::Deserialize;

use super::text::{self, Doc};
use super::verdict::{Outcome, Rival, Verdict};
use crate::contender::{Measure, Mode, failed};

const FILE: &str = include_str!("../../reasons.toml");
/// What is said of a loss that no reason covers.
const UNKNOWN: &str = "not explained yet";

#[derive(Deserialize)]
struct Reasons {
    reason: Vec<Reason>,
}

/// A reason for cells that are lost to one peer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    /// The peer's name, or the beginning of it.
    peer: String,
    /// Only for this measure.
    measure: Option<Measure>,
    /// Only for this way of waiting.
    mode: Option<Mode>,
    /// Only from this size on.
    from: Option<usize>,
    /// Only up to this size.
    to: Option<usize>,
    /// A sentence or two.
    why: String,
}

impl Reason {
    fn covers(&self, cell: &Verdict, rival: &Rival) -> bool {
        let (measure, mode) = cell.topic;
        rival.name.starts_with(&self.peer)
            && self.measure.is_none_or(|only| only == measure)
            && self.mode.is_none_or(|only| only == mode)
            && self.from.is_none_or(|from| cell.bytes >= from)
            && self.to.is_none_or(|to| cell.bytes <= to)
    }
}

/// Everything that was lost, with its reason.
pub fn losses(doc: &mut Doc, verdicts: &[Verdict]) -> io::Result<()> {
    let reasons = toml::from_str(FILE).map_err(|error| failed("bench/reasons.toml", error))?;
    let lost = list(verdicts, &reasons);
    match lost.is_empty() {
        true => doc.text("Nowhere in this run."),
        false => doc.text(&lost),
    }
    Ok(())
}

fn list(verdicts: &[Verdict], reasons: &Reasons) -> String {
    // Cells that follow each other and have the same reason are one line.
    let mut lines: Vec<(String, Vec<String>, &str)> = Vec::new();
    let losses =
        verdicts.iter().flat_map(|cell| cell.rivals.iter().map(move |rival| (cell, rival)));
    for (cell, rival) in losses.filter(|(cell, rival)| cell.against(rival) == Outcome::Behind) {
        let name = text::named(rival.name, rival.sides);
        let to = format!("{}, to {name}", text::topic(cell.topic));
        let size = format!("{} ({:.1} ×)", text::bytes(cell.bytes), cell.ours / rival.median);
        let reason = reasons.reason.iter().find(|reason| reason.covers(cell, rival));
        let why = reason.map_or(UNKNOWN, |reason| reason.why.trim());
        match lines.iter_mut().find(|line| line.0 == to && line.2 == why) {
            Some(line) => line.1.push(size),
            None => lines.push((to, vec![size], why)),
        }
    }
    let lines = lines.into_iter().map(|(to, sizes, why)| {
        format!("- **{to}**, at {}: {}\n", sizes.join(", "), why.replace('\n', " "))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::{Over, Sides};

    #[test]
    fn the_file_can_be_read_and_names_peers_that_there_are() {
        let reasons: Reasons = toml::from_str(FILE).unwrap();
        for reason in reasons.reason {
            let mut all = crate::contender::all().into_iter();
            let known = all.any(|contender| contender.name().starts_with(&reason.peer));
            assert!(known || reason.peer == "Aeron IPC", "{}", reason.peer);
            assert!(!reason.why.trim().is_empty());
        }
    }

    #[test]
    fn a_loss_without_a_reason_says_so_and_a_win_is_not_listed() {
        let rival = |name, median| Rival { name, sides: Sides::Processes, median };
        let cell = Verdict {
            over: Over::Machine,
            topic: (Measure::RoundTrip, Mode::Blocked),
            bytes: 64,
            best: "Narrows, copy",
            ours: 200.0,
            rivals: vec![rival("pipe", 100.0), rival("ZeroMQ", 900.0)],
            floor: None,
        };
        let none = Reasons { reason: Vec::new() };
        let text = list(&[cell], &none);
        assert_eq!(
            text,
            "- **Round trip, blocked, to pipe**, at 64 B (2.0 ×): not explained yet\n"
        );
    }
}
