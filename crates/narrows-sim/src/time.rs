//! Virtual time in integers, so that equal input gives equal output to the last picosecond.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::time::Duration;

/// A moment of virtual time, or a stretch of it, in picoseconds. 2^64 of them are 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The start of everything; no time at all.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// A number of nanoseconds.
    #[must_use]
    pub const fn nanos(nanos: u64) -> Time {
        Time(nanos.saturating_mul(1000))
    }
    /// Microseconds, for tables.
    #[must_use]
    pub fn micros(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Whole nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0 / 1000
    }
    /// The stretch from `earlier` until this moment; none if that is later.
    #[must_use]
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl From<Duration> for Time {
    fn from(duration: Duration) -> Time {
        Time(u64::try_from(duration.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX))
    }
}

impl From<Time> for Duration {
    fn from(time: Time) -> Duration {
        Duration::from_nanos(time.as_nanos())
    }
}

impl Add for Time {
    type Output = Time;
    #[inline]
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;
    /// What is left of this stretch without `other`; none if that is longer.
    #[inline]
    fn sub(self, other: Time) -> Time {
        self.since(other)
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    #[inline]
    fn mul(self, times: u64) -> Time {
        Time(self.0.saturating_mul(times))
    }
}

impl Sum for Time {
    fn sum<I: Iterator<Item = Time>>(all: I) -> Time {
        all.fold(Time::ZERO, Add::add)
    }
}

impl fmt::Display for Time {
    /// In the largest unit that leaves at least one digit before the point.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units =
            [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "µs"), (1000, "ns")];
        let (unit, name) = units.into_iter().find(|(u, _)| self.0 >= *u).unwrap_or((1, "ps"));
        let places = if self.0.is_multiple_of(unit) { 0 } else { 3 };
        write!(f, "{:.places$} {name}", self.0 as f64 / unit as f64)
    }
}

/// How fast something is clocked, in hertz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency(pub u64);

impl Frequency {
    /// The time that a number of cycles takes, rounded down to a picosecond.
    #[must_use]
    pub fn cycles(self, cycles: u64) -> Time {
        let picos = u128::from(cycles) * 1_000_000_000_000 / u128::from(self.0.max(1));
        Time(u64::try_from(picos).unwrap_or(u64::MAX))
    }
    /// How many cycles fit into a stretch.
    #[must_use]
    pub fn count(self, time: Time) -> u64 {
        (u128::from(time.0) * u128::from(self.0) / 1_000_000_000_000) as u64
    }
}

/// What something takes: cycles of the core that does it, or a time that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Cycles of the core, bus or engine that does it.
    Cycles(u64),
    /// A time, whatever the clock.
    Time(Time),
}

impl Cost {
    /// Nothing.
    pub const NONE: Cost = Cost::Cycles(0);

    /// The time it takes at a clock.
    #[must_use]
    pub fn at(self, clock: Frequency) -> Time {
        match self {
            Cost::Cycles(cycles) => clock.cycles(cycles),
            Cost::Time(time) => time,
        }
    }
}
