//! Which contender is ahead, cell by cell: the best of Narrows against the best of the others that
//! go over the same.

use super::{Report, TOPICS, text};
use crate::contender::{Group, Kind, Measure, Mode, Over, Sides};

/// Medians that differ by less than this are level.
const LEVEL: f64 = 1.05;

/// One cell: what is gone over, a measure, a mode and a size.
#[derive(Debug)]
pub struct Verdict {
    /// What all of them go over.
    pub over: Over,
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
    /// Its name.
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
    pub fn of(
        report: &Report,
        over: Over,
        topic: (Measure, Mode),
        bytes: usize,
    ) -> Option<Verdict> {
        let medians = |kind| {
            let all = report.of(over.group(), kind).filter(|contender| contender.over() == over);
            let all = all.filter_map(|contender| {
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
        if rivals.is_empty() && floor.is_none() {
            return None;
        }
        Some(Verdict { over, topic, bytes, best: best.name, ours: best.median, rivals, floor })
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
    let told = Over::ALL.into_iter().flat_map(|over| {
        let cells: Vec<&Verdict> = verdicts.iter().filter(|cell| cell.over == over).collect();
        [won_and_lost(over, &cells), beside_floor(over, &cells)]
    });
    let told: Vec<String> = told.filter(|text| !text.is_empty()).collect();
    if told.is_empty() {
        return "Nothing to compare: Narrows or its peers did not take part.\n".into();
    }
    told.join("\n")
}

/// How Narrows stands against its peers over the same.
fn won_and_lost(over: Over, cells: &[&Verdict]) -> String {
    let cells: Vec<&Verdict> =
        cells.iter().copied().filter(|cell| !cell.rivals.is_empty()).collect();
    if cells.is_empty() {
        return String::new();
    }
    let (ahead, level, behind) = count(&cells, false);
    let mut text = format!(
        "Of {} cells (what is measured, how one waits, size){}, Narrows is ahead of every peer in \
         {ahead}, level with the best in {level} and behind in {behind}. ",
        cells.len(),
        match over {
            Over::Machine => String::new(),
            Over::Unix | Over::Tcp => format!(" over {}", text::over(over)),
        },
    );
    if over == Over::Machine {
        let (ahead, level, behind) = count(&cells, true);
        text += &format!(
            "Against those that work between processes, as it does, which have {} of the cells, it \
             is ahead in {ahead}, level in {level} and behind in {behind}. ",
            ahead + level + behind,
        );
    }
    text += "Within 5 % is level.\n\n";
    for topic in TOPICS {
        let cells: Vec<&Verdict> =
            cells.iter().copied().filter(|cell| cell.topic == topic).collect();
        if !cells.is_empty() {
            text += &format!("- **{}**: {}\n", text::topic(topic), sentence(&cells));
        }
    }
    text
}

/// How Narrows stands beside a socket that is used by hand.
fn beside_floor(over: Over, cells: &[&Verdict]) -> String {
    if over.group() != Group::Sockets {
        return String::new();
    }
    let (mut by, mut text) = ("", String::new());
    for topic in TOPICS {
        let said = cells.iter().filter(|cell| cell.topic == topic).filter_map(|cell| {
            let (name, floor) = cell.floor?;
            Some((name, format!("{:.2} × at {}", cell.ours / floor, text::bytes(cell.bytes))))
        });
        let (names, said): (Vec<&str>, Vec<String>) = said.unzip();
        if let Some(name) = names.first() {
            by = name;
            text += &format!("- **{}**: {}.\n", text::topic(topic), said.join(", "));
        }
    }
    if text.is_empty() {
        return text;
    }
    format!("Time of Narrows ÷ time of a {by} that is used by hand:\n\n{text}")
}

fn count(verdicts: &[&Verdict], processes: bool) -> (usize, usize, usize) {
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
        let over = Over::Machine;
        Verdict { over, topic, bytes: 8, best: "Narrows, copy", ours, rivals, floor: None }
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
            let cell = cell(ours, &rivals);
            assert_eq!(count(&[&cell], false), all, "{ours}");
            assert_eq!(count(&[&cell], true), processes, "{ours}");
        }
        let text = summary(&[cell(200.0, &rivals)]);
        assert!(text.contains("behind at 8 B (rtrb, threads is 2.0 times as fast)"), "{text}");
    }

    #[test]
    fn like_is_compared_with_like() {
        let rows = [
            ("Narrows over a Unix socket", 100.0),
            ("Narrows over TCP", 900.0),
            ("nng over TCP", 300.0),
            ("Unix stream socket", 80.0),
        ];
        let report = Report::of_medians((Measure::RoundTrip, Mode::Blocked), 8, &rows);
        let [machine, unix, tcp] = Over::ALL
            .map(|over| Verdict::of(&report, over, (Measure::RoundTrip, Mode::Blocked), 8));
        assert!(machine.is_none());
        let (unix, tcp) = (unix.unwrap(), tcp.unwrap());
        assert_eq!((unix.best, unix.rivals.len()), ("Narrows over a Unix socket", 0));
        assert_eq!(unix.floor, Some(("Unix stream socket", 80.0)));
        assert_eq!((tcp.best, tcp.floor), ("Narrows over TCP", None));
        let text = summary(&[unix, tcp]);
        assert!(text.contains("1.25 × at 8 B"), "{text}");
        assert!(text.contains("behind at 8 B (nng over TCP is 3.0 times as fast)"), "{text}");
    }

    #[test]
    fn narrows_alone_is_compared_with_nobody() {
        let report = Report::of_medians(
            (Measure::RoundTrip, Mode::Hybrid),
            8,
            &[("Narrows over TCP", 900.0)],
        );
        let topic = (Measure::RoundTrip, Mode::Hybrid);
        assert!(Verdict::of(&report, Over::Tcp, topic, 8).is_none());
        assert!(summary(&[]).starts_with("Nothing to compare"));
    }
}
