//! Who is ahead, cell by cell: the best of Narrows against the best of the others.

use super::{Report, TOPICS, text};
use crate::contender::{Kind, Measure, Mode, Sides};

/// Medians that differ by less than this are level.
const LEVEL: f64 = 1.05;

/// One cell: a measure, a mode and a size.
#[derive(Debug)]
pub struct Verdict {
    /// The measure and the mode.
    pub topic: (Measure, Mode),
    /// The size.
    pub bytes: usize,
    /// Which of Narrows' is best.
    pub best: &'static str,
    /// Its median in nanoseconds.
    pub ours: f64,
    /// The peers that have this cell, the fastest first.
    pub rivals: Vec<Rival>,
    /// The lowest floor.
    pub floor: Option<(&'static str, f64)>,
}

/// A peer in a cell.
#[derive(Clone, Copy, Debug)]
pub struct Rival {
    /// Who.
    pub name: &'static str,
    /// What its ends run in.
    pub sides: Sides,
    /// Its median in nanoseconds.
    pub median: f64,
}

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Narrows is faster.
    Ahead,
    /// No difference to speak of.
    Level,
    /// The other is faster.
    Behind,
}

impl Verdict {
    /// The verdict on a cell; none if Narrows or everyone else is missing there.
    pub fn of(report: &Report, topic: (Measure, Mode), bytes: usize) -> Option<Verdict> {
        let medians = |kind| {
            let all = report.of(kind).filter_map(|contender| {
                let median = report.figures(contender.name(), topic, bytes)?.median;
                Some(Rival { name: contender.name(), sides: contender.sides(), median })
            });
            let mut all: Vec<Rival> = all.collect();
            all.sort_by(|a, b| a.median.total_cmp(&b.median));
            all
        };
        let best = *medians(Kind::Narrows).first()?;
        let floor = medians(Kind::Floor).first().map(|floor| (floor.name, floor.median));
        let rivals = medians(Kind::Peer);
        rivals.first()?;
        Some(Verdict { topic, bytes, best: best.name, ours: best.median, rivals, floor })
    }

    /// How it stands against one of the others.
    pub fn against(&self, rival: &Rival) -> Outcome {
        if self.ours > rival.median * LEVEL {
            Outcome::Behind
        } else if self.ours * LEVEL < rival.median {
            Outcome::Ahead
        } else {
            Outcome::Level
        }
    }

    /// The fastest of the others, or of those between processes alone.
    fn strongest(&self, processes: bool) -> Option<&Rival> {
        self.rivals.iter().find(|rival| !processes || rival.sides == Sides::Processes)
    }
}

/// What is won and lost, in sentences.
pub fn summary(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return "Nothing to compare: Narrows or its peers did not take part.\n".into();
    }
    let mut text = String::new();
    let (ahead, level, behind) = count(verdicts, false);
    text += &format!(
        "Of {} cells (what is measured, how one waits, size), Narrows is ahead of every peer in \
         {ahead}, level with the best in {level} and behind in {behind}. ",
        verdicts.len(),
    );
    let (ahead, level, behind) = count(verdicts, true);
    text += &format!(
        "Against those that work between processes, as it does, which have {} of the cells, it is \
         ahead in {ahead}, level in {level} and behind in {behind}. Within 5 % is level.\n\n",
        ahead + level + behind,
    );
    for topic in TOPICS {
        let cells: Vec<&Verdict> = verdicts.iter().filter(|cell| cell.topic == topic).collect();
        if !cells.is_empty() {
            text += &format!("- **{}**: {}\n", text::topic(topic), sentence(&cells));
        }
    }
    text
}

fn count(verdicts: &[Verdict], processes: bool) -> (usize, usize, usize) {
    let outcomes =
        verdicts.iter().filter_map(|cell| Some(cell.against(cell.strongest(processes)?)));
    outcomes.fold((0, 0, 0), |(ahead, level, behind), outcome| match outcome {
        Outcome::Ahead => (ahead + 1, level, behind),
        Outcome::Level => (ahead, level + 1, behind),
        Outcome::Behind => (ahead, level, behind + 1),
    })
}

/// How one topic went.
fn sentence(cells: &[&Verdict]) -> String {
    let mut parts = Vec::new();
    for outcome in [Outcome::Ahead, Outcome::Level, Outcome::Behind] {
        let mut said = Vec::new();
        for cell in cells {
            let Some(rival) = cell.strongest(false) else { continue };
            if cell.against(rival) != outcome {
                continue;
            }
            let name = text::named(rival.name, rival.sides);
            said.push(match outcome {
                Outcome::Ahead => {
                    let factor = rival.median / cell.ours;
                    format!("{} ({factor:.1} times as fast as {name})", text::bytes(cell.bytes))
                }
                Outcome::Level => format!("{} (with {name})", text::bytes(cell.bytes)),
                Outcome::Behind => {
                    let factor = cell.ours / rival.median;
                    format!("{} ({name} is {factor:.1} times as fast)", text::bytes(cell.bytes))
                }
            });
        }
        if !said.is_empty() {
            let how = match outcome {
                Outcome::Ahead => "ahead",
                Outcome::Level => "level",
                Outcome::Behind => "behind",
            };
            parts.push(format!("{how} at {}", said.join(", ")));
        }
    }
    parts.join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(ours: f64, rivals: &[(&'static str, Sides, f64)]) -> Verdict {
        let rivals = rivals.iter().map(|(name, sides, median)| Rival {
            name,
            sides: *sides,
            median: *median,
        });
        let topic = (Measure::RoundTrip, Mode::Spinning);
        let rivals = rivals.collect();
        Verdict { topic, bytes: 8, best: "Narrows, copy", ours, rivals, floor: None }
    }

    #[test]
    fn ahead_level_and_behind_are_told_apart() {
        let rivals = [("rtrb", Sides::Threads, 100.0), ("pipe", Sides::Processes, 1000.0)];
        for (ours, all, processes) in [
            (50.0, (1, 0, 0), (1, 0, 0)),
            (103.0, (0, 1, 0), (1, 0, 0)),
            (200.0, (0, 0, 1), (1, 0, 0)),
            (2000.0, (0, 0, 1), (0, 0, 1)),
        ] {
            let cells = [cell(ours, &rivals)];
            assert_eq!(count(&cells, false), all, "{ours}");
            assert_eq!(count(&cells, true), processes, "{ours}");
        }
        let text = summary(&[cell(200.0, &rivals)]);
        assert!(text.contains("behind at 8 B (rtrb, threads is 2.0 times as fast)"), "{text}");
    }
}
