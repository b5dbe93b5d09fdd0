//! What each direction travels by: the strategies that were named, or those that the controller of
//! narrows-tune chooses while sessions come and go.

use std::time::Duration;

use narrows::strategy::{Notification, Parts, Strategy};
use narrows_tune::control::{Cause, ControlError, Controller, Handle, Settings, Switch, differs};
use narrows_tune::model::{Costs, Flow, Parameters, WHOLE, estimate};
use narrows_tune::optimise::Dsp;
use narrows_tune::rooms::ControlRooms;
use serde::Serialize;

use crate::frame::{Kind, REQUEST, RESPONSE};

/// Directions that are controlled at once.
const MOST: usize = 128;
/// Calls after which it is said how long the DSP works for a frame of a kind.
const CALLS: u32 = 16;
/// What every flow begins with.
const SAFE: &str = "copy_batched/interrupt/external";
/// The other ways that are tried: whether a frame is copied once or twice, memory, and how often an
/// answer is looked for.
const TRANSFERS: [&str; 2] = ["copy_batched", "single_copy"];
const PLACES: [&str; 2] = ["external", "internal"];
const LOOKS: [&[&str]; 2] =
    [&["poll=5ms", "poll=10ms", "poll=20ms"], &["poll=20ms", "poll=50ms", "poll=100ms"]];

/// What the command line says.
#[derive(Clone, Debug)]
pub struct Choices {
    pub auto: bool,
    /// The strategy of each kind of frame, audio first.
    pub fixed: [Strategy; 2],
    /// Bytes of internal memory that flows may take.
    pub memory: Option<u32>,
    pub deadlines: [Duration; 2],
}

/// A change of a direction's strategy.
#[derive(Clone, Debug, Serialize)]
pub struct Decided {
    pub s: f64,
    pub flow: &'static str,
    pub from: String,
    pub to: String,
    pub why: String,
}

fn at(kind: Kind) -> usize {
    usize::from(kind == Kind::Video)
}

/// Whether a direction may travel so: one frame in a message, told in a way that leaves the link's
/// thread to the other directions.
///
/// # Errors
/// Why not, as a sentence.
pub fn allowed(by: &Strategy) -> Result<(), String> {
    let told = matches!(by.notification, Notification::Interrupt | Notification::Poll { .. });
    if told && by.granularity == 1 && by.parts == Parts::WHOLE {
        return Ok(());
    }
    Err(format!(
        "{by} does not do: one thread carries all sessions, so an answer is told by interrupt or by \
         poll=TIME, and each frame travels by itself"
    ))
}

/// Strategies by kind, the safe one first.
pub fn ways() -> [Vec<Strategy>; 2] {
    LOOKS.map(|looks| {
        let told = ["interrupt"].iter().chain(looks);
        let places = told.flat_map(|told| PLACES.map(|place| format!("{told}/{place}")));
        let texts = places.flat_map(|rest| TRANSFERS.map(|transfer| format!("{transfer}/{rest}")));
        let mut ways: Vec<Strategy> = Vec::new();
        for text in [SAFE.to_owned()].into_iter().chain(texts) {
            let way = text.parse().expect("a strategy of these words");
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        ways
    })
}

/// What the controller works in, for directions with these ways.
#[must_use]
pub fn rooms<'s>(ways: &[Vec<Strategy>; 2]) -> ControlRooms<'s> {
    ControlRooms::new(MOST, MOST * ways.iter().map(Vec::len).max().unwrap_or(0))
}

/// See the module page.
pub(crate) struct Tuner<'a, 's> {
    choices: Choices,
    ways: &'s [Vec<Strategy>; 2],
    controller: Option<Controller<'a, 's>>,
    costs: Costs,
    /// By kind: how long the DSP works for a frame, once that is known, and what it is known from.
    work: [Duration; 2],
    known: [bool; 2],
    heard: [(u32, Duration); 2],
    /// Bytes of internal memory of directions with strategies that were named.
    taken: Vec<(u64, u32)>,
    cause: Cause,
    again: Option<Duration>,
    missed: Option<Duration>,
    pub decided: Vec<Decided>,
}

impl<'a, 's> Tuner<'a, 's> {
    /// # Errors
    /// [`ControlError::Budget`].
    pub fn new(
        choices: Choices,
        memory: u32,
        ways: &'s [Vec<Strategy>; 2],
        rooms: &'a mut ControlRooms<'s>,
    ) -> Result<Tuner<'a, 's>, ControlError> {
        let costs = Parameters::default().costs()?;
        let dsp = Dsp { memory: choices.memory.unwrap_or(memory), work: WHOLE };
        let controller = choices.auto.then(|| {
            Controller::new(rooms.tables(), costs, &[dsp], u64::from(WHOLE), Settings::default())
        });
        Ok(Tuner {
            choices,
            ways,
            controller: controller.transpose()?,
            costs,
            work: [Duration::ZERO; 2],
            known: [false; 2],
            heard: [(0, Duration::ZERO); 2],
            taken: Vec::new(),
            cause: Cause::Arrived,
            again: None,
            missed: None,
            decided: Vec::new(),
        })
    }

    /// Whether the machine's costs are of any use.
    pub fn is_auto(&self) -> bool {
        self.controller.is_some()
    }

    /// The machine takes this.
    pub fn costs(&mut self, costs: Costs, now: Duration) {
        self.costs = costs;
        if let Some(controller) = &mut self.controller {
            controller.set_costs(costs);
        }
        self.decide(Cause::Learnt, now);
    }

    /// A direction as the model knows it, with the pace of the source's gateway (S1 section 5.2).
    /// A picture that needs no other has about 2 KiB, and memory has to be there for those.
    fn flow(&self, kind: Kind) -> Flow {
        let (period, bytes) = match kind {
            Kind::Audio => (Duration::from_millis(20), 160),
            Kind::Video => (Duration::from_millis(100), 2048),
        };
        Flow {
            period: Some(period),
            request: bytes + REQUEST as u32,
            response: bytes + RESPONSE as u32,
            work: self.work[at(kind)],
            fixed: Duration::ZERO,
            deadline: Some(self.choices.deadlines[at(kind)]),
            jitter: Duration::ZERO,
            burst: 1,
            depth: 4,
        }
    }

    /// A direction comes: what it begins with.
    ///
    /// # Errors
    /// Why it cannot be carried beside the others, as a sentence.
    pub fn arrive(
        &mut self,
        id: u64,
        kind: Kind,
        now: Duration,
    ) -> Result<(Option<Handle>, Strategy), String> {
        let flow = self.flow(kind);
        let Some(controller) = &mut self.controller else { return self.arrive_fixed(id, kind) };
        let known = self.known[at(kind)];
        let ways: &'s [Vec<Strategy>; 2] = self.ways;
        match controller.arrive(flow, &ways[at(kind)], known) {
            Ok(start) => {
                self.decided.push(Decided {
                    s: now.as_secs_f64(),
                    flow: kind.name(),
                    from: String::new(),
                    to: start.strategy.to_string(),
                    why: "arrived".into(),
                });
                self.decide(Cause::Arrived, now);
                Ok((Some(start.flow), start.strategy))
            }
            Err(error) => Err(format!("{error}")),
        }
    }

    /// With strategies that were named only memory can be short.
    fn arrive_fixed(&mut self, id: u64, kind: Kind) -> Result<(Option<Handle>, Strategy), String> {
        let by = self.choices.fixed[at(kind)];
        let needs =
            estimate(&self.costs, &self.flow(kind), &by).map_err(|error| error.to_string())?;
        let taken: u64 = self.taken.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
        if let Some(memory) = self.choices.memory
            && taken + u64::from(needs.memory) > u64::from(memory)
        {
            return Err(format!(
                "{by} needs {} bytes of internal memory, and of {memory} others have {taken}",
                needs.memory
            ));
        }
        self.taken.push((id, needs.memory));
        Ok((None, by))
    }

    pub fn leave(&mut self, id: u64, handle: Option<Handle>, now: Duration) {
        self.taken.retain(|(other, _)| *other != id);
        let Some((controller, handle)) = self.controller.as_mut().zip(handle) else { return };
        if controller.leave(handle).is_ok() {
            self.decide(Cause::Left, now);
        }
    }

    /// An answer came later than its deadline, or did not come.
    pub fn miss(&mut self, handle: Handle, took: Duration, now: Duration) {
        let Some(controller) = &mut self.controller else { return };
        let rest = Settings::default().rest;
        if controller.missed(handle, now, took).is_err()
            || self.missed.is_some_and(|last| now.saturating_sub(last) < rest)
        {
            return;
        }
        self.missed = Some(now);
        self.decide(Cause::Missed, now);
    }

    /// The DSP worked `nanos` nanoseconds for a frame of a kind. `handles` are those of all
    /// directions of it.
    pub fn learn(
        &mut self,
        kind: Kind,
        nanos: u32,
        now: Duration,
        handles: impl Iterator<Item = Handle>,
    ) {
        let (count, sum) = &mut self.heard[at(kind)];
        *count += 1;
        *sum += Duration::from_nanos(nanos.into());
        if *count < CALLS {
            return;
        }
        let mean = *sum / *count;
        (*count, *sum) = (0, Duration::ZERO);
        let thought = self.work[at(kind)];
        let nanos = |time: Duration| time.as_nanos() as u64;
        if self.known[at(kind)] && !differs(nanos(thought), nanos(mean)) {
            return;
        }
        self.work[at(kind)] = mean;
        self.known[at(kind)] = true;
        let flow = self.flow(kind);
        let Some(controller) = &mut self.controller else { return };
        for handle in handles {
            // One that has become impossible stays as it was, and its misses are told.
            let _ = controller.change(handle, flow);
        }
        self.decide(Cause::Learnt, now);
    }

    fn decide(&mut self, cause: Cause, now: Duration) {
        let Some(controller) = &mut self.controller else { return };
        // A plan that fails leaves all as it is; a direction that misses its deadline says so.
        if controller.decide(now, cause).is_ok_and(|made| made.switches > 0) {
            self.cause = cause;
        }
    }

    /// The next switch to carry out.
    pub fn next(&mut self, now: Duration) -> Option<Switch> {
        if self.again.is_some_and(|again| again <= now) {
            self.again = None;
            self.decide(Cause::Rested, now);
        }
        self.controller.as_mut()?.next_switch()
    }

    /// How a switch ended: not at all, or `refused` for good.
    pub fn ended(&mut self, kind: Kind, switch: &Switch, failed: Option<bool>, now: Duration) {
        let Some(controller) = &mut self.controller else { return };
        self.again = Some(now + Settings::default().rest);
        let (cause, reason) = (self.cause.name(), switch.reason.name());
        let why = match failed {
            None => {
                // It is under way, so the controller knows it.
                let _ = controller.done(switch.flow, now);
                format!("{cause}: {reason}")
            }
            Some(refused) => {
                let _ = controller.failed(switch.flow, now, refused);
                self.decide(Cause::Failed, now);
                format!("{cause}: {reason}, but it failed")
            }
        };
        self.decided.push(Decided {
            s: now.as_secs_f64(),
            flow: kind.name(),
            from: switch.from.to_string(),
            to: switch.to.to_string(),
            why,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(auto: bool, memory: u32) -> Choices {
        let fixed = "copy_batched/interrupt/internal".parse().unwrap();
        let deadlines = [Duration::from_millis(80), Duration::from_millis(300)];
        Choices { auto, fixed: [fixed; 2], memory: Some(memory), deadlines }
    }

    #[test]
    fn named_strategies_are_refused_once_internal_memory_is_taken_and_not_after_one_left() {
        let ways = ways();
        let mut rooms = rooms(&ways);
        let mut tuner = Tuner::new(choices(false, 4096), 1 << 20, &ways, &mut rooms).unwrap();
        let mut carried = 0;
        while tuner.arrive(carried, Kind::Audio, Duration::ZERO).is_ok() {
            carried += 1;
            assert!(carried < 1000, "memory never ends");
        }
        assert!(carried > 0);
        let refused = tuner.arrive(carried, Kind::Audio, Duration::ZERO).unwrap_err();
        assert!(refused.contains("internal memory, and of 4096"), "{refused}");
        tuner.leave(0, None, Duration::ZERO);
        assert!(tuner.arrive(carried, Kind::Audio, Duration::ZERO).is_ok());
    }

    #[test]
    fn sessions_are_refused_when_the_dsp_has_no_time_left() {
        let ways = ways();
        let mut rooms = rooms(&ways);
        let mut tuner = Tuner::new(choices(true, 16384), 1 << 20, &ways, &mut rooms).unwrap();
        let mut now = Duration::ZERO;
        let (first, by) = tuner.arrive(0, Kind::Audio, now).unwrap();
        assert_eq!(by.to_string(), SAFE.parse::<Strategy>().unwrap().to_string());
        let mut handles = vec![first.unwrap()];
        for _ in 0..CALLS {
            now += Duration::from_millis(20);
            // A quarter of the DSP for each direction.
            tuner.learn(Kind::Audio, 5_000_000, now, handles.clone().into_iter());
        }
        let mut refused = None;
        for id in 1..10 {
            match tuner.arrive(id, Kind::Audio, now) {
                Ok((handle, _)) => handles.extend(handle),
                Err(why) => refused = Some(why),
            }
        }
        assert!((2..=4).contains(&handles.len()), "{} directions, {refused:?}", handles.len());
    }

    #[test]
    fn a_way_that_would_hold_up_other_sessions_is_refused_in_words() {
        for text in ["copy/spin/internal", "copy/coalesced=8,1ms/external"] {
            let Ok(strategy) = text.parse::<Strategy>() else { continue };
            assert!(allowed(&strategy).unwrap_err().contains("interrupt or by poll"), "{text}");
        }
        for strategy in ways().iter().flatten() {
            assert_eq!(allowed(strategy), Ok(()));
        }
    }
}
