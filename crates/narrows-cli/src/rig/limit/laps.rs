//! A batch in laps, so that a core that is taken away for a while spoils a lap and not the batch.

use super::clock::Clock;
use crate::base::statistics::median;
use crate::rig::limit::Timer;

/// Round trips of a lap where both sides look: enough that reading the clock is no part of them,
/// few enough that most laps fall between two disturbances.
pub const LAP: u64 = 16;
/// Messages of a lap one way, where they are short: several rings full, so that most of a lap is
/// at the pace of the slower side.
const SHORT_LAP: u64 = 1024;
/// The same, where there are fewer blocks for them than slots.
const LONG_LAP: u64 = 160;
/// The longest time to think, in nanoseconds.
const THOUGHT: u64 = 2_000;

/// Messages of a lap one way: several times as many as can be under way.
pub fn stream_lap(bytes: usize) -> u64 {
    if bytes <= 1024 { SHORT_LAP } else { LONG_LAP }
}

/// The laps of a batch.
pub struct Laps<T: Timer = Clock> {
    timer: T,
    began: T::Moment,
    /// Nanoseconds of an iteration, of each lap.
    times: Vec<f64>,
    /// Iterations of this lap so far.
    done: u64,
    state: u64,
}

impl Laps {
    /// No laps by this machine's clock, and room for this many. Each batch of laps thinks alike.
    pub fn new(room: u64) -> Self {
        Self::by(Clock::get(), room)
    }
}

impl<T: Timer> Laps<T> {
    /// No laps, and room for this many.
    pub fn by(timer: T, room: u64) -> Self {
        let times = Vec::with_capacity(usize::try_from(room).unwrap_or(0));
        Self { began: timer.moment(), timer, times, done: 0, state: 0x9e37_79b9_7f4a_7c15 }
    }

    /// A lap begins when a random time has passed, as with a program that does something with an
    /// answer. It is drawn anew each time, so that it does not fall into step with how the other
    /// side polls.
    #[inline(always)]
    pub fn think(&mut self) {
        // Marsaglia's xorshift.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.timer.pass(self.state % THOUGHT);
        self.begin();
    }

    /// A lap begins.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.began = self.timer.moment();
    }

    /// An iteration begins, of a lap of `size`: the next lap if this one has this many.
    #[inline(always)]
    pub fn iteration(&mut self, size: u64) {
        if self.done == size {
            self.end(size);
            self.begin();
        }
        self.done += 1;
    }

    /// The last iteration has ended.
    #[inline(always)]
    pub fn finish(&mut self) {
        self.end(self.done);
    }

    /// A lap of this many iterations ends.
    #[inline(always)]
    pub fn end(&mut self, iterations: u64) {
        let ns = self.timer.nanos(self.began, self.timer.moment());
        self.times.push(ns / iterations.max(1) as f64);
        self.done = 0;
    }

    /// Nanoseconds of an iteration in the middle lap; none without a lap.
    pub fn middle(mut self) -> Option<f64> {
        median(&mut self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn thinking_is_in_no_lap_and_a_slow_lap_in_no_figure() {
        let start = Instant::now();
        let mut laps = Laps::new(1000);
        for number in 0..1000 {
            laps.think();
            if number == 500 {
                std::thread::sleep(Duration::from_millis(50));
            }
            laps.end(1);
        }
        assert!(start.elapsed() > Duration::from_nanos(1000 * THOUGHT / 4));
        let middle = laps.middle().unwrap();
        assert!((0.0..50_000.0).contains(&middle), "{middle}");
        assert_eq!(Laps::new(0).middle(), None);
        let mut laps = Laps::new(3);
        laps.begin();
        (0..25).for_each(|_| laps.iteration(10));
        assert_eq!((laps.times.len(), laps.done), (2, 5));
        laps.finish();
        assert_eq!((laps.times.len(), laps.done), (3, 0));
    }
}
