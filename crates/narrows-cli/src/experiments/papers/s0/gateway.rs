//! The media gateway of S1 section 5.2, by the model alone: no simulator, no stack, and no
//! constants but those published of the chip.
//!
//! What the source does not say is a [`Reading`]; `docs/MODEL.md` has what others give. It used no
//! copy engine, so there is none here.

use crate::base::failure::{Failure, Kind};
use crate::experiments::papers::figures::{Experiment, published};
use crate::experiments::papers::row::Found;
use crate::rig::plan::{Least, Limits, Machine, Plan, Planner, Subject};
use narrows::strategy::Strategy;
use narrows_tune::model::{Access, Buffers, Flow, Parameters, Polling, Pool, Results, Side, WHOLE};
use std::time::Duration;

/// Bytes of the phases' rows.
const SHORT: f64 = 128.0;
const LONG: f64 = 32768.0;
/// S1: audio at 64 kbit/s in frames of 20 ms, video at 10 frames a second.
pub(super) const AUDIO: Duration = Duration::from_millis(20);
pub(super) const VIDEO: Duration = Duration::from_millis(100);
/// Pixels of an SQCIF frame.
const PIXELS: u32 = 128 * 96;
/// A frame encoded: 64 kbit/s at 10 frames a second.
pub(super) const ENCODED: u32 = 800;
/// A frame of audio: 160 samples of two bytes.
pub(super) const SAMPLES: u32 = 320;
/// How often responses are looked for: three frames of audio, as the layouts that the source gives
/// for 1 KiB have room for three buffers of one polled session, and not for two such sessions.
const POLL: Duration = Duration::from_millis(60);
/// The most sessions of each kind, which a static choice has to carry.
pub(super) const SESSIONS: usize = 3;

/// What the source leaves open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Whether O^R is the whole row of 128 bytes without the interrupt, or only the calling core's
    /// phases of it, without their copies.
    pub whole: bool,
    /// Bytes of an encoded frame of audio.
    pub response: u32,
    /// Bytes of a frame of video before it is encoded.
    pub frame: u32,
}

/// Bytes of a frame of 4:2:2: two for each pixel.
pub const FRAME_422: u32 = PIXELS * 2;

/// The reading of the reports: what is the calling core's; a byte back for each sample, as G.711
/// has it; and frames of 4:2:0, as H.263 encodes them.
pub const READING: Reading = Reading { whole: false, response: SAMPLES / 2, frame: PIXELS * 3 / 2 };

/// What the strategies of a static design are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Static {
    /// Those that S1 section 5.2 names for 1 KiB: interrupts and internal memory for audio, polling
    /// and external memory for video.
    Named,
    /// Those that take least for all sessions that there may be.
    Cheapest,
}

/// Figures of an experiment that was published as input.
struct Inputs(Vec<Experiment>);

impl Inputs {
    fn figure(&self, id: &str, key: &str) -> Result<f64, Failure> {
        let experiment = self.0.iter().find(|one| one.id == id);
        let figure = experiment.and_then(|one| one.figures.iter().find(|one| one.key == key));
        let missing = || Failure::new(Kind::Internal, format!("{id}.{key} is not published"));
        figure.map(|figure| figure.value).ok_or_else(missing)
    }
}

/// The model's parameters by published constants.
fn parameters(reading: Reading) -> Result<Parameters<f64>, Failure> {
    let inputs = Inputs(published()?);
    let phase = |bytes: &str, key: &str| inputs.figure(&format!("S0.phases.{bytes}"), key);
    let micros = 1e-6;
    let rate = |key: &str| -> Result<f64, Failure> {
        Ok((phase("32768", key)? - phase("128", key)?) / (LONG - SHORT) * micros)
    };
    let external = Access { write: rate("A")?, read: rate("E")?, block: 0.0 };
    let left = 1.0 - inputs.figure("S0.internal-copy.8192", "reduction")? / 100.0;
    let internal = Access { write: external.write * left, read: external.read * left, block: 0.0 };
    let interrupt = inputs.figure("S1.notification", "interrupt")? * micros;
    let poll = inputs.figure("S1.notification", "polling")? * micros;
    let request = if reading.whole {
        phase("128", "sum")? * micros - interrupt
    } else {
        let own = phase("128", "A")? + phase("128", "B")? + phase("128", "D")? + phase("128", "E")?;
        own * micros - interrupt - SHORT * (external.write + external.read)
    };
    Ok(Parameters {
        caller: Side {
            request,
            interrupt,
            poll,
            look: poll,
            internal: Pool::even(internal),
            external: Pool::even(external),
            ..Side::default()
        },
        polling: Polling::Always,
        buffers: Buffers::InStep,
        results: Results::Shared,
        ..Parameters::default()
    })
}

/// A gateway with one DSP, and how what the source does not say is read.
pub struct Gateway {
    pub(super) machine: Machine,
    reading: Reading,
}

impl Gateway {
    pub(super) fn new(reading: Reading, memory: u32) -> Result<Gateway, Failure> {
        let costs = parameters(reading)?.costs().map_err(|error| failed(&error))?;
        let machine = Machine {
            costs,
            dsps: 1,
            memory,
            load: u64::from(WHOLE),
            longest: [u32::MAX; 2],
            engine: false,
            classes: Vec::new(),
        };
        Ok(Gateway { machine, reading })
    }

    pub(super) fn sessions(&self, audio: usize, video: usize) -> Result<Vec<Subject>, Failure> {
        let mut strategies: Vec<Strategy> = Vec::new();
        for placement in ["internal", "external"] {
            for notification in ["interrupt".to_owned(), format!("poll={}ms", POLL.as_millis())] {
                strategies.push(strategy(&notification, placement)?);
            }
        }
        let flow = |period, request, response| Flow {
            period: Some(period),
            request,
            response,
            burst: 1,
            depth: 1,
            ..Flow::default()
        };
        let subject = |name: &str, flow| Subject {
            name: name.to_owned(),
            flow,
            strategies: strategies.clone(),
        };
        let audio =
            (0..audio).map(|_| subject("audio", flow(AUDIO, SAMPLES, self.reading.response)));
        let video = (0..video).map(|_| subject("video", flow(VIDEO, self.reading.frame, ENCODED)));
        Ok(audio.chain(video).collect())
    }

    pub(super) fn plan(&self, subjects: &[Subject], alike: bool) -> Result<Plan, Failure> {
        let planner = Planner::new(&self.machine, subjects, Least::Load);
        let limits = Limits { memory: self.machine.memory, alike, ..Limits::default() };
        let planned = planner.and_then(|planner| planner.plan_with(&limits));
        planned.map_err(|why| failed(&format!("{why:?}")))
    }

    /// Sessions as the design has to carry them, by static strategies.
    fn worst(&self, fixed: Static) -> Result<Plan, Failure> {
        let mut subjects = self.sessions(SESSIONS, SESSIONS)?;
        if fixed == Static::Named {
            let polled = format!("poll={}ms", POLL.as_millis());
            let named = [strategy("interrupt", "internal")?, strategy(&polled, "external")?];
            for (number, subject) in subjects.iter_mut().enumerate() {
                subject.strategies = vec![named[number / SESSIONS]];
            }
        }
        self.plan(&subjects, true)
    }

    /// The static strategies of audio and of video.
    pub(super) fn fixed(&self, fixed: Static) -> Result<[Strategy; 2], Failure> {
        let worst = self.worst(fixed)?;
        let of = |number: usize| worst.given.get(number).map(|one| one.way.strategy);
        Ok([of(0).unwrap_or_default(), of(SESSIONS).unwrap_or_default()])
    }

    /// The load of sessions, in percent: by static strategies, and by those that are best for them.
    pub fn loads(&self, fixed: Static, audio: usize, video: usize) -> Result<(f64, f64), Failure> {
        let worst = self.worst(fixed)?;
        let load = |number: usize| {
            worst.given.get(number).map_or(0, |one| u64::from(one.way.estimate.load))
        };
        let fixed = load(0) * audio as u64 + load(SESSIONS) * video as u64;
        let dynamic = self.plan(&self.sessions(audio, video)?, false)?;
        Ok((percent(fixed), percent(dynamic.load())))
    }
}

/// A strategy of the source's, whose DSP is told of requests by interrupts however the ARM waits.
fn strategy(notification: &str, placement: &str) -> Result<Strategy, Failure> {
    let text = format!("copy_batched/{notification}/{placement}/callee=interrupt");
    text.parse().map_err(|error| failed(&error))
}

/// A load in percent.
pub(super) fn percent(ppm: u64) -> f64 {
    ppm as f64 / 1e4
}

pub(super) fn failed(why: &dyn std::fmt::Display) -> Failure {
    Failure::new(
        Kind::Internal,
        format!("the gateway cannot be planned: {why}: report this defect"),
    )
}

/// One and two sessions of audio with 1 KiB: by how much the dynamic choice cuts their load, in
/// percent.
///
/// # Errors
/// [`Kind::Internal`] if there is no plan.
pub fn small(reading: Reading, fixed: Static) -> Result<Found, Failure> {
    let gateway = Gateway::new(reading, 1024)?;
    let mut found = Found::new();
    for (key, audio) in [("1A.cut", 1), ("2A.cut", 2)] {
        let (fixed, dynamic) = gateway.loads(fixed, audio, 0)?;
        found.insert(key.to_owned(), (1.0 - dynamic / fixed) * 100.0);
    }
    found.insert("2A+2V.static".to_owned(), gateway.loads(fixed, 2, 2)?.0);
    Ok(found)
}

/// Three sessions of each with all the memory they can use.
///
/// # Errors
/// [`Kind::Internal`] if there is no plan.
pub fn unlimited(reading: Reading) -> Result<Found, Failure> {
    let gateway = Gateway::new(reading, u32::MAX)?;
    let plan = gateway.plan(&gateway.sessions(SESSIONS, SESSIONS)?, false)?;
    let memory = plan.memory(0) as f64 / 1024.0;
    Ok([("arm_percent", percent(plan.load())), ("memory_kib", memory)]
        .map(|(key, value)| (key.to_owned(), value))
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows::strategy::Transfer;

    #[test]
    fn against_the_cheapest_static_strategy_audio_is_cut_as_published_within_a_point() {
        let found = small(READING, Static::Cheapest).unwrap();
        assert!((found["1A.cut"] - 12.0).abs() < 1.0, "{found:?}");
        assert!((found["2A.cut"] - 6.0).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn the_strategies_that_the_source_names_fit_into_its_memory_for_all_audio() {
        let gateway = Gateway::new(READING, 1024).unwrap();
        let named = gateway.fixed(Static::Named).unwrap().map(|strategy| strategy.to_string());
        assert_eq!(
            named,
            ["copy_batched/interrupt/internal", "copy_batched/poll=60ms/external/callee=interrupt"]
        );
        assert_eq!(gateway.worst(Static::Named).unwrap().memory(0), 3 * u64::from(SAMPLES));
    }

    #[test]
    fn sessions_have_no_copy_engine_as_the_source_used_none() {
        let gateway = Gateway::new(READING, u32::MAX).unwrap();
        assert!(!gateway.machine.engine);
        let subjects = gateway.sessions(1, 1).unwrap();
        let mut strategies = subjects.iter().flat_map(|subject| &subject.strategies);
        assert!(strategies.all(|strategy| strategy.transfer == Transfer::Copy));
    }

    /// The table of `docs/MODEL.md`.
    #[test]
    fn other_readings_give_other_cuts() {
        let model = include_str!("../../../../../../docs/MODEL.md");
        for (whole, response, name) in [
            (true, 320, "whole row, 320 B back"),
            (true, 160, "whole row, 160 B back"),
            (false, 320, "own phases, 320 B back"),
            (false, 160, "own phases, 160 B back"),
        ] {
            let reading = Reading { whole, response, ..READING };
            let [named, cheapest] =
                [Static::Named, Static::Cheapest].map(|fixed| small(reading, fixed).unwrap());
            let cuts = [&named, &cheapest].map(|found| (found["1A.cut"], found["2A.cut"]));
            let [(one, two), (first, second)] = cuts;
            let row = format!("| {name} | {one:.1} | {two:.1} | {first:.1} | {second:.1} |");
            assert!(model.contains(&row), "docs/MODEL.md has no row {row}");
        }
    }

    #[test]
    fn dynamic_is_never_worse_than_static() {
        for memory in [1 << 10, 16 << 10, 32 << 10, u32::MAX] {
            let gateway = Gateway::new(READING, memory).unwrap();
            for (audio, video) in [(1, 0), (2, 0), (1, 1), (2, 2), (3, 3)] {
                for fixed in [Static::Named, Static::Cheapest] {
                    let (load, dynamic) = gateway.loads(fixed, audio, video).unwrap();
                    let cell = format!("{memory} {audio}A+{video}V, {fixed:?}");
                    assert!(dynamic <= load, "{cell}: {dynamic} {load}");
                }
            }
        }
    }
}
