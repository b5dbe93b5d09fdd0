//! When requests of a flow are due, and when they are there: periods, bursts, jitter, and messages
//! that hold several.

use crate::formats::workload::{Flow, Recorded, Source};
use fastrand::Rng;
use narrows::platform::Instant;
use std::sync::Arc;
use std::time::Duration;

/// The requests of a flow that does not follow another, as far as time tells.
pub(super) struct Arrivals {
    /// Those that were recorded, the next of them, and when the recording begins.
    recorded: Arc<[Recorded]>,
    next: usize,
    start: Instant,
    period: Option<Duration>,
    jitter: Duration,
    burst: u16,
    /// When the burst is due that comes next or is being taken, and how many of it are left.
    due: Instant,
    left: u16,
    /// By how much what comes next is later than due.
    late: Duration,
    /// Requests of the message that is being gathered.
    gathered: u16,
    dice: Rng,
}

impl Arrivals {
    /// Those of a flow, the first due at `start`.
    pub fn new(flow: &Flow, start: Instant) -> Arrivals {
        let (period, jitter, burst) = match &flow.source {
            Source::Own { period, jitter, burst, .. } => (*period, *jitter, *burst),
            Source::After(_) => (None, Duration::ZERO, 1),
        };
        let recorded = match &flow.source {
            Source::Own { recorded: Some(calls), .. } => Arc::clone(calls),
            _ => Arc::default(),
        };
        let mut made = Arrivals {
            recorded,
            next: 0,
            start,
            period,
            jitter,
            burst,
            due: start,
            left: burst,
            late: Duration::ZERO,
            gathered: 0,
            dice: Rng::with_seed(flow.seed),
        };
        made.draw();
        made
    }

    fn draw(&mut self) {
        let most = u64::try_from(self.jitter.as_nanos()).unwrap_or(u64::MAX);
        self.late = Duration::from_nanos(self.dice.u64(0..=most));
    }

    /// The next burst is due at this moment.
    pub fn begin(&mut self, at: Instant) {
        (self.due, self.left, self.gathered) = (at, self.burst, 0);
    }

    /// Nothing happened for the time `by`.
    pub fn shift(&mut self, by: Duration) {
        self.start = self.start + by;
        self.due = self.due + by;
    }

    /// How many requests more a message needs that is to hold this many.
    pub fn missing(&self, together: u16) -> u16 {
        together.saturating_sub(self.gathered).max(1)
    }

    /// When the recorded request was due that comes after this many others.
    fn recorded(&self, after: u16) -> Option<Instant> {
        let last = self.recorded.len().checked_sub(1)?;
        let place = self.next.saturating_add(usize::from(after)).min(last);
        Some(self.start + self.recorded.get(place)?.at)
    }

    /// When the next request can be taken: when all are there that its message is to hold.
    pub fn there(&self, together: u16) -> Instant {
        if let Some(due) = self.recorded(self.missing(together) - 1) {
            return due;
        }
        match self.period {
            Some(_) if self.gathered > 0 => self.due,
            Some(period) => {
                let later = together.saturating_sub(self.left).div_ceil(self.burst);
                self.due + period * u32::from(later) + self.late
            }
            None => self.due,
        }
    }

    /// Takes a request: when it was due.
    pub fn take(&mut self, now: Instant, together: u16) -> Instant {
        self.gathered = if self.missing(together) == 1 { 0 } else { self.gathered + 1 };
        if let Some(due) = self.recorded(0) {
            self.next += 1;
            return due;
        }
        let Some(period) = self.period else {
            self.due = now;
            return now;
        };
        let due = self.due;
        self.left -= 1;
        if self.left == 0 {
            (self.due, self.left) = (due + period, self.burst);
            self.draw();
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::workload;
    use std::path::Path;

    fn arrivals(keys: &str) -> Arrivals {
        let text = format!("[[flow]]\nname='a'\nfunction='echo'\nrequest=8\n{keys}");
        let workload = workload::parse(Path::new("x.toml"), &text).unwrap();
        Arrivals::new(&workload.flows[0], Instant(0))
    }

    /// When this many requests could be taken, and were due, in milliseconds.
    fn times(keys: &str, together: u16, count: usize) -> Vec<(f64, f64)> {
        let mut all = arrivals(keys);
        let ms = |at: Instant| at.since(Instant(0)).as_secs_f64() * 1e3;
        let one = |_| {
            let there = all.there(together);
            (ms(there), ms(all.take(there, together)))
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn bursts_come_at_once_and_messages_wait_for_their_last_request() {
        let each = [(0.0, 0.0), (5.0, 5.0), (10.0, 10.0)];
        assert_eq!(times("period='5ms'", 1, 3), each);
        let bursts = [(0.0, 0.0), (0.0, 0.0), (5.0, 5.0), (5.0, 5.0)];
        assert_eq!(times("period='5ms'\nburst=2", 1, 4), bursts);
        let found = times("period='5ms'", 3, 6);
        let [first, second] = [found[0], found[3]];
        assert_eq!((first, second), ((10.0, 0.0), (25.0, 15.0)));
        // The third of a message is the first of the next burst.
        let found = times("period='5ms'\nburst=2", 3, 6);
        assert_eq!((found[0], found[3].0), ((5.0, 0.0), 10.0));
    }

    #[test]
    fn jitter_is_up_to_what_is_said_and_the_same_each_time() {
        let found = times("period='5ms'\njitter='2ms'", 1, 1000);
        let lates: Vec<f64> = found.iter().map(|(there, due)| there - due).collect();
        assert!(lates.iter().all(|late| (0.0..=2.0).contains(late)));
        let mean = lates.iter().sum::<f64>() / 1000.0;
        assert!((0.9..1.1).contains(&mean), "{mean}");
        assert_eq!(found, times("period='5ms'\njitter='2ms'", 1, 1000));
        let near = |(at, (_, due)): (usize, &(f64, f64))| (due - 5.0 * at as f64).abs() < 1e-6;
        assert!(found.iter().enumerate().all(near));
    }
}
