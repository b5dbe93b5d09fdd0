//! DMA controllers: what one that serves an end of a port is doing, and how many a core has left.

use crate::chip::DmaMode;

/// Bytes of a message in the memory of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where they are in what is sent or received.
    pub from: usize,
    pub len: usize,
    /// A memory and an address in it.
    pub place: (usize, u32),
}

/// What a controller has to do.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub mode: DmaMode,
    /// The first word, counted from the beginning of the message.
    pub first: usize,
    /// Words.
    pub count: usize,
    /// Where they are, or go. What is in none of them is padding: sent as 0, and thrown away.
    pub parts: Vec<Part>,
    /// The interrupt process that is triggered at its end.
    pub interrupt: usize,
}

impl Job {
    /// The bytes of parts that a word has: from which of its bytes to which, and where they are.
    pub fn bytes(&self, word: usize) -> impl Iterator<Item = (usize, usize, (usize, u32))> {
        let [start, end] = [word * 4, word * 4 + 4];
        self.parts.iter().filter_map(move |part| {
            let [from, to] = [start.max(part.from), end.min(part.from + part.len)];
            let place = (part.place.0, part.place.1 + from.saturating_sub(part.from) as u32);
            (from < to).then(|| (from - start, to - start, place))
        })
    }
}

/// A controller's register.
#[derive(Default)]
pub(crate) enum Controller {
    /// Nothing was asked of it.
    #[default]
    Idle,
    /// It has a job and has not begun.
    Started(Job),
    /// It is at work.
    Busy,
    /// It is through with a job that nobody has looked at.
    Done,
}

impl Controller {
    /// Takes the job that it is to begin.
    pub fn begin(&mut self) -> Option<Job> {
        match std::mem::replace(self, Controller::Busy) {
            Controller::Started(job) => Some(job),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Whether it is through. If so it can be used anew.
    pub fn done(&mut self) -> bool {
        let done = matches!(self, Controller::Done);
        if done {
            *self = Controller::Idle;
        }
        done
    }
}

/// The controllers of a core that nobody has claimed, and the processes that wait for one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    free: u32,
    waiting: Vec<usize>,
}

impl Pool {
    pub fn new(free: u32) -> Pool {
        Pool { free, waiting: Vec::new() }
    }

    /// Takes one. False if there is none: the process that asked waits for one.
    pub fn claim(&mut self, interrupt: usize) -> bool {
        match self.free.checked_sub(1) {
            Some(left) => self.free = left,
            None if self.waiting.contains(&interrupt) => return false,
            None => {
                self.waiting.push(interrupt);
                return false;
            }
        }
        true
    }

    /// Gives one back. Those that waited ask again.
    pub fn give_back(&mut self) -> Vec<usize> {
        self.free += 1;
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(parts: Vec<Part>) -> Job {
        Job { mode: DmaMode::Burst, first: 0, count: 3, parts, interrupt: 0 }
    }

    #[test]
    fn words_are_made_of_the_parts_that_they_touch() {
        let part = |from, len, at| Part { from, len, place: (1, at) };
        let job = job(vec![part(0, 5, 100), part(5, 4, 200)]);
        let bytes = |word| job.bytes(word).collect::<Vec<_>>();
        assert_eq!(bytes(0), [(0, 4, (1, 100))]);
        assert_eq!(bytes(1), [(0, 1, (1, 104)), (1, 4, (1, 200))]);
        assert_eq!(bytes(2), [(0, 1, (1, 203))]);
        assert_eq!(bytes(3), []);
    }

    #[test]
    fn a_controller_is_used_anew_when_its_end_was_seen() {
        let mut controller = Controller::Started(job(Vec::new()));
        assert!(!controller.done());
        assert_eq!(controller.begin().map(|job| job.count), Some(3));
        assert!(controller.begin().is_none() && !controller.done());
        controller = Controller::Done;
        assert!(controller.done() && !controller.done());
        assert!(matches!(controller, Controller::Idle));
    }

    #[test]
    fn no_more_are_claimed_than_there_are() {
        let mut pool = Pool::new(2);
        let all = [7, 8, 9, 9].map(|interrupt| pool.claim(interrupt));
        assert_eq!(all, [true, true, false, false]);
        assert_eq!(pool.give_back(), [9], "who waited is told once");
        assert!(pool.claim(9) && !pool.claim(7));
    }
}
