//! What the four blocks do once requests and messages are there.

use super::tables::Port;
use super::{BufferManager, Endpoint, Places, Read, Taken, What, Write};
use crate::part::fault::Fault;

/// The entry of a port that has one.
fn entry(ports: &[Option<Port>], port: u8) -> Option<&Port> {
    ports.get(usize::from(port))?.as_ref()
}

impl BufferManager {
    /// The BMI chooses what it sends next, and takes its credit. Whoever sends it says so with
    /// [`BufferManager::sent`].
    pub fn next_write(&mut self) -> Option<Write> {
        let ports = &self.ports;
        let write = self.writes.next(|write| match (write.what, entry(ports, write.port)) {
            (What::Copy { .. }, _) => true,
            (_, Some(Port::Sender { credits, .. })) => write.bytes / 4 <= *credits,
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

    /// The BMW gets words for a port; where they go. Once they are there, whoever put them says so
    /// with [`BufferManager::written`].
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
        if let Some(Some(Port::Receiver { buffer, .. })) = self.ports.get_mut(usize::from(port)) {
            buffer.written(words);
        }
    }

    /// The BMR chooses what it reads next. Whoever moves it says so with [`BufferManager::read`].
    pub fn next_read(&mut self) -> Option<Taken> {
        let ports = &self.ports;
        let read = self.reads.next(|read| match entry(ports, read.port) {
            Some(Port::Receiver { buffer, .. }) => buffer.come() >= read.words,
            _ => false,
        })?;
        self.take(read)
    }

    pub(super) fn take(&mut self, Read { cpu, port, to, words }: Read) -> Option<Taken> {
        let Some(Port::Receiver { buffer, .. }) = &mut self.ports[usize::from(port)] else {
            return None;
        };
        let places = buffer.take(words)?;
        Some(Taken { cpu, port, to: Some(to), words, places })
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

    /// Credit has come for a port.
    ///
    /// # Errors
    /// The port sends nothing, or cannot have so much; it is noted as well.
    pub fn credit(&mut self, port: u8, words: u32) -> Result<(), Fault> {
        let fault = match self.ports.get_mut(usize::from(port)) {
            Some(Some(Port::Sender { credits, all, .. })) => match credits.checked_add(words) {
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
