//! What a flow costs by a strategy: load of the calling core, internal memory, latency.
//!
//! The equations are those of `docs/MODEL.md`, which says of each whether the source states it. A
//! machine is its [`Parameters`], a flow is a [`Flow`], a choice is a
//! [`Strategy`]; [`estimate`] gives the rest. All of it is whole numbers.

mod parameters;
mod queue;
#[cfg(test)]
mod tests;

use core::fmt;
use core::time::Duration;

use narrows::strategy::{Acknowledgement, Notification, Placement, Strategy, Transfer};

pub use parameters::{
    Access, Buffers, Costs, Engine, InPool, Parameters, Polling, Results, Side, Told,
};
pub use queue::{Phases, Stream, Turn, latencies};

/// The longest payload of one message, in bytes.
const LONGEST: u32 = 1 << 30;
/// The longest period, deadline or time of work.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// A core all of whose time is taken, in parts per million.
pub const WHOLE: u32 = 1_000_000;
/// The shortest look before sleeping of the hybrid notification, and the part of the longest beyond
/// which an answer is no prompt one: what `narrows::notify` does.
const SHORTEST_LOOK: u64 = 2_000_000;
const PROMPT: u64 = 3;

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
    /// Bytes of internal memory.
    pub memory: u32,
    /// How long a response takes if no other flow is in the way.
    pub latency: Latency,
    /// From one message to the next, in picoseconds: k periods, or what a flow without one reaches.
    pub period: u64,
    /// Time of the calling core for a message, in picoseconds.
    pub caller: u64,
    /// Of that, what keeps it from other flows: all but looking while it waits, in picoseconds.
    pub blocks: u64,
    /// Time of the other core for a message, in picoseconds.
    pub callee: u64,
    /// From handing a message over until the other core has worked it off, in picoseconds.
    pub turnaround: u64,
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

/// What a payload takes at so many picoseconds for 1024 bytes.
fn bytes(count: u32, rate: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(rate) / 1024).unwrap_or(u64::MAX)
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

/// What moving payload takes of a core, and what it takes beside any core.
#[derive(Clone, Copy, Default)]
struct Moved {
    /// The request in, at the caller; out, at the callee.
    request: u64,
    /// The response.
    response: u64,
    /// Both, by the engine.
    engine: u64,
}

/// What a flow takes by a strategy, if the machine is `costs`.
///
/// # Errors
/// What is wrong with the flow or the strategy. Nothing but another one helps.
pub fn estimate(costs: &Costs, flow: &Flow, strategy: &Strategy) -> Result<Estimate, ModelError> {
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
    let access = |side: &Side<u64>| if internal { side.internal } else { side.external };
    let here = moved(costs, access(&costs.caller), &message, strategy, true);
    let there = moved(costs, access(&costs.callee), &message, strategy, false);

    let told = told(costs, strategy);
    let callee =
        sum(&[costs.callee.request, there.request, there.response, message.work, told.busy]);
    let before = sum(&[costs.caller.request, here.request]);
    let turnaround = sum(&[told.late, callee, here.engine, there.engine]);
    let ack = match strategy.acknowledgement {
        Acknowledgement::Interrupt => costs.ack_interrupt,
        Acknowledgement::Lazy => costs.ack_lazy,
        Acknowledgement::Batched => costs.ack_batched,
    };
    let own = sum(&[before, here.response, ack]);
    let waited = waited(costs, flow, strategy, turnaround);
    let caller = own.saturating_add(waited);

    // A flow without a period is as quick as its slower side if calls are pipelined.
    let trip = sum(&[own, turnaround, notice(costs, strategy).1]);
    let paced = match flow.depth {
        1 => trip,
        depth => (trip / u64::from(depth)).max(own).max(callee),
    };
    let burst = u64::from(flow.burst);
    let period = match flow.period {
        Some(period) => picos(period).saturating_mul(count.into()) / burst,
        None => paced,
    };
    let always = match (costs.polling, strategy.notification) {
        (Polling::Always, Notification::Poll { every }) => share(costs.caller.poll, picos(every)),
        _ => 0,
    };
    let latency =
        latency(costs, flow, strategy, &Parts { before, turnaround, after: here.response });
    Ok(Estimate {
        load: share(caller, period).saturating_add(always),
        work: share(callee, period),
        memory: if internal { memory(costs, flow, strategy, &message, callee) } else { 0 },
        latency,
        period,
        caller,
        blocks: sum(&[own, notice(costs, strategy).0]),
        callee,
        turnaround,
    })
}

/// All of them, or as much as there is room for.
fn sum(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum, part| sum.saturating_add(*part))
}

/// What payload takes at one of the sides.
fn moved(
    costs: &Costs,
    access: Access<u64>,
    message: &Message,
    strategy: &Strategy,
    calls: bool,
) -> Moved {
    let Message { request, response, .. } = *message;
    let copy = |count, rate| match count {
        0 => 0,
        count => access.block.saturating_add(bytes(count, rate)),
    };
    // The caller writes requests and reads responses; the callee the other way round.
    let (into, out) = if calls { (request, response) } else { (response, request) };
    let counted = costs.in_pool == InPool::Counted;
    let (into, out) = match strategy.transfer {
        Transfer::SingleCopy | Transfer::InPlace if counted => {
            (copy(into, access.write), copy(out, access.read))
        }
        Transfer::Copy => (copy(into, access.write), copy(out, access.read)),
        Transfer::SingleCopy => (0, copy(out, access.read)),
        Transfer::InPlace => (0, 0),
        Transfer::CopyEngine => {
            let each = |count: u32| u64::from(count.div_ceil(strategy.fragment));
            let each = |count| each(count).saturating_mul(costs.engine.descriptor);
            (each(into), each(out))
        }
    };
    let engine = match strategy.transfer {
        Transfer::CopyEngine => {
            let Engine { byte, completion, .. } = costs.engine;
            sum(&[bytes(request, byte), bytes(response, byte), completion, completion])
        }
        _ => 0,
    };
    let (request, response) = if calls { (into, out) } else { (out, into) };
    Moved { request, response, engine }
}

/// How the other side is told of a request.
struct HowTold {
    /// Time that it takes of it.
    busy: u64,
    /// Time that passes before.
    late: u64,
}

fn told(costs: &Costs, strategy: &Strategy) -> HowTold {
    let by_interrupt = HowTold { busy: costs.callee.interrupt, late: costs.wake };
    if costs.told == Told::Interrupt {
        return by_interrupt;
    }
    match strategy.notification {
        Notification::Interrupt => by_interrupt,
        // It may look, and it may sleep.
        Notification::Hybrid { .. } => by_interrupt,
        Notification::Spin => HowTold { busy: costs.callee.look, late: 0 },
        Notification::Poll { every } => {
            HowTold { busy: costs.callee.poll, late: sum(&[picos(every), costs.callee.tick]) }
        }
        Notification::Coalesced { within, .. } => HowTold {
            busy: costs.callee.interrupt,
            late: sum(&[picos(within), costs.callee.tick, costs.wake]),
        },
    }
}

/// Time of the calling core for learning of a response that takes so long to come.
fn waited(costs: &Costs, flow: &Flow, strategy: &Strategy, turnaround: u64) -> u64 {
    let Side { interrupt, poll, look, .. } = costs.caller;
    // Pipelined, the core prepares the next request instead.
    let idle = if flow.depth > 1 { 0 } else { turnaround };
    match strategy.notification {
        Notification::Interrupt => interrupt,
        Notification::Spin => sum(&[idle, look]),
        Notification::Poll { .. } if costs.polling == Polling::Always => 0,
        Notification::Poll { every } => {
            poll.saturating_mul(turnaround.div_ceil(picos(every)).max(1))
        }
        Notification::Hybrid { longest } => match picos(longest) {
            longest if turnaround <= longest => sum(&[idle, look]),
            longest if turnaround <= PROMPT * longest => sum(&[idle.min(longest), interrupt]),
            _ => sum(&[idle.min(SHORTEST_LOOK), interrupt]),
        },
        Notification::Coalesced { messages, within } => {
            let wakes = match flow.depth.min(messages) {
                enough if enough == messages => 1,
                _ => turnaround.div_ceil(picos(within)).max(1),
            };
            interrupt.saturating_mul(wakes) / u64::from(flow.depth.min(messages).max(1))
        }
    }
}

/// What the way back adds at most: time of the core, and time in all.
fn notice(costs: &Costs, strategy: &Strategy) -> (u64, u64) {
    let Side { interrupt, poll, look, tick, .. } = costs.caller;
    let wake = costs.wake;
    match strategy.notification {
        Notification::Interrupt | Notification::Hybrid { .. } => (interrupt, interrupt + wake),
        Notification::Spin => (look, look),
        Notification::Poll { every } => (poll, sum(&[poll, picos(every), tick])),
        Notification::Coalesced { within, .. } => {
            (interrupt, sum(&[interrupt, wake, picos(within), tick]))
        }
    }
}

/// Parts of a round trip: until the message is handed over, until it is worked off, and the copy of the
/// response.
struct Parts {
    before: u64,
    turnaround: u64,
    after: u64,
}

fn latency(costs: &Costs, flow: &Flow, strategy: &Strategy, parts: &Parts) -> Latency {
    let Parts { before, turnaround, after } = *parts;
    let worked = sum(&[before, turnaround]);
    let (busy, most) = notice(costs, strategy);
    let period =
        flow.period.map(|period| picos(period).saturating_mul(strategy.granularity.into()));
    let (source, aligned) = match strategy.notification {
        Notification::Poll { every } => {
            let every = picos(every);
            let rare = period.is_some_and(|period| every > period);
            let source = if rare { sum(&[every, after]) } else { sum(&[busy, worked, after]) };
            (source, worked.div_ceil(every).max(1).saturating_mul(every))
        }
        _ => (sum(&[busy, worked, after]), sum(&[busy, worked, after])),
    };
    // The first request of a message waits for the last, and one of a burst for those before it.
    let gathered = match (flow.period, strategy.granularity) {
        (Some(period), count) => picos(period).saturating_mul(u64::from(count) - 1),
        (None, _) => 0,
    };
    let queued = (u64::from(flow.burst) - 1).saturating_mul(before.max(turnaround));
    let bound = sum(&[worked, most, after, gathered, queued, picos(flow.jitter)]);
    Latency { source, aligned, bound }
}

/// Bytes of internal memory.
fn memory(costs: &Costs, flow: &Flow, strategy: &Strategy, message: &Message, callee: u64) -> u32 {
    let Message { request, response, .. } = *message;
    let buffer = match costs.results {
        Results::Shared => request.max(response),
        Results::Own => request + response,
    };
    let depth = u64::from(flow.depth);
    let count = match (strategy.notification, flow.period) {
        (Notification::Poll { every }, Some(period)) => {
            let period = picos(period).saturating_mul(strategy.granularity.into());
            let looks = picos(every).div_ceil(period).max(1);
            let queued = if depth > 1 { callee.div_ceil(period) } else { 0 };
            match costs.buffers {
                Buffers::InStep => looks,
                Buffers::Any => looks + 1 + queued,
            }
        }
        _ => u64::from(flow.burst),
    };
    let all = u64::from(buffer).saturating_mul(count.max(depth));
    u32::try_from(all).unwrap_or(u32::MAX)
}
