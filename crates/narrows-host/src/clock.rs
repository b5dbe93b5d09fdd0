//! Time: the system's clock, and the time-stamp counter where it is cheaper.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use narrows::platform::Instant;
use rustix::time::{ClockId, clock_gettime};

/// How long the counter is compared with the clock, in nanoseconds: an error of under 50 ns at each
/// end makes it good to 1 in 20 000.
const COMPARED: u64 = 2_000_000;

/// The monotonic clock.
#[inline]
pub(crate) fn now() -> Instant {
    let t = clock_gettime(ClockId::Monotonic);
    Instant((t.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(t.tv_nsec as u64))
}

/// Ticks of the time-stamp counter, which all cores and processes of a machine share; nanoseconds
/// where there is none to read.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter; every x86-64 has it.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        now().0
    }
}

/// Nanoseconds of a tick, measured once per process. The first call takes 2 ms.
pub(crate) fn nanos_per_tick() -> f64 {
    static MEASURED: OnceLock<f64> = OnceLock::new();
    *MEASURED.get_or_init(|| {
        if !cfg!(target_arch = "x86_64") {
            return 1.0;
        }
        let (start, at_start) = pair();
        let mut end = (start, at_start);
        while end.1.wrapping_sub(at_start) < COMPARED {
            end = pair();
        }
        let ticks = end.0.wrapping_sub(start).max(1);
        end.1.wrapping_sub(at_start) as f64 / ticks as f64
    })
}

/// Counter and clock at one moment: of a few tries, the one least disturbed.
pub(crate) fn pair() -> (u64, u64) {
    let tries = (0..5).map(|_| {
        let before = ticks();
        let clock = now().0;
        let took = ticks().wrapping_sub(before);
        (took, before.wrapping_add(took / 2), clock)
    });
    tries.min().map_or((0, 0), |(_, ticks, clock)| (ticks, clock))
}

/// The ticks in this many nanoseconds.
pub(crate) fn ticks_in(nanos: u64) -> u64 {
    (nanos as f64 / nanos_per_tick()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_clock_agree() {
        let factor = nanos_per_tick();
        let (ticks, clock) = pair();
        while now().0 < clock + 5_000_000 {
            std::hint::spin_loop();
        }
        let (ticks_after, clock_after) = pair();
        let by_ticks = (ticks_after - ticks) as f64 * factor;
        let by_clock = (clock_after - clock) as f64;
        assert!((by_ticks / by_clock - 1.0).abs() < 0.01, "{by_ticks} ns against {by_clock} ns");
    }
}
