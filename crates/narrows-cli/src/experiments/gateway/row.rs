//! A row of the report: what came of sessions carried one way, here or in the simulator.

use super::carry::{Ended, Measured};
use super::plan::Kind;
use super::statistics::{self, Decision};
use crate::base::report::{DecisionRow, RunRow};
use crate::base::statistics::median;
use serde::Serialize;

/// How long answers of the DSP took, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The median of the sessions' medians.
    pub median: f64,
    /// The longest of the sessions' 99th percentiles.
    pub p99: f64,
}

/// The sessions of a kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// `audio` or `video`.
    pub kind: &'static str,
    /// How many were carried.
    pub sessions: usize,
    /// Frames that clients sent, or that flows called with.
    pub sent: u64,
    /// Frames that the gateway sent on, or that were answered.
    pub carried: u64,
    /// Frames that the clients at the other end got; none in the simulator.
    pub heard: Option<u64>,
    /// Frames that never reached the gateway, or that were never answered.
    pub lost: u64,
    /// Frames that the gateway made up for lost ones.
    pub concealed: u64,
    /// Answers that came after their deadline.
    pub late: u64,
    /// Frames that the gateway gave up.
    pub dropped: u64,
    /// Frames of those that were late or dropped that the gateway coded itself.
    pub own: u64,
    /// Frames that nobody accounts for, or that came too often.
    pub silent: u64,
    /// How long answers took; none without an answer.
    pub answer_us: Option<Answer>,
    /// How long the DSP took for a frame; none if it is not known.
    pub work_us: Option<f64>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// `here`, or the platform of the simulator.
    pub source: String,
    /// `static` or `auto`.
    pub strategy: String,
    /// How long sessions were carried; none where each number of them was simulated for itself.
    pub seconds: f64,
    /// Processor time of the gateway, or of the core that calls, in percent.
    pub load_percent: f64,
    /// How long the DSP was at work, in percent; none if it did not run through.
    pub dsp_percent: Option<f64>,
    /// Sessions that were refused.
    pub refused: usize,
    /// With --until-late, how many there were before the first late frame.
    pub sessions_carried: Option<usize>,
    /// What ended that: `late`, `dropped`, `refused`, or `enough` if there were no more to add.
    pub ended_by: Option<&'static str>,
    /// What came of each kind.
    pub flows: Vec<Flow>,
    /// What the controller decided.
    pub decisions: Vec<Decision>,
}

impl Row {
    pub(super) fn here(strategy: &str, measured: &Measured) -> Row {
        let Measured { dsp, load, seconds, .. } = measured;
        let busy = |dsp: &statistics::Dsp| {
            dsp.functions.iter().map(|function| function.busy_ms).sum::<f64>() / seconds / 10.0
        };
        Row {
            source: "here".to_owned(),
            strategy: strategy.to_owned(),
            seconds: *seconds,
            load_percent: *load as f64 / 1e7 / seconds,
            dsp_percent: dsp.as_ref().map(busy),
            refused: measured.refused.len(),
            sessions_carried: measured.carried.map(|(count, _)| count),
            ended_by: measured.carried.map(|(_, ended)| ended.name()),
            flows: Kind::ALL.into_iter().filter_map(|kind| Flow::here(kind, measured)).collect(),
            decisions: measured.gateway.decisions.clone(),
        }
    }

    pub(super) fn simulated(
        (source, strategy): (&str, &str),
        seconds: f64,
        rows: &[RunRow],
        decisions: &[DecisionRow],
        carried: Option<(usize, Ended)>,
    ) -> Row {
        let load = |of: fn(&RunRow) -> f64| rows.iter().map(of).fold(0.0, f64::max);
        Row {
            source: source.to_owned(),
            strategy: strategy.to_owned(),
            seconds,
            load_percent: load(|row| row.cpu_percent.caller),
            dsp_percent: Some(load(|row| row.cpu_percent.callee)),
            refused: refused(rows, decisions),
            sessions_carried: carried.map(|(count, _)| count),
            ended_by: carried.map(|(_, ended)| ended.name()),
            flows: Kind::ALL.into_iter().filter_map(|kind| Flow::simulated(kind, rows)).collect(),
            decisions: decisions.iter().flat_map(switched).collect(),
        }
    }

    /// Frames of all kinds.
    pub(super) fn sum(&self, of: fn(&Flow) -> u64) -> u64 {
        self.flows.iter().map(of).sum()
    }
}

impl Flow {
    fn here(kind: Kind, measured: &Measured) -> Option<Flow> {
        let of = measured.sessions.iter().filter(|session| session.kind == kind);
        let sessions: Vec<_> = of.collect();
        if sessions.is_empty() {
            return None;
        }
        let mut flow = Flow::empty(kind, sessions.len());
        let mut heard = 0;
        let none = statistics::Session::default();
        let (mut medians, mut p99) = (Vec::new(), 0_f64);
        for session in sessions {
            // The other direction of a call carries nothing.
            let counted = measured.gateway.sessions.iter().filter(|one| one.call == session.call);
            let counted = counted.max_by_key(|one| one.frames).unwrap_or(&none);
            // One that was stopped has sent as many as came, or are known not to have come.
            let came = counted.frames + counted.lost - counted.lost.min(counted.concealed);
            let sent = session.frames.unwrap_or(came);
            flow.sent += sent;
            flow.carried += counted.sent;
            flow.lost += counted.lost;
            flow.concealed += counted.concealed;
            flow.late += counted.late;
            flow.dropped += counted.dropped;
            flow.own += counted.own;
            heard += session.heard;
            flow.silent += silent(kind, sent, session.heard, counted);
            medians.extend(counted.answer_us_median);
            p99 = p99.max(counted.answer_us_p99.unwrap_or(0.0));
        }
        flow.heard = Some(heard);
        flow.answer_us = median(&mut medians).map(|median| Answer { median, p99 });
        flow.work_us = measured.dsp.as_ref().and_then(|dsp| work(dsp, kind));
        Some(flow)
    }

    fn simulated(kind: Kind, rows: &[RunRow]) -> Option<Flow> {
        let of = rows.iter().filter(|row| Kind::of(&row.flow) == Some(kind));
        let rows: Vec<&RunRow> = of.filter(|row| row.refused.is_none()).collect();
        if rows.is_empty() {
            return None;
        }
        let mut flow = Flow::empty(kind, rows.len());
        let mut medians = Vec::new();
        let mut p99 = 0_f64;
        for row in rows {
            flow.sent += row.sent;
            flow.carried += row.received;
            flow.lost += row.lost;
            flow.late += row.deadline_misses;
            if row.received > 0 {
                medians.push(row.rtt_us.median);
                p99 = p99.max(row.rtt_us.p99);
            }
        }
        flow.silent = flow.sent.abs_diff(flow.carried + flow.lost);
        flow.answer_us = median(&mut medians).map(|median| Answer { median, p99 });
        Some(flow)
    }

    fn empty(kind: Kind, sessions: usize) -> Flow {
        Flow {
            kind: kind.name(),
            sessions,
            sent: 0,
            carried: 0,
            heard: None,
            lost: 0,
            concealed: 0,
            late: 0,
            dropped: 0,
            own: 0,
            silent: 0,
            answer_us: None,
            work_us: None,
        }
    }
}

/// Frames of a session that nobody accounts for, on each part of the way.
fn silent(kind: Kind, sent: u64, heard: u64, counted: &statistics::Session) -> u64 {
    let statistics::Session { frames, lost, concealed, .. } = *counted;
    let before = (sent + concealed).abs_diff(frames + lost);
    // What was late or dropped may have been sent on in spite of that, coded by the gateway.
    let without = counted.late + counted.dropped + counted.failed;
    let within = frames.saturating_sub(heard + without) + heard.saturating_sub(frames);
    // A picture may be several packets.
    let behind = match kind {
        Kind::Audio => counted.sent.abs_diff(heard),
        Kind::Video => heard.saturating_sub(counted.sent),
    };
    before + within + behind
}

/// How long the DSP took for a frame of a kind, in microseconds.
pub(super) fn work(dsp: &statistics::Dsp, kind: Kind) -> Option<f64> {
    let of = dsp.functions.iter().find(|function| function.name == kind.function());
    of.filter(|function| function.calls > 0).map(|one| one.busy_ms * 1000.0 / one.calls as f64)
}

/// How often a session was refused: by a decision, or because its strategy cannot carry it.
fn refused(rows: &[RunRow], decisions: &[DecisionRow]) -> usize {
    let rows = rows.iter().filter(|row| row.refused.is_some()).count();
    decisions.iter().filter(|row| row.refused.is_some()).count().max(rows)
}

/// The switches of a decision of the simulator's, as the gateway writes them.
fn switched(row: &DecisionRow) -> Vec<Decision> {
    let refused = row.refused.iter().map(|why| Decision {
        s: row.at_s,
        flow: row.flow.clone().unwrap_or_default(),
        from: None,
        to: None,
        why: why.clone(),
    });
    let switches = row.switches.iter().filter(|switch| switch.failed.is_none());
    let switches = switches.map(|switch| Decision {
        s: row.at_s,
        flow: switch.flow.clone(),
        from: Some(switch.from.clone()),
        to: Some(switch.to.clone()),
        why: row.reason.clone(),
    });
    refused.chain(switches).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dsp_takes_is_of_its_function_alone() {
        let text = r#"{"functions":[{"name":"g711.transcode","calls":10,"errors":0,"busy_ms":5.0},
            {"name":"h263.transcode","calls":0,"errors":0,"busy_ms":0.0}]}"#;
        let dsp: statistics::Dsp = serde_json::from_str(text).expect("it is read");
        assert_eq!(work(&dsp, Kind::Audio), Some(500.0));
        assert_eq!(work(&dsp, Kind::Video), None);
    }

    #[test]
    fn a_frame_is_silent_if_nobody_says_what_became_of_it() {
        let counted = statistics::Session { frames: 100, sent: 100, ..Default::default() };
        assert_eq!(silent(Kind::Audio, 100, 100, &counted), 0);
        assert_eq!(silent(Kind::Audio, 101, 100, &counted), 1);
        assert_eq!(silent(Kind::Audio, 100, 99, &counted), 2);
        assert_eq!(silent(Kind::Video, 100, 101, &counted), 2);
        // One was lost and made up for, one the DSP could not use.
        let more = statistics::Session { lost: 1, concealed: 1, sent: 99, failed: 1, ..counted };
        assert_eq!(silent(Kind::Audio, 100, 99, &more), 0);
    }

    #[test]
    fn sessions_of_the_simulator_are_added_up_by_kind() {
        let row = |flow: &str, late| RunRow {
            flow: flow.to_owned(),
            sent: 10,
            received: 9,
            lost: 1,
            deadline_misses: late,
            ..RunRow::default()
        };
        let rows = [row("audio-1", 0), row("audio-2", 2), row("video-1", 0)];
        let made = Row::simulated(("davinci", "auto"), 1.0, &rows, &[], Some((2, Ended::Late)));
        let kinds: Vec<_> = made.flows.iter().map(|one| (one.kind, one.sessions)).collect();
        assert_eq!(kinds, [("audio", 2), ("video", 1)]);
        assert_eq!((made.sum(|one| one.late), made.sum(|one| one.silent)), (2, 0));
        assert_eq!((made.sessions_carried, made.ended_by), (Some(2), Some("late")));
    }
}
