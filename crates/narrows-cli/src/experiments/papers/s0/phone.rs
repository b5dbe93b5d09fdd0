//! A VoIP phone: every 20 ms a frame of speech to encode for the network and one to decode from it,
//! on the ARM or by calls to the DSP.
//!
//! Two processes on the ARM make up the phone. *Media* is woken by a timer, has both frames worked
//! on and sends the packet; when a timer ends it sets the next, so what holds it up moves all later
//! packets. *Own work* is all else the phone does for a frame, less urgently. What neither source
//! says is in the constants, each set from figures that are inputs.

use super::frames::frames;
use crate::base::failure::Failure;
use crate::base::statistics::deviation;
use crate::experiments::papers::pair::{self, NOTHING, Outcome, PRIORITY, Side};
use crate::experiments::papers::row::Found;
use crate::formats::functions::{self, Entry};
use narrows::endpoint::Failure::Refused;
use narrows::endpoint::{FlowId, Function, Node, Sink, Source};
use narrows::platform::{Instant, Platform, Wait};
use narrows::strategy::{Notification, Strategy};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::Simulation;
use narrows_sim::time::Time;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// The experiment of the phone's strategies.
pub const WORKLOAD: &str = "S0.voip.workload";
/// The experiment of how often it looks.
pub const POLLING: &str = "S0.voip.polling-interval";

/// Between looks, in milliseconds: S0 table 4.
pub(super) const EVERY: [u32; 4] = [5, 10, 15, 20];

/// S0 section 4.1: a frame every 20 ms, 160 bytes when encoded.
const PERIOD: Duration = Duration::from_millis(20);
const CODES: usize = 160;
const SAMPLES: usize = 2 * CODES;

/// Both functions of a frame take about 6 ms on the DSP (S0 section 4.2), so each takes half of it:
/// so much that the longest call by interrupt takes 6.83 ms (S0 table 4, an input).
const DSP: Time = Time::nanos(3_210_000);
/// What the phone does beside the codec: for a load of 22.73 % in the second row of S0 table 3, an
/// input.
pub(super) const OWN: Time = Time::nanos(2_984_000);
/// The same for a load of 16.71 % in the first column of S0 table 4, an input.
pub(super) const OWN_LATER: Time = Time::nanos(1_896_000);

/// What was measured.
pub(super) struct Measured {
    pub load: f64,
    between: f64,
    deviation: f64,
    pub longest: f64,
}

/// The reading of the reports: S1 section 5.1 has the flag looked at when the phone's own timer
/// ends, and that timer's interval varied.
pub(super) const READING: Reading = Reading { looks: Looks::Frame, copies: false, ticks: 1 };

/// How the sources can be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// When the ARM looks whether the DSP is done.
    pub looks: Looks,
    /// Whether the ARM copies what it sends and gets; otherwise the memory is its own.
    pub copies: bool,
    /// In how many parts a frame is called for, as many in a period.
    pub ticks: u32,
}

/// When the ARM looks, if it is not interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looks {
    /// Every so often behind a call, until that is done.
    Asked,
    /// Whenever a timer ends that always runs, from each frame on.
    Frame,
    /// Whenever a timer ends that always runs, whenever frames begin.
    Free,
}

/// Loads, times between packets and their deviations, in percent and milliseconds.
///
/// # Errors
/// As [`pair::run`].
pub fn workload(chip: &Chip) -> Result<Found, Failure> {
    let mut found = rows(chip, READING)?;
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

/// The same without savings, as the sources are read.
pub(super) fn rows(chip: &Chip, reading: Reading) -> Result<Found, Failure> {
    let mut found = Found::new();
    for (key, strategy) in [
        ("ARM", None),
        ("ARM+DSP+Intr+Extl", Some("in_place/interrupt/external")),
        ("ARM+DSP+Poll+Extl", Some("in_place/poll=20ms/external/callee=interrupt")),
        ("ARM+DSP+Intr+Intl", Some("in_place/interrupt/internal")),
        ("ARM+DSP+Poll+Intl", Some("in_place/poll=20ms/internal/callee=interrupt")),
    ] {
        let measured = measure(chip, strategy, OWN, reading)?;
        found.insert(format!("{key}.arm_percent"), measured.load);
        found.insert(format!("{key}.interarrival_ms"), measured.between);
        found.insert(format!("{key}.stddev_ms"), measured.deviation);
    }
    Ok(found)
}

/// Loads in percent and the longest calls in milliseconds, by how the ARM is told.
///
/// # Errors
/// As [`pair::run`].
pub fn polling(chip: &Chip) -> Result<Found, Failure> {
    let mut found = Found::new();
    let polled = EVERY.map(|every| (format!("poll-{every}ms"), format!("poll={every}ms")));
    let interrupted = ("interrupt".to_owned(), "interrupt".to_owned());
    for (key, how) in std::iter::once(interrupted).chain(polled) {
        let strategy = format!("in_place/{how}/internal/callee=interrupt");
        let measured = measure(chip, Some(&strategy), OWN_LATER, READING)?;
        found.insert(format!("{key}.arm_percent"), measured.load);
        found.insert(format!("{key}.latency_ms"), measured.longest);
    }
    Ok(found)
}

/// One conversation.
///
/// # Errors
/// As [`pair::run`].
pub(super) fn measure(
    chip: &Chip,
    strategy: Option<&str>,
    own: Time,
    reading: Reading,
) -> Result<Measured, Failure> {
    let strategy = strategy.map(|all| match reading.copies {
        true => all.replace("in_place", "copy"),
        false => all.to_owned(),
    });
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
        Media::new(side, strategy.as_deref(), reading).and_then(Media::talk)
    };
    pair::run(chip, beside, media, move |side| dsp(side, reading))
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

/// The DSP: both functions of the codec.
fn dsp(side: Side, reading: Reading) -> Outcome<()> {
    let cpu = side.cpu.clone();
    let part = Time::nanos(DSP.as_nanos() / u64::from(reading.ticks));
    let work = |answer: functions::Answer| {
        let cpu = cpu.clone();
        move |request: &dyn Source, response: &mut dyn Sink| {
            let (mut from, mut to) = ([0; SAMPLES], [0; SAMPLES]);
            let from = from.get_mut(..request.len()).ok_or(Refused)?;
            request.read(0, from)?;
            cpu.compute(part);
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
    pair::serve(side, &mut library)
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
    /// In how many parts a frame is called for.
    ticks: u32,
    looks: Looks,
    /// From one end of the timer that always runs to the next, and when it ends, if there is one.
    timer: Option<(Duration, Instant)>,
}

impl Media {
    fn new(mut side: Side, strategy: Option<&str>, reading: Reading) -> Outcome<Media> {
        let Reading { looks, ticks, .. } = reading;
        let (mut calls, mut timer) = (Vec::new(), None);
        if let Some(strategy) = strategy {
            let part = |bytes: usize| bytes / ticks as usize;
            calls.push(Calls::new(&mut side, ENCODE, strategy, part(SAMPLES))?);
            calls.push(Calls::new(&mut side, DECODE, strategy, part(CODES))?);
            let by: Strategy = strategy.parse()?;
            if let (Notification::Poll { every }, Looks::Frame | Looks::Free) =
                (by.notification, looks)
            {
                timer = Some((every, side.cpu.now() + every));
            }
        }
        let sent = Vec::new();
        Ok(Media { cpu: side.cpu, node: side.node, calls, sent, ticks, looks, timer })
    }

    /// A conversation.
    fn talk(mut self) -> Outcome<Measured> {
        let (busy, began) = (self.cpu.busy(), self.cpu.time());
        let mut next = self.cpu.now() + PERIOD;
        let ticks = self.ticks as usize;
        for (at, frame) in frames().iter().flat_map(|frame| vec![frame; ticks]).enumerate() {
            self.until(next)?;
            if at % ticks == 0 {
                self.cpu.compute(frame.held_up);
            }
            next = self.cpu.now() + PERIOD / self.ticks;
            self.finish()?;
            if let (Some((every, ends)), Looks::Frame) = (&mut self.timer, self.looks) {
                *ends = self.cpu.now() + *every;
            }
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
            if let Some((every, ends)) = self.timer {
                self.look(every, ends, end)?;
                continue;
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

    /// Waits until the timer that always runs ends, and looks then; or until the end, if that is
    /// sooner.
    fn look(&mut self, every: Duration, ends: Instant, end: Instant) -> Outcome<()> {
        self.cpu.wait(NOTHING, Wait::Timer, Some(ends.min(end)));
        if self.cpu.now() < ends {
            return Ok(());
        }
        self.timer = Some((every, ends + every));
        match self.calls.iter().any(|calls| calls.began.is_some()) {
            true => self.finish(),
            false => {
                self.node.poll();
                Ok(())
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
