//! A FIFO of words with the flags that both of its ends see.

use std::collections::VecDeque;

/// A flag of a FIFO, as what makes it change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    /// It is not empty.
    Some,
    /// It has as many words as the almost-full level says.
    AlmostFull,
    /// It is at least half full.
    Half,
    /// It is full.
    Full,
}

/// A FIFO.
#[derive(Clone, Debug)]
pub(crate) struct Fifo {
    words: VecDeque<u32>,
    depth: usize,
    almost: usize,
    /// Words that were written to it while it was full. They are lost.
    pub overruns: u64,
}

impl Fifo {
    /// An empty one, almost full with its last word.
    pub fn new(depth: u32) -> Fifo {
        let depth = depth as usize;
        Fifo { words: VecDeque::with_capacity(depth), depth, almost: depth, overruns: 0 }
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    pub fn half(&self) -> usize {
        self.depth / 2
    }

    /// From how many words on it is almost full.
    pub fn set_almost(&mut self, level: usize) {
        self.almost = level.clamp(1, self.depth);
    }

    pub fn flag(&self, flag: Flag) -> bool {
        let level = match flag {
            Flag::Some => 1,
            Flag::AlmostFull => self.almost,
            Flag::Half => self.half(),
            Flag::Full => self.depth,
        };
        self.words.len() >= level
    }

    /// Writes a word. False if it is lost, for want of room.
    pub fn push(&mut self, word: u32) -> bool {
        if self.flag(Flag::Full) {
            self.overruns += 1;
            return false;
        }
        self.words.push_back(word);
        true
    }

    pub fn pop(&mut self) -> Option<u32> {
        self.words.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_changes_at_its_level_and_words_come_out_in_order() {
        let mut fifo = Fifo::new(512);
        fifo.set_almost(255);
        let flags =
            [(Flag::Some, 1), (Flag::AlmostFull, 255), (Flag::Half, 256), (Flag::Full, 512)];
        for count in 0..=512 {
            for (flag, level) in flags {
                assert_eq!(fifo.flag(flag), count >= level, "{flag:?} with {count}");
            }
            assert_eq!(fifo.push(count), count < 512);
        }
        assert_eq!((fifo.overruns, fifo.len()), (1, 512));
        assert!((0..512).all(|word| fifo.pop() == Some(word)));
        assert_eq!(fifo.pop(), None);
    }

    #[test]
    fn the_almost_full_level_is_within_the_fifo() {
        let mut fifo = Fifo::new(8);
        for (level, from) in [(0, 1), (3, 3), (99, 8)] {
            fifo.set_almost(level);
            let filled = (1..=8).find(|_| fifo.push(0) && fifo.flag(Flag::AlmostFull));
            assert_eq!(filled, Some(from), "{level}");
            while fifo.pop().is_some() {}
        }
    }
}
