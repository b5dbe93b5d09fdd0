//! The parts of a round trip.

use narrows::strategy::{Acknowledgement, Notification, Placement, Strategy, Transfer};

use super::notice::{PROMPT, SHORTEST_LOOK, Waits, told};
use super::parameters::{Costs, Side};
use super::payload::{Message, Moved, cold, moved};
use super::{DAY, Flow, ModelError, part, picos, sum};

/// A round trip, in picoseconds.
pub(super) struct Parts {
    pub message: Message,
    pub internal: bool,
    /// What a timer takes of the calling core that wakes it when a request is due, and how long
    /// after that it goes on.
    pub due: u64,
    pub late: u64,
    /// The request until it is handed over: time of the calling core.
    pub before: u64,
    /// From then until the other core has worked it off, if it is told at once, and its own time of
    /// that.
    pub least: u64,
    pub callee: u64,
    /// That without learning of the request.
    pub serves: u64,
    /// The engines' parts of it at either end, for which the ends wait: at the calling one for the
    /// request and for the response.
    pub engine: [u64; 2],
    pub engine_there: u64,
    /// From one look of the other core to the next; 0 if it is told.
    pub step: u64,
    /// The copy of the response, and the acknowledgement of the request.
    pub after: u64,
    pub ack: u64,
    /// What either side takes at most more: where its caches are cold, or the other one looks.
    pub more: [u64; 2],
    /// What either side takes at most more than on average, of what comes now and then.
    pub seldom: u64,
    /// What a core copies in external memory of the request and of the response: the calling one,
    /// and the one that is called.
    pub copied: [[u64; 2]; 2],
}

/// For how long the other core looks for the next request when it has answered one, if it waits so.
/// Hybrid looks as long as it may if that one comes soon; otherwise less and less, but for the bell
/// of an acknowledgement, which it takes for a prompt request: that doubles what each request
/// halves.
fn goes_on(flow: &Flow, strategy: &Strategy, how: Notification) -> u64 {
    let Notification::Hybrid { longest } = how else { return 0 };
    let longest = picos(longest);
    let prompt = |period| picos(period) <= longest.saturating_mul(PROMPT);
    let rung = strategy.acknowledgement == Acknowledgement::Interrupt;
    match flow.period.is_none_or(prompt) {
        true => longest,
        false if rung => longest / 2,
        false => SHORTEST_LOOK.min(longest),
    }
}

/// What a copy takes during which the other core looks for the time `until`: it takes `alone` if
/// the other core does not look, and `looked` if that looks all the time.
fn slowed(alone: u64, looked: u64, until: u64) -> u64 {
    if until >= looked {
        return looked.max(alone);
    }
    alone.saturating_add(part(looked.saturating_sub(alone), until, looked))
}

impl Parts {
    pub fn of(
        costs: &Costs,
        flow: &Flow,
        strategy: &Strategy,
        soonest: Waits,
    ) -> Result<Parts, ModelError> {
        flow.check()?;
        strategy.check().map_err(|_| ModelError::Strategy)?;
        let internal = match strategy.placement {
            Placement::Internal => true,
            Placement::External => false,
            Placement::Region(_) => return Err(ModelError::Region),
        };
        let count = u32::from(strategy.granularity);
        let message = Message::of(flow, strategy).ok_or(ModelError::Bytes)?;
        if message.work > picos(DAY) {
            return Err(ModelError::Time);
        }
        // A core that looks for a while before sleeping does so all the time that the other core
        // works, and until the next request, if that is soon.
        let idles = match soonest.callee {
            Notification::Spin => true,
            Notification::Hybrid { longest } => flow.period.is_none_or(|period| period <= longest),
            _ => false,
        };
        let looks = |how| matches!(how, Notification::Spin | Notification::Hybrid { .. });
        let waits = looks(strategy.notification) || looks(soonest.caller);
        let waits_there = looks(strategy.at_callee()) || looks(soonest.callee);
        let here = moved(costs, internal, idles, &message, strategy, true);
        let looked = moved(costs, internal, true, &message, strategy, true);
        let goes_on = goes_on(flow, strategy, soonest.callee);
        let here = Moved { response: slowed(here.response, looked.response, goes_on), ..here };
        let there = moved(costs, internal, waits, &message, strategy, false);
        let most = moved(costs, internal, waits_there, &message, strategy, true);
        let slower =
            sum(&[most.request, most.response]).saturating_sub(sum(&[here.request, here.response]));
        // All that a core does is slower that sleeps in between and whose bus the other one has.
        let looked = if looks(strategy.notification) { 0 } else { costs.caller.looked };
        // One that goes on for a while has it when the response comes, and seldom at the request.
        let taking = sum(&[costs.caller.interrupt, here.response]);
        let behind = part(looked / 2, goes_on.min(taking), taking);
        let (lasting, behind, at_most) = match idles {
            true => (looked, 0, 0),
            false if waits_there => (0, behind, looked - behind),
            false => (0, 0, 0),
        };
        let more = [
            sum(&[cold(&costs.caller, &message, true), slower, at_most]),
            cold(&costs.callee, &message, false),
        ];
        let period = flow.pace(strategy).period.unwrap_or(0);
        let told = told(costs, soonest.callee, period, strategy.callee.is_none());
        let further = |side: &Side<u64>| side.further.saturating_mul(u64::from(count) - 1);
        let serves = sum(&[
            costs.callee.request,
            further(&costs.callee),
            there.request,
            there.response,
            message.work,
        ]);
        let callee = sum(&[serves, told.busy]);
        let copied = match strategy.transfer {
            Transfer::CopyEngine => [[0; 2]; 2],
            _ if internal => [[0; 2]; 2],
            _ => [[here.request, here.response], [there.request, there.response]],
        };
        let (engine_here, engine_there) = (sum(&here.engine), sum(&there.engine));
        let ack = match strategy.acknowledgement {
            Acknowledgement::Interrupt => match strategy.notification {
                Notification::Poll { .. } | Notification::Timer { .. } => costs.ack_polled,
                _ => costs.ack_interrupt,
            },
            Acknowledgement::Lazy => costs.ack_lazy,
            Acknowledgement::Batched => costs.ack_batched,
        };
        // A core that spins looks at the clock as well, and sleeps for no request.
        let sleeps = flow.period.is_some() && strategy.notification != Notification::Spin;
        let of = |time: u64| if sleeps { time } else { 0 };
        // Of a request's parts the first finds the core asleep.
        let due = costs.caller.timer.div_ceil(strategy.parts.count.into());
        Ok(Parts {
            internal,
            due: of(due),
            late: of(sum(&[costs.rested, costs.caller.tick])),
            before: sum(&[costs.caller.request, further(&costs.caller), here.request, lasting]),
            least: sum(&[told.late, callee, engine_here, engine_there]),
            callee,
            serves,
            engine: here.engine,
            engine_there,
            step: told.step,
            after: sum(&[here.response, behind]),
            ack,
            more,
            copied,
            seldom: match waits || waits_there {
                true => costs.seldom.max(costs.seldom_spin),
                false => costs.seldom,
            },
            message,
        })
    }

    /// What keeps the calling core, but for learning of the response.
    pub fn own(&self) -> u64 {
        sum(&[self.due, self.before, self.after, self.ack])
    }

    pub fn turnaround(&self) -> u64 {
        sum(&[self.least, self.step])
    }
}
