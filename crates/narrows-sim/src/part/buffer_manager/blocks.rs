//! What the four blocks do once requests and messages are there.

use super::tables::Port;
use super::{BufferManager, Endpoint, Places, Read, Taken, What, Write};
use crate::part::fault::Fault;

/// The entry of a port that has one.
fn entry(ports: &[Option<Port>], port: u8) -> Option<&Port> {
    ports.get(usize::from(port))?.as_ref()
}

impl BufferManager {
    /// The BMI chooses what it sends next, and takes its credit. The caller that sends it says so
    /// with [`BufferManager::sent`].
    pub fn next_write(&mut self) -> Option<Write> {
        let ports = &self.ports;
        let write = self.writes.next(|write| match (write.what, entry(ports, write.port)) {
            (What::Copy { .. }, _) => true,
            (_, Some(Port::Sender { credits, .. })) => write.bytes / 4 <= *credits,
            (_, Some(Port::Source { buffer, .. })) => write.bytes / 4 <= buffer.room(),
            _ => false,
        })?;
        // Of a copy the port is the number of the transfer.
        if let (What::Buffer { .. } | What::Word { .. }, Some(Some(Port::Sender { credits, .. }))) =
            (write.what, self.ports.get_mut(usize::from(write.port)))
        {
            *credits -= write.bytes / 4;
        }
        Some(write)
    }

    /// A request to write is done.
    pub fn sent(&mut self, write: &Write) {
        if !matches!(write.what, What::Copy { .. }) {
            self.leave_port(write.port);
        }
    }

    /// The BMW gets words for a port; where they go. Once they are there, the caller that put them
    /// says so with [`BufferManager::written`].
    ///
    /// # Errors
    /// The port has no FIFO, or no room; it is noted as well.
    pub fn arrive(&mut self, port: u8, words: u32) -> Result<Places, Fault> {
        let places = match self.ports.get_mut(usize::from(port)) {
            Some(Some(Port::Receiver { buffer, .. })) => {
                buffer.reserve(words).ok_or(Fault::Overrun)
            }
            _ => Err(Fault::DataForNobody),
        };
        places.map_err(|fault| self.note(fault, None, Some(port)))
    }

    /// Words for which the BMW made room are in the FIFO.
    pub fn written(&mut self, port: u8, words: u32) {
        if let Some(Some(Port::Receiver { buffer, .. } | Port::Source { buffer, .. })) =
            self.ports.get_mut(usize::from(port))
        {
            buffer.written(words);
        }
    }

    /// Where words of a port that sends go: to the FIFO at its receiver, to which this cluster
    /// writes by itself, or to its own, which [`BufferManager::written`] is told of. None if the
    /// receiver's cluster knows where.
    pub fn place(&mut self, port: u8, words: u32) -> Option<Places> {
        match self.ports.get_mut(usize::from(port)) {
            Some(Some(Port::Sender { fifo, .. })) => Some(fifo.as_mut()?.pass(words)),
            Some(Some(Port::Source { buffer, .. })) => buffer.reserve(words),
            _ => None,
        }
    }

    /// The writer at the other end tells its pointer: it has put `words` words into the FIFO.
    ///
    /// # Errors
    /// As of [`BufferManager::arrive`].
    pub fn pointer(&mut self, port: u8, words: u32) -> Result<(), Fault> {
        self.arrive(port, words)?;
        self.written(port, words);
        Ok(())
    }

    /// The other end reads words of the FIFO that a port which sends has; where they are. Once they
    /// were read, the caller that did it says so with [`BufferManager::fetched`].
    ///
    /// # Errors
    /// There are none; it is noted as well.
    pub fn fetch(&mut self, port: u8, words: u32) -> Result<Places, Fault> {
        let places = match self.ports.get_mut(usize::from(port)) {
            Some(Some(Port::Source { buffer, .. })) => buffer.take(words),
            _ => None,
        };
        places.ok_or_else(|| self.note(Fault::NoWords, None, Some(port)))
    }

    /// Words that the other end wanted were read: their room is free.
    pub fn fetched(&mut self, port: u8, words: u32) {
        if let Some(Some(Port::Source { buffer, .. })) = self.ports.get_mut(usize::from(port)) {
            buffer.free(words);
        }
    }

    /// The BMR chooses what it reads next. The caller that moves it says so with
    /// [`BufferManager::read`].
    pub fn next_read(&mut self) -> Option<Taken> {
        let ports = &self.ports;
        let read = self.reads.next(|read| match entry(ports, read.port) {
            Some(Port::Receiver { buffer, .. }) => buffer.come() >= read.words,
            Some(Port::Sink { come, .. }) => *come >= read.words,
            _ => false,
        })?;
        self.take(read)
    }

    pub(super) fn take(&mut self, Read { cpu, port, to, words }: Read) -> Option<Taken> {
        let (places, from) = match &mut self.ports[usize::from(port)] {
            Some(Port::Receiver { buffer, .. }) => (buffer.take(words)?, None),
            Some(Port::Sink { from, come, .. }) => {
                *come = come.checked_sub(words)?;
                (Places::new(), Some(*from))
            }
            _ => return None,
        };
        Some(Taken { cpu, port, to: Some(to), words, places, from })
    }

    /// Words were read: their room is free. To which port the credit manager then gives credit, and
    /// how much.
    pub fn read(&mut self, taken: &Taken) -> Option<(Endpoint, u32)> {
        self.leave_port(taken.port);
        let Some(Some(Port::Receiver { from, buffer, threshold, owed })) =
            self.ports.get_mut(usize::from(taken.port))
        else {
            return None;
        };
        buffer.free(taken.words);
        *owed += taken.words;
        (*owed >= *threshold).then(|| (*from, std::mem::take(owed)))
    }

    /// Credit has come for a port; of one whose FIFO the other end has: words that are there.
    ///
    /// # Errors
    /// The port sends nothing, or would have more credit than its FIFO has words. It is noted as
    /// well.
    pub fn credit(&mut self, port: u8, words: u32) -> Result<(), Fault> {
        let fault = match self.ports.get_mut(usize::from(port)) {
            Some(Some(
                Port::Sender { credits, all, .. } | Port::Sink { come: credits, all, .. },
            )) => match credits.checked_add(words) {
                Some(sum) if sum <= *all => {
                    *credits = sum;
                    return Ok(());
                }
                _ => Fault::CreditOver,
            },
            _ => Fault::CreditForNobody,
        };
        Err(self.note(fault, None, Some(port)))
    }
}

impl BufferManager {
    /// Whether nothing is under way from a port of this one to a port of another: no request waits
    /// for either, and all words and all credit are in the tables.
    pub fn accounts(&self, from: u8, other: &BufferManager, to: u8) -> bool {
        let used = |manager: &BufferManager, port: u8| {
            manager.users.get(usize::from(port)).is_some_and(Option::is_some)
        };
        if used(self, from) || used(other, to) {
            return false;
        }
        match (entry(&self.ports, from), entry(&other.ports, to)) {
            (
                Some(Port::Sender { credits, all, .. }),
                Some(Port::Receiver { buffer, owed, .. }),
            ) => credits + buffer.held() + owed == *all && buffer.come() == buffer.held(),
            (Some(Port::Source { buffer, .. }), Some(Port::Sink { come, .. })) => {
                buffer.held() == *come
            }
            _ => false,
        }
    }

    /// Empties the entry of a port: no link has it any more.
    pub fn forget(&mut self, port: u8) {
        if let Some(entry) = self.ports.get_mut(usize::from(port)) {
            *entry = None;
        }
    }
}

#[cfg(test)]
impl BufferManager {
    /// Of a port that receives: the words for which its sender has no credit, as they are in the
    /// FIFO or were read.
    pub fn kept(&self, port: u8) -> u32 {
        match &self.ports[usize::from(port)] {
            Some(Port::Receiver { buffer, owed, .. }) => buffer.held() + owed,
            _ => 0,
        }
    }
}
