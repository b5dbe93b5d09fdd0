//! Ports: what is in the FIFOs between two cores. A FIFO port has one at each receiving end. A
//! communication port has one behind each end's output and input, and moves words in the direction
//! of the end that owns it.

use super::fifo::{Fifo, Flag};
use crate::chip::{self, PortKind};

/// What a communication port does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A word goes over the wires, to the other end than the owner's.
    Word,
    /// The other end becomes the owner.
    Turn,
    /// It does nothing.
    Rest,
}

/// A port.
pub(crate) struct Port {
    /// What came to each end.
    into: [Fifo; 2],
    /// What each end of a communication port has written and the wires have not taken.
    out: Option<[Fifo; 2]>,
    /// The end that sends.
    owner: usize,
}

impl Port {
    /// An empty one, which its first core owns.
    pub fn new(facts: &chip::Port) -> Port {
        let pair = || [Fifo::new(facts.words), Fifo::new(facts.words)];
        let out = matches!(facts.kind, PortKind::Comm { .. }).then(pair);
        Port { into: pair(), out, owner: 0 }
    }

    /// The FIFO that an end writes to.
    pub fn transmits(&self, end: usize) -> &Fifo {
        self.out.as_ref().map_or(&self.into[1 - end], |out| &out[end])
    }

    /// The FIFO that an end reads from.
    pub fn receives(&self, end: usize) -> &Fifo {
        &self.into[end]
    }

    /// Words that were written for an end and that it has not read.
    pub fn under_way(&self, end: usize) -> usize {
        self.into[end].len() + self.out.as_ref().map_or(0, |out| out[1 - end].len())
    }

    /// Sets the almost-full level of what comes to an end.
    pub fn set_almost(&mut self, end: usize, level: usize) {
        self.into[end].set_almost(level);
    }

    /// An end writes a word. False if it is lost, for want of room.
    pub fn push(&mut self, end: usize, word: u32) -> bool {
        self.out.as_mut().map_or(&mut self.into[1 - end], |out| &mut out[end]).push(word)
    }

    /// An end reads a word.
    pub fn pop(&mut self, end: usize) -> Option<u32> {
        self.into[end].pop()
    }

    /// What a communication port does next: the owner keeps it while it has words and the other end
    /// has room for them, and gives it up to an end that has words.
    pub fn step(&self) -> Step {
        let Some(out) = &self.out else { return Step::Rest };
        let other = 1 - self.owner;
        if out[self.owner].flag(Flag::Some) && !self.into[other].flag(Flag::Full) {
            Step::Word
        } else if out[other].flag(Flag::Some) && !self.into[self.owner].flag(Flag::Full) {
            Step::Turn
        } else {
            Step::Rest
        }
    }

    /// Does what [`Port::step`] said, once the time for it has passed.
    pub fn take(&mut self, step: Step) {
        match (step, &mut self.out) {
            (Step::Word, Some(out)) => {
                if let Some(word) = out[self.owner].pop() {
                    self.into[1 - self.owner].push(word);
                }
            }
            (Step::Turn, _) => self.owner = 1 - self.owner,
            _ => {}
        }
    }

    /// Words that were written where there was no room, at both ends.
    pub fn overruns(&self) -> u64 {
        self.into.iter().chain(self.out.iter().flatten()).map(|fifo| fifo.overruns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Cost;

    fn port(kind: PortKind, words: u32) -> Port {
        let name = "p".to_owned();
        Port::new(&chip::Port { name, kind, between: [0, 1], words, access: Cost::Cycles(1) })
    }

    const COMM: PortKind = PortKind::Comm { word: Cost::Cycles(1), turn: Cost::Cycles(1) };

    /// Does steps until it rests; how many of each.
    fn run(port: &mut Port) -> [u32; 2] {
        let mut steps = [0; 2];
        loop {
            match port.step() {
                Step::Word => steps[0] += 1,
                Step::Turn => steps[1] += 1,
                Step::Rest => return steps,
            }
            port.take(port.step());
        }
    }

    #[test]
    fn a_fifo_port_has_a_fifo_in_each_direction_that_both_ends_see() {
        let mut port = port(PortKind::Fifo, 512);
        assert!(port.push(0, 7) && port.push(1, 8));
        assert_eq!((port.transmits(0).len(), port.receives(1).len()), (1, 1));
        assert_eq!((port.pop(1), port.pop(0)), (Some(7), Some(8)));
        assert_eq!((port.transmits(0).len(), port.step()), (0, Step::Rest));
    }

    #[test]
    fn a_communication_port_moves_words_one_way_until_the_other_end_has_some() {
        let mut port = port(COMM, 8);
        port.push(0, 1);
        port.push(0, 2);
        port.push(1, 3);
        assert_eq!(run(&mut port), [3, 1], "both of the owner's words go first");
        assert_eq!((port.pop(1), port.pop(1), port.pop(0)), (Some(1), Some(2), Some(3)));
        port.push(0, 4);
        assert_eq!(run(&mut port), [1, 1], "the other end had it");
    }

    #[test]
    fn sixteen_words_fit_in_one_direction_and_no_more() {
        let mut port = port(COMM, 8);
        let mut fit = 0;
        while port.push(0, fit) {
            fit += 1;
            run(&mut port);
        }
        assert_eq!((fit, port.overruns()), (16, 1));
        // The other end may still answer: the owner cannot go on.
        port.push(1, 99);
        assert_eq!(run(&mut port), [1, 1]);
        assert_eq!(port.pop(0), Some(99));
        assert!((0..8).all(|word| port.pop(1) == Some(word)));
        assert_eq!(run(&mut port), [8, 1]);
        assert!((8..16).all(|word| port.pop(1) == Some(word)));
    }
}
