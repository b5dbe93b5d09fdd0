//! Flows that come and go.

use super::parse::RawFlow;
use super::{Flow, MAX_FLOWS, Presence, Source};
use crate::formats::functions::MAX_DURATION;
use narrows_sim::file::{Mistake, Text};
use std::time::Duration;

/// What random times are drawn by in a workload that does not say.
pub(super) const SEED: u64 = 1;
/// The shortest time that is drawn: a session that is over before its first call tells nothing.
const SHORTEST: Duration = Duration::from_millis(1);

/// When a flow is there, as its keys say.
pub(super) fn presence(file: &Text<'_>, name: &str, raw: &RawFlow) -> Result<Presence, Mistake> {
    if let (Some(output), Some(_)) = (&raw.output, &raw.sessions) {
        let sentence = "output does not go with sessions, which would all write the same file";
        return Err(file.fail(&output.span, sentence));
    }
    let random = raw.on.as_ref().zip(raw.off.as_ref());
    let once = raw.arrives.as_ref().or(raw.leaves.as_ref());
    match (random, &raw.on, &raw.off) {
        (None, Some(on), _) => {
            let sentence = format!("flow {name} has no off; on expects how long it is away");
            Err(file.fail(&on.span, sentence))
        }
        (None, _, Some(off)) => {
            let sentence = format!("flow {name} has no on; off expects how long it is there");
            Err(file.fail(&off.span, sentence))
        }
        (Some(_), ..) if once.is_some() => {
            let span = once.map_or(&raw.span, |time| &time.span);
            let sentence =
                "arrives and leaves do not go with on and off; expected one or the other";
            Err(file.fail(span, sentence))
        }
        (Some((on, off)), ..) => Ok(Presence::Random { on: on.value, off: off.value }),
        _ => {
            let (arrives, leaves) = (raw.arrives.as_ref(), raw.leaves.as_ref());
            match (arrives, leaves) {
                (None, None) => Ok(Presence::Always),
                (Some(arrives), Some(leaves)) if leaves.value <= arrives.value => {
                    Err(leaves.wrong(file, "a time after arrives"))
                }
                _ => Ok(Presence::Once {
                    arrives: arrives.map(|time| time.value),
                    leaves: leaves.map(|time| time.value),
                }),
            }
        }
    }
}

/// The flows, each with as many sessions as it says, which have its name and a number. Those that
/// come and go at random do so each for itself.
pub(super) fn expand(
    file: &Text<'_>,
    raw: &[RawFlow],
    flows: Vec<Flow>,
    seed: u64,
) -> Result<Vec<Flow>, Mistake> {
    let mut all: Vec<Flow> = Vec::new();
    let mut firsts = Vec::new();
    for (flow, raw) in flows.iter().zip(raw) {
        firsts.push(all.len());
        match &raw.sessions {
            None => all.push(flow.clone()),
            Some(sessions) => all.extend(
                (1..=sessions.value)
                    .map(|number| Flow { name: format!("{}-{number}", flow.name), ..flow.clone() }),
            ),
        }
    }
    if all.len() > MAX_FLOWS {
        let sentence =
            format!("{} flows with their sessions; expected at most {MAX_FLOWS}", all.len());
        return Err(file.fail(&file.end(), sentence));
    }
    for (this, flow) in flows.iter().zip(raw) {
        let (Source::After(before), Some(after)) = (&this.source, &flow.after) else { continue };
        let several = raw.get(*before).is_some_and(|one| one.sessions.is_some());
        if several || flows.get(*before).is_some_and(|one| one.presence != Presence::Always) {
            let expected = "a flow that is always there, without sessions";
            return Err(after.wrong(file, expected));
        }
    }
    for at in 0..all.len() {
        let (before, rest) = all.split_at_mut(at);
        let Some(flow) = rest.first_mut() else { continue };
        if before.iter().any(|other| other.name == flow.name) {
            let sentence = format!("{} is the name of two flows with their sessions", flow.name);
            return Err(file.fail(&file.end(), sentence));
        }
        if let Source::After(before) = &mut flow.source {
            *before = firsts.get(*before).copied().unwrap_or(*before);
        }
        flow.seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(at as u64);
    }
    Ok(all)
}

/// The moments of a run at which a flow comes and goes.
pub(crate) struct Schedule {
    presence: Presence,
    dice: fastrand::Rng,
    /// Whether it is there until the next of them.
    here: bool,
    next: Option<Duration>,
}

impl Schedule {
    /// Of a flow.
    pub fn new(flow: &Flow) -> Schedule {
        let mut made = Schedule {
            presence: flow.presence,
            dice: fastrand::Rng::new(),
            here: false,
            next: Some(Duration::ZERO),
        };
        match flow.presence {
            Presence::Always => {}
            Presence::Once { arrives, .. } => made.next = Some(arrives.unwrap_or_default()),
            Presence::Random { off, .. } => {
                made.dice = fastrand::Rng::with_seed(flow.seed);
                made.next = Some(made.draw(off));
            }
        }
        made
    }

    /// When it comes or goes next, from the beginning of the run; none if it does not.
    pub fn next(&self) -> Option<Duration> {
        self.next
    }

    /// That moment has come: whether the flow is there from then on.
    pub fn turn(&mut self) -> bool {
        let now = self.next.unwrap_or_default();
        self.here = !self.here;
        self.next = match (self.presence, self.here) {
            (Presence::Once { leaves, .. }, true) => leaves,
            (Presence::Always | Presence::Once { .. }, _) => None,
            (Presence::Random { on, .. }, true) => Some(now + self.draw(on)),
            (Presence::Random { off, .. }, false) => Some(now + self.draw(off)),
        };
        self.here
    }

    /// An exponentially distributed time, at most ten times the mean.
    fn draw(&mut self, mean: Duration) -> Duration {
        let times = -(1.0 - self.dice.f64()).ln();
        mean.mul_f64(times.min(10.0)).clamp(SHORTEST, MAX_DURATION)
    }
}
