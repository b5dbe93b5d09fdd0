//! S2's cycle between processors of this machine, each a node and a thread of this process, in a
//! line or in a ring of four.

mod net;
#[cfg(test)]
mod tests;

use std::path::Path;

use narrows_host::Carrier;
use narrows_sim::chip::Net;
use narrows_sim::file::Text;
use serde::Serialize;

use super::flags::{Shape, Sra};
use super::table::{self, Line};
use crate::base::failure::{Failure, Kind};
use crate::base::input;
use crate::base::machine::Machine;
use crate::base::page::Page;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::statistics::{median, spread};
use crate::base::table::wrap;
use crate::experiments::bench::task::{Asked as Bench, rounds};

/// Processors of a line or a ring, and what a file with routes calls them.
const NAMES: [&str; 4] = ["p1", "p2", "p3", "p4"];
/// Sizes of messages where nothing is said: the short and the long ones of S2.
const SIZES: [usize; 2] = [24, 4092];
const ROUNDS: u16 = 21;
/// Cycles of a batch, of which the median counts.
const CYCLES: usize = 16;

/// One size of messages over one carrier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The carrier: `memory` or `stream`.
    pub mode: &'static str,
    /// How the processors are linked: `line` or `ring`.
    pub shape: &'static str,
    /// Bytes of the message and of its acknowledgement.
    pub bytes: usize,
    /// Links from the first processor to the last.
    pub hops: usize,
    /// The processors that the message comes to, the last one included.
    pub way: Vec<&'static str>,
    /// One cycle.
    pub sra_us: f64,
    /// The 90th percentile less the 10th of its rounds.
    pub sra_spread_us: f64,
    /// One cycle of two tasks of the first processor.
    pub one_processor_us: f64,
    /// Half of what the one takes more than the other, in the same round.
    pub ipc_us: f64,
    /// The 90th percentile less the 10th of its rounds.
    pub ipc_spread_us: f64,
    /// Bytes by IPC time; none if that is not above 0.
    pub rate_mbyte_s: Option<f64>,
    /// Processor time of the sending thread in the send call.
    pub sender_held_us: f64,
    /// Processor time of the receiving thread in the receive call.
    pub receiver_held_us: f64,
    /// The cycle of each round, in the order of time.
    pub rounds: Vec<f64>,
}

/// Whether everything that was asked for means something here.
fn sensible(bench: &Bench<'_>, args: &Sra) -> Result<(), Failure> {
    let longest = net::LONGEST;
    let wrong = bench.args.bytes.iter().find(|bytes| !(1..=longest).contains(*bytes));
    let text = if !args.mode.is_empty() {
        "--mode is how DMA is driven, which this machine has none of: name a board with --on, or \
         a carrier with --carrier"
            .to_owned()
    } else if !args.with.is_empty() {
        "--with is for boards: name one with --on".to_owned()
    } else if let Some(bytes) = wrong {
        format!("--bytes {bytes}: messages here have 1 to {longest}")
    } else {
        return Ok(());
    };
    Err(Failure::new(Kind::Usage, text))
}

/// A line or a ring with the routes of a file.
fn shaped(shape: Shape, routes: Option<(&Path, &str)>) -> Result<Net, Failure> {
    let net = match shape {
        Shape::Line => Net::line(NAMES.len()),
        Shape::Ring => Net::ring(NAMES.len()),
    };
    let Some((path, text)) = routes else { return Ok(net) };
    let names = NAMES.map(str::to_owned);
    let document = Text { path, text }.parse().map_err(input::wrong)?;
    let top = document.top(&["route"]).map_err(input::wrong)?;
    net.read(&top, "processor", &names).map_err(input::wrong)
}

/// Processors that are up, and the one that messages go to.
struct Trial {
    carrier: Carrier,
    shape: Shape,
    way: Vec<usize>,
    net: net::Net,
}

impl Trial {
    fn last(&self) -> usize {
        self.way.last().copied().unwrap_or(0)
    }
}

/// The rounds of a row.
#[derive(Default)]
struct Rounds {
    sra: Vec<f64>,
    one: Vec<f64>,
    ipc: Vec<f64>,
    sender: Vec<f64>,
    receiver: Vec<f64>,
}

impl Rounds {
    /// One round: batches of cycles with the first processor's own task and with the last one's.
    fn measure(&mut self, trial: &Trial, bytes: usize) -> Result<(), Failure> {
        let batch = |to| -> Result<f64, Failure> {
            let cycles = (0..CYCLES).map(|_| trial.net.cycle(to, bytes));
            let mut cycles = cycles.collect::<Result<Vec<f64>, _>>()?;
            Ok(median(&mut cycles).unwrap_or(0.0))
        };
        let (one, sra) = (batch(0)?, batch(trial.last())?);
        let held = (0..CYCLES).map(|_| trial.net.held(trial.last(), bytes));
        let held = held.collect::<Result<Vec<_>, _>>()?;
        let of = |what: fn(&net::Held) -> f64| {
            median(&mut held.iter().map(what).collect::<Vec<_>>()).unwrap_or(0.0)
        };
        self.sra.push(sra);
        self.one.push(one);
        self.ipc.push((sra - one) / 2.0);
        self.sender.push(of(|held| held.sender));
        self.receiver.push(of(|held| held.receiver));
        Ok(())
    }

    fn row(&self, trial: &Trial, bytes: usize) -> Row {
        let middle = |all: &[f64]| median(&mut all.to_vec()).unwrap_or(0.0);
        let apart = |all: &[f64]| spread(&mut all.to_vec()).unwrap_or(0.0);
        let ipc = middle(&self.ipc);
        Row {
            mode: trial.carrier.name(),
            shape: trial.shape.name(),
            bytes,
            hops: trial.way.len(),
            way: trial.way.iter().map(|node| NAMES[*node]).collect(),
            sra_us: middle(&self.sra),
            sra_spread_us: apart(&self.sra),
            one_processor_us: middle(&self.one),
            ipc_us: ipc,
            ipc_spread_us: apart(&self.ipc),
            rate_mbyte_s: (ipc > 0.0).then(|| bytes as f64 / ipc),
            sender_held_us: middle(&self.sender),
            receiver_held_us: middle(&self.receiver),
            rounds: self.sra.clone(),
        }
    }
}

/// Measures and prints.
///
/// # Errors
/// What is asked for cannot be, or the machine refuses it.
pub(super) fn run(bench: &Bench<'_>, args: &Sra) -> Result<(), Failure> {
    sensible(bench, args)?;
    let text = match &args.routes {
        Some(path) => Some((path.as_path(), input::text(path, "routes", "a file in TOML")?)),
        None => None,
    };
    let routes = text.as_ref().map(|(path, text)| (*path, text.as_str()));
    let shapes = if args.shape.is_empty() { &Shape::ALL[..] } else { &args.shape[..] };
    let mut nets = Vec::new();
    for shape in shapes {
        let net = shaped(*shape, routes)?;
        match net.away(0, args.hops) {
            Some(last) => nets.push((*shape, net, last)),
            None if args.shape.is_empty() => {}
            None => return Err(too_far(args.hops, shape.name())),
        }
    }
    if nets.is_empty() {
        return Err(too_far(args.hops, "line or ring"));
    }
    let carriers = bench.global.carrier.map_or(Carrier::ALL.to_vec(), |carrier| vec![carrier]);
    let mut trials = Vec::new();
    for carrier in &carriers {
        for (shape, net, last) in &nets {
            let way = net.way(0, *last).unwrap_or_default();
            let net = net::Net::open(net, *carrier)?;
            trials.push(Trial { carrier: *carrier, shape: *shape, way, net });
        }
    }
    let sizes = if bench.args.bytes.is_empty() { &SIZES[..] } else { &bench.args.bytes[..] };
    let cases: Vec<(&Trial, usize)> =
        trials.iter().flat_map(|trial| sizes.iter().map(move |bytes| (trial, *bytes))).collect();
    let count = usize::from(rounds(bench.args, ROUNDS));
    let progress = Progress::new(count as u64, bench.global.json);
    let mut all: Vec<Rounds> = cases.iter().map(|_| Rounds::default()).collect();
    for round in 0..count {
        progress.reach(round as u64);
        for ((trial, bytes), rounds) in cases.iter().zip(&mut all) {
            rounds.measure(trial, *bytes)?;
        }
    }
    drop(progress);
    let rows = cases.iter().zip(&all).map(|((trial, bytes), all)| all.row(trial, *bytes));
    let carrier = bench.global.carrier.map(|carrier| carrier.name().to_owned());
    let machine = Machine { carrier, ..bench.machine() };
    let report = Report::new("bench sra", machine, rows.collect());
    bench.print(&report, || self::text(&report))?;
    bench.page.write(|| page(&report))
}

fn too_far(hops: usize, shape: &str) -> Failure {
    let text = format!(
        "--hops {hops}: no way from the first processor of a {shape} of {} has so many links: \
         lower it, or name routes that do with --routes",
        NAMES.len()
    );
    Failure::new(Kind::Usage, text)
}

fn page(report: &Report<Row>) -> Page {
    let quickest = report.results.iter().min_by(|a, b| a.sra_us.total_cmp(&b.sra_us));
    let headline = quickest.map_or_else(String::new, |row| {
        let Row { mode, bytes, sra_us, .. } = row;
        format!("A cycle of {bytes} bytes over {mode} takes {sra_us:.1} µs")
    });
    Page { headline, ..Page::of(report) }
}

fn text(report: &Report<Row>) -> String {
    let lines = report.results.iter().map(|row| Line {
        mode: row.mode,
        shape: Some(row.shape),
        bytes: row.bytes,
        hops: row.hops,
        sra_us: row.sra_us,
        spread_us: Some(row.sra_spread_us),
        one_processor_us: row.one_processor_us,
        ipc_us: row.ipc_us,
        rate_mbyte_s: row.rate_mbyte_s,
        sender_held_us: row.sender_held_us,
        receiver_held_us: row.receiver_held_us,
    });
    let table = table::render(&lines.collect::<Vec<_>>());
    let legend = "µs, medians of rounds in turns: a cycle of send, receive and acknowledge, its \
                  spread, the same between two tasks of one processor, and half of what the first \
                  takes more; processor time of the sending thread in its call, and of the \
                  receiving one in its.";
    format!("{table}\n{}", wrap("", legend))
}
