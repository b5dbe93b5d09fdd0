//! Writes a trace of made-up traffic, as large as is asked for, to try what reads traces.
//!
//! ```text
//! cargo run -p narrows-trace --example traffic -- 20000 > traffic.pftrace
//! ```
//!
//! A second argument is the name of the process that calls, a third how much slower the codec is in
//! percent: for a trace to compare with.

use narrows_trace::{Category, Message, Row, Value, Writer, state};
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

const ARM: u64 = 1;
const DSP: u64 = 2;
const BUSES: u64 = 3;
/// A process, its row `state` and its core's row `interrupts`.
struct Place {
    row: Row,
    state: Row,
    interrupts: Row,
}
const CALLER: Place = Place { row: Row(10), state: Row(11), interrupts: Row(14) };
const CODEC: Place = Place { row: Row(20), state: Row(21), interrupts: Row(24) };
const LOGGER: Row = Row(12);
const LOGGER_STATE: Row = Row(13);
const BUS: Row = Row(30);
const RING: Row = Row(31);

/// Events of one call and its answer, about.
const EACH: u64 = 62;

/// Numbers that look random, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
    fn about(&mut self, mean: u64) -> u64 {
        mean * 3 / 4 + self.below(mean / 2 + 1)
    }
}

struct Traffic<W: Write> {
    writer: Writer<W>,
    dice: Dice,
    messages: u64,
    /// When the last state of each row ended.
    idle: HashMap<Row, u64>,
    slower: u64,
}

impl<W: Write> Traffic<W> {
    fn introduce(&mut self, name: &str) -> io::Result<()> {
        let writer = &mut self.writer;
        writer.group(ARM, 1, "arm")?;
        writer.group(DSP, 2, "dsp")?;
        writer.group(BUSES, 3, "buses")?;
        writer.thread(CALLER.row, ARM, 1, 1, name)?;
        writer.row(CALLER.state, CALLER.row.0, "state")?;
        writer.thread(LOGGER, ARM, 1, 2, "logger")?;
        writer.row(LOGGER_STATE, LOGGER.0, "state")?;
        writer.row(CALLER.interrupts, ARM, "interrupts")?;
        writer.thread(CODEC.row, DSP, 2, 3, "codec")?;
        writer.row(CODEC.state, CODEC.row.0, "state")?;
        writer.row(CODEC.interrupts, DSP, "interrupts")?;
        writer.row(BUS, BUSES, "sdram")?;
        writer.counter(RING, DSP, "requests in the ring", "slots")
    }

    /// The stretch of a row that something takes.
    fn stretch(
        &mut self,
        row: Row,
        at: u64,
        long: u64,
        kind: Category,
        name: &str,
    ) -> io::Result<u64> {
        self.writer.begin(row, at, kind, name)?;
        self.writer.end(row, at + long)?;
        Ok(at + long)
    }

    /// What a process is in; it sleeps in between.
    fn state(&mut self, place: &Place, at: u64, long: u64, name: &str) -> io::Result<u64> {
        let idle = self.idle.insert(place.state, at + long).unwrap_or(at);
        if idle < at {
            self.stretch(place.state, idle, at - idle, Category::State, state::ASLEEP)?;
        }
        self.stretch(place.state, at, long, Category::State, name)
    }

    /// The layers of a place, down to where a message is published or taken.
    fn layers(&mut self, place: &Place, at: u64, copies: u64) -> io::Result<u64> {
        let began = at;
        let mut at = at;
        for layer in ["endpoint", "link", "connection", "driver"] {
            self.writer.begin(place.row, at, Category::Call, layer)?;
            at += self.dice.about(1_800);
        }
        self.state(place, began, at - began, state::RUNNING)?;
        let waits = self.dice.below(copies / 4);
        let copies_at = self.state(place, at, waits, state::BUS)?;
        self.state(place, copies_at, copies, state::COPY)?;
        self.stretch(BUS, copies_at, copies, Category::Bus, "write")?;
        at = self.stretch(place.row, at, waits + copies, Category::Call, "memory")?;
        let copied = at;
        for _ in 0..4 {
            at += self.dice.about(900);
            self.writer.end(place.row, at)?;
        }
        self.state(place, copied, at - copied, state::RUNNING)?;
        Ok(at)
    }

    /// A message from one place to the other; `before` is what it waits for behind others there.
    fn message(
        &mut self,
        [from, to]: [&Place; 2],
        [began, before]: [u64; 2],
        message: &Message,
    ) -> io::Result<u64> {
        let copies = 2_000 + u64::from(message.bytes) * 12;
        let published = self.layers(from, began, copies)? - self.dice.about(700);
        self.messages += 1;
        let message = Message { id: self.messages, began, ..message.clone() };
        self.writer.sent(from.row, published, &message)?;
        let rung = published + self.dice.about(2_500);
        let served = self.dice.about(5_000);
        let served = self.stretch(to.interrupts, rung, served, Category::Interrupt, "doorbell")?;
        let woken = self.dice.about(3_000);
        let runs = self.state(to, served, woken, state::WAKING)?;
        self.writer.taken(to.row, runs + 500, message.id)?;
        let idle = runs + 600 + before;
        self.state(to, runs, idle - runs, state::RUNNING)?;
        let received = self.layers(to, idle, copies)?;
        self.writer.received(to.row, received, message.id)?;
        Ok(received)
    }

    /// A call and its answer. Returns when the caller has it.
    fn call(&mut self, number: u32, at: u64) -> io::Result<u64> {
        let flow = number % 3;
        let bytes = [48, 160, 1_024][flow as usize];
        // Now and then a large one is in the way.
        let before = if number % 37 == 20 { self.dice.about(90_000) } else { 0 };
        let request = Message {
            number,
            bytes,
            kind: "request".into(),
            peer: "dsp".into(),
            source: flow,
            target: 1 + flow,
            priority: flow as u8,
            tag: number as u16,
            ..Message::default()
        };
        let asleep = self.dice.about(40_000);
        self.state(&CALLER, at, asleep, state::TIMER)?;
        let began = at + asleep;
        self.writer.count(RING, began + 12_000, i64::from(number % 4 + 1))?;
        let received = self.message([&CALLER, &CODEC], [began, before], &request)?;
        self.writer.count(RING, received, i64::from(number % 4))?;
        let work = self.dice.about(60_000) * (100 + self.slower) / 100;
        self.state(&CODEC, received, work, state::RUNNING)?;
        let worked = self.stretch(CODEC.row, received, work, Category::Phase, "C")?;
        let logs = self.dice.about(20_000);
        self.stretch(LOGGER_STATE, received, logs, Category::State, state::READY)?;
        self.stretch(LOGGER_STATE, received + logs, logs, Category::State, state::RUNNING)?;
        self.stretch(LOGGER, received + logs, logs, Category::Span, "write the log")?;
        let response = Message {
            kind: "response".into(),
            peer: "arm".into(),
            source: 1 + flow,
            target: flow,
            ..request
        };
        let done = self.message([&CODEC, &CALLER], [worked, 0], &response)?;
        if number % 97 == 50 {
            let values =
                [("strategy", Value::Text("copy/poll/internal")), ("flow", Value::Number(1))];
            self.writer.instant(CALLER.row, done, Category::Decision, "change", &values)?;
        }
        if number % 211 == 60 {
            let values = [("delay_ns", Value::Number(90_000))];
            self.writer.instant(CODEC.row, worked, Category::Fault, "delay", &values)?;
        }
        Ok(done)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let events: u64 = arguments.next().unwrap_or_else(|| "20000".into()).parse()?;
    let name = arguments.next().unwrap_or_else(|| "caller".into());
    let slower = arguments.next().unwrap_or_else(|| "0".into()).parse()?;
    let writer = Writer::new(BufWriter::new(io::stdout().lock()));
    let mut traffic = Traffic { writer, dice: Dice(1), messages: 0, idle: HashMap::new(), slower };
    traffic.introduce(&name)?;
    let mut at = 1_000_000;
    for number in 1..=u32::try_from(events / EACH)?.max(1) {
        at = traffic.call(number, at)? + 5_000;
    }
    traffic.writer.flush()?;
    Ok(())
}
