//! Nodes that link with a node and go again, all the while: how it does beside them.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use narrows::endpoint::PortError;
use narrows_host::{Node, Options};
use serde::{Deserialize, Serialize};

use super::flags::Partner as Args;
use super::{PATIENCE, Part, Partner, Phase, Profile, Record, Role, STARTER, Sheet, node};
use crate::base::failure::{Failure, Kind};
use crate::base::latencies::Latencies;
use crate::base::statistics::Summary;
use crate::base::table::number;
use crate::formats::strategy::literal;

/// Nodes that come and go, each of a thread of one process.
pub const CHURNERS: usize = 4;
/// Places for links that a node needs beside them: a link keeps its place for a moment when its
/// peer is gone.
pub const PLACES: usize = 2 * CHURNERS;
/// Where each of them counts: behind what the starter says.
const FIRST: usize = 8;
/// How long one waits for a link before it looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);
/// The port that nothing is sent to.
const SILENT: u16 = 2;
/// What a wait for a message to that port is given.
const WAIT: Duration = Duration::from_millis(1);

/// What a churn came to, as a row of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Churn {
    /// Link-ups that were asked for in a second; 0 for as many as there can be.
    pub asked_per_second: u32,
    /// Link-ups that there were.
    pub link_ups: u64,
    /// The same, for each second.
    pub link_ups_per_second: f64,
    /// Round trips with an honest peer meanwhile.
    pub trips: u64,
    /// How long they took, in microseconds.
    pub trips_us: Summary,
    /// Waits for a message that ended with their deadlines.
    pub waits: u64,
    /// How much later than their deadlines, in microseconds.
    pub late_us: Summary,
    /// Each promise that was broken, as a sentence.
    pub broken: Vec<String>,
}

impl Churn {
    /// The figures in a sentence.
    pub fn sentence(&self) -> String {
        let asked = match self.asked_per_second {
            0 => "as many as there could be".to_owned(),
            asked => format!("{asked} asked for"),
        };
        let figures = |of: &Summary| {
            let [median, p999, max] = [of.median, of.p999, of.max].map(|us| number(us / 1e3));
            format!("{median} ms (median), {p999} (99.9 %), {max} (longest)")
        };
        format!(
            "{} link-ups a second, {asked}: {} honest round trips of {}; {} waits ended after their \
             deadlines by {}",
            number(self.link_ups_per_second),
            self.trips,
            figures(&self.trips_us),
            self.waits,
            figures(&self.late_us)
        )
    }
}

/// The process that churns, and what is measured beside it.
pub struct Churning {
    partner: Partner,
    asked: u32,
    began: Instant,
    before: u64,
    trips: Latencies,
    late: Latencies,
    broken: Vec<String>,
}

impl Churning {
    /// Starts it on a core, and waits until it links; `meanwhile` lets the node take part in that.
    ///
    /// # Errors
    /// It cannot be started, or does not link.
    pub fn start(
        directory: &Path,
        core: usize,
        asked: u32,
        mut meanwhile: impl FnMut(),
    ) -> Result<Churning, Failure> {
        let profile = Profile { active: false, strategy: literal("copy/interrupt"), seed: 0 };
        let (name, priority, part) = ("churn", None, Part::Churn(asked));
        let role = Role { name, core, priority, engine: false, hunts: true, profile, part };
        let partner = Partner::start(directory, &role)?;
        let (trips, late) = (Latencies::default(), Latencies::default());
        let (began, before, broken) = (Instant::now(), 0, Vec::new());
        let mut made = Churning { partner, asked, began, before, trips, late, broken };
        while made.link_ups() < CHURNERS as u64 {
            meanwhile();
            if let Some(how) = made.partner.ended(Duration::ZERO) {
                return Err(Failure::new(Kind::Peer, format!("the process that churns {how}")));
            }
            if made.began.elapsed() > PATIENCE {
                return Err(Failure::new(Kind::Peer, "the process that churns does not link"));
            }
        }
        (made.began, made.before) = (Instant::now(), made.link_ups());
        Ok(made)
    }

    fn link_ups(&self) -> u64 {
        let words = self.partner.record.sheet().get(FIRST..FIRST + CHURNERS).unwrap_or_default();
        words.iter().map(|word| word.load(Ordering::Acquire)).sum()
    }

    /// Counts an honest round trip.
    pub fn trip(&mut self, took: Duration) {
        self.trips.add(took);
    }

    /// Counts all of these round trips.
    pub fn trips(&mut self, all: &Latencies) {
        self.trips.join(all);
    }

    /// Waits for a message that nobody sends, and counts how late that ends.
    pub fn wait(&mut self, node: &mut Node) {
        // Open from the first time on.
        let _ = node.open(SILENT);
        let begun = Instant::now();
        let came = node.receive_into(SILENT, &mut [0; 8], Some(WAIT));
        let took = begun.elapsed();
        match came {
            Err(PortError::Deadline) if took >= WAIT => self.late.add(took - WAIT),
            Err(PortError::Deadline) => self.broken.push("a wait ended before its deadline".into()),
            Ok(_) => self.broken.push("a message came that nobody sent".into()),
            Err(error) => self.broken.push(format!("a wait ended with an error: {error}")),
        }
    }

    /// Ends the process, and says what there was.
    pub fn end(mut self) -> Churn {
        let (link_ups, seconds) = (self.link_ups() - self.before, self.began.elapsed());
        if link_ups == 0 {
            self.broken.push("nobody could link any more".into());
        }
        Sheet::new(self.partner.record.sheet()).set_phase(Phase::Leave);
        let how = self.partner.ended(PATIENCE).unwrap_or_else(|| "does not end".into());
        if !how.contains("exit status: 0") {
            self.broken.push(format!("the process that churns {how}"));
        }
        let us = |of: &Latencies| of.summary(0.0).map(|nanos| nanos / 1e3);
        Churn {
            asked_per_second: self.asked,
            link_ups,
            link_ups_per_second: link_ups as f64 / seconds.as_secs_f64(),
            trips: self.trips.total(),
            trips_us: us(&self.trips),
            waits: self.late.total(),
            late_us: us(&self.late),
            broken: self.broken,
        }
    }
}

/// Links and goes again until the starter wants it no more, or is gone.
///
/// # Errors
/// It cannot begin.
pub fn run(args: &Args, record: &Record, rate: u32) -> Result<(), Failure> {
    let sheet = Sheet::new(record.sheet());
    let every = match rate {
        0 => Duration::ZERO,
        rate => Duration::from_secs(1) * CHURNERS as u32 / rate,
    };
    let nodes: Result<Vec<Node>, Failure> = (0..CHURNERS)
        .map(|number| {
            let options = Options::new(format!("{}-{number}", args.name));
            node(options.directory(&args.directory).core(args.core), PLACES)
        })
        .collect();
    let words = record.sheet().get(FIRST..FIRST + CHURNERS).unwrap_or_default();
    thread::scope(|scope| {
        for (node, word) in nodes?.into_iter().zip(words) {
            scope.spawn(move || churn(node, word, every, sheet));
        }
        Ok(())
    })
}

fn churn(mut node: Node, count: &AtomicU64, every: Duration, sheet: Sheet<'_>) {
    let Ok(name) = STARTER.parse() else { return };
    let (mut due, mut last) = (Instant::now(), Instant::now());
    while sheet.phase() != Phase::Leave && last.elapsed() < PATIENCE {
        if let Ok(link) = node.hunt(&name, Some(LOOK)) {
            node.link(link).close();
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Release);
            last = Instant::now();
        }
        due = (due + every).max(Instant::now() - every);
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}
