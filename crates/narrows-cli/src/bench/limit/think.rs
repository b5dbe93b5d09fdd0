//! Time to think between two round trips, as a program has that does something with an answer.

use super::clock::{Clock, Moment};

/// The longest time to think, in nanoseconds. It is drawn anew each time, so that no two round
/// trips fall into step with how the other side polls.
const LONGEST: u64 = 2_000;

/// Counts round trips without the thinking between them.
pub struct Think {
    clock: Clock,
    state: u64,
    asked: Moment,
    spent: f64,
}

impl Think {
    /// Nothing is counted yet. Every run thinks alike.
    pub fn new() -> Self {
        let clock = Clock::get();
        Self { clock, state: 0x9e37_79b9_7f4a_7c15, asked: clock.now(), spent: 0.0 }
    }

    /// Thinks; a round trip begins at the end of it.
    #[inline(always)]
    pub fn pass(&mut self) {
        // Marsaglia's xorshift.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let length = (self.state % LONGEST) as f64;
        let begin = self.clock.now();
        loop {
            self.asked = self.clock.now();
            if self.clock.ns_between(begin, self.asked) >= length {
                return;
            }
        }
    }

    /// The round trip has ended.
    #[inline(always)]
    pub fn answered(&mut self) {
        self.spent += self.clock.ns_since(self.asked);
    }

    /// Nanoseconds of all round trips.
    pub fn spent(&self) -> f64 {
        self.spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_is_not_counted() {
        let start = std::time::Instant::now();
        let mut think = Think::new();
        for _ in 0..1000 {
            think.pass();
        }
        assert_eq!(think.spent(), 0.0);
        assert!(start.elapsed().as_nanos() as f64 > 0.25 * 1000.0 * LONGEST as f64);
        think.answered();
        assert!(think.spent() > 0.0);
    }
}
