//! The tables: which port each port is connected to, the credit of those that send, and the FIFO of
//! those that receive.

use super::Endpoint;
use crate::part::fault::Fault;

/// What moves between a FIFO and memory: where its words are, in the shared memory, in order. Two
/// stretches where it goes round the end of the FIFO.
pub(crate) type Places = Vec<(u32, u32)>;

/// The FIFO of a port. Words that are being written to it or read from it hold their room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// Where it begins in the shared memory.
    pub base: u32,
    /// Words that it has room for.
    pub words: u32,
    /// The pointers, in words.
    read: u32,
    write: u32,
    /// Words that have room in it.
    held: u32,
    /// Those of them that have come, and nobody reads yet.
    come: u32,
}

impl Buffer {
    pub fn new(base: u32, words: u32) -> Buffer {
        Buffer { base, words, read: 0, write: 0, held: 0, come: 0 }
    }

    /// The words to be read.
    pub fn come(&self) -> u32 {
        self.come
    }

    #[cfg(test)]
    pub fn held(&self) -> u32 {
        self.held
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    fn places(&self, from: u32, count: u32) -> Places {
        let first = count.min(self.words - from);
        let parts = [(self.base + from * 4, first), (self.base, count - first)];
        parts.into_iter().filter(|(_, words)| *words > 0).collect()
    }

    /// Makes room for words that have come; where they go. `None` if there is none.
    pub fn reserve(&mut self, count: u32) -> Option<Places> {
        if count > self.words - self.held {
            return None;
        }
        let places = self.places(self.write, count);
        self.held += count;
        self.write = (self.write + count) % self.words;
        Some(places)
    }

    /// Words for which there was room made are in it.
    pub fn written(&mut self, count: u32) {
        self.come = (self.come + count).min(self.held);
    }

    /// Takes words off it; where they are. `None` if not so many have come.
    pub fn take(&mut self, count: u32) -> Option<Places> {
        self.come = self.come.checked_sub(count)?;
        let places = self.places(self.read, count);
        self.read = (self.read + count) % self.words;
        Some(places)
    }

    /// The room of words that were taken off it is free.
    pub fn free(&mut self, count: u32) {
        self.held = self.held.saturating_sub(count);
    }
}

/// An entry of the connection table, with that of the credit table or of the buffer table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// It sends.
    Sender {
        /// To which port.
        to: Endpoint,
        /// Words that it may send now.
        credits: u32,
        /// Those that it had to begin with.
        all: u32,
    },
    /// It receives.
    Receiver {
        /// From which port.
        from: Endpoint,
        /// What has come.
        buffer: Buffer,
        /// Words that are read before credit goes back; 0: it does at each read.
        threshold: u32,
        /// Words that were read and for which none has gone back.
        owed: u32,
    },
}

impl Port {
    /// An entry of a sender.
    ///
    /// # Errors
    /// It may send nothing.
    pub fn sender(to: Endpoint, credits: u32) -> Result<Port, Fault> {
        if credits == 0 {
            return Err(Fault::Setup);
        }
        Ok(Port::Sender { to, credits, all: credits })
    }

    /// An entry of a receiver, whose shared memory has so many bytes.
    ///
    /// # Errors
    /// The FIFO has no word or is outside the memory, or the threshold is above the FIFO.
    pub fn receiver(
        from: Endpoint,
        base: u32,
        (words, threshold): (u32, u32),
        shared: u32,
    ) -> Result<Port, Fault> {
        let end = u64::from(base) + u64::from(words) * 4;
        if words == 0 || threshold > words || !base.is_multiple_of(4) || end > shared.into() {
            return Err(Fault::Setup);
        }
        Ok(Port::Receiver { from, buffer: Buffer::new(base, words), threshold, owed: 0 })
    }

    /// Whether words or credit of it are on their way.
    pub fn is_in_use(&self) -> bool {
        match self {
            Port::Sender { credits, all, .. } => credits != all,
            Port::Receiver { buffer, owed, .. } => !buffer.is_empty() || *owed > 0,
        }
    }

    /// Whether the FIFOs of two lie over each other.
    pub fn overlaps(&self, other: &Port) -> bool {
        let (Port::Receiver { buffer: one, .. }, Port::Receiver { buffer: next, .. }) =
            (self, other)
        else {
            return false;
        };
        one.base < next.base + next.words * 4 && next.base < one.base + one.words * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: Endpoint = Endpoint { cluster: 1, cpu: 0, port: 0 };

    #[test]
    fn words_go_round_the_end_of_the_fifo_and_none_is_written_over() {
        let mut buffer = Buffer::new(100, 8);
        assert_eq!(buffer.reserve(6), Some(vec![(100, 6)]));
        assert_eq!(buffer.take(1), None, "it has room, but has not come");
        buffer.written(6);
        assert_eq!(buffer.take(5), Some(vec![(100, 5)]));
        assert_eq!(buffer.reserve(3), None, "what is being read still lies there");
        buffer.free(5);
        assert_eq!(buffer.reserve(7), Some(vec![(124, 2), (100, 5)]));
        buffer.written(7);
        assert_eq!(buffer.reserve(1), None);
        assert_eq!(buffer.take(9), None);
        assert_eq!(buffer.take(8), Some(vec![(120, 3), (100, 5)]));
        buffer.free(8);
        assert!(buffer.is_empty());
    }

    #[test]
    fn an_entry_that_cannot_be_is_refused() {
        assert_eq!(Port::sender(NEXT, 0), Err(Fault::Setup));
        for (base, words, threshold) in
            [(0, 0, 0), (0, 4, 5), (2, 4, 0), (4084, 4, 0), (u32::MAX - 3, 4, 0), (4096, 1, 0)]
        {
            let refused = Port::receiver(NEXT, base, (words, threshold), 4096);
            assert_eq!(refused, Err(Fault::Setup), "{base} {words} {threshold}");
        }
        assert!(Port::receiver(NEXT, 4080, (4, 4), 4096).is_ok());
    }

    #[test]
    fn fifos_that_share_a_word_overlap() {
        let at = |base, words| Port::receiver(NEXT, base, (words, 0), 4096).expect("it can be");
        assert!(at(0, 4).overlaps(&at(12, 1)) && at(12, 1).overlaps(&at(0, 4)));
        assert!(!at(0, 4).overlaps(&at(16, 4)) && !at(16, 4).overlaps(&at(0, 4)));
        let sender = Port::sender(NEXT, 1).expect("it can be");
        assert!(!sender.overlaps(&at(0, 4)) && !at(0, 4).overlaps(&sender));
    }
}
