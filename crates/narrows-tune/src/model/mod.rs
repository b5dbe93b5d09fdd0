//! What a flow costs by a strategy: load of the calling core, internal memory, latency.
//!
//! The equations are those of `docs/MODEL.md`, which says of each whether the source states it. A
//! machine is its [`Parameters`], a flow is a [`Flow`], a choice is a
//! [`Strategy`]; [`estimate`] gives the rest. All of it is whole numbers.

mod copies;
mod cores;
#[cfg(test)]
mod cut_tests;
mod delays;
mod idle;
mod latency;
mod notice;
mod pace;
mod parameters;
mod parts;
mod payload;
mod queue;
#[cfg(test)]
mod queue_tests;
mod stream;
#[cfg(test)]
mod tests;
mod together;

use core::fmt;
use core::time::Duration;

use narrows::strategy::{Acknowledgement, Notification, Strategy};

pub use idle::Idle;
use latency::latency;
pub use notice::Waits;
use notice::{always, noticed, pipelined, waited};
use pace::{Pace, at_once};
pub use parameters::{
    Access, Buffers, Costs, Engine, InPool, Parameters, Polling, Pool, Results, SPANS, Side, Span,
};
use parts::Parts;
use payload::Message;
pub use queue::{Phases, latencies};
pub use stream::{Stream, Turn};
pub use together::together;

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
    /// Of that, what each part of a request that is cut takes however short it is.
    pub fixed: Duration,
    /// The longest that a response may take from when its request was due (L^max).
    pub deadline: Option<Duration>,
    /// By how much a request may be later than due.
    pub jitter: Duration,
    /// Requests that are due at once, at least 1; then the period is that between such bursts.
    pub burst: u16,
    /// Requests that may be under way at once, at least 1. With two or more the other core works
    /// while this one prepares the next: the calls are pipelined.
    pub depth: u16,
}

/// What is wrong with a flow, a strategy or a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// What keeps it from other flows: all but looking while it waits, and waiting for its engine,
    /// in picoseconds.
    pub blocks: u64,
    /// Time of the other core for a message, in picoseconds.
    pub callee: u64,
    /// Messages that may be at the cores at once: a burst, and those that come before it is done.
    pub at_once: u64,
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

/// What a flow takes by a strategy, if the machine is `costs`.
///
/// # Errors
/// What is wrong with the flow or the strategy. Nothing but another one helps.
pub fn estimate(costs: &Costs, flow: &Flow, strategy: &Strategy) -> Result<Estimate, ModelError> {
    beside(costs, flow, strategy, Waits::of(strategy))
}

/// As [`estimate`], of a flow beside others, the `soonest` of which is told so: the other core
/// waits so, and the calling core may.
///
/// # Errors
/// As [`estimate`].
pub fn beside(
    costs: &Costs,
    flow: &Flow,
    strategy: &Strategy,
    soonest: Waits,
) -> Result<Estimate, ModelError> {
    let parts = Parts::of(costs, flow, strategy, soonest)?;
    let (own, turnaround, callee) = (parts.own(), parts.turnaround(), parts.callee);
    let noticed = noticed(costs, strategy, soonest.caller);
    let engine = sum(&parts.engine);
    let awaited = parts.least.saturating_sub(engine);
    let pace = flow.pace(strategy);
    // Of a burst the first finds the cores asleep.
    let idle = costs.idle.busy(strategy.notification, pace.period.unwrap_or(0)) / pace.burst;
    // A flow without a period is as quick as its slower side if calls are pipelined.
    let trip = sum(&[own, turnaround, noticed.late, noticed.step, noticed.busy]);
    let paced = match pace.depth {
        1 => trip,
        depth => (trip / depth).max(own).max(callee),
    };
    let (waited, slower) = match pace.depth {
        // A part follows the one before as soon as both sides have time for it.
        2.. if strategy.parts.count > 1 => {
            let idle = paced.saturating_sub(own);
            let waited = pipelined(costs, strategy, idle, turnaround, pace.depth);
            (waited, copies::pipelined(costs, &parts, paced))
        }
        _ => (waited(costs, flow, strategy, awaited, parts.step), 0),
    };
    let caller = sum(&[own, waited, idle, slower]);
    let callee = sum(&[callee, slower]);

    let period = pace.period.map_or(paced, |period| period / pace.burst);
    let always = always(costs, strategy.notification);
    let always = always.map_or(0, |every| share(costs.caller.poll, every));
    let buffers = buffers(costs, strategy, &parts, &pace);
    let blocks = sum(&[own, noticed.busy, engine, parts.seldom, parts.more[0]]);
    let serves = sum(&[callee, parts.engine_there, parts.seldom, parts.more[1]]);
    Ok(Estimate {
        load: share(caller, period).saturating_add(always),
        work: share(callee, period),
        buffers,
        memory: if parts.internal { memory(costs, &parts, buffers) } else { 0 },
        latency: latency(costs, flow, strategy, &parts, &noticed),
        period,
        caller,
        blocks,
        callee,
        at_once: at_once(flow, &pace, sum(&[blocks, serves])),
        serves,
        turnaround,
        once: parts.more,
    })
}

/// A flow by a strategy as it is before the cores: what [`latencies`] draws from. `soonest` is as
/// in [`beside`].
///
/// # Errors
/// As [`estimate`].
pub fn stream(
    costs: &Costs,
    flow: &Flow,
    strategy: &Strategy,
    soonest: Waits,
) -> Result<Stream, ModelError> {
    let parts = Parts::of(costs, flow, strategy, soonest)?;
    // Where looks keep step with requests there is a buffer for each that comes meanwhile.
    let depth = match costs.buffers {
        Buffers::Any => flow.depth,
        Buffers::InStep => {
            let buffers = buffers(costs, strategy, &parts, &flow.pace(strategy));
            u16::try_from(buffers).unwrap_or(u16::MAX)
        }
    };
    let Pace { burst, depth: under_way, .. } = flow.pace(strategy);
    let cut = strategy.parts.count > 1;
    let count = |all: u64| u16::try_from(all).unwrap_or(u16::MAX);
    Ok(Stream {
        period: flow.period.map_or(0, picos),
        burst: if cut { count(burst) } else { flow.burst },
        parts: strategy.parts.count,
        jitter: picos(flow.jitter),
        depth: if cut { count(under_way) } else { depth },
        together: strategy.granularity.min(flow.depth),
        how: strategy.notification,
        callee: strategy.at_callee(),
        send: parts.before,
        send_wait: parts.engine[0],
        service: sum(&[parts.serves, parts.engine_there]),
        take: sum(&[parts.after, parts.ack]),
        take_wait: parts.engine[1],
        rings: strategy.acknowledgement == Acknowledgement::Interrupt,
        copied: parts.copied,
        more: costs.spike,
        one_in: costs.one_in,
        ..Stream::default()
    })
}

/// The part of `most` that `of` is of `all`.
fn part(most: u64, of: u64, all: u64) -> u64 {
    let part = u128::from(most) * u128::from(of) / u128::from(all.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// All of them, or as much as there is room for.
fn sum(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum, part| sum.saturating_add(*part))
}

/// Buffers of one direction.
fn buffers(costs: &Costs, strategy: &Strategy, parts: &Parts, pace: &Pace) -> u32 {
    let Pace { period, burst, depth, .. } = *pace;
    let count = match (strategy.notification, period) {
        (Notification::Poll { every } | Notification::Timer { every }, Some(period)) => {
            let looks = picos(every).div_ceil(period.max(1)).max(1);
            let queued = if depth > 1 { parts.callee.div_ceil(period.max(1)) } else { 0 };
            match costs.buffers {
                Buffers::InStep => looks,
                Buffers::Any => looks + 1 + queued,
            }
        }
        // Of the parts of a request no more are there than are under way.
        _ if strategy.parts.count > 1 => depth,
        _ => burst,
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
