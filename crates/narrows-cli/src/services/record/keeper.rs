//! What passes, as a trace: a row for each node, a message for each message.

use narrows::driver;
use narrows::memory::{Descriptor, Ring};
use narrows::span::{Carried, Passage};
use narrows_host::observe::{Passed, Tapped};
use narrows_trace::{Message, Row, Writer};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// What was kept of a ring of one direction of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Its place among all, from 0.
    number: u64,
    pub messages: u64,
    pub bytes: u64,
    pub missed: u64,
    /// Messages whose payload was wanted and could not be read as it was sent.
    pub without_payload: u64,
    /// Messages of which it was written that they were taken.
    taken: u32,
}

/// What is said of an entry of a ring.
fn passage(of: &Tapped, number: u32, descriptor: &Descriptor) -> Passage {
    let passage = driver::passage(of.link, number, descriptor);
    let Ring::Channel(ring) = of.ring else { return passage };
    let kind = if descriptor.block.is_some() { Carried::Packet } else { Carried::Scalar };
    Passage { kind, source: ring, target: ring, ..passage }
}

/// Writes what passes.
pub(super) struct Keeper<W: Write> {
    pub writer: Writer<W>,
    with_payload: bool,
    /// The rows of nodes, by their lives.
    rows: HashMap<u64, Row>,
    groups: HashSet<u32>,
    /// The processes of nodes, by their lives.
    pub processes: HashMap<u64, u32>,
    pub kept: HashMap<Tapped, Kept>,
}

impl<W: Write> Keeper<W> {
    pub fn new(out: W, with_payload: bool) -> Keeper<W> {
        Keeper {
            writer: Writer::new(out),
            with_payload,
            rows: HashMap::new(),
            groups: HashSet::new(),
            processes: HashMap::new(),
            kept: HashMap::new(),
        }
    }

    /// Writes what has passed, at this moment in nanoseconds.
    pub fn keep(&mut self, at: u64, of: &Tapped, passed: Passed<'_>) -> io::Result<()> {
        let row = self.row(of.node.as_str(), of.incarnation)?;
        let next = self.kept.len() as u64;
        let kept = self.kept.entry(*of).or_insert_with(|| Kept { number: next, ..Kept::default() });
        let id = |number: u32| (kept.number + 1) << 32 | u64::from(number);
        match passed {
            Passed::Sent(number, descriptor, payload) => {
                let id = id(number);
                if kept.messages == 0 {
                    kept.taken = number.wrapping_sub(1);
                }
                kept.messages += 1;
                kept.bytes += u64::from(descriptor.len);
                kept.without_payload += u64::from(self.with_payload && payload.is_none());
                let passage = passage(of, number, descriptor);
                let message = Message::of(&passage, id, at, of.peer.to_string());
                let payload = payload.map(<[u8]>::to_vec);
                self.writer.sent(row, at, &Message { payload, ..message })
            }
            Passed::Taken(up_to) => {
                if kept.messages == 0 {
                    return Ok(());
                }
                // Numbers of messages wrap round.
                let count = up_to.wrapping_sub(kept.taken).min(1 << 16);
                let first = up_to.wrapping_sub(count);
                kept.taken = up_to;
                let ids: Vec<u64> = (1..=count).map(|n| id(first.wrapping_add(n))).collect();
                let row = self.row(of.peer.as_str(), of.peer_incarnation)?;
                ids.into_iter().try_for_each(|id| self.writer.taken(row, at, id))
            }
            Passed::Missed(count) => {
                kept.missed += u64::from(count);
                self.writer.dropped(row, at, count.into())
            }
        }
    }

    /// The row of a node.
    fn row(&mut self, name: &str, incarnation: u64) -> io::Result<Row> {
        if let Some(row) = self.rows.get(&incarnation) {
            return Ok(*row);
        }
        let process = self.processes.get(&incarnation).copied().unwrap_or(0);
        let number = self.rows.len() as u64 + 1;
        let (group, row) = (u64::from(process) << 32, Row(u64::from(process) << 32 | number));
        let pid = process.cast_signed();
        if self.groups.insert(process) {
            self.writer.group(group, pid, &format!("process {process}"))?;
        }
        self.writer.thread(row, group, pid, number as i32, name)?;
        self.rows.insert(incarnation, row);
        Ok(row)
    }
}
