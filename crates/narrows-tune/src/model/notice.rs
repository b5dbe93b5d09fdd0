//! How each side learns of messages: what that takes of its core, and what passes meanwhile.

use core::time::Duration;

use narrows::notify;
use narrows::strategy::{Acknowledgement, Notification, Strategy};

use super::pace::Pace;
use super::parameters::{Costs, Polling, Side};
use super::{Flow, picos, sum};

/// The shortest look before sleeping of the hybrid notification, and times of the longest beyond
/// which an answer is no prompt one: what `narrows::notify` does.
pub(super) const SHORTEST_LOOK: u64 = 2_000_000;
pub(super) const PROMPT: u64 = 3;

/// How the cores of a flow wait: the one that calls for responses, the other one for requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The core that calls.
    pub caller: Notification,
    /// The core that is called.
    pub callee: Notification,
}

impl Waits {
    /// As a strategy has them wait.
    #[must_use]
    pub fn of(strategy: &Strategy) -> Waits {
        Waits { caller: strategy.notification, callee: strategy.at_callee() }
    }

    /// As cores wait that have all of these: each as the quickest wants it.
    pub fn quickest(all: impl Iterator<Item = Waits> + Clone) -> Option<Waits> {
        let caller = notify::quickest(all.clone().map(|one| one.caller))?;
        Some(Waits { caller, callee: notify::quickest(all.map(|one| one.callee))? })
    }
}

/// How the other side is told of a request.
pub(super) struct HowTold {
    /// Time that it takes of it.
    pub busy: u64,
    /// Time that passes before, beside a look.
    pub late: u64,
    /// From one of its looks to the next; 0 if it is told at once.
    pub step: u64,
}

/// From one look to the next. A core that is woken goes on a little late, and where timers end on
/// ticks the sleep ends with the first that is not before its end.
fn step(side: &Side<u64>, every: Duration) -> u64 {
    let apart = sum(&[picos(every), side.late]);
    match side.tick {
        0 => apart,
        tick => apart.div_ceil(tick).saturating_mul(tick),
    }
}

/// As [`step`] for a sleep that begins anywhere between two ticks, as that behind a request does.
fn longest_step(side: &Side<u64>, every: Duration) -> u64 {
    sum(&[picos(every), side.late, side.tick])
}

/// How the other side is told, if it waits so for messages that are so far apart. Where it is not
/// told as the caller is, no look of the caller's hides how late its own may be.
pub(super) fn told(costs: &Costs, how: Notification, apart: u64, alike: bool) -> HowTold {
    let Side { interrupt, poll, look, .. } = costs.callee;
    let step = if alike { step } else { longest_step };
    let late = sum(&[costs.wake, costs.idle.later(Notification::Interrupt, apart)]);
    let by_interrupt = HowTold { busy: interrupt, late, step: 0 };
    match how {
        // Hybrid may look, and it may sleep.
        Notification::Interrupt | Notification::Hybrid { .. } => by_interrupt,
        Notification::Spin => HowTold { busy: look, late: 0, step: 0 },
        Notification::Poll { every } | Notification::Timer { every } => {
            HowTold { busy: poll, late: 0, step: step(&costs.callee, every) }
        }
        // A timer wakes it, or, with enough messages, a bell.
        Notification::Coalesced { within, .. } => {
            HowTold { busy: poll.max(interrupt), late: 0, step: step(&costs.callee, within) }
        }
    }
}

/// How the caller learns of a response.
pub(super) struct Noticed {
    /// Time of the core, at most.
    pub busy: u64,
    /// Time that passes before, beside a look and that.
    pub late: u64,
    /// From one look to the next; 0 if it is told at once.
    pub step: u64,
}

/// By a way of its own, if the core may wait for others meanwhile that are told sooner.
pub(super) fn noticed(costs: &Costs, by: &Strategy, soonest: Notification) -> Noticed {
    let (own, others) = (alone(costs, by.notification), alone(costs, soonest));
    let rings = by.acknowledgement == Acknowledgement::Interrupt;
    let rung = if rings && soonest == Notification::Spin { costs.caller.rung } else { 0 };
    let busy = sum(&[own.busy.max(others.busy), rung]);
    Noticed { busy, late: own.late.max(others.late), step: own.step }
}

fn alone(costs: &Costs, how: Notification) -> Noticed {
    let Side { interrupt, poll, look, .. } = costs.caller;
    match how {
        Notification::Interrupt => Noticed { busy: interrupt, late: costs.wake, step: 0 },
        // The last look may just be under way.
        Notification::Hybrid { .. } => {
            Noticed { busy: interrupt, late: sum(&[costs.wake, look]), step: 0 }
        }
        Notification::Spin => Noticed { busy: look, late: 0, step: 0 },
        Notification::Poll { every } | Notification::Timer { every } => {
            Noticed { busy: poll, late: 0, step: step(&costs.caller, every) }
        }
        Notification::Coalesced { within, .. } => {
            Noticed { busy: poll.max(interrupt), late: 0, step: step(&costs.caller, within) }
        }
    }
}

/// The sum of ceil(y / step) over y from 0 to `until`, divided by `step`; doubled, so that it is
/// whole.
fn looks_until(until: u128, step: u128) -> u128 {
    let (whole, rest) = (until / step, until % step);
    whole * (whole + 1) + 2 * rest * (whole + 1) / step
}

/// What looks take of the calling core, on average, for a response that comes `least` after its
/// request or any time up to `spread` later.
fn looking(each: u64, step: u64, least: u64, spread: u64) -> u64 {
    let (each, wide) = (u128::from(each), u128::from(step.max(1)));
    let looks = match spread {
        0 => return sum(&[0, least.div_ceil(step.max(1)).max(1)]).saturating_mul(each as u64),
        spread => {
            let (from, spread) = (u128::from(least), u128::from(spread));
            let twice = looks_until(from + spread, wide) - looks_until(from, wide);
            (each * twice).saturating_mul(wide) / (2 * spread)
        }
    };
    u64::try_from(looks).unwrap_or(u64::MAX)
}

/// From one look to the next, of a calling core that looks whether or not a response is awaited.
pub(super) fn always(costs: &Costs, how: Notification) -> Option<u64> {
    match how {
        Notification::Timer { every } => Some(picos(every)),
        Notification::Poll { every } if costs.polling == Polling::Always => Some(picos(every)),
        _ => None,
    }
}

/// Time of the calling core for learning of a part's response, where `under_way` parts are under
/// way: between two it has the time `idle`, and one takes `turnaround` to come.
pub(super) fn pipelined(
    costs: &Costs,
    strategy: &Strategy,
    idle: u64,
    turnaround: u64,
    under_way: u64,
) -> u64 {
    let Side { interrupt, poll, look, .. } = costs.caller;
    match strategy.notification {
        Notification::Interrupt => interrupt,
        Notification::Spin => sum(&[idle, look]),
        how if always(costs, how).is_some() => 0,
        Notification::Hybrid { longest } => match picos(longest) {
            longest if idle <= longest => sum(&[idle, look]),
            longest if idle <= PROMPT * longest => sum(&[longest, interrupt]),
            _ => sum(&[SHORTEST_LOOK, interrupt]),
        },
        // One look serves all that is under way.
        Notification::Poll { every } | Notification::Timer { every } => {
            looking(poll, step(&costs.caller, every), turnaround, 0) / under_way
        }
        Notification::Coalesced { messages, .. } if u64::from(messages) <= under_way => {
            interrupt / u64::from(messages.max(1))
        }
        Notification::Coalesced { within, .. } => {
            looking(poll, step(&costs.caller, within), turnaround, 0) / under_way
        }
    }
}

/// Time of the calling core for learning of a response that comes `least` after its request or up
/// to `spread` later.
pub(super) fn waited(
    costs: &Costs,
    flow: &Flow,
    strategy: &Strategy,
    least: u64,
    spread: u64,
) -> u64 {
    let Side { interrupt, poll, look, .. } = costs.caller;
    let turnaround = sum(&[least, spread]);
    // As many as there are periods in a call, if that many may be; without a period as many as may
    // be.
    let Pace { period, burst, depth, .. } = flow.pace(strategy);
    let period = period.map(|period| period / burst);
    let under_way = match period {
        Some(period) => turnaround.div_ceil(period.max(1)).clamp(1, depth),
        None => depth,
    };
    // Pipelined, the core prepares the next request meanwhile, and waits for both at once.
    let idle = match period {
        Some(period) if under_way > 1 => turnaround.min(period),
        None if under_way > 1 => 0,
        _ => turnaround,
    };
    // One look serves all that is under way, for no longer than until the next is begun.
    let shared = |looks: u64, every: Duration| match period {
        Some(period) if under_way > 1 => {
            let apart = step(&costs.caller, every).max(1);
            looks.min(poll.saturating_mul(period.div_ceil(apart)))
        }
        Some(_) => looks,
        None => looks / under_way,
    };
    match strategy.notification {
        Notification::Interrupt => interrupt,
        Notification::Spin => sum(&[idle, look]),
        // What looks without end is no call's.
        how if always(costs, how).is_some() => 0,
        Notification::Poll { every } | Notification::Timer { every } => {
            shared(looking(poll, step(&costs.caller, every), least, spread), every)
        }
        Notification::Hybrid { longest } => match picos(longest) {
            longest if turnaround <= longest => sum(&[idle, look]),
            longest if turnaround <= PROMPT * longest => sum(&[idle.min(longest), interrupt]),
            _ => sum(&[idle.min(SHORTEST_LOOK), interrupt]),
        },
        Notification::Coalesced { messages, within } => {
            let together = under_way.min(messages.into()).max(1);
            if together == u64::from(messages) {
                return interrupt / together;
            }
            shared(looking(poll, step(&costs.caller, within), least, spread), within)
        }
    }
}
