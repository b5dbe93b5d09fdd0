//! `bench mcapi`: what the C library makes of the stack, between two processes.
//!
//! Both sides call the C functions, each in a node of its own. The bounds are those of calls that
//! find the other side looking, and of calls that both sleep in.

mod simulated;

use crate::rig::service::mcapi::{Batch, LONGEST, TOTAL, Traffic};

use crate::base::failure::Failure;
use crate::base::options::Global;
use crate::base::report::{BenchRow, Bound};
use crate::experiments::bench::flags::Common;
use crate::experiments::bench::task::{Asked, Needs, Section, Task, begin, iterations};
use crate::rig::limit::{Kind, LAP};
use crate::rig::mcapi::side::Caller;
use crate::rig::pair::Pair;
use crate::rig::series::{NS, Series};
use narrows_sim::chip::Chip;

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
/// smallest packets and its largest, and what its bus allows. Each is a check: nothing is set from
/// it.
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
    /// What is measured instead of calls.
    by_hand: Option<Kind>,
    count: u64,
    series: Series,
}

impl Plan {
    fn new(name: &'static str, traffic: Traffic, bytes: usize, floor: Kind) -> Plan {
        Plan { name, traffic, bytes, floor, by_hand: None, count: 8, series: Series::default() }
    }

    fn most(self, most: f64) -> Plan {
        Plan { series: Series::bound(Bound::Most(most)), ..self }
    }

    /// A batch of the traffic: nanoseconds of an exchange.
    fn batch(&self, caller: &Caller, pair: &mut Pair) -> Result<f64, Failure> {
        if let Some(kind) = self.by_hand {
            return pair.floor(kind, self.bytes);
        }
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
        let limit = match self.traffic {
            Traffic::Stream => mbps(self.bytes, limit),
            _ => limit,
        };
        self.series.push(self.figure(own), limit);
        Ok(())
    }

    /// The figure of exchanges that took this many nanoseconds each.
    fn figure(&self, ns: f64) -> f64 {
        if self.traffic == Traffic::Stream { mbps(TOTAL, ns) } else { ns }
    }

    /// Whether neither side looks before it sleeps.
    fn sleeps(&self) -> bool {
        matches!(self.floor, Kind::Eventfd)
    }

    fn row(&self) -> Option<BenchRow> {
        let unit = if self.traffic == Traffic::Stream { "Mbit/s" } else { NS };
        self.series.row(self.name, self.bytes, unit)
    }
}

/// This many bytes in this many nanoseconds, in Mbit/s.
fn mbps(bytes: usize, ns: f64) -> f64 {
    8e3 * bytes as f64 / ns.max(f64::MIN_POSITIVE)
}

/// Measures the calls that have a bound, and the ping-pong of the source.
///
/// # Errors
/// The other process is gone, or a call failed.
pub(super) fn run(asked: &Asked<'_>) -> Result<Vec<Section>, Failure> {
    let Asked { global, args, chip, .. } = asked;
    let rounds = usize::from(crate::experiments::bench::task::rounds(args, ROUNDS));
    let plans = Plans::new(chip.is_none());
    let Plans { calls, source } = match chip {
        Some(chip) => plans.simulate(global, chip, rounds)?,
        None => plans.measure(global, args, rounds)?,
    };
    let rows = |plans: &[Plan]| plans.iter().filter_map(Plan::row).collect();
    let (calls, source) = (rows(&calls), rows(&source));
    let heading = "Round trips".into();
    let calls = Section { heading, rows: calls, ..Section::default() };
    Ok(vec![calls.judged(), section(source, chip.is_some())])
}

/// All rows, of which the first have bounds.
struct Plans {
    calls: Vec<Plan>,
    source: Vec<Plan>,
}

impl Plans {
    /// With bounds, where something was promised.
    fn new(bound: bool) -> Plans {
        let scalar = Plan::new("scalar, looking", Traffic::Scalar, WORD, Kind::LineEachWay);
        let message = Plan::new("message, looking", Traffic::Message, SHORT, Kind::LineEachWay);
        let packet =
            |bytes| Plan::new("packet, looking", Traffic::Packet, bytes, Kind::CopyBothWays);
        let asleep = Plan::new("message, asleep", Traffic::Message, SHORT, Kind::Eventfd);
        let most = |plan: Plan, most| if bound { plan.most(most) } else { plan };
        let mut calls = vec![most(scalar, 1.2), most(message, 1.35)];
        if bound {
            // A ring of slots with nothing else around it: what is left of a call beside that.
            let slots = Plan::new("slots by hand", Traffic::Message, SHORT, Kind::LineEachWay);
            calls.push(Plan { by_hand: Some(Kind::SlotEachWay), ..slots });
        }
        calls.extend(PACKETS.map(packet));
        calls.push(most(asleep, 1.1));
        let one_way =
            SIZES.map(|size| Plan::new("16 KiB one way", Traffic::Stream, size, Kind::CopyRate));
        Plans { calls, source: one_way.into_iter().chain(SIZES.map(packet)).collect() }
    }

    /// Measures them here, each beside its limit.
    fn measure(self, global: &Global, args: &Common, rounds: usize) -> Result<Plans, Failure> {
        let needs = Needs { trials: &[], longest: LONGEST, steps: 3 * rounds };
        let mut task = begin(global, args, &needs)?;
        let Plans { calls, source } = self;
        let (asleep, looking): (Vec<_>, Vec<_>) = calls.into_iter().partition(Plan::sleeps);
        let (mut calls, source) = with_nodes(&mut task, LOOKING, |task, caller| {
            let calls = measure(task, caller, rounds, looking)?;
            Ok((calls, measure(task, caller, rounds, source)?))
        })?;
        calls.extend(with_nodes(&mut task, ASLEEP, |task, caller| {
            measure(task, caller, rounds, asleep)
        })?);
        Ok(Plans { calls, source })
    }

    /// Measures them on a chip, which has no limits to measure.
    fn simulate(mut self, global: &Global, chip: &Chip, rounds: usize) -> Result<Plans, Failure> {
        let Plans { calls, source } = &mut self;
        let of = |sleeps: bool, plans: [&[Plan]; 2]| -> Vec<Batch> {
            let plans = plans.into_iter().flatten().filter(|plan| plan.sleeps() == sleeps);
            let batch = |Plan { traffic, bytes, count, .. }: &Plan| Batch {
                traffic: *traffic,
                bytes: *bytes,
                count: *count,
            };
            let once: Vec<Batch> = plans.map(batch).collect();
            // What the first round finds cold is not measured.
            (0..=rounds).flat_map(|_| once.iter().copied()).collect()
        };
        let looking = simulated::Session { look: LOOKING, batches: of(false, [calls, source]) };
        let asleep = simulated::Session { look: ASLEEP, batches: of(true, [calls, source]) };
        let mut times = simulated::measure(global, chip, &[looking, asleep])?.into_iter();
        for sleeps in [false, true] {
            for round in 0..=rounds {
                let all = calls.iter_mut().chain(source.iter_mut());
                for plan in all.filter(|plan| plan.sleeps() == sleeps) {
                    let time = times.next().unwrap_or_default();
                    if round > 0 {
                        plan.series.push_alone(plan.figure(time));
                    }
                }
            }
        }
        Ok(self)
    }
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
) -> Result<Vec<Plan>, Failure> {
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
    Ok(plans)
}

/// The ping-pong of the source, with what the source printed.
fn section(rows: Vec<BenchRow>, simulated: bool) -> Section {
    let streams: Vec<&BenchRow> = rows.iter().filter(|row| row.unit != NS).collect();
    let part = |figure: f64| 100.0 * figure / printed::LIMIT;
    let reading = match streams[..] {
        [smallest, .., largest] => {
            let figures = format!(
                "{:.1} Mbit/s with packets of {} bytes, {:.1} with {}",
                smallest.value, smallest.bytes, largest.value, largest.bytes,
            );
            match (smallest.ratio, largest.ratio) {
                (Some(low), Some(high)) => {
                    format!("{figures}: {:.1} and {:.1} % of the limit.", 100.0 * low, 100.0 * high)
                }
                _ => figures + ".",
            }
        }
        _ => String::new(),
    };
    let here = if simulated { "this one" } else { "this machine" };
    let [[slowest, fastest], [dma, most_dma]] = [printed::BUFFER_MANAGER, printed::DMA];
    let note = format!(
        "S3, section V.C, has {slowest} Mbit/s with its smallest packets and {fastest} with its \
         largest by its buffer manager, {:.1} and {:.1} % of the {} that its bus allows, and {dma} \
         and {most_dma} by DMA and FIFOs in software. That is a simulated chip at 200 MHz: the \
         figures are not for comparison with those of {here}.",
        part(slowest),
        part(fastest),
        printed::LIMIT,
    );
    let heading = "Ping-pong of S3: 16 KiB in packets".into();
    Section { heading, rows, reading, notes: vec![note] }
}
