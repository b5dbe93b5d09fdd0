//! Whether looking before sleeping pays.
//!
//! Where several processes share a core, a process that looks keeps it from the one that everyone
//! waits for, and its look is in vain for that reason. The system says nothing of that, so it is
//! learnt. A wait that sleeps at once tells nothing of looks, so one is tried now and then.

use std::cell::Cell;

use narrows::platform::Woken;

/// Looks that pay for one in vain: it takes the longest time, and saves none.
const COST: u32 = 2;
/// Looks that were not in vain are remembered up to this many.
const MOST: u32 = 16;
/// At most 2 to the power of this waits sleep at once between two looks.
const RAREST: u32 = 6;

/// What is known of this thread's looks.
pub(crate) struct Looks {
    /// Those that were not in vain, less what those in vain cost.
    gain: Cell<u32>,
    /// Waits to come that are to sleep at once; next time, 2 to the power of the other.
    sleeps: Cell<u32>,
    rare: Cell<u32>,
}

impl Default for Looks {
    fn default() -> Looks {
        Looks { gain: Cell::new(MOST), sleeps: Cell::new(0), rare: Cell::new(0) }
    }
}

impl Looks {
    /// Whether to look in this wait.
    pub(crate) fn pay(&self) -> bool {
        let left = self.sleeps.get();
        self.sleeps.set(left.saturating_sub(1));
        left == 0
    }

    /// A look has ended so.
    pub(crate) fn ended(&self, woken: Woken) {
        let gain = match woken {
            Woken::Deadline => self.gain.get().saturating_sub(COST),
            _ => (self.gain.get() + 1).min(MOST),
        };
        self.gain.set(gain);
        if gain == 0 {
            let rare = (self.rare.get() + 1).min(RAREST);
            self.rare.set(rare);
            self.sleeps.set(1 << rare);
        } else if gain == MOST {
            self.rare.set(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `waits` waits, those that look first, if of `in_vain` looks in a row one is in vain.
    fn looked(looks: &Looks, waits: usize, in_vain: usize) -> usize {
        let mut count = 0;
        for _ in 0..waits {
            if looks.pay() {
                count += 1;
                let vain = count % in_vain == 0;
                looks.ended(if vain { Woken::Deadline } else { Woken::Word });
            }
        }
        count
    }

    #[test]
    fn looks_in_vain_become_rare_and_those_that_pay_again_do_not_stay_so() {
        let looks = Looks::default();
        let rare = looked(&looks, 1000, 1);
        assert!((10..50).contains(&rare), "{rare}");
        // One is tried that pays, and so do all from there on.
        let tried = looked(&looks, 1 << RAREST, 1000);
        assert!(tried >= 1, "{tried}");
        assert_eq!(looked(&looks, 100, 1000), 100);
        assert_eq!(looks.rare.get(), 0);
    }

    #[test]
    fn two_that_keep_the_core_from_each_other_in_turn_stop_looking() {
        let looks = Looks::default();
        let count = looked(&looks, 10_000, 2);
        assert!(count < 500, "{count}");
    }

    #[test]
    fn one_in_vain_now_and_then_changes_nothing() {
        let looks = Looks::default();
        assert_eq!(looked(&looks, 10_000, 4), 10_000);
    }
}
