//! A row of the report: what was measured of the calls in one configuration.

use super::call::Measured;
use super::plan::{Beside, Configuration, Known};
use super::statistics::{Frame, Statistics};
use super::wire;
use crate::base::statistics::{deviation, median, percentile};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// From a frame's first sample until it is whole.
const FRAME_MS: f64 = 20.0;

/// Times of many calls of the DSP, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Half took no longer.
    pub median: f64,
    /// 99 of 100 took no longer.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The configuration: a key of the published table, `client`, or the strategy.
    pub name: String,
    /// How calls travelled to the DSP; none if telephones coded themselves.
    pub strategy: Option<String>,
    /// How long each call of the DSP was to take.
    pub work_us: f64,
    /// Calls at once.
    pub calls: u16,
    /// How long they were measured.
    pub seconds: f64,
    /// Processor time of a telephone, in nanoseconds a second.
    pub cpu_ns_per_second: f64,
    /// The same in percent of a core.
    pub cpu_percent: f64,
    /// The DSP's process, in percent of a core; none if it did not run through.
    pub dsp_cpu_percent: Option<f64>,
    /// Packets from callers on the wire while it was measured.
    pub packets: usize,
    /// The mean time between two of them.
    pub interarrival_ms: f64,
    /// Its standard deviation.
    pub stddev_ms: f64,
    /// The longest time between two, from the first packet to the last.
    pub longest_ms: f64,
    /// From sending a frame to the DSP until it was found coded.
    pub latency_us: Option<Latency>,
    /// The median time from a frame's first sample at the caller until it was handed to the
    /// loudspeaker at the other end; none if no frame was found at both ends.
    pub mouth_to_ear_ms: Option<f64>,
    /// The correlation of what was heard with what was said; the lowest of all calls, none if
    /// nothing was heard in one.
    pub correlation: Option<f64>,
    /// How often parts of 200 ms were shifted against the one before.
    pub shifts: u32,
    /// Frames that the DSP coded.
    pub frames_dsp: u64,
    /// Frames that telephones coded because the DSP was away, or because there is none.
    pub frames_here: u64,
    /// Frames that telephones coded because the DSP, which had them, was late or lost.
    pub frames_late: u64,
    /// Frames as the DSP counts them until its end; none without one, if it has left, or if it goes
    /// on to the next calls.
    pub frames_served: Option<u64>,
    /// How often telephones lost the DSP.
    pub lost: u64,
    /// What was published of this configuration.
    pub published: Option<Beside>,
    /// What the simulator gives of it.
    pub simulated: Option<Beside>,
}

impl Row {
    pub(super) fn new(
        configuration: &Configuration,
        calls: u16,
        measured: &Measured,
        known: &Known,
    ) -> Row {
        let Measured { ends, packets, talked, .. } = measured;
        let seconds = talked.to - talked.from;
        let within: Vec<_> = packets
            .iter()
            .filter(|packet| packet.at >= talked.from && packet.at <= talked.to)
            .copied()
            .collect();
        let gaps = |packets: &[wire::Packet]| -> Vec<f64> {
            ends.iter().flat_map(|end| wire::between(packets, end.rtp)).collect()
        };
        let between = gaps(&within);
        let longest_ms = gaps(packets).into_iter().fold(0.0, f64::max);
        // Those of the telephones that give frames to the DSP.
        let answerers = ends.iter().filter(|_| configuration.both).map(|end| &end.answerer);
        let counted: Vec<&Statistics> =
            ends.iter().map(|end| &end.caller).chain(answerers).collect();
        let heard: Option<Vec<_>> = ends.iter().map(|end| end.heard).collect();
        let correlation = heard
            .as_ref()
            .map(|heard| heard.iter().map(|heard| heard.correlation).fold(f64::INFINITY, f64::min));
        let cpu_ns_per_second = talked.client / seconds;
        let beside = configuration.of.and_then(|of| known.get(&of));
        let percent = |used: f64| used / seconds / 1e9 * 100.0;
        Row {
            name: configuration.name.clone(),
            strategy: configuration.strategy.clone(),
            work_us: micros(configuration.work),
            calls,
            seconds,
            cpu_ns_per_second,
            cpu_percent: percent(talked.client),
            dsp_cpu_percent: talked.dsp.map(|used| percent(used as f64)),
            packets: within.iter().filter(|one| ends.iter().any(|end| end.rtp == one.to)).count(),
            interarrival_ms: between.iter().sum::<f64>() / between.len().max(1) as f64,
            stddev_ms: deviation(&between),
            longest_ms,
            latency_us: latency(counted.iter().flat_map(|one| &one.frames)),
            mouth_to_ear_ms: mouth_to_ear(measured),
            correlation,
            shifts: heard.iter().flatten().map(|heard| heard.shifts).sum(),
            frames_dsp: counted.iter().map(|one| one.dsp).sum(),
            frames_here: counted.iter().map(|one| one.here).sum(),
            frames_late: counted.iter().map(|one| one.late).sum(),
            frames_served: measured.served,
            lost: counted.iter().map(|one| one.lost).sum(),
            published: beside.map(|(published, _)| *published),
            simulated: beside.map(|(_, simulated)| *simulated),
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn latency<'a>(frames: impl Iterator<Item = &'a Frame>) -> Option<Latency> {
    let coded = frames.filter(|frame| frame.by_dsp);
    let mut times: Vec<f64> =
        coded.map(|frame| frame.finished.saturating_sub(frame.started) as f64 / 1e3).collect();
    let median = median(&mut times)?;
    Some(Latency { median, p99: percentile(&times, 99)?, max: *times.last()? })
}

/// The median of all frames that were found at both ends.
///
/// The first packet on the wire has the caller's first frame; the receiving plugin has the packet's
/// number. Both ends stamp with one clock.
fn mouth_to_ear(measured: &Measured) -> Option<f64> {
    let mut times = Vec::new();
    for end in &measured.ends {
        let Some(first) = measured.packets.iter().find(|packet| packet.to == end.rtp) else {
            continue;
        };
        let heard: BTreeMap<u16, u64> = end
            .answerer
            .of(false)
            .filter(|frame| frame.taken > 0)
            .map(|frame| (frame.number as u16, frame.taken))
            .collect();
        times.extend(end.caller.of(true).filter_map(|frame| {
            let packet = first.number.wrapping_add(frame.number as u16);
            let taken = heard.get(&packet)?.checked_sub(frame.given)?;
            Some(taken as f64 / 1e6 + FRAME_MS)
        }));
    }
    median(&mut times)
}
