//! Writes a trace.

use std::io::{self, Write};

use prost::Message as _;

use crate::schema::{
    Annotation, BEGIN, COUNTER, CounterDescriptor, END, Event, INSTANT, PACKET, Packet,
    ProcessDescriptor, Seal, ThreadDescriptor, TrackDescriptor,
};
use crate::{Category, Message, Row};

/// All packets are of one sequence: none needs what another says, so files can be joined.
const SEQUENCE: Option<u32> = Some(1);

/// What more is to be said of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number.
    Number(u64),
    /// Text.
    Text(&'a str),
}

/// Writes the packets of a trace. Times are in nanoseconds of one clock; those of one row come in
/// order.
///
/// Each packet is written whole by one call: a program that is killed leaves a file that ends
/// behind one.
pub struct Writer<W: Write> {
    out: W,
    buffer: Vec<u8>,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// A trace that is written to `out`, behind whatever is there: wrap what has no buffer in a
    /// [`BufWriter`](io::BufWriter).
    pub fn new(out: W) -> Writer<W> {
        Writer { out, buffer: Vec::new(), written: 0 }
    }

    /// Bytes written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// A process of a machine, or a core of a chip, under which its threads are shown.
    ///
    /// # Errors
    /// What `out` says, as of all that write.
    pub fn group(&mut self, uuid: u64, pid: i32, name: &str) -> io::Result<()> {
        let process = ProcessDescriptor { pid: Some(pid), name: Some(name.into()) };
        self.track(TrackDescriptor {
            uuid: Some(uuid),
            process: Some(process),
            ..TrackDescriptor::default()
        })
    }

    /// A thread of a group, or a process of a core: the row of what it calls and of its messages.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn thread(
        &mut self,
        row: Row,
        group: u64,
        pid: i32,
        tid: i32,
        name: &str,
    ) -> io::Result<()> {
        let thread = ThreadDescriptor { pid: Some(pid), tid: Some(tid), name: Some(name.into()) };
        self.track(TrackDescriptor {
            uuid: Some(row.0),
            parent: Some(group),
            thread: Some(thread),
            ..TrackDescriptor::default()
        })
    }

    /// A row of its own below a thread or a group: `state`, `interrupts`.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn row(&mut self, row: Row, parent: u64, name: &str) -> io::Result<()> {
        self.track(TrackDescriptor {
            uuid: Some(row.0),
            parent: Some(parent),
            name: Some(name.into()),
            ..TrackDescriptor::default()
        })
    }

    /// A row of values over time, with their unit.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn counter(&mut self, row: Row, parent: u64, name: &str, unit: &str) -> io::Result<()> {
        self.track(TrackDescriptor {
            uuid: Some(row.0),
            parent: Some(parent),
            name: Some(name.into()),
            counter: Some(CounterDescriptor { unit: Some(unit.into()) }),
            ..TrackDescriptor::default()
        })
    }

    /// A stretch begins.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn begin(&mut self, row: Row, at: u64, category: Category, name: &str) -> io::Result<()> {
        self.event(at, Event { kind: Some(BEGIN), ..named(row, category, name) })
    }

    /// The stretch that began last on this row, of those that have not ended, ends.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn end(&mut self, row: Row, at: u64) -> io::Result<()> {
        self.event(at, Event { kind: Some(END), track: Some(row.0), ..Event::default() })
    }

    /// Something happens.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn instant(
        &mut self,
        row: Row,
        at: u64,
        category: Category,
        name: &str,
        values: &[(&str, Value<'_>)],
    ) -> io::Result<()> {
        let annotations = values.iter().map(|&(name, value)| annotation(name, value)).collect();
        self.event(at, Event { kind: Some(INSTANT), annotations, ..named(row, category, name) })
    }

    /// A row of values has this one from now on.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn count(&mut self, row: Row, at: u64, value: i64) -> io::Result<()> {
        let (kind, value) = (Some(COUNTER), Some(value));
        self.event(at, Event { kind, track: Some(row.0), value, ..Event::default() })
    }

    /// A message is published.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn sent(&mut self, row: Row, at: u64, message: &Message) -> io::Result<()> {
        let number = |name, number: u64| annotation(name, Value::Number(number));
        let annotations = vec![
            number("began", message.began),
            number("number", message.number.into()),
            number("bytes", message.bytes.into()),
            annotation("kind", Value::Text(&message.kind)),
            annotation("peer", Value::Text(&message.peer)),
            number("source", message.source.into()),
            number("target", message.target.into()),
            number("priority", message.priority.into()),
            number("tag", message.tag.into()),
        ];
        let (kind, flows, payload) = (Some(INSTANT), vec![message.id], message.payload.clone());
        let event =
            Event { kind, annotations, flows, payload, ..named(row, Category::Message, "send") };
        self.event(at, event)
    }

    /// A message is taken off its ring and waits at its receiver.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn taken(&mut self, row: Row, at: u64, id: u64) -> io::Result<()> {
        let (kind, flows) = (Some(INSTANT), vec![id]);
        self.event(at, Event { kind, flows, ..named(row, Category::Message, "take") })
    }

    /// A message is handed to the application.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn received(&mut self, row: Row, at: u64, id: u64) -> io::Result<()> {
        let (kind, ending_flows) = (Some(INSTANT), vec![id]);
        self.event(at, Event { kind, ending_flows, ..named(row, Category::Message, "receive") })
    }

    /// This many events could not be kept.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn dropped(&mut self, row: Row, at: u64, events: u64) -> io::Result<()> {
        self.instant(row, at, Category::Trace, "dropped", &[("events", Value::Number(events))])
    }

    /// Hands on what `out` keeps back.
    ///
    /// # Errors
    /// See [`Writer::group`].
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn track(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.packet(&Packet { track: Some(track), sequence: SEQUENCE, ..Packet::default() })
    }

    fn event(&mut self, at: u64, event: Event) -> io::Result<()> {
        let (timestamp, event) = (Some(at), Some(event));
        self.packet(&Packet { timestamp, sequence: SEQUENCE, event, ..Packet::default() })
    }

    fn packet(&mut self, packet: &Packet) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.push(PACKET);
        packet.encode_length_delimited(&mut self.buffer).map_err(io::Error::other)?;
        self.written += self.buffer.len() as u64;
        self.out.write_all(&self.buffer)
    }
}

/// Writes what is flushed as one sealed part, so that a reader finds out what is not as it was
/// written.
pub struct Sealed<W: Write> {
    out: W,
    pending: Vec<u8>,
}

impl<W: Write> Sealed<W> {
    /// Bytes of a part at most, and of a packet: a longer part is flushed.
    const MOST: usize = 256 << 10;

    /// What is sealed goes to `out`.
    pub fn new(out: W) -> Sealed<W> {
        Sealed { out, pending: Vec::new() }
    }
}

impl<W: Write> Write for Sealed<W> {
    fn write(&mut self, packet: &[u8]) -> io::Result<usize> {
        if self.pending.len() + packet.len() > Self::MOST {
            self.flush()?;
        }
        self.pending.extend_from_slice(packet);
        Ok(packet.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            let seal = Some(Seal::of(&self.pending));
            let mut part = vec![PACKET];
            let packet = Packet { seal, ..Packet::default() };
            packet.encode_length_delimited(&mut part).map_err(io::Error::other)?;
            part.append(&mut self.pending);
            self.out.write_all(&part)?;
        }
        self.out.flush()
    }
}

fn named(row: Row, category: Category, name: &str) -> Event {
    Event {
        track: Some(row.0),
        categories: vec![category.name().into()],
        name: Some(name.into()),
        ..Event::default()
    }
}

fn annotation(name: &str, value: Value<'_>) -> Annotation {
    let (number, text) = match value {
        Value::Number(number) => (Some(number), None),
        Value::Text(text) => (None, Some(text.into())),
    };
    Annotation { name: Some(name.into()), number, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn recording() -> Vec<u8> {
        let mut file = Vec::new();
        let mut writer = Writer::new(Sealed::new(&mut file));
        writer.group(1, 1, "group").unwrap();
        writer.thread(Row(2), 1, 1, 2, "thread").unwrap();
        for id in 1..=20 {
            let payload = Some(vec![id as u8; id as usize]);
            writer.sent(Row(2), id, &Message { id, payload, ..Message::default() }).unwrap();
            writer.flush().unwrap();
        }
        file
    }

    #[test]
    fn what_is_sealed_is_read_and_carries_its_payload() {
        let trace = read(&recording()[..]).unwrap();
        assert_eq!((trace.messages.len(), trace.cut), (20, false));
        for (message, id) in trace.messages.iter().zip(1_u8..) {
            assert_eq!(message.payload, Some(vec![id; id.into()]));
        }
    }

    #[test]
    fn a_bit_that_changes_ends_the_trace_before_its_part_and_a_cut_file_before_the_cut() {
        let whole = recording();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            // Where the bit is of a seal there may be no packet any more.
            let Ok(trace) = read(&changed[..]) else { continue };
            // A seal that is none any more changes nothing of what it was to guard.
            assert!(trace.cut || trace.messages.len() == 20, "byte {at}");
            let mut messages = trace.messages.iter().zip(1_u8..);
            assert!(messages.all(|(message, id)| message.payload == Some(vec![id; id.into()])));
        }
        for len in 1..whole.len() {
            let trace = read(&whole[..len]).unwrap();
            assert!(trace.cut || trace.messages.len() < 20, "{len}");
        }
    }
}
