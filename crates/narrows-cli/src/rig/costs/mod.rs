//! The model's parameters, measured: a few calls of the stack on a chip or on this machine.
//!
//! A point is a strategy with a length of request and response: the time of a round trip, and what
//! it took of the calling core. Differences between points are the parameters. Nothing is fitted;
//! each parameter comes from the two or three points that it tells apart.

pub(crate) mod machine;

mod cold;
mod contended;
mod idle;
mod payload;
mod seldom;

use crate::base::failure::Failure;
use crate::base::statistics::median;
use crate::formats::functions::Order;
use crate::formats::strategy::literal;
use crate::rig::peer::Peer;
use crate::rig::place::{Core, Place, sleep_until};
use narrows::endpoint::{CallError, FlowError, SendError};
use narrows::memory::Class;
use narrows::strategy::{Acknowledgement, Notification, Placement, Strategy};
use narrows_tune::model::Parameters;
use std::time::Duration;

pub(super) use cold::cold;
pub(crate) use idle::idle;

/// Bytes of a message that is no longer than the order in it, and takes no block.
const LEAST_BYTES: usize = 16;
/// Bytes of a short message, which yet takes a block, at least.
const LEAST_SHORT: usize = 64;
/// Bytes of a long one, if blocks are as long.
pub(crate) const LONG: usize = 8192;
/// Calls of a point, and those before that do not count.
const CALLS: u32 = 24;
const BEFORE: u32 = 4;
/// A multiple of the calls between two batches of what comes back.
const BATCHES: u32 = 32;
/// Nanoseconds of a second.
const NANOS: f64 = 1e-9;
/// A period of looks is this many round trips by interrupt, within these limits in nanoseconds:
/// where a machine has other things to do, a single round trip says little.
const APART: f64 = 8.0;
const LEAST: u64 = 10_000;
const MOST: u64 = 5_000_000;
/// Ticks of a period of looks, at least.
const TICKS: u64 = 4;
/// Times of the period of looks that the other core works, so that there are many looks.
const LOOKS: f64 = 10.0;
/// Periods of looks in which the other core is left alone: a short time and a long one.
const IDLE: [u64; 2] = [10, 60];

/// A call by some strategy, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    trip: f64,
    /// The middle one of its calls, from when each was to begin; of several rounds the least.
    middle: f64,
    /// The longest of its calls.
    longest: f64,
    /// Time of the calling core.
    caller: f64,
    /// Time of the core that is called.
    callee: f64,
}

/// What is measured on.
struct Bench<'a, P: Place> {
    peer: &'a mut Peer<P>,
    rounds: usize,
    /// The part of the calling core's time that its clock's ticks take.
    ticking: f64,
    /// The longest payload that takes no block.
    in_slot: u32,
    /// A short payload that takes one.
    short: usize,
    /// The blocks of this side, which are the other's as well.
    classes: Vec<Class>,
}

/// What a call carries, and how long the other core works on it.
#[derive(Clone, Copy)]
struct Load {
    request: usize,
    response: usize,
    busy_ns: u64,
    /// How long the calling core sleeps from one to the next; none if it does not.
    rest_ns: Option<u64>,
}

impl Load {
    fn of(request: usize, response: usize) -> Load {
        Load { request, response, busy_ns: 0, rest_ns: None }
    }
}

/// Measures the parameters of what the peer runs on: medians of this many rounds. Timers of the
/// calling side and of the other one end on ticks that are so far apart.
///
/// # Errors
/// The other side is gone.
pub(crate) fn measure<P: Place>(
    peer: &mut Peer<P>,
    rounds: usize,
    [caller_tick, callee_tick]: [Duration; 2],
) -> Result<Parameters<f64>, Failure> {
    let mut bench = Bench::new(peer, rounds)?;
    let (internal, external) = (bench.longest("internal"), bench.longest("external"));
    bench.ticking = bench.ticking(caller_tick)?;
    bench.warm()?;
    let mut parameters = Parameters::default();
    let short = Load::of(bench.short, bench.short);

    // By interrupt, by looking all the time, and by looks so far apart that there is one or two.
    let batched = literal("copy_batched/interrupt/external");
    let told = bench.point(batched, short)?;
    let spinning = literal("copy_batched/spin/external");
    let looking = bench.point(spinning, short)?;
    // As far apart as ticks are, too, so that a core that looks between them looks once or twice.
    let ticks = caller_tick.max(callee_tick).as_nanos() as u64 * TICKS;
    let every = ((told.trip * APART / NANOS) as u64).clamp(LEAST, MOST).max(ticks);
    let late = bench.late(every)?;
    let rested = bench.point(batched, Load { rest_ns: Some(every), ..short })?;
    // Not by name: how far apart ticks are is the platform's, and may be more than a name can say.
    let notification = Notification::Poll { every: Duration::from_nanos(every) };
    let polled = Strategy { notification, ..batched };
    let once = bench.point(polled, short)?;
    let busy_ns = (every as f64 * LOOKS) as u64;
    let often = bench.point(polled, Load { busy_ns, ..short })?;
    let looks = |point: &Point| {
        let step = every as f64 * NANOS + late;
        ((point.trip - told.caller) / step).max(1.0)
    };
    let apart = looks(&often) - looks(&once);
    let poll = ((often.caller - once.caller) / apart.max(1.0)).max(0.0);

    // What is left of a polled call is the request and its copies.
    let own = (once.caller - poll * looks(&once)).max(0.0);
    let [mut caller, mut callee] = bench.copies(&looking, internal, external)?;
    let bytes = bench.short as u32;
    caller.request = (own - caller.external.both(bytes)).max(0.0);
    caller.poll = poll;
    caller.interrupt = (told.caller - own).max(0.0);
    caller.late = late;
    caller.ticked = bench.ticking * caller_tick.as_secs_f64();
    caller.timer = (rested.caller - told.caller).max(0.0);
    parameters.rested = (rested.trip - told.trip).max(0.0);
    // What is not the caller's of a call for which both look is the callee's.
    let spin = caller.external_spin.both(bytes) + callee.external_spin.both(bytes);
    let served = looking.trip - own - spin;
    callee.request = (served - callee.external.both(bytes)).max(0.0);
    callee.poll = bench.idle_looks(polled, every)?;
    callee.late = callee.poll;
    callee.interrupt = (told.callee - served).max(0.0);
    // Both are woken; what none of them works meanwhile is the way of the bells.
    let woken = (told.trip - looking.trip).max(0.0);
    parameters.wake = ((woken - caller.interrupt - callee.interrupt) / 2.0).max(0.0);
    (parameters.seldom, parameters.spike, parameters.one_in) =
        bench.seldom(batched, every, callee_tick)?;
    (parameters.seldom_spin, ..) = bench.seldom(spinning, every, callee_tick)?;
    let rung = bench.point(literal("copy/spin/external"), short)?;
    caller.rung = (rung.trip - looking.trip).max(0.0);
    callee.ticked = bench.ticked(batched, told.trip, callee_tick)?;
    for (word, into) in
        [("copy", &mut parameters.ack_interrupt), ("copy_lazy", &mut parameters.ack_lazy)]
    {
        let point = bench.point(literal(&format!("{word}/interrupt/external")), short)?;
        *into = (point.caller - told.caller).max(0.0);
    }
    let rung = Strategy { acknowledgement: Acknowledgement::Interrupt, ..polled };
    parameters.ack_polled = (bench.point(rung, short)?.caller - once.caller).max(0.0);
    let sides = [&caller.external, &callee.external];
    parameters.contended = bench.contended(external, sides)?;
    parameters.disturbed = bench.disturbed(external, sides, &told, parameters.contended)?;
    [caller.further, callee.further] = bench.further(&told, [&caller, &callee])?;
    caller.gather = [bench.gather("internal")?, bench.gather("external")?];
    (parameters.caller, parameters.callee) = (caller, callee);
    parameters.in_slot = bench.in_slot;
    for (placement, long, inside) in [("external", external, false), ("internal", internal, true)] {
        let (engine, upkeep) = bench.engine(&parameters, &told, placement, long)?;
        if inside {
            parameters.engine_internal = engine;
        } else {
            parameters.engine = engine;
            [parameters.caller.upkeep, parameters.callee.upkeep] = upkeep;
        }
    }
    let looked = bench.point(literal("copy_batched/interrupt/external/callee=spin"), short)?;
    let copied = parameters.caller.external_spin.both(bytes);
    parameters.caller.looked = (looked.caller - told.caller - copied).max(0.0);
    Ok(parameters)
}

impl<'a, P: Place> Bench<'a, P> {
    fn new(peer: &'a mut Peer<P>, rounds: usize) -> Result<Bench<'a, P>, Failure> {
        let (own, theirs) = peer.node.link(peer.link).layouts().map_err(|_| peer.lost())?;
        let in_slot = own.in_slot().min(theirs.in_slot());
        // Both sides have the same classes wherever this is used; if not, the shorter blocks are
        // met.
        let longest = |placement| own.longest(placement).min(theirs.longest(placement));
        let classes = own.classes().iter().filter(|class| class.size <= longest(class.placement));
        let classes = classes.copied().collect();
        let short = (in_slot as usize + 1).next_power_of_two().max(LEAST_SHORT);
        Ok(Bench { peer, rounds, ticking: 0.0, in_slot, short, classes })
    }

    /// The longest payload of a placement, up to [`LONG`].
    fn longest(&self, placement: &str) -> usize {
        let sizes = self.blocks(placement).map(|class| class.size as usize);
        LONG.min(sizes.max().unwrap_or(0))
    }

    /// The classes of blocks of a placement, the shortest first.
    fn blocks(&self, placement: &str) -> impl Iterator<Item = &Class> {
        let internal = placement == "internal";
        self.classes.iter().filter(move |one| (one.placement == Placement::Internal) == internal)
    }

    /// The medians of all rounds.
    fn point(&mut self, strategy: Strategy, load: Load) -> Result<Point, Failure> {
        let (mut trips, mut callers, mut callees) = (Vec::new(), Vec::new(), Vec::new());
        let (mut least, mut all) = (f64::MAX, 0.0_f64);
        for _ in 0..self.rounds {
            let Point { trip, middle, longest, caller, callee } =
                self.round(strategy, load, self.counts(&strategy, load))?;
            all = all.max(longest);
            trips.push(trip);
            least = least.min(middle);
            callers.push(caller);
            callees.push(callee);
        }
        let middle = |values: &mut Vec<f64>| median(values).unwrap_or_default();
        Ok(Point {
            trip: middle(&mut trips),
            middle: least,
            longest: all,
            caller: middle(&mut callers),
            callee: middle(&mut callees),
        })
    }

    /// What a look in vain takes of the core that is called, from what it does while nothing is
    /// asked of it: in a long time more than in a short one.
    fn idle_looks(&mut self, polled: Strategy, every: u64) -> Result<f64, Failure> {
        let flow = self.peer.flow("busy", polled, self.short as u32)?;
        let mut found = Vec::new();
        for _ in 0..self.rounds {
            let mut used = [0.0; 2];
            for (used, looks) in used.iter_mut().zip(IDLE) {
                let before = self.peer.cpu_time()?;
                let until = self.peer.node.platform().time() + Duration::from_nanos(every * looks);
                sleep_until(&mut self.peer.node, until);
                *used = self.peer.cpu_time()?.saturating_sub(before).as_secs_f64();
            }
            found.push((used[1] - used[0]).max(0.0) / (IDLE[1] - IDLE[0]) as f64);
        }
        let closed = self.peer.node.flow(flow).close();
        closed.map_err(|error| self.peer.explain_flow("busy", polled, error))?;
        Ok(median(&mut found).unwrap_or_default())
    }

    /// Calls before those that count, and those. Blocks of external memory are used in turn, so
    /// what caches make of them is known when all have been; where a machine does other things,
    /// that is lost in those.
    fn counts(&self, strategy: &Strategy, load: Load) -> (u32, u32) {
        let longest = load.request.max(load.response) as u32;
        let of = |class: &&Class| {
            class.placement == strategy.placement && (longest..).contains(&class.size)
        };
        let class = self.classes.iter().find(of).filter(|_| self.rounds == 1);
        let Some(class) = class else { return (BEFORE, CALLS) };
        let blocks = class.count;
        // Credit and blocks come back in batches, of which there are to be whole ones.
        (BEFORE.max(blocks), CALLS.max(blocks).next_multiple_of(BATCHES))
    }

    /// This many calls that do not count, and this many that do.
    fn round(
        &mut self,
        strategy: Strategy,
        load: Load,
        (before, calls): (u32, u32),
    ) -> Result<Point, Failure> {
        let Load { request, response, busy_ns, rest_ns } = load;
        let longest = request.max(response) as u32;
        let flow = match self.peer.try_flow("busy", strategy, longest) {
            Ok(flow) => flow,
            Err(error @ (FlowError::Gone(_) | FlowError::Unknown)) => {
                return Err(self.peer.explain_flow("busy", strategy, error));
            }
            Err(error) => return Err(self.peer.explain_flow("busy", strategy, error)),
        };
        let mut out = vec![0; request];
        let order = Order { busy_ns, response: response as u32, call: 0 }.to_bytes();
        out.get_mut(..order.len()).unwrap_or_default().copy_from_slice(&order);
        let mut back = vec![0; response];
        // What asking takes is known from asking twice.
        let asked = [self.peer.cpu_time()?, self.peer.cpu_time()?];
        for _ in 0..before {
            self.call(flow, &strategy, &out, &mut back)?;
        }
        let core = self.peer.node.platform().core();
        let (used, began) = (core.used(), self.peer.node.platform().time());
        let (mut slept, mut longest) = (Duration::ZERO, Duration::ZERO);
        let mut trips = Vec::new();
        for _ in 0..calls {
            let mut due = self.peer.node.platform().time();
            if let Some(rest) = rest_ns.map(Duration::from_nanos) {
                due = due + rest;
                sleep_until(&mut self.peer.node, due);
                slept += rest;
            }
            let before = self.peer.node.platform().time();
            self.call(flow, &strategy, &out, &mut back)?;
            let after = self.peer.node.platform().time();
            longest = longest.max(after.since(before));
            trips.push(after.since(due).as_secs_f64());
        }
        let passed = self.peer.node.platform().time().since(began);
        let took = passed.saturating_sub(slept);
        // Ticks come whether it calls or not.
        let ticks = passed.mul_f64(self.ticking);
        let caller = core.used().saturating_sub(used).saturating_sub(ticks);
        let served = self.peer.cpu_time()?.saturating_sub(asked[1]);
        let served = served.saturating_sub(asked[1].saturating_sub(asked[0]));
        let closed = self.peer.node.flow(flow).close();
        closed.map_err(|error| self.peer.explain_flow("busy", strategy, error))?;
        let each = f64::from(calls);
        Ok(Point {
            trip: took.as_secs_f64() / each,
            middle: median(&mut trips).unwrap_or_default(),
            longest: longest.as_secs_f64(),
            caller: caller.as_secs_f64() / each,
            callee: served.as_secs_f64() / f64::from(before + calls),
        })
    }

    fn call(
        &mut self,
        flow: narrows::endpoint::FlowId,
        strategy: &Strategy,
        out: &[u8],
        back: &mut [u8],
    ) -> Result<(), Failure> {
        let node = &mut self.peer.node;
        let called = if strategy.transfer.made_in_pool() {
            let reserved = node.flow(flow).reserve(out.len()).map_err(CallError::Start);
            reserved.and_then(|mut block| {
                let made = node.write(&mut block, 0, out);
                made.map_err(|_| CallError::Start(SendError::NotReserved))?;
                node.flow(flow).call(&mut block, back, None)
            })
        } else {
            node.flow(flow).call(out, back, None)
        };
        called.map(|_| ()).map_err(|error| self.peer.explain_call(error))
    }
}
