//! Time for a batch: the time-stamp counter where it runs at a constant rate, else the system's
//! monotonic clock.

use std::sync::OnceLock;
use std::time::Instant;

use super::raw::ticks;

/// A source of time that is fine enough for laps of a batch.
pub trait Timer {
    /// A moment.
    type Moment: Copy;

    /// Now.
    fn moment(&self) -> Self::Moment;

    /// Nanoseconds from `start` to `end`.
    fn nanos(&self, start: Self::Moment, end: Self::Moment) -> f64;

    /// Lets this many nanoseconds pass.
    fn pass(&self, nanos: u64);
}

/// A source of time, calibrated once per process.
#[derive(Clone, Copy)]
pub struct Clock {
    /// `None` where the counter cannot be used.
    ns_per_tick: Option<f64>,
}

/// A moment on a [`Clock`].
#[derive(Clone, Copy)]
pub enum Moment {
    /// In ticks of the counter.
    Ticks(u64),
    /// On the system's clock.
    System(Instant),
}

impl Clock {
    /// The process's clock; the first call takes some 20 ms to calibrate it.
    pub fn get() -> Self {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| Self { ns_per_tick: calibrate() })
    }
}

impl Timer for Clock {
    type Moment = Moment;

    #[inline(always)]
    fn moment(&self) -> Moment {
        if self.ns_per_tick.is_some() {
            return Moment::Ticks(ticks());
        }
        Moment::System(Instant::now())
    }

    #[inline(always)]
    fn nanos(&self, start: Moment, end: Moment) -> f64 {
        match (start, end) {
            (Moment::Ticks(start), Moment::Ticks(end)) => {
                end.saturating_sub(start) as f64 * self.ns_per_tick.unwrap_or(0.0)
            }
            (Moment::System(start), Moment::System(end)) => {
                end.saturating_duration_since(start).as_nanos() as f64
            }
            // A clock makes moments of one kind only.
            _ => 0.0,
        }
    }

    #[inline(always)]
    fn pass(&self, time: u64) {
        let start = self.moment();
        while self.nanos(start, self.moment()) < time as f64 {}
    }
}

#[cfg(target_arch = "x86_64")]
fn calibrate() -> Option<f64> {
    use std::arch::x86_64::__cpuid;
    const EXTENDED: u32 = 0x8000_0000;
    const FEATURES: u32 = 0x8000_0001;
    const ORDERED_READ: u32 = 1 << 27;
    const POWER: u32 = 0x8000_0007;
    const CONSTANT_RATE: u32 = 1 << 8;
    if __cpuid(EXTENDED).eax < POWER
        || __cpuid(FEATURES).edx & ORDERED_READ == 0
        || __cpuid(POWER).edx & CONSTANT_RATE == 0
    {
        return None;
    }
    let first = pair();
    while first.1.elapsed().as_millis() < 20 {
        std::hint::spin_loop();
    }
    let second = pair();
    let passed = second.0.checked_sub(first.0).filter(|passed| *passed > 0)?;
    Some(second.1.duration_since(first.1).as_nanos() as f64 / passed as f64)
}

/// Both clocks at nearly one moment: the closest of a few tries, so that being interrupted
/// between the two does not count.
#[cfg(target_arch = "x86_64")]
fn pair() -> (u64, Instant) {
    let read = || {
        let before = ticks();
        let system = Instant::now();
        (ticks().saturating_sub(before), before, system)
    };
    let mut best = read();
    for _ in 0..16 {
        let next = read();
        if next.0 < best.0 {
            best = next;
        }
    }
    (best.1 + best.0 / 2, best.2)
}

#[cfg(not(target_arch = "x86_64"))]
fn calibrate() -> Option<f64> {
    None
}
