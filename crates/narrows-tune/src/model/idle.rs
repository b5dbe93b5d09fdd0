//! What a call takes more of cores that have slept since the one before.

use narrows::strategy::Notification;

/// What a call takes more where both cores have slept since the one before: caches are others' by
/// then, and sleep is deeper. Beside [`Side`](super::Side), whose figures are of calls that follow
/// each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle<T> {
    /// From one call to the next where this was measured. If it is less, so is what follows, by as
    /// large a part, and if more, that is the same.
    pub after: T,
    /// Time of the calling core if it is told by an interrupt.
    pub interrupt: T,
    /// Likewise if it polls.
    pub poll: T,
    /// Likewise if a timer ends its sleep before a bell for several messages does.
    pub coalesced: T,
    /// By how much the other core answers later that is told by an interrupt.
    pub late: T,
}

impl<T: Copy> Idle<T> {
    pub(super) fn convert<U, E>(&self, time: impl Fn(T) -> Result<U, E>) -> Result<Idle<U>, E> {
        Ok(Idle {
            after: time(self.after)?,
            interrupt: time(self.interrupt)?,
            poll: time(self.poll)?,
            coalesced: time(self.coalesced)?,
            late: time(self.late)?,
        })
    }
}

impl Idle<u64> {
    /// The part of `most` that a call takes which comes `apart` after the one before.
    fn part(&self, most: u64, apart: u64) -> u64 {
        if apart >= self.after {
            return most;
        }
        super::part(most, apart, self.after)
    }

    /// Time that a call takes the calling core more, which waits by `how`, if it comes `apart`
    /// after the one before. A core that spins has not slept.
    pub(super) fn busy(&self, how: Notification, apart: u64) -> u64 {
        match how {
            // Hybrid mostly sleeps for what comes so late.
            Notification::Interrupt | Notification::Hybrid { .. } => {
                self.part(self.interrupt, apart)
            }
            Notification::Spin => 0,
            Notification::Poll { .. } => self.part(self.poll, apart),
            // It has slept since the look before, if that was later.
            Notification::Timer { every } => self.part(self.poll, apart.min(super::picos(every))),
            Notification::Coalesced { .. } => self.part(self.coalesced, apart),
        }
    }

    /// By how much the other core answers later, if it waits so.
    pub(super) fn later(&self, how: Notification, apart: u64) -> u64 {
        match how {
            Notification::Interrupt | Notification::Hybrid { .. } => self.part(self.late, apart),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::queue_tests::{both, called, drawn, poll, stream};
    use crate::model::{Costs, Flow, Phases, Side, Stream, estimate};
    use core::time::Duration;
    use narrows::strategy::Notification;

    use super::*;

    const US: u64 = 1_000_000;
    /// Calls that are so far apart take the most.
    const IDLE: Idle<u64> = Idle {
        after: 5000 * US,
        interrupt: 60 * US,
        poll: 40 * US,
        coalesced: 30 * US,
        late: 20 * US,
    };

    #[test]
    fn calls_take_more_the_longer_cores_slept_before() {
        let usual = Costs {
            caller: Side { interrupt: 10 * US, poll: 2 * US, look: US, ..Side::default() },
            ..Costs::default()
        };
        let idle = Costs { idle: IDLE, ..usual };
        let flow = Flow {
            period: Some(Duration::from_millis(5)),
            work: Duration::from_micros(100),
            burst: 1,
            depth: 1,
            ..Flow::default()
        };
        let more = |flow: &Flow, told: &str| {
            let by = format!("copy_lazy/{told}/external").parse().unwrap();
            let [more, less] = [&idle, &usual].map(|costs| estimate(costs, flow, &by).unwrap());
            assert_eq!(more.memory, less.memory);
            let bounds = [more.latency.bound, less.latency.bound];
            (more.caller - less.caller, bounds[0] - bounds[1])
        };
        assert_eq!(more(&flow, "interrupt"), (60 * US, 20 * US));
        assert_eq!(more(&flow, "poll=1ms"), (40 * US, 0));
        assert_eq!(more(&flow, "coalesced=8:1ms"), (30 * US, 0));
        assert_eq!(more(&flow, "spin"), (0, 0));
        // What comes later by it was looked for as long as may be, and is slept for now.
        assert_eq!(more(&flow, "hybrid=35us"), (60 * US - 33 * US, 20 * US));
        let every = |millis| Flow { period: Some(Duration::from_millis(millis)), ..flow };
        assert_eq!(more(&every(1), "interrupt"), (12 * US, 4 * US));
        assert_eq!(more(&every(100), "interrupt"), (60 * US, 20 * US));
        assert_eq!(more(&Flow { period: None, ..flow }, "interrupt"), (0, 0));
        // The first of three.
        assert_eq!(more(&Flow { burst: 3, depth: 3, ..flow }, "interrupt").0, 20 * US);
    }

    #[test]
    fn of_several_flows_whoever_comes_first_finds_the_cores_asleep() {
        let costs = Costs { idle: IDLE, ..Costs::default() };
        let load = |streams: &mut [Stream]| {
            let (times, load) = drawn::<100>(&costs, streams, 0, Phases::Together).unwrap();
            (times[50], f64::from(load) / 1e6 * 5000.0)
        };
        let near = |found: (u64, f64), late: u64, expected: f64| {
            let (median, load) = found;
            assert!(median == late && (load - expected).abs() < 0.2, "{median} {load}");
        };
        // 10 us there, and 20 later; 5 us of the calling core, and 60 more.
        let one = |how| both(how, called(3000, 2000, stream(5_000_000, 10_000)));
        near(load(&mut [one(Notification::Interrupt)]), 35_000, 65.0);
        near(load(&mut [one(poll(100_000))]), 105_000, 45.0);
        near(load(&mut [one(Notification::Spin)]), 15_000, 5000.0);
        // The other one comes half a period later: each finds them asleep for half as long.
        let after = |micros: u64| Stream { after: micros * US, ..one(Notification::Interrupt) };
        near(load(&mut [after(0), after(2500)]), 25_000, 10.0 + 60.0);
        near(load(&mut [after(0), after(50)]), 34_800, 10.0 + 60.0);
    }
}
