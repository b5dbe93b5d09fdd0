//! Strips of an image that go from a process to others over packet channels, and what is found in
//! them that comes back: a packet for each row. The processes are nodes of the C library.

use super::calls::{Calls, Outcome};
use crate::formats::picture::Picture;
use crate::rig::service::susan::{Order, Part};
use crate::rig::susan::mask::Tables;
use crate::rig::susan::{Find, Work};

/// How long waits look before they sleep, in microseconds: as the library does by itself.
const LOOK: u32 = 50;
/// Ports of another process: strips come in at one, and results go out at the other.
const STRIPS: u32 = 1;
const RESULTS: u32 = 2;

/// The first process's ends of the channels with another.
pub(crate) struct Ends {
    strips: u32,
    results: u32,
}

impl Ends {
    /// Makes this thread the first process's node.
    pub fn initialize(node: u32) -> Outcome<()> {
        Calls::HERE.initialize(node, LOOK)
    }

    /// Ends it.
    pub fn finalize() -> Outcome<()> {
        Calls::HERE.finalize()
    }

    /// Makes channels with the node of another process, the one of this number.
    pub fn connect(node: u32, number: u32) -> Outcome<Ends> {
        let calls = Calls::HERE;
        let out = calls.create(STRIPS + 2 * number)?;
        let into = calls.create(RESULTS + 2 * number)?;
        calls.connect_packets(out, calls.get(node, STRIPS)?)?;
        calls.connect_packets(calls.get(node, RESULTS)?, into)?;
        let strips = calls.open_packets_out(out)?;
        Ok(Ends { strips, results: calls.open_packets_in(into)? })
    }

    /// Sends a row.
    pub fn send(&self, row: &[u8]) -> Outcome<()> {
        Calls::HERE.send_packet(self.strips, row)
    }

    /// Receives a row of results; whether it is as long as that.
    pub fn receive(&self, row: &mut [u8]) -> Outcome<bool> {
        Ok(Calls::HERE.receive_packet(self.results, row)? == row.len())
    }
}

/// Another process.
#[derive(Default)]
pub(crate) struct Further {
    strips: u32,
    results: u32,
}

impl Further {
    /// Does what the first process says.
    ///
    /// # Errors
    /// A call failed.
    pub fn obey(&mut self, order: Order) -> Outcome<()> {
        let calls = Calls::HERE;
        match order {
            Order::Open(node) => {
                calls.initialize(node, LOOK)?;
                let (into, out) = (calls.create(STRIPS)?, calls.create(RESULTS)?);
                self.strips = calls.open_packets_in(into)?;
                self.results = calls.open_packets_out(out)?;
                Ok(())
            }
            Order::Take(part) => (0..part.count).try_for_each(|_| self.take(&part)),
            Order::Close => calls.finalize(),
        }
    }

    fn take(&self, part: &Part) -> Outcome<()> {
        let Part { width, rows, keep: (first, last), .. } = *part;
        let mut strip = Picture::black(width, rows);
        for row in strip.pixels.chunks_exact_mut(width) {
            Calls::HERE.receive_packet(self.strips, row)?;
        }
        let tables = Tables::new(part.threshold);
        let found = |find: &Find| match part.computes {
            true => find.rows(&tables, &strip, first..last, &mut Work::default()),
            false => vec![0; (last - first) * width],
        };
        let planes: Vec<Vec<u8>> = part.finds.iter().flatten().map(found).collect();
        for row in 0..last - first {
            for plane in &planes {
                Calls::HERE.send_packet(self.results, &plane[row * width..(row + 1) * width])?;
            }
        }
        Ok(())
    }
}
