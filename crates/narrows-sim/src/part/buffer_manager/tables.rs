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

    /// Words that have room in it, on their way to it or out of it too.
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
        if count > self.room() {
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

    /// The words that there is room for.
    pub fn room(&self) -> u32 {
        self.words - self.held
    }

    /// Where the next words go in a FIFO whose room somebody else keeps.
    pub fn pass(&mut self, count: u32) -> Places {
        let places = self.places(self.write, count.min(self.words));
        self.write = (self.write + count) % self.words;
        places
    }

    /// Takes `count` words off it; where they are. `None` if fewer have come.
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
        /// The FIFO at the receiver, if this cluster writes to it by itself.
        fifo: Option<Buffer>,
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
    /// It sends, and has the FIFO.
    Source {
        /// To which port.
        to: Endpoint,
        /// What the other end has not read.
        buffer: Buffer,
    },
    /// It receives out of a FIFO that the other end has.
    Sink {
        /// From which port.
        from: Endpoint,
        /// Words that are there, and nobody reads yet.
        come: u32,
        /// The FIFO's words.
        all: u32,
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
        Ok(Port::Sender { to, credits, all: credits, fifo: None })
    }

    /// An entry of a sender that writes to the receiver's FIFO by itself.
    ///
    /// # Errors
    /// It may send nothing, or more than the FIFO has room for.
    pub fn writer(to: Endpoint, base: u32, (words, credits): (u32, u32)) -> Result<Port, Fault> {
        let end = u64::from(base) + u64::from(words) * 4;
        if credits == 0 || credits > words || !base.is_multiple_of(4) || end > u32::MAX.into() {
            return Err(Fault::Setup);
        }
        Ok(Port::Sender { to, credits, all: credits, fifo: Some(Buffer::new(base, words)) })
    }

    /// An entry of a sender that has the FIFO, in a shared memory of `shared` bytes.
    ///
    /// # Errors
    /// As [`Port::receiver`].
    pub fn source(to: Endpoint, base: u32, words: u32, shared: u32) -> Result<Port, Fault> {
        Ok(Port::Source { to, buffer: Port::buffer(base, (words, 0), shared)? })
    }

    /// An entry of a receiver whose FIFO the other end has.
    ///
    /// # Errors
    /// The FIFO has no word.
    pub fn sink(from: Endpoint, words: u32) -> Result<Port, Fault> {
        if words == 0 {
            return Err(Fault::Setup);
        }
        Ok(Port::Sink { from, come: 0, all: words })
    }

    /// An entry of a receiver, whose shared memory has `shared` bytes.
    ///
    /// # Errors
    /// The FIFO has no word or is outside the memory, or the threshold is above the FIFO.
    pub fn receiver(
        from: Endpoint,
        base: u32,
        (words, threshold): (u32, u32),
        shared: u32,
    ) -> Result<Port, Fault> {
        let buffer = Port::buffer(base, (words, threshold), shared)?;
        Ok(Port::Receiver { from, buffer, threshold, owed: 0 })
    }

    fn buffer(base: u32, (words, threshold): (u32, u32), shared: u32) -> Result<Buffer, Fault> {
        let end = u64::from(base) + u64::from(words) * 4;
        if words == 0 || threshold > words || !base.is_multiple_of(4) || end > shared.into() {
            return Err(Fault::Setup);
        }
        Ok(Buffer::new(base, words))
    }

    /// Whether words or credit of it are on their way.
    pub fn is_in_use(&self) -> bool {
        match self {
            Port::Sender { credits, all, .. } => credits != all,
            Port::Receiver { buffer, owed, .. } => !buffer.is_empty() || *owed > 0,
            Port::Source { buffer, .. } => !buffer.is_empty(),
            Port::Sink { come, .. } => *come > 0,
        }
    }

    /// Whether the FIFOs of two lie over each other.
    pub fn overlaps(&self, other: &Port) -> bool {
        let (Some(one), Some(next)) = (self.fifo(), other.fifo()) else { return false };
        one.base < next.base + next.words * 4 && next.base < one.base + one.words * 4
    }

    /// The FIFO that it has in this cluster.
    pub fn fifo(&self) -> Option<&Buffer> {
        match self {
            Port::Receiver { buffer, .. } | Port::Source { buffer, .. } => Some(buffer),
            Port::Sender { .. } | Port::Sink { .. } => None,
        }
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
