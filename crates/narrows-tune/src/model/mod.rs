//! What a flow costs by a strategy: load of the calling core, internal memory, latency.
//!
//! The equations are those of `docs/MODEL.md`, which says of each whether the source states it. A
//! machine is its [`Parameters`], a flow is a [`Flow`], a choice is a
//! [`Strategy`]; [`estimate`] gives the rest. All of it is whole numbers.

mod notice;
mod parameters;
mod payload;
mod queue;
#[cfg(test)]
mod tests;

use core::fmt;
use core::time::Duration;

use narrows::strategy::{Acknowledgement, Notification, Placement, Strategy};

use notice::{between, noticed, told, waited};
pub use parameters::{
    Access, Buffers, Costs, Engine, InPool, Parameters, Polling, Results, Side, Told,
};
use payload::{cold, moved};
pub use queue::{Phases, Stream, Turn, latencies};

/// The longest payload of one message, in bytes.
const LONGEST: u32 = 1 << 30;
/// The longest period, deadline or time of work.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// A core all of whose time is taken, in parts per million.
pub const WHOLE: u32 = 1_000_000;

/// Requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// From one request to the next (T); none if each follows the response to the one before.
    pub period: Option<Duration>,
    /// Bytes of a request (B^s).
    pub request: u32,
    /// Bytes of its response (B^r).
    pub response: u32,
    /// Time of the other core for the function itself (D).
    pub work: Duration,
    /// The longest that a response may take from when its request was due (L^max).
    pub deadline: Option<Duration>,
    /// By how much a request may be later than due.
    pub jitter: Duration,
    /// Requests that are due at once, at least 1; then the period is that between such bursts.
    pub burst: u16,
    /// Requests that may be under way at once, at least 1. With two or more the other core works while
    /// this one prepares the next: the calls are pipelined.
    pub depth: u16,
}

/// What is wrong with a flow, a strategy or a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// A parameter is not a number, below zero, or over an hour.
    Parameter,
    /// A period of zero or over a day.
    Period,
    /// A deadline of zero or over a day.
    Deadline,
    /// Work or jitter over a day.
    Time,
    /// No request in a burst, or none under way.
    Count,
    /// A message of over a GiB.
    Bytes,
    /// A strategy that is none.
    Strategy,
    /// A region of the platform's own: the model knows internal and external memory.
    Region,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ModelError::Parameter => "a parameter of the model is not a time from zero to an hour",
            ModelError::Period => "a period is above zero and at most a day",
            ModelError::Deadline => "a deadline is above zero and at most a day",
            ModelError::Time => "work and jitter are at most a day",
            ModelError::Count => "bursts and depths are at least 1",
            ModelError::Bytes => "a message has at most a GiB",
            ModelError::Strategy => "the strategy's figures are not possible",
            ModelError::Region => "the model knows internal and external memory only",
        })
    }
}

impl core::error::Error for ModelError {}

/// The latency of a flow, in picoseconds, from when a request is due: three forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// The source's: O_I or O_P beside the request, or P and the copy of the response if looks are
    /// rarer than requests.
    pub source: u64,
    /// What is measured if requests are due as looks are: the next look behind the end of the work.
    pub aligned: u64,
    /// What is never exceeded: the look may just have been missed. This is the constraint.
    pub bound: u64,
}

/// What a flow takes by a strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Time of the calling core, in parts per million of it.
    pub load: u32,
    /// Time of the other core, likewise.
    pub work: u32,
    /// Buffers that it needs for its requests, and as many for its responses.
    pub buffers: u32,
    /// Bytes of internal memory.
    pub memory: u32,
    /// How long a response takes if no other flow is in the way.
    pub latency: Latency,
    /// From one message to the next, in picoseconds: k periods, or what a flow without one reaches.
    pub period: u64,
    /// Time of the calling core for a message, in picoseconds.
    pub caller: u64,
    /// What keeps it from other flows: all but looking while it waits, and waiting for its engine, in
    /// picoseconds.
    pub blocks: u64,
    /// Time of the other core for a message, in picoseconds.
    pub callee: u64,
    /// What keeps the other core from other flows at most: that, and waiting for its engine, in
    /// picoseconds.
    pub serves: u64,
    /// From handing a message over until the other core has worked it off, in picoseconds.
    pub turnaround: u64,
    /// What the bound, and what keeps either core, have for a call that finds the caches cold, in
    /// picoseconds. It does not come again and again, so that requests pile up.
    pub once: [u64; 2],
}

impl Flow {
    fn check(&self) -> Result<(), ModelError> {
        let time = |time: Duration| !time.is_zero() && time <= DAY;
        if !self.period.is_none_or(time) {
            return Err(ModelError::Period);
        }
        if !self.deadline.is_none_or(time) {
            return Err(ModelError::Deadline);
        }
        if self.work > DAY || self.jitter > DAY {
            return Err(ModelError::Time);
        }
        if self.burst == 0 || self.depth == 0 {
            return Err(ModelError::Count);
        }
        Ok(())
    }
}

/// A time in picoseconds.
pub fn picos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX)
}

/// A share in parts per million, rounded up.
fn share(of: u64, all: u64) -> u32 {
    let ppm = (u128::from(of) * u128::from(WHOLE)).div_ceil(u128::from(all.max(1)));
    u32::try_from(ppm).unwrap_or(u32::MAX)
}

/// A message of a flow: all requests that it holds.
struct Message {
    request: u32,
    response: u32,
    work: u64,
}

/// A round trip, in picoseconds.
struct Parts {
    message: Message,
    internal: bool,
    /// What a timer takes of the calling core that wakes it when a request is due, and how long after
    /// that it goes on.
    due: u64,
    late: u64,
    /// The request until it is handed over: time of the calling core.
    before: u64,
    /// From then until the other core has worked it off, if it is told at once, and its own time of that.
    least: u64,
    callee: u64,
    /// The part of it before the other core begins.
    way: u64,
    /// The engines' parts of it at either end, for which the ends wait.
    engine: u64,
    engine_there: u64,
    /// From one look of the other core to the next; 0 if it is told.
    step: u64,
    /// The copy of the response, and the acknowledgement of the request.
    after: u64,
    ack: u64,
    /// What either side takes at most more: where its caches are cold, or the other one looks.
    more: [u64; 2],
}

impl Parts {
    fn of(costs: &Costs, flow: &Flow, strategy: &Strategy) -> Result<Parts, ModelError> {
        flow.check()?;
        strategy.check().map_err(|_| ModelError::Strategy)?;
        let internal = match strategy.placement {
            Placement::Internal => true,
            Placement::External => false,
            Placement::Region(_) => return Err(ModelError::Region),
        };
        let count = u32::from(strategy.granularity);
        let long = |one: u32| one.checked_mul(count).filter(|all| *all <= LONGEST);
        let message = Message {
            request: long(flow.request).ok_or(ModelError::Bytes)?,
            response: long(flow.response).ok_or(ModelError::Bytes)?,
            work: picos(flow.work).saturating_mul(count.into()),
        };
        if message.work > picos(DAY) {
            return Err(ModelError::Time);
        }
        // Who looks for a while before sleeping does so all the time that the other core works, and until
        // the next request, if that is soon.
        let (waits, idles) = match strategy.notification {
            Notification::Spin => (true, true),
            Notification::Hybrid { longest } => {
                (true, flow.period.is_none_or(|period| period <= longest))
            }
            _ => (false, false),
        };
        let here = moved(costs, internal, idles, &message, strategy, true);
        let there = moved(costs, internal, waits, &message, strategy, false);
        let most = moved(costs, internal, waits, &message, strategy, true);
        let slower =
            sum(&[most.request, most.response]).saturating_sub(sum(&[here.request, here.response]));
        let more = [
            sum(&[cold(&costs.caller, &message, true), slower]),
            cold(&costs.callee, &message, false),
        ];
        let told = told(costs, strategy);
        let callee =
            sum(&[costs.callee.request, there.request, there.response, message.work, told.busy]);
        let ack = match strategy.acknowledgement {
            Acknowledgement::Interrupt => costs.ack_interrupt,
            Acknowledgement::Lazy => costs.ack_lazy,
            Acknowledgement::Batched => costs.ack_batched,
        };
        // Who spins looks at the clock as well, and sleeps for no request.
        let sleeps = flow.period.is_some() && strategy.notification != Notification::Spin;
        let of = |time: u64| if sleeps { time } else { 0 };
        Ok(Parts {
            internal,
            due: of(costs.caller.timer),
            late: of(sum(&[costs.rested, costs.caller.tick])),
            before: sum(&[costs.caller.request, here.request]),
            least: sum(&[told.late, callee, here.engine, there.engine]),
            callee,
            way: told.late,
            engine: here.engine,
            engine_there: there.engine,
            step: told.step,
            after: here.response,
            ack,
            more,
            message,
        })
    }

    /// What keeps the calling core, but for learning of the response.
    fn own(&self) -> u64 {
        sum(&[self.due, self.before, self.after, self.ack])
    }

    fn turnaround(&self) -> u64 {
        sum(&[self.least, self.step])
    }
}

/// What a flow takes by a strategy, if the machine is `costs`.
///
/// # Errors
/// What is wrong with the flow or the strategy. Nothing but another one helps.
pub fn estimate(costs: &Costs, flow: &Flow, strategy: &Strategy) -> Result<Estimate, ModelError> {
    let parts = Parts::of(costs, flow, strategy)?;
    let (own, turnaround, callee) = (parts.own(), parts.turnaround(), parts.callee);
    let noticed = noticed(costs, strategy);
    let awaited = parts.least.saturating_sub(parts.engine);
    let caller = own.saturating_add(waited(costs, flow, strategy, awaited, parts.step));

    // A flow without a period is as quick as its slower side if calls are pipelined.
    let trip = sum(&[own, turnaround, noticed.late, noticed.step, noticed.busy]);
    let paced = match flow.depth {
        1 => trip,
        depth => (trip / u64::from(depth)).max(own).max(callee),
    };
    let burst = u64::from(flow.burst);
    let period = match flow.period {
        Some(period) => picos(period).saturating_mul(strategy.granularity.into()) / burst,
        None => paced,
    };
    let always = match (costs.polling, strategy.notification) {
        (Polling::Always, Notification::Poll { every }) => share(costs.caller.poll, picos(every)),
        _ => 0,
    };
    let buffers = buffers(costs, flow, strategy, &parts);
    Ok(Estimate {
        load: share(caller, period).saturating_add(always),
        work: share(callee, period),
        buffers,
        memory: if parts.internal { memory(costs, &parts, buffers) } else { 0 },
        latency: latency(costs, flow, strategy, &parts),
        period,
        caller,
        blocks: sum(&[own, noticed.busy, parts.engine, costs.seldom, parts.more[0]]),
        callee,
        serves: sum(&[callee, parts.engine_there, costs.seldom, parts.more[1]]),
        turnaround,
        once: parts.more,
    })
}

/// A flow by a strategy as it is before the cores: what [`latencies`] draws from.
///
/// # Errors
/// As [`estimate`].
pub fn stream(costs: &Costs, flow: &Flow, strategy: &Strategy) -> Result<Stream, ModelError> {
    let parts = Parts::of(costs, flow, strategy)?;
    let noticed = noticed(costs, strategy);
    let looks = |side: &Side<u64>, step: u64| match step {
        0 => 0,
        _ => sum(&[picos(between(strategy)), side.late]),
    };
    let tick = if parts.late == 0 { 0 } else { costs.caller.tick };
    Ok(Stream {
        period: flow.period.map_or(0, picos).saturating_mul(strategy.granularity.into()),
        burst: flow.burst,
        jitter: picos(flow.jitter),
        after: 0,
        late: parts.late.saturating_sub(tick),
        due_tick: tick,
        send: sum(&[parts.before, parts.engine]),
        way: parts.way,
        told: looks(&costs.callee, parts.step),
        told_tick: costs.callee.tick,
        service: sum(&[parts.callee, parts.engine_there]),
        back: noticed.late,
        poll: looks(&costs.caller, noticed.step),
        poll_tick: costs.caller.tick,
        receive: sum(&[noticed.busy, parts.after, parts.ack]),
        more: costs.spike,
        one_in: costs.one_in,
        turn: Turn::default(),
    })
}

/// All of them, or as much as there is room for.
fn sum(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum, part| sum.saturating_add(*part))
}

fn latency(costs: &Costs, flow: &Flow, strategy: &Strategy, parts: &Parts) -> Latency {
    let Parts { before, after, .. } = *parts;
    let turnaround = parts.turnaround();
    let worked = sum(&[before, turnaround]);
    let noticed = noticed(costs, strategy);
    let told = sum(&[noticed.late, noticed.busy]);
    let period =
        flow.period.map(|period| picos(period).saturating_mul(strategy.granularity.into()));
    let (source, aligned) = match strategy.notification {
        Notification::Poll { every } => {
            let every = picos(every);
            let rare = period.is_some_and(|period| every > period);
            let source = if rare { sum(&[every, after]) } else { sum(&[told, worked, after]) };
            (source, worked.div_ceil(every).max(1).saturating_mul(every))
        }
        _ => (sum(&[told, worked, after]), sum(&[told, worked, after])),
    };
    // The first request of a message waits for the last, and one of a burst for those before it.
    let gathered = match (flow.period, strategy.granularity) {
        (Some(period), count) => picos(period).saturating_mul(u64::from(count) - 1),
        (None, _) => 0,
    };
    let alone = sum(&[
        costs.seldom,
        costs.seldom,
        parts.late,
        worked,
        noticed.step,
        told,
        after,
        parts.ack,
        parts.more[0],
        parts.more[1],
    ]);
    // Of those under way before it each may be in its way at the calling core.
    let ahead = period.map_or(0, |period| alone.saturating_sub(1) / period.max(1));
    let ahead = ahead.min(u64::from(flow.depth) - 1);
    let overlap = ahead.saturating_mul(sum(&[parts.own(), noticed.busy]));
    let each = if flow.depth > 1 { before.max(turnaround) } else { alone };
    let queued = (u64::from(flow.burst) - 1).saturating_mul(each);
    let bound = sum(&[alone, gathered, queued, overlap, picos(flow.jitter)]);
    Latency { source, aligned, bound }
}

/// Buffers of one direction.
fn buffers(costs: &Costs, flow: &Flow, strategy: &Strategy, parts: &Parts) -> u32 {
    let depth = u64::from(flow.depth);
    let count = match (strategy.notification, flow.period) {
        (Notification::Poll { every }, Some(period)) => {
            let period = picos(period).saturating_mul(strategy.granularity.into());
            let looks = picos(every).div_ceil(period).max(1);
            let queued = if depth > 1 { parts.callee.div_ceil(period) } else { 0 };
            match costs.buffers {
                Buffers::InStep => looks,
                Buffers::Any => looks + 1 + queued,
            }
        }
        _ => u64::from(flow.burst),
    };
    u32::try_from(count.max(depth)).unwrap_or(u32::MAX)
}

/// Bytes of internal memory.
fn memory(costs: &Costs, parts: &Parts, buffers: u32) -> u32 {
    let Message { request, response, .. } = parts.message;
    let buffer = match costs.results {
        Results::Shared => request.max(response),
        Results::Own => request + response,
    };
    buffer.saturating_mul(buffers)
}
