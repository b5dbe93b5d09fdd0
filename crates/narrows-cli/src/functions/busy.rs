//! Work for a given time.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

/// Keeps the core busy until `time` has passed, without giving it away.
pub fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_at_least_the_time_asked_for() {
        let start = Instant::now();
        busy(Duration::from_millis(2));
        assert!(start.elapsed() >= Duration::from_millis(2));
    }
}
