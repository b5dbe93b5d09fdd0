//! A core that is slower than this machine's, by sleeping after each work.

use std::time::Duration;

/// The longest oversleep that the next work makes up for.
const MOST: Duration = Duration::from_millis(5);

/// Stretches work to what it would take with a part of this machine's core.
#[derive(Debug)]
pub struct Throttle {
    /// Percent of a core of this machine.
    percent: u32,
    /// By how much sleeps so far ended too late: taken off the next ones, so that many short works
    /// together take what they should.
    over: Duration,
}

impl Throttle {
    /// A core with this many percent of this machine's speed, from 1 to 100.
    #[must_use]
    pub fn new(percent: u32) -> Throttle {
        Throttle { percent: percent.clamp(1, 100), over: Duration::ZERO }
    }

    /// How long to sleep after this much processor time.
    pub fn owes(&mut self, worked: Duration) -> Duration {
        let more = worked.saturating_mul(100 - self.percent) / self.percent;
        let sleep = more.saturating_sub(self.over);
        self.over = self.over.saturating_sub(more);
        sleep
    }

    /// A sleep took this much longer than it should have.
    pub fn overslept(&mut self, by: Duration) {
        self.over = (self.over + by).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_tenth_of_a_core_sleeps_nine_times_as_long_as_it_worked() {
        assert_eq!(Throttle::new(10).owes(MS), 9 * MS);
        assert_eq!(Throttle::new(100).owes(MS), Duration::ZERO);
    }

    #[test]
    fn what_was_slept_too_long_is_taken_off_the_next_sleeps() {
        let mut half = Throttle::new(50);
        half.overslept(3 * MS / 2);
        assert_eq!(half.owes(MS), Duration::ZERO);
        assert_eq!(half.owes(MS), MS / 2);
        assert_eq!(half.owes(MS), MS);
    }

    #[test]
    fn a_machine_that_slept_for_long_is_not_made_up_for() {
        let mut half = Throttle::new(50);
        half.overslept(Duration::from_secs(10));
        assert_eq!(half.owes(7 * MS), 2 * MS);
    }
}
