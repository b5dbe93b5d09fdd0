//! A VoIP phone: every 20 ms a frame of speech to encode for the network and one to decode from it,
//! on the ARM or by calls to the DSP.
//!
//! Two processes on the ARM make up the phone. *Media* is woken by a timer, has both frames worked
//! on and sends the packet; when a timer ends it sets the next, so what holds it up moves all later
//! packets. *Own work* is all else the phone does for a frame, less urgently. What neither source
//! says is in the constants, each set from figures that are inputs.

use crate::base::failure::Failure;
use crate::base::statistics::deviation;
use crate::experiments::papers::pair::{self, NOTHING, Outcome, PRIORITY, Side};
use crate::experiments::papers::row::Found;
use crate::formats::functions::{self, Entry};
use narrows::endpoint::Failure::Refused;
use narrows::endpoint::{FlowId, Function, Node, Sink, Source};
use narrows::platform::{Instant, Platform, Wait};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::Simulation;
use narrows_sim::time::Time;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// S0 section 4.1: a frame every 20 ms, 160 bytes when encoded.
const PERIOD: Duration = Duration::from_millis(20);
const CODES: usize = 160;
const SAMPLES: usize = 2 * CODES;
const FRAMES: usize = 1000;

/// Both functions of a frame take about 6 ms on the DSP (S0 section 4.2), so each takes half of it:
/// so much that the longest call by interrupt takes 6.83 ms (S0 table 4, an input).
const DSP: Time = Time::nanos(3_210_000);
/// What the phone does beside the codec: for a load of 22.73 % in the second row of S0 table 3, an
/// input.
const OWN: Time = Time::nanos(2_984_000);
/// The same for a load of 16.71 % in the first column of S0 table 4, an input.
const OWN_LATER: Time = Time::nanos(1_896_000);
/// Both functions on the ARM: for a load of 46.53 % in the first row of S0 table 3, an input.
const CODEC: Time = Time::nanos(6_014_000);
/// By how much they take more or less: for the deviation of that row, 0.48 ms.
const CODEC_VARIES: Time = Time::nanos(181_000);
/// What holds up the media process, in this many of a thousand frames: for 20.40 ms between packets
/// and a deviation of 0.40 ms in the second row, inputs.
const HELD_UP: (usize, Time) = (445, Time::nanos(805_000));

/// What was measured.
struct Measured {
    load: f64,
    between: f64,
    deviation: f64,
    longest: f64,
}

/// Loads, times between packets and their deviations, in percent and milliseconds.
///
/// # Errors
/// As [`pair::run`].
pub fn workload(chip: &Chip) -> Result<Found, Failure> {
    let mut found = Found::new();
    for (key, strategy) in [
        ("ARM", None),
        ("ARM+DSP+Intr+Extl", Some("in_place/interrupt/external")),
        ("ARM+DSP+Poll+Extl", Some("in_place/poll=20ms/external")),
        ("ARM+DSP+Intr+Intl", Some("in_place/interrupt/internal")),
        ("ARM+DSP+Poll+Intl", Some("in_place/poll=20ms/internal")),
    ] {
        let measured = measure(chip, strategy, OWN)?;
        found.insert(format!("{key}.arm_percent"), measured.load);
        found.insert(format!("{key}.interarrival_ms"), measured.between);
        found.insert(format!("{key}.stddev_ms"), measured.deviation);
    }
    let load =
        |how: &str| found.get(&format!("ARM+DSP+{how}.arm_percent")).copied().unwrap_or_default();
    let saving = |how: &str| (1.0 - load(how) / load("Intr+Extl")) * 100.0;
    let savings = [
        ("saving.polling", saving("Poll+Extl")),
        ("saving.internal", saving("Intr+Intl")),
        ("saving.both", saving("Poll+Intl")),
    ];
    found.extend(savings.map(|(key, percent)| (key.to_owned(), percent)));
    Ok(found)
}

/// Loads in percent and the longest calls in milliseconds, by how the ARM is told.
///
/// # Errors
/// As [`pair::run`].
pub fn polling(chip: &Chip) -> Result<Found, Failure> {
    let mut found = Found::new();
    for (key, how) in [
        ("interrupt", "interrupt"),
        ("poll-5ms", "poll=5ms"),
        ("poll-10ms", "poll=10ms"),
        ("poll-15ms", "poll=15ms"),
        ("poll-20ms", "poll=20ms"),
    ] {
        let strategy = format!("in_place/{how}/internal");
        let measured = measure(chip, Some(&strategy), OWN_LATER)?;
        found.insert(format!("{key}.arm_percent"), measured.load);
        found.insert(format!("{key}.latency_ms"), measured.longest);
    }
    Ok(found)
}

fn measure(chip: &Chip, strategy: Option<&str>, own: Time) -> Result<Measured, Failure> {
    let strategy = strategy.map(str::to_owned);
    let conversation = Conversation::default();
    let over = Rc::clone(&conversation.over);
    let beside = move |simulation: &mut Simulation<'_>| {
        simulation.process(pair::CALLER, "own work", PRIORITY - 1, move |cpu| {
            own_work(&cpu, own, &over);
        });
    };
    let media = move |side: Side| {
        // Over when this process ends, or never comes to this.
        let _conversation = conversation;
        Media::new(side, strategy.as_deref()).and_then(Media::talk)
    };
    pair::run(chip, beside, media, dsp)
}

/// A conversation, which is over when this is dropped.
#[derive(Default)]
struct Conversation {
    over: Rc<Cell<bool>>,
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.over.set(true);
    }
}

/// What the phone does beside, until the conversation is over.
fn own_work(cpu: &Cpu, own: Time, over: &Cell<bool>) {
    let mut next = cpu.now();
    while !over.get() {
        next = next + PERIOD;
        cpu.wait(NOTHING, Wait::Timer, Some(next));
        cpu.compute(own);
    }
}

/// The DSP: both functions of the codec, woken by interrupts however the ARM waits.
fn dsp(side: Side) -> Outcome<()> {
    let cpu = side.cpu.clone();
    let work = |answer: functions::Answer| {
        let cpu = cpu.clone();
        move |request: &dyn Source, response: &mut dyn Sink| {
            let (mut from, mut to) = ([0; SAMPLES], [0; SAMPLES]);
            let from = from.get_mut(..request.len()).ok_or(Refused)?;
            request.read(0, from)?;
            cpu.compute(DSP);
            let len = answer(from, &mut to).map_err(|_| Refused)?;
            response.write(0, to.get(..len).unwrap_or_default())
        }
    };
    let [encode, decode] = [ENCODE, DECODE].map(entry);
    let (encode, decode) = (encode?, decode?);
    let mut library = [
        Function { name: ENCODE.parse()?, run: &mut work(encode.answer) },
        Function { name: DECODE.parse()?, run: &mut work(decode.answer) },
    ];
    pair::serve_by_interrupt(side, &mut library)
}

const ENCODE: &str = "g711.encode.a";
const DECODE: &str = "g711.decode.a";

fn entry(name: &str) -> Outcome<&'static Entry> {
    functions::find(name).ok_or_else(|| format!("there is no function {name}").into())
}

/// Calls of one of the functions.
struct Calls {
    flow: FlowId,
    request: Vec<u8>,
    response: Vec<u8>,
    /// What the function gives on this machine.
    expected: Vec<u8>,
    /// When the call that is under way began.
    began: Option<Time>,
    longest: Time,
}

impl Calls {
    fn new(side: &mut Side, name: &str, strategy: &str, bytes: usize) -> Outcome<Calls> {
        let flow = side.node.open_flow(
            side.link,
            &name.parse()?,
            strategy.parse()?,
            SAMPLES as u32,
            None,
        )?;
        let request: Vec<u8> = (0..bytes).map(|at| (at * 37 % 251) as u8).collect();
        let mut expected = vec![0; SAMPLES];
        let len = (entry(name)?.answer)(&request, &mut expected)?;
        expected.truncate(len);
        let response = vec![0; SAMPLES];
        Ok(Calls { flow, request, response, expected, began: None, longest: Time::ZERO })
    }

    fn start(&mut self, cpu: &Cpu, node: &mut Node<Cpu>) -> Outcome<()> {
        self.began = Some(cpu.time());
        node.flow(self.flow).start(&self.request)?;
        Ok(())
    }

    /// Whether a call has been finished.
    fn finish(&mut self, cpu: &Cpu, node: &mut Node<Cpu>) -> Outcome<bool> {
        let Some(began) = self.began else { return Ok(false) };
        let Some(done) = node.flow(self.flow).try_finish(&mut self.response)? else {
            return Ok(false);
        };
        if self.response.get(..done.len) != Some(&self.expected) {
            return Err("a frame is not what the codec makes of it".into());
        }
        self.longest = self.longest.max(cpu.time().since(began));
        self.began = None;
        Ok(true)
    }
}

/// The media process.
struct Media {
    cpu: Cpu,
    node: Node<Cpu>,
    /// Encoding and decoding on the DSP; none where the ARM does both.
    calls: Vec<Calls>,
    /// When packets were sent.
    sent: Vec<Time>,
}

impl Media {
    fn new(mut side: Side, strategy: Option<&str>) -> Outcome<Media> {
        let mut calls = Vec::new();
        if let Some(strategy) = strategy {
            calls.push(Calls::new(&mut side, ENCODE, strategy, SAMPLES)?);
            calls.push(Calls::new(&mut side, DECODE, strategy, CODES)?);
        }
        Ok(Media { cpu: side.cpu, node: side.node, calls, sent: Vec::new() })
    }

    /// A conversation.
    fn talk(mut self) -> Outcome<Measured> {
        let (busy, began) = (self.cpu.busy(), self.cpu.time());
        let mut next = self.cpu.now() + PERIOD;
        for frame in frames() {
            self.until(next)?;
            self.cpu.compute(frame.held_up);
            next = self.cpu.now() + PERIOD;
            self.finish()?;
            for calls in &mut self.calls {
                calls.start(&self.cpu, &mut self.node)?;
            }
            if self.calls.is_empty() {
                self.cpu.compute(frame.codec);
                self.sent.push(self.cpu.time());
            }
        }
        self.until(next)?;
        self.finish()?;
        let used = self.cpu.busy().since(busy).micros();
        let time = self.cpu.time().since(began).micros();
        let between: Vec<f64> =
            self.sent.windows(2).map(|pair| pair[1].since(pair[0]).micros() / 1000.0).collect();
        let longest = self.calls.iter().map(|calls| calls.longest).max().unwrap_or_default();
        Ok(Measured {
            load: used / time * 100.0,
            between: between.iter().sum::<f64>() / between.len().max(1) as f64,
            deviation: deviation(&between),
            longest: longest.micros() / 1000.0,
        })
    }

    /// Waits until a timer ends, and sees to responses that come before.
    fn until(&mut self, end: Instant) -> Outcome<()> {
        loop {
            let now = self.cpu.now();
            if now >= end {
                return Ok(());
            }
            match self.calls.iter().find(|calls| calls.began.is_some()) {
                Some(calls) => self.node.flow(calls.flow).wait(Some(end.since(now))),
                None => {
                    self.cpu.wait(NOTHING, Wait::Timer, Some(end));
                }
            }
            if self.cpu.now() < end {
                self.finish()?;
            }
        }
    }

    /// Finishes the calls whose responses are there. What has been encoded is sent.
    fn finish(&mut self) -> Outcome<()> {
        for (at, calls) in self.calls.iter_mut().enumerate() {
            if calls.finish(&self.cpu, &mut self.node)? && at == 0 {
                self.sent.push(self.cpu.time());
            }
        }
        Ok(())
    }
}

/// What is different from frame to frame.
struct Frame {
    held_up: Time,
    codec: Time,
}

/// Frames of a conversation, in an order that is the same for every one.
fn frames() -> Vec<Frame> {
    let mut random = fastrand::Rng::with_seed(1);
    let (thousandths, time) = HELD_UP;
    let held_up = FRAMES * thousandths / 1000;
    let mut all: Vec<Time> =
        (0..FRAMES).map(|at| if at < held_up { time } else { Time::ZERO }).collect();
    random.shuffle(&mut all);
    all.into_iter()
        .map(|held_up| {
            let codec = if random.bool() { CODEC + CODEC_VARIES } else { CODEC - CODEC_VARIES };
            Frame { held_up, codec }
        })
        .collect()
}
