//! The document: docs/BENCHMARKS.md and its charts.

mod charts;
mod machine;
mod reasons;
mod tables;
mod text;
mod verdict;

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::contender::{Contender, Kind, Measure, Mode, failed};
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
#[derive(Debug, Serialize)]
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
    #[serde(skip)]
    pub started: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// Bytes of messages.
    pub sizes: Vec<usize>,
}

/// All that was measured, and by whom.
#[derive(Serialize)]
pub struct Report {
    date: String,
    settings: Settings,
    machine: Vec<(&'static str, String)>,
    rows: Vec<Row>,
    #[serde(skip)]
    chosen: Vec<&'static dyn Contender>,
}

impl Report {
    /// A report of these rows.
    pub fn new(settings: Settings, chosen: &[&'static dyn Contender], rows: Vec<Row>) -> Report {
        let date = humantime::format_rfc3339_seconds(settings.started).to_string();
        let machine = machine::facts();
        Report { date, settings, machine, rows, chosen: chosen.to_vec() }
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
        for topic in TOPICS {
            charts::draw(self, topic, &pictures.join(charts::file(topic)))?;
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
        for topic in TOPICS {
            tables::topic(&mut doc, self, topic, &verdicts);
        }
        doc.text("## Where Narrows is behind, and why");
        reasons::losses(&mut doc, &verdicts)?;
        doc.text("## Who takes part");
        tables::contenders(&mut doc, self);
        doc.text("## How it is measured");
        doc.text(text::METHOD);
        doc.text("## The run");
        let Settings { command, seed, rounds, millis, cores, took, .. } = &self.settings;
        let facts = [
            ("command", format!("`{command}`")),
            ("order", format!("by the seed {seed}; the same again with `--seed {seed}`")),
            ("begun", self.date.clone()),
            (
                "rounds",
                format!("{rounds}, each visit {millis} ms; {} min in all", took.as_secs() / 60),
            ),
            ("cores", format!("{} and {}, for everyone", cores.0, cores.1)),
        ];
        let facts = facts.into_iter().chain(self.machine.iter().cloned());
        doc.table(&["", ""], facts.map(|(name, value)| vec![name.to_owned(), value]).collect());
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
        let cells = TOPICS.into_iter().flat_map(sizes);
        cells.filter_map(|(topic, bytes)| Verdict::of(self, topic, bytes)).collect()
    }

    /// The figures of a contender's cell.
    fn figures(&self, name: &str, topic: (Measure, Mode), bytes: usize) -> Option<Figures> {
        let (measure, mode) = topic;
        let same = |row: &&Row| (row.contender, row.mode, row.bytes) == (name, mode, bytes);
        self.rows.iter().find(same)?.figures(measure)
    }

    /// Those of a kind.
    fn of(&self, kind: Kind) -> impl Iterator<Item = &'static dyn Contender> + '_ {
        self.chosen.iter().copied().filter(move |contender| contender.kind() == kind)
    }
}
