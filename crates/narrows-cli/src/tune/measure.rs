//! The model's parameters, measured: a few calls of the stack on a chip or on this machine.
//!
//! A point is a strategy with a length of request and response: the time of a round trip, and what it
//! took of the calling core. Differences between points are the parameters. Nothing is fitted; each
//! parameter comes from the two or three points that it tells apart.

use crate::failure::Failure;
use crate::functions::Order;
use crate::peer::Peer;
use crate::place::{Core, Place, sleep_until};
use crate::statistics::median;
use narrows::driver::made_in_pool;
use narrows::endpoint::{CallError, FlowError, SendError};
use narrows::strategy::{Placement, Strategy};
use narrows_tune::model::{Access, Engine, Parameters, Side};
use std::time::Duration;

/// Bytes of a short message, which yet takes a block.
const SHORT: usize = 64;
/// Bytes of a long one, if blocks are as long.
pub(crate) const LONG: usize = 8192;
/// Calls of a point, and those before that do not count.
const CALLS: u32 = 24;
const BEFORE: u32 = 4;
/// Calls of which the longest is looked for: more than a class has blocks mostly.
const SELDOM: u32 = 100;
/// Nanoseconds of a second.
const NANOS: f64 = 1e-9;
/// A period of looks is so many round trips by interrupt, within these limits in nanoseconds: where a
/// machine has other things to do, a single round trip says little.
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
    /// Time of the calling core.
    caller: f64,
    /// Time of the core that is called.
    callee: f64,
}

/// What is measured on.
struct Bench<'a, P: Place> {
    peer: &'a mut Peer<P>,
    rounds: usize,
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

/// Measures the parameters of what the peer runs on: medians of so many rounds. Timers of either side end
/// on ticks that are so far apart, at most.
///
/// # Errors
/// The other side is gone.
pub(crate) fn measure<P: Place>(
    peer: &mut Peer<P>,
    rounds: usize,
    tick: Duration,
) -> Result<Parameters<f64>, Failure> {
    let layouts = peer.node.layouts(peer.link).map_err(|_| peer.lost())?;
    let longest = |placement| {
        let (own, theirs) = (layouts.0.longest(placement), layouts.1.longest(placement));
        LONG.min(own.min(theirs) as usize)
    };
    let (internal, external) = (longest(Placement::Internal), longest(Placement::External));
    let mut bench = Bench { peer, rounds };
    let mut parameters = Parameters::default();
    let short = Load::of(SHORT, SHORT);

    // By interrupt, by looking all the time, and by looks so far apart that there is one or two.
    let batched = strategy("copy_batched/interrupt/external");
    let told = bench.point(batched, short)?;
    let looking = bench.point(strategy("copy_batched/spin/external"), short)?;
    // As far apart as ticks are, too, so that who looks between them looks once or twice.
    let ticks = tick.as_nanos() as u64 * TICKS;
    let every = ((told.trip * APART / NANOS) as u64).clamp(LEAST, MOST).max(ticks);
    let late = bench.late(every)?;
    let rested = bench.point(batched, Load { rest_ns: Some(every), ..short })?;
    let polled = strategy(&format!("copy_batched/poll={every}ns/external"));
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
    let mut sides = [Side::default(), Side::default()];
    for (placement, long) in [("internal", internal), ("external", external)] {
        if long <= SHORT {
            continue;
        }
        let by = strategy(&format!("copy_batched/interrupt/{placement}"));
        let base = if placement == "external" { told } else { bench.point(by, short)? };
        let out = bench.point(by, Load::of(long, SHORT))?;
        let back = bench.point(by, Load::of(SHORT, long))?;
        let bytes = (long - SHORT) as f64;
        let slope = |more: f64| (more / bytes).max(0.0);
        let caller = [out, back].map(|point| slope(point.caller - base.caller));
        let all = [out, back].map(|point| slope(point.trip - base.trip));
        let here = Access { write: caller[0], read: caller[1], block: 0.0 };
        let there = Access {
            read: (all[0] - caller[0]).max(0.0),
            write: (all[1] - caller[1]).max(0.0),
            block: 0.0,
        };
        let spin = strategy(&format!("copy_batched/spin/{placement}"));
        let base = if placement == "external" { looking } else { bench.point(spin, short)? };
        let out = bench.point(spin, Load::of(long, SHORT))?;
        let back = bench.point(spin, Load::of(SHORT, long))?;
        // What both copies of a payload take more is divided as what they take otherwise.
        let more = [out, back].map(|point| slope(point.trip - base.trip));
        let part = |more: f64, one: f64, other: f64| {
            (more - one - other).max(0.0) * one / (one + other).max(f64::MIN_POSITIVE)
        };
        let here_spin = Access {
            write: part(more[0], here.write, there.read),
            read: part(more[1], here.read, there.write),
            block: 0.0,
        };
        let there_spin = Access {
            read: part(more[0], there.read, here.write),
            write: part(more[1], there.write, here.read),
            block: 0.0,
        };
        let [caller, callee] = &mut sides;
        if placement == "internal" {
            (caller.internal, callee.internal) = (here, there);
            (caller.internal_spin, callee.internal_spin) = (here_spin, there_spin);
        } else {
            (caller.external, callee.external) = (here, there);
            (caller.external_spin, callee.external_spin) = (here_spin, there_spin);
        }
    }
    let [mut caller, mut callee] = sides;
    let copies = |access: &Access<f64>| (access.read + access.write) * SHORT as f64;
    caller.request = (own - copies(&caller.external)).max(0.0);
    caller.poll = poll;
    caller.interrupt = (told.caller - own).max(0.0);
    caller.late = late;
    caller.timer = (rested.caller - told.caller).max(0.0);
    parameters.rested = (rested.trip - told.trip).max(0.0);
    // What is not the caller's of a call for which both look is the callee's.
    let spin = copies(&caller.external_spin) + copies(&callee.external_spin);
    let served = looking.trip - own - spin;
    callee.request = (served - copies(&callee.external)).max(0.0);
    callee.poll = bench.idle_looks(polled, every)?;
    callee.late = callee.poll;
    callee.interrupt = (told.callee - served).max(0.0);
    // Both are woken; what none of them works meanwhile is the way of the bells.
    let woken = (told.trip - looking.trip).max(0.0);
    parameters.wake = ((woken - caller.interrupt - callee.interrupt) / 2.0).max(0.0);
    parameters.seldom = bench.seldom(batched, every)?;
    for (word, into) in
        [("copy", &mut parameters.ack_interrupt), ("copy_lazy", &mut parameters.ack_lazy)]
    {
        let point = bench.point(strategy(&format!("{word}/interrupt/external")), short)?;
        *into = (point.caller - told.caller).max(0.0);
    }
    (parameters.caller, parameters.callee) = (caller, callee);
    parameters.engine = bench.engine(&parameters, &told, external)?;
    Ok(parameters)
}

fn strategy(text: &str) -> Strategy {
    text.parse().unwrap_or_default()
}

impl<P: Place> Bench<'_, P> {
    /// The copy engine; nothing takes any time where there is none, and no strategy uses it.
    fn engine(
        &mut self,
        parameters: &Parameters<f64>,
        told: &Point,
        long: usize,
    ) -> Result<Engine<f64>, Failure> {
        let by = strategy("copy_engine/interrupt/external/fragment=65536");
        let there = self.peer.try_flow("busy", by, SHORT as u32);
        let Ok(flow) = there else { return Ok(Engine::default()) };
        let closed = self.peer.node.close_flow(flow);
        closed.map_err(|error| self.peer.explain_flow("busy", by, error))?;
        let short = self.point(by, Load::of(SHORT, SHORT))?;
        let longer = self.point(by, Load::of(long, long))?;
        let of = |side: &Side<f64>| (side.external.read + side.external.write) * SHORT as f64;
        let copies = of(&parameters.caller) + of(&parameters.callee);
        let own = told.caller - of(&parameters.caller);
        // A descriptor in and one out at each side; the bytes move four times.
        let descriptor = ((short.caller - own) / 2.0).max(0.0);
        let byte = (longer.trip - short.trip) / (4 * (long - SHORT)).max(1) as f64;
        let rest = short.trip - (told.trip - copies) - 4.0 * descriptor;
        let completion = rest / 4.0 - byte * SHORT as f64;
        Ok(Engine { descriptor, byte: byte.max(0.0), completion: completion.max(0.0) })
    }

    /// The medians of all rounds.
    fn point(&mut self, strategy: Strategy, load: Load) -> Result<Point, Failure> {
        let (mut trips, mut callers, mut callees) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            let Point { trip, caller, callee } = self.round(strategy, load)?;
            trips.push(trip);
            callers.push(caller);
            callees.push(callee);
        }
        let middle = |values: &mut Vec<f64>| median(values).unwrap_or_default();
        let (trip, caller) = (middle(&mut trips), middle(&mut callers));
        Ok(Point { trip, caller, callee: middle(&mut callees) })
    }

    /// By how much the longest of many calls with sleeps of so many nanoseconds between them is longer
    /// than their mean: the median of all rounds.
    fn seldom(&mut self, by: Strategy, nanos: u64) -> Result<f64, Failure> {
        let flow = self.peer.flow("busy", by, SHORT as u32)?;
        let order = Order { busy_ns: 0, response: SHORT as u32, call: 0 }.to_bytes();
        let mut out = [0; SHORT];
        out.get_mut(..order.len()).unwrap_or_default().copy_from_slice(&order);
        let (mut back, mut found) = ([0; SHORT], Vec::new());
        for _ in 0..self.rounds {
            let (mut sum, mut longest) = (0.0, 0.0_f64);
            for _ in 0..SELDOM {
                let until = self.peer.node.platform().time() + Duration::from_nanos(nanos);
                sleep_until(&mut self.peer.node, until);
                self.call(flow, &by, &out, &mut back)?;
                let trip = self.peer.node.platform().time().since(until).as_secs_f64();
                (sum, longest) = (sum + trip, longest.max(trip));
            }
            found.push(longest - sum / f64::from(SELDOM));
        }
        let closed = self.peer.node.close_flow(flow);
        closed.map_err(|error| self.peer.explain_flow("busy", by, error))?;
        Ok(median(&mut found).unwrap_or_default())
    }

    /// How late a sleep of so many nanoseconds ends: the median of all rounds.
    fn late(&mut self, nanos: u64) -> Result<f64, Failure> {
        let mut lates = Vec::new();
        for _ in 0..self.rounds {
            let node = &mut self.peer.node;
            let mut late = 0.0;
            for _ in 0..CALLS {
                let until = node.platform().time() + Duration::from_nanos(nanos);
                sleep_until(node, until);
                late += node.platform().time().since(until).as_secs_f64();
            }
            lates.push(late / f64::from(CALLS));
        }
        Ok(median(&mut lates).unwrap_or_default())
    }

    /// What a look in vain takes of the core that is called, from what it does while nothing is asked of
    /// it: in a long time more than in a short one.
    fn idle_looks(&mut self, polled: Strategy, every: u64) -> Result<f64, Failure> {
        let flow = self.peer.flow("busy", polled, SHORT as u32)?;
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
        let closed = self.peer.node.close_flow(flow);
        closed.map_err(|error| self.peer.explain_flow("busy", polled, error))?;
        Ok(median(&mut found).unwrap_or_default())
    }

    fn round(&mut self, strategy: Strategy, load: Load) -> Result<Point, Failure> {
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
        for _ in 0..BEFORE {
            self.call(flow, &strategy, &out, &mut back)?;
        }
        let core = self.peer.node.platform().core();
        let (used, began) = (core.used(), self.peer.node.platform().time());
        let mut slept = Duration::ZERO;
        for _ in 0..CALLS {
            if let Some(rest) = rest_ns {
                let now = self.peer.node.platform().time();
                sleep_until(&mut self.peer.node, now + Duration::from_nanos(rest));
                slept += Duration::from_nanos(rest);
            }
            self.call(flow, &strategy, &out, &mut back)?;
        }
        let took = self.peer.node.platform().time().since(began).saturating_sub(slept);
        let caller = core.used().saturating_sub(used);
        let served = self.peer.cpu_time()?.saturating_sub(asked[1]);
        let served = served.saturating_sub(asked[1].saturating_sub(asked[0]));
        let closed = self.peer.node.close_flow(flow);
        closed.map_err(|error| self.peer.explain_flow("busy", strategy, error))?;
        let each = f64::from(CALLS);
        Ok(Point {
            trip: took.as_secs_f64() / each,
            caller: caller.as_secs_f64() / each,
            callee: served.as_secs_f64() / f64::from(BEFORE + CALLS),
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
        let called = if made_in_pool::<P>(strategy.transfer) {
            let reserved = node.reserve(flow, out.len()).map_err(CallError::Start);
            reserved.and_then(|mut block| {
                let made = node.write(&mut block, 0, out);
                made.map_err(|_| CallError::Start(SendError::NotReserved))?;
                node.call(flow, &mut block, back, None)
            })
        } else {
            node.call(flow, out, back, None)
        };
        called.map(|_| ()).map_err(|error| self.peer.explain_call(error))
    }
}
