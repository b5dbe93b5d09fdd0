//! Recordings as workloads: the calls and messages of a trace, each when it was sent.

use super::workload::{
    Flow, MAX_BYTES, MAX_DEPTH, MAX_DURATION, MAX_FLOWS, Presence, Recorded, Source, Work, Workload,
};
use crate::base::failure::{Failure, Kind};
use crate::base::trace;
use crate::formats::functions::ORDER_BYTES;
use crate::formats::functions::cost::{Cost, Costs};
use crate::formats::strategy::Policy;
use narrows::strategy::Strategy;
use narrows_trace::{Journey, Trace};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::time::Duration;

/// The longest period that a flow is said to have: an application would not look more seldom
/// whether an answer has come.
const RARE: Duration = Duration::from_secs(1);

/// How a recording is played.
#[derive(Clone, Copy, Debug)]
pub struct Playing {
    /// How many times as fast as it was recorded.
    pub speed: f64,
    /// What each request takes of the core that is called.
    pub cost: Option<Cost>,
}

/// Whose messages go together: the sender's row, the receiver, the kind, and the ports or the flow
/// and the function.
type Stream = (u32, String, String, u32, u32);

/// Reads a recording, or any trace, as a workload.
///
/// Each flow of the recording is one of the workload, and so are the messages from one port to
/// another and what goes over a channel, which come back without a byte. A request that is too
/// short to say how long its response is has [`ORDER_BYTES`].
///
/// # Errors
/// [`Kind::Input`] if it is no trace, has nothing to play, or more flows than a workload may have.
pub fn read(path: &Path, playing: Playing) -> Result<Workload, Failure> {
    let file = trace::read(path)?;
    let name = trace::name(path);
    let wrong = |what: String| Failure::new(Kind::Input, format!("{name} {what}"));
    if file.cut {
        crate::base::output::complain(&format!(
            "narrows: {name} is not whole: what is before the first part that is not is played"
        ));
    }
    let streams = streams(&file, playing.speed);
    if streams.is_empty() {
        let what = "has neither calls nor messages: record while a program sends some";
        return Err(wrong(what.to_owned()));
    }
    if streams.len() > MAX_FLOWS {
        let count = streams.len();
        let what = format!("has {count} flows, and a workload at most {MAX_FLOWS}: record fewer");
        return Err(wrong(what));
    }
    let last = streams.iter().flat_map(|played| &played.calls).map(|call| call.at).max();
    // The run ends when all is played. It may take longer than it took.
    let last = last.unwrap_or_default();
    let duration = last + last / 4 + RARE;
    if duration > MAX_DURATION {
        return Err(wrong("is longer than the 24 hours that a workload may be".to_owned()));
    }
    let costs = playing.cost.map_or_else(Costs::default, Costs::Everywhere);
    let flows = streams.into_iter().map(|played| flow(played, &costs, duration)).collect();
    let file_name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Workload {
        name: file_name,
        duration,
        strategies: vec![Policy::Same(Strategy::default())],
        memory: None,
        flows,
        changes: Vec::new(),
    })
}

/// A flow of a recording.
struct Played {
    name: String,
    calls: Vec<Recorded>,
    /// When each began and was over, in nanoseconds.
    spans: Vec<(u64, u64)>,
}

impl Played {
    /// The most calls that were under way at once.
    fn depth(&self) -> usize {
        let begins = self.spans.iter().map(|&(begin, _)| (begin, 1));
        let ends = self.spans.iter().map(|&(_, end)| (end, -1));
        let mut changes: Vec<(u64, i64)> = begins.chain(ends).collect();
        // What ends as another begins is not under way with it.
        changes.sort_unstable();
        let under_way = changes.iter().scan(0, |count, (_, by)| {
            *count += by;
            Some(*count)
        });
        usize::try_from(under_way.max().unwrap_or(1)).unwrap_or(1).clamp(1, MAX_DEPTH)
    }
}

/// The flows, in the order in which they began.
fn streams(file: &Trace, speed: f64) -> Vec<Played> {
    let mut responses: HashMap<(String, u32, u16), VecDeque<(u32, u64)>> = HashMap::new();
    let sender = |track: u32| file.tracks.get(track as usize).map_or("", |track| &track.name);
    for journey in file.messages.iter().filter(|journey| journey.kind == "response") {
        // A response goes to the flow whose call has its number.
        let to = (journey.peer.clone(), journey.target, journey.tag);
        responses.entry(to).or_default().push_back((journey.bytes, journey.began));
    }
    let played = |journey: &&Journey| {
        matches!(journey.kind.as_str(), "request" | "message" | "packet" | "scalar")
    };
    let sent = file.messages.iter().filter(played).filter(|journey| journey.sent.is_some());
    let start = sent.clone().map(|journey| journey.began).min().unwrap_or_default();
    let mut places: BTreeMap<Stream, usize> = BTreeMap::new();
    let mut all: Vec<Played> = Vec::new();
    for journey in sent {
        let (track, _) = journey.sent.unwrap_or_default();
        let from = sender(track).to_owned();
        let answered = (journey.kind == "request").then(|| {
            let of = (from.clone(), journey.source, journey.tag);
            responses.get_mut(&of).and_then(VecDeque::pop_front)
        });
        let taken = journey.taken.map_or(journey.began, |(_, at)| at);
        let (response, end) = answered.flatten().unwrap_or((0, taken));
        let (peer, kind) = (journey.peer.clone(), journey.kind.clone());
        let key = (track, peer, kind, journey.source, journey.target);
        let next = all.len();
        let place = *places.entry(key).or_insert(next);
        if place == next {
            let name = match journey.kind.as_str() {
                kind @ ("packet" | "scalar") => {
                    format!("{from}.{kind}s-{}.{}", journey.peer, journey.target)
                }
                _ => format!("{from}.{}-{}.{}", journey.source, journey.peer, journey.target),
            };
            all.push(Played { name, calls: Vec::new(), spans: Vec::new() });
        }
        let at = Duration::from_nanos(journey.began - start).div_f64(speed);
        let length = |bytes: u32| (bytes as usize).min(MAX_BYTES);
        let request = length(journey.bytes).max(ORDER_BYTES);
        if let Some(played) = all.get_mut(place) {
            played.calls.push(Recorded { at, request, response: length(response) });
            played.spans.push((journey.began, end.max(journey.began + 1)));
        }
    }
    all
}

fn flow(played: Played, costs: &Costs, duration: Duration) -> Flow {
    let depth = played.depth();
    let Played { name, mut calls, .. } = played;
    calls.sort_by_key(|call| call.at);
    let middle = |of: fn(&Recorded) -> usize| {
        let mut all: Vec<usize> = calls.iter().map(of).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    let (request, response) = (middle(|call| call.request), middle(|call| call.response));
    let [first, last] =
        [calls.first(), calls.last()].map(|call| call.map_or(Duration::ZERO, |c| c.at));
    let gaps = u32::try_from(calls.len() - 1).unwrap_or(u32::MAX);
    // Of a single call, or of several at one moment, as if it were a rare one.
    let period = last.saturating_sub(first).checked_div(gaps).filter(|period| !period.is_zero());
    let period = Some(period.unwrap_or(duration).min(RARE));
    Flow {
        name,
        work: Work::Busy(Duration::ZERO),
        cost: costs.clone(),
        request,
        response,
        deadline: None,
        output: None,
        parts: 1,
        r#static: None,
        presence: Presence::Always,
        seed: 0,
        dsp: None,
        source: Source::Own {
            input: None,
            period,
            jitter: Duration::ZERO,
            burst: 1,
            count: Some(calls.len() as u64),
            depth,
            recorded: Some(calls.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_trace::{Message, Row, Writer};

    /// A recording of calls of these lengths from `a` to `b`, one each millisecond, and of
    /// messages.
    fn recording(calls: &[(u32, u32)]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = Writer::new(file.reopen().unwrap());
        let (a, b) = (Row(1), Row(2));
        writer.thread(a, 9, 1, 1, "a").unwrap();
        writer.thread(b, 9, 1, 2, "b").unwrap();
        for (n, &(request, response)) in (1_u32..).zip(calls) {
            let at = u64::from(n) * 1_000_000;
            let message = |id, began, kind: &str, peer: &str, bytes, ends: (u32, u32)| Message {
                id,
                began,
                number: n,
                bytes,
                kind: kind.into(),
                peer: peer.into(),
                source: ends.0,
                target: ends.1,
                tag: n as u16,
                ..Message::default()
            };
            let id = u64::from(n) * 4;
            writer.sent(a, at, &message(id, at, "request", "b", request, (3, 7))).unwrap();
            let back = at + 1000;
            writer
                .sent(b, back, &message(id + 1, back, "response", "a", response, (7, 3)))
                .unwrap();
            writer.sent(a, back, &message(id + 2, back, "message", "b", 5, (1, 2))).unwrap();
        }
        file
    }

    #[test]
    fn each_call_is_played_when_it_was_sent_with_its_lengths() {
        let file = recording(&[(100, 10), (200, 20), (1, 0)]);
        let playing = Playing { speed: 2.0, cost: None };
        let workload = read(file.path(), playing).unwrap();
        let [calls, messages] = &workload.flows[..] else { panic!("{:?}", workload.flows) };
        assert_eq!((calls.name.as_str(), messages.name.as_str()), ("a.3-b.7", "a.1-b.2"));
        let half = Duration::from_micros(500);
        let call = |at: u32, request, response| Recorded { at: half * at, request, response };
        assert_eq!(calls.recorded(), [call(0, 100, 10), call(1, 200, 20), call(2, 16, 0)]);
        let at: Vec<_> = messages.recorded().iter().map(|call| call.at.as_nanos()).collect();
        assert_eq!(at, [500, 500_500, 1_000_500]);
        assert!(messages.recorded().iter().all(|call| (call.request, call.response) == (16, 0)));
        assert_eq!(workload.longest(0), [200, 20]);
        let Source::Own { period, count, .. } = &calls.source else { panic!() };
        assert_eq!((*period, *count), (Some(half), Some(3)));
    }

    #[test]
    fn what_has_nothing_to_play_is_refused_in_a_sentence() {
        let refused = |path: &Path| read(path, Playing { speed: 1.0, cost: None }).unwrap_err();
        let empty = recording(&[]);
        assert!(refused(empty.path()).to_string().contains("neither calls nor messages"));
        assert!(refused(Path::new("/nonexistent")).to_string().contains("cannot read"));
        let text = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(text.path(), "[[flow]]").unwrap();
        assert!(refused(text.path()).to_string().contains("begins no packet"));
    }
}
