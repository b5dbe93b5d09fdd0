//! The document: docs/BENCHMARKS.md and its charts.

mod charts;
mod machine;
mod reasons;
mod tables;
mod text;
mod verdict;

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::contender::{Contender, Group, Kind, Measure, Mode, Over, failed};
use crate::results::{Figures, Row};
use text::Doc;
use verdict::Verdict;

/// The comparisons, in the order of the document.
const TOPICS: [(Measure, Mode); 6] = [
    (Measure::RoundTrip, Mode::Spinning),
    (Measure::RoundTrip, Mode::Blocked),
    (Measure::RoundTrip, Mode::Hybrid),
    (Measure::OneWay, Mode::Spinning),
    (Measure::OneWay, Mode::Blocked),
    (Measure::OneWay, Mode::Hybrid),
];

/// How the run was made.
#[derive(Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The command line.
    pub command: String,
    /// What decided the order.
    pub seed: u64,
    /// Rounds asked for.
    pub rounds: u32,
    /// Milliseconds of a visit.
    pub millis: u64,
    /// The cores of the two ends.
    pub cores: (usize, usize),
    /// When it began.
    pub date: String,
    /// How long it took.
    pub took: Duration,
    /// Bytes of messages.
    pub sizes: Vec<usize>,
}

/// All that was measured, and by whom.
#[derive(Serialize, Deserialize)]
pub struct Report {
    settings: Settings,
    /// Facts about the machine and what was built on it, by name.
    machine: Vec<(String, String)>,
    rows: Vec<Row>,
}

impl Report {
    /// A report of these rows.
    pub fn new(settings: Settings, rows: Vec<Row>) -> Report {
        let machine = machine::facts();
        let machine = machine.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect();
        Report { settings, machine, rows }
    }

    /// A report that was kept.
    ///
    /// # Errors
    /// The text is no report, or names a contender that this was built without.
    pub fn from_json(text: &[u8]) -> io::Result<Report> {
        let report: Report = serde_json::from_slice(text)
            .map_err(|error| failed("no results in that file", error))?;
        let all = crate::contender::all();
        for row in &report.rows {
            if !all.iter().any(|contender| contender.name() == row.contender) {
                let why = "this was built without it, see the features in bench/Cargo.toml";
                return Err(failed(&row.contender, why));
            }
        }
        Ok(report)
    }

    /// What is won and lost, in sentences.
    pub fn overview(&self) -> String {
        verdict::summary(&self.verdicts())
    }

    /// Writes the document and its charts into a directory.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let pictures = directory.join("benchmarks");
        std::fs::create_dir_all(&pictures)
            .map_err(|error| failed(&format!("cannot make {}", pictures.display()), error))?;
        for (group, topic) in self.comparisons() {
            charts::draw(self, group, topic, &pictures.join(charts::file(group, topic)))?;
        }
        let file = directory.join("BENCHMARKS.md");
        let text = self.document()?;
        std::fs::write(&file, text)
            .map_err(|error| failed(&format!("cannot write {}", file.display()), error))
    }

    fn document(&self) -> io::Result<String> {
        let verdicts = self.verdicts();
        let mut doc = Doc::default();
        doc.text(text::HEAD);
        doc.text(&verdict::summary(&verdicts));
        for (group, topic) in self.comparisons() {
            tables::topic(&mut doc, self, group, topic, &verdicts);
        }
        doc.text("## Where Narrows is behind, and why");
        reasons::losses(&mut doc, &verdicts)?;
        doc.text("## Who takes part");
        tables::contenders(&mut doc, self);
        let groups: Vec<Group> = self.comparisons().map(|(group, _)| group).collect();
        if cfg!(not(feature = "aeron")) && groups.contains(&Group::Machine) {
            doc.text(text::NO_AERON);
        }
        doc.text("## How it is measured");
        doc.text(text::METHOD);
        doc.text("## The run");
        let Settings { command, date, seed, rounds, millis, cores, took, .. } = &self.settings;
        let facts = [
            ("command", format!("`{command}`")),
            ("order", format!("by the seed {seed}; the same again with `--seed {seed}`")),
            ("begun", date.clone()),
            (
                "rounds",
                format!("{rounds}, each visit {millis} ms; {} min in all", took.as_secs() / 60),
            ),
            ("cores", format!("{} and {}, for everyone", cores.0, cores.1)),
        ];
        let facts = facts.into_iter().map(|(name, fact)| vec![name.to_owned(), fact]);
        let machine = self.machine.iter().map(|(name, fact)| vec![name.clone(), fact.clone()]);
        doc.table(&["", ""], facts.chain(machine).collect());
        let mut failures = String::new();
        for row in self.rows.iter().filter(|row| !row.failures.is_empty()) {
            let (mode, why) = (text::mode(row.mode), row.failures.join("; "));
            failures += &format!("- {}, {mode}, {} B: {why}\n", row.contender, row.bytes);
        }
        if !failures.is_empty() {
            doc.text("Visits that came to nothing, and are in no figure:");
            doc.text(&failures);
        }
        Ok(doc.finish())
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let sizes = |topic| self.settings.sizes.iter().map(move |bytes| (topic, *bytes));
        let cells = move |over| TOPICS.into_iter().flat_map(sizes).map(move |cell| (over, cell));
        let cells = Over::ALL.into_iter().flat_map(cells);
        cells.filter_map(|(over, (topic, bytes))| Verdict::of(self, over, topic, bytes)).collect()
    }

    /// What has a section: each group that somebody of took part in.
    fn comparisons(&self) -> impl Iterator<Item = (Group, (Measure, Mode))> + '_ {
        let groups = Group::ALL.into_iter().filter(|group| {
            [Kind::Narrows, Kind::Peer, Kind::Floor]
                .into_iter()
                .any(|kind| self.of(*group, kind).next().is_some())
        });
        groups.flat_map(|group| TOPICS.into_iter().map(move |topic| (group, topic)))
    }

    /// The figures of a contender's cell.
    fn figures(&self, name: &str, topic: (Measure, Mode), bytes: usize) -> Option<Figures> {
        let (measure, mode) = topic;
        let same = |row: &&Row| (&*row.contender, row.mode, row.bytes) == (name, mode, bytes);
        self.rows.iter().find(same)?.figures(measure)
    }

    /// Those of a kind in a group.
    fn of(&self, group: Group, kind: Kind) -> impl Iterator<Item = &'static dyn Contender> + '_ {
        let measured = |name| self.rows.iter().any(|row| row.contender == name);
        let all = crate::contender::all().into_iter();
        let all = all.filter(move |contender| contender.over().group() == group);
        all.filter(move |contender| contender.kind() == kind && measured(contender.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visit::Found;

    impl Report {
        /// A report of one cell, with these medians in nanoseconds.
        pub fn of_medians(
            (measure, mode): (Measure, Mode),
            bytes: usize,
            medians: &[(&str, f64)],
        ) -> Report {
            let all = crate::contender::all();
            let rows = medians.iter().map(|(name, median)| {
                let contender = all.iter().find(|contender| contender.name() == *name).unwrap();
                let (kind, sides, times) = (contender.kind(), contender.sides(), vec![*median]);
                let found = match measure {
                    Measure::OneWay => Found { one_way: times, ..Found::default() },
                    Measure::RoundTrip => {
                        let single = vec![*median as u32];
                        Found { round_trip: times, single, ..Found::default() }
                    }
                };
                let (contender, failures) = ((*name).to_owned(), Vec::new());
                Row { contender, kind, sides, mode, bytes, found, failures }
            });
            let rows = rows.collect();
            let settings = Settings {
                command: "none".into(),
                seed: 1,
                rounds: 1,
                millis: 1,
                cores: (0, 1),
                date: "never".into(),
                took: Duration::ZERO,
                sizes: vec![bytes],
            };
            Report { settings, machine: Vec::new(), rows }
        }
    }

    #[test]
    fn a_group_that_nobody_was_measured_of_has_no_section() {
        let topic = (Measure::RoundTrip, Mode::Blocked);
        let medians = [("Narrows over TCP", 900.0), ("nng over TCP", 300.0)];
        let text = Report::of_medians(topic, 8, &medians).document().unwrap();
        assert!(text.contains("## Over sockets: Round trip, blocked"), "{text}");
        assert!(!text.contains("\n## Round trip, blocked"), "{text}");
        let medians = [("Narrows, copy", 900.0), ("pipe", 300.0)];
        let text = Report::of_medians(topic, 8, &medians).document().unwrap();
        assert!(!text.contains("## Over sockets"), "{text}");
        assert!(text.contains("\n## Round trip, blocked"), "{text}");
    }

    #[test]
    fn each_kind_of_socket_has_its_own_best_and_ratio() {
        let topic = (Measure::RoundTrip, Mode::Blocked);
        let medians = [
            ("Narrows over a Unix socket", 100.0),
            ("Narrows over TCP", 900.0),
            ("nng over TCP", 300.0),
            ("Unix stream socket", 80.0),
            ("TCP socket", 90.0),
        ];
        let text = Report::of_medians(topic, 8, &medians).document().unwrap();
        for part in [
            "| **100 ns** |",
            "| **900 ns** ▼ |",
            "| 300 ns ▲ |",
            "over a Unix stream socket |  | 1.25 × |",
            "over TCP |  | 10.00 × |",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
