//! `bench mcapi`: what the C library makes of the stack, between two processes.
//!
//! Both sides call the C functions, each in a node of its own. The bounds are those of calls that find
//! the other side looking, and of calls that both sleep in.

mod calls;
mod order;
mod side;

pub use order::{Batch, Order, Traffic};
pub(crate) use side::Callee;

use super::limit::{Kind, LAP};
use super::pair::Pair;
use super::series::{NS, Series};
use super::{Needs, Section, Task, begin, choice, iterations};
use crate::failure::Failure;
use crate::flags::{Bench, Global};
use crate::report::{BenchRow, Bound};
use order::{LONGEST, TOTAL};
use side::Caller;

const ROUNDS: u16 = 31;
/// How long waits look before they sleep, in microseconds: as the library does where it may use
/// several cores, and not at all.
const LOOKING: u32 = 50;
const ASLEEP: u32 = 0;
/// Bytes of a scalar, and of a message that travels in its slot.
const WORD: usize = 8;
const SHORT: usize = 48;
/// Bytes of a packet, beside those of the source.
const PACKETS: [usize; 4] = [SHORT, 1024, 16384, LONGEST];
/// Bytes of a packet in the source's ping-pong, from its smallest word to its total.
const SIZES: [usize; 7] = [4, 16, 64, 256, 1024, 4096, TOTAL];

/// What the source of the ping-pong (S3, section V.C and figure 4) printed, in Mbit/s: with its
/// smallest packets and its largest, and what its bus allows. Each is a check: nothing is set from it.
mod printed {
    pub const LIMIT: f64 = 3200.0;
    pub const DMA: [f64; 2] = [15.0, 46.0];
    pub const BUFFER_MANAGER: [f64; 2] = [29.0, 1780.0];
}

/// A row in the making.
struct Plan {
    name: &'static str,
    traffic: Traffic,
    bytes: usize,
    floor: Kind,
    count: u64,
    series: Series,
}

impl Plan {
    fn new(name: &'static str, traffic: Traffic, bytes: usize, floor: Kind) -> Plan {
        Plan { name, traffic, bytes, floor, count: 8, series: Series::default() }
    }

    fn most(self, most: f64) -> Plan {
        Plan { series: Series::bound(Bound::Most(most)), ..self }
    }

    /// A batch of the traffic: nanoseconds of an exchange.
    fn batch(&self, caller: &Caller, pair: &mut Pair) -> Result<f64, Failure> {
        let Plan { traffic, bytes, count, .. } = *self;
        let lap = match (self.floor, traffic) {
            (Kind::Eventfd, _) | (_, Traffic::Stream) => 1,
            _ => LAP,
        };
        caller.batch(pair, Batch { traffic, bytes, count }, lap)
    }

    /// Measures a batch of the limit and a batch of the traffic.
    fn round(&mut self, caller: &Caller, pair: &mut Pair) -> Result<(), Failure> {
        let limit = pair.floor(self.floor, self.bytes)?;
        let own = self.batch(caller, pair)?;
        match self.traffic {
            Traffic::Stream => self.series.push(mbps(TOTAL, own), mbps(self.bytes, limit)),
            _ => self.series.push(own, limit),
        }
        Ok(())
    }

    fn row(&self) -> Option<BenchRow> {
        let unit = if self.traffic == Traffic::Stream { "Mbit/s" } else { NS };
        self.series.row(self.name, self.bytes, unit)
    }
}

/// So many bytes in so many nanoseconds, in Mbit/s.
fn mbps(bytes: usize, ns: f64) -> f64 {
    8e3 * bytes as f64 / ns.max(f64::MIN_POSITIVE)
}

/// Measures the calls that have a bound, and the ping-pong of the source.
///
/// # Errors
/// The other process is gone, or a call failed.
pub(super) fn run(global: &Global, args: &Bench) -> Result<Vec<Section>, Failure> {
    choice::fixed(args, false)?;
    let rounds = usize::from(super::rounds(args, ROUNDS));
    let needs = Needs { trials: &[], longest: LONGEST, steps: 3 * rounds };
    let mut task = begin(global, args, &needs)?;

    let scalar = Plan::new("scalar, looking", Traffic::Scalar, WORD, Kind::LineEachWay);
    let message = Plan::new("message, looking", Traffic::Message, SHORT, Kind::LineEachWay);
    let packet = |bytes| Plan::new("packet, looking", Traffic::Packet, bytes, Kind::CopyBothWays);
    let mut looking = vec![scalar.most(1.2), message.most(1.35)];
    looking.extend(PACKETS.map(packet));
    let asleep = Plan::new("message, asleep", Traffic::Message, SHORT, Kind::Eventfd).most(1.1);
    let one_way =
        SIZES.map(|size| Plan::new("16 KiB one way", Traffic::Stream, size, Kind::CopyRate));
    let pingpong: Vec<Plan> = one_way.into_iter().chain(SIZES.map(packet)).collect();

    let (mut calls, source) = with_nodes(&mut task, LOOKING, |task, caller| {
        Ok((measure(task, caller, rounds, looking)?, measure(task, caller, rounds, pingpong)?))
    })?;
    calls.extend(with_nodes(&mut task, ASLEEP, |task, caller| {
        measure(task, caller, rounds, vec![asleep])
    })?);
    let calls = Section { heading: "Round trips".into(), rows: calls, ..Section::default() };
    Ok(vec![calls.judged(), section(source)])
}

/// Does something while both sides have a node.
fn with_nodes<T>(
    task: &mut Task<'_>,
    look: u32,
    work: impl FnOnce(&mut Task<'_>, &Caller) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let caller = Caller::open(&mut task.pair, look)?;
    let done = work(task, &caller)?;
    caller.close(&mut task.pair)?;
    Ok(done)
}

/// Rows that are measured in turns, a batch of each in every round.
fn measure(
    task: &mut Task<'_>,
    caller: &Caller,
    rounds: usize,
    mut plans: Vec<Plan>,
) -> Result<Vec<BenchRow>, Failure> {
    for plan in &mut plans {
        plan.count = iterations(plan.batch(caller, &mut task.pair)?);
    }
    for _ in 0..rounds {
        for plan in &mut plans {
            task.say(plan.name);
            plan.round(caller, &mut task.pair)?;
        }
        task.step();
    }
    Ok(plans.iter().filter_map(Plan::row).collect())
}

/// The ping-pong of the source, with what the source printed.
fn section(rows: Vec<BenchRow>) -> Section {
    let streams: Vec<&BenchRow> = rows.iter().filter(|row| row.unit != NS).collect();
    let part = |figure: f64| 100.0 * figure / printed::LIMIT;
    let reading = match streams[..] {
        [smallest, .., largest] => format!(
            "{:.0} Mbit/s with packets of {} bytes, {:.0} with {}: {:.1} and {:.1} % of the limit.",
            smallest.value,
            smallest.bytes,
            largest.value,
            largest.bytes,
            100.0 * smallest.ratio.unwrap_or_default(),
            100.0 * largest.ratio.unwrap_or_default(),
        ),
        _ => String::new(),
    };
    let [[slowest, fastest], [dma, most_dma]] = [printed::BUFFER_MANAGER, printed::DMA];
    let note = format!(
        "S3, section V.C, has {slowest} Mbit/s with its smallest packets and {fastest} with its \
         largest by its buffer manager, {:.1} and {:.1} % of the {} that its bus allows, and {dma} \
         and {most_dma} by DMA and FIFOs in software. That is a simulated chip at 200 MHz: the \
         figures are not for comparison with those of this machine.",
        part(slowest),
        part(fastest),
        printed::LIMIT,
    );
    let heading = "Ping-pong of S3: 16 KiB in packets".into();
    Section { heading, rows, reading, notes: vec![note] }
}
