//! Random numbers that follow from a seed.

use std::cell::Cell;

/// A small generator of its own, so that a case is its number.
#[derive(Clone, Debug)]
pub struct Dice(Cell<u64>);

impl Dice {
    pub fn new(number: u64) -> Dice {
        let dice = Dice(Cell::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
        for _ in 0..8 {
            dice.roll(2);
        }
        dice
    }

    /// A number below another.
    pub fn roll(&self, below: u64) -> u64 {
        let mut x = self.0.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0.set(x);
        x % below
    }

    /// Another generator, whose numbers have nothing to do with this one's.
    pub fn split(&self) -> Dice {
        Dice::new(self.roll(u64::MAX))
    }

    pub fn one_in(&self, times: u64) -> bool {
        self.roll(times) == 0
    }

    pub fn pick<T: Copy>(&self, of: &[T]) -> T {
        of[self.roll(of.len() as u64) as usize]
    }
}
