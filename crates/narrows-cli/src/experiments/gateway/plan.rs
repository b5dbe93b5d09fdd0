//! Which sessions there are, and when: what the workload file says, with as many sessions as were
//! asked for. The same file is simulated, so both draw the same times.

use crate::base::failure::{Failure, Kind as Failed};
use crate::formats::workload::{self, Schedule, Workload};
use std::path::Path;
use std::time::Duration;
use toml_edit::{DocumentMut, Item, Table, value};

/// What a session carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// G.711: µ-law in, A-law out.
    Audio,
    /// H.263, SQCIF: decoded, and encoded again.
    Video,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Audio, Kind::Video];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Audio => "audio",
            Kind::Video => "video",
        }
    }

    /// The DSP's function.
    pub fn function(self) -> &'static str {
        match self {
            Kind::Audio => "g711.transcode",
            Kind::Video => "h263.transcode",
        }
    }

    /// The time from one frame to the next, at the clients.
    pub fn period(self) -> Duration {
        Duration::from_millis(match self {
            Kind::Audio => 20,
            Kind::Video => 100,
        })
    }

    /// Bytes of a call of the DSP: 20 ms of G.711, or the mean of 64 kbit/s at 10 frames a second,
    /// with what says whose frame it is, and how long the work took.
    fn bytes(self) -> [(&'static str, i64); 2] {
        let frame = match self {
            Kind::Audio => 160,
            Kind::Video => 800,
        };
        [("request", 12 + frame), ("response", 4 + frame)]
    }

    /// Of a flow of the workload, with or without the number of its session.
    pub fn of(flow: &str) -> Option<Kind> {
        let named = |kind: &Kind| {
            let rest = flow.strip_prefix(kind.name());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        Kind::ALL.into_iter().find(named)
    }
}

/// How many sessions of each kind there may be.
pub(super) type Counts = [u16; 2];

/// What a workload file is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    /// Sessions of each kind; the file's own without.
    pub sessions: [Option<u16>; 2],
    pub duration: Duration,
    /// How long the DSP takes for a frame of each kind; the file's own without.
    pub work: [Option<Duration>; 2],
    /// Whether all are there all the time.
    pub always: bool,
}

/// The workload of a file, as asked for.
///
/// # Errors
/// [`Failed::Workload`] for a file that is none, or has flows of other kinds.
pub(super) fn workload(path: &Path, text: &str, asked: &Asked) -> Result<Workload, Failure> {
    // Whatever is wrong with it is said with its place.
    workload::parse(path, text)?;
    let wrong = |what: &dyn std::fmt::Display| {
        let text = format!("{} is no workload of a gateway: {what}", path.display());
        Failure::new(Failed::Workload, text)
    };
    let mut file: DocumentMut = text.parse().map_err(|error| wrong(&error))?;
    file["duration"] = value(format!("{}us", asked.duration.as_micros()));
    let Some(flows) = file.get_mut("flow").and_then(Item::as_array_of_tables_mut) else {
        return Err(wrong(&"it has no flow"));
    };
    let mut there = Vec::new();
    for flow in flows.iter_mut() {
        let name = flow.get("name").and_then(Item::as_str).unwrap_or_default();
        let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        let Some(kind) = found else {
            return Err(wrong(&format!("flow {name} is neither audio nor video")));
        };
        change(flow, kind, asked);
        there.push(kind);
    }
    for kind in Kind::ALL {
        if asked.sessions[kind as usize].is_some_and(|count| count > 0) && !there.contains(&kind) {
            return Err(wrong(&format!("it has no flow {}", kind.name())));
        }
    }
    flows.retain(|flow| flow.get("sessions").and_then(Item::as_integer) != Some(0));
    if flows.is_empty() {
        let text = "no session is asked for: give --audio or --video a number above 0";
        return Err(Failure::new(Failed::Usage, text));
    }
    let workload = workload::parse(path, &file.to_string())?;
    match workload.flows.iter().find(|flow| flow.period().is_none() || flow.r#static.is_none()) {
        Some(flow) => Err(wrong(&format!("flow {} has no period, or no static", flow.name))),
        None => Ok(workload),
    }
}

fn change(flow: &mut Table, kind: Kind, asked: &Asked) {
    match asked.sessions[kind as usize] {
        Some(count) => flow["sessions"] = value(i64::from(count)),
        None if flow.get("sessions").is_none() => flow["sessions"] = value(1),
        None => {}
    }
    // What the DSP here does is no function of the simulator's, which is told how long it takes.
    flow["function"] = value("busy");
    for (key, bytes) in kind.bytes() {
        flow[key] = value(bytes);
    }
    if let Some(work) = asked.work[kind as usize] {
        // A function that takes no time has none that could be written down.
        flow["busy"] = value(format!("{}ns", work.as_nanos().max(1)));
    } else if flow.get("busy").is_none() {
        flow["busy"] = value("1us");
    }
    if asked.always {
        for when in ["on", "off", "arrives", "leaves"] {
            flow.remove(when);
        }
    }
}

/// A session: when it comes, and how many frames it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stay {
    /// What the gateway calls it.
    pub call: String,
    pub kind: Kind,
    pub from: Duration,
    pub frames: u64,
}

/// The shortest session in frames: what is over before its receiver has begun tells nothing.
const FEWEST: u64 = 5;

/// The sessions of a workload that come and go.
pub(super) fn stays(workload: &Workload) -> Vec<Stay> {
    let mut all = Vec::new();
    for flow in &workload.flows {
        let (Some(kind), Some(period)) = (Kind::of(&flow.name), flow.period()) else { continue };
        let mut schedule = Schedule::new(flow);
        for number in 1.. {
            let Some(from) = schedule.next().filter(|from| *from < workload.duration) else {
                break;
            };
            schedule.turn();
            let to = schedule.next().map_or(workload.duration, |to| to.min(workload.duration));
            schedule.turn();
            let frames = ((to - from).as_micros() / period.as_micros().max(1)) as u64;
            let call = format!("{}.{number}", flow.name);
            all.push(Stay { call, kind, from, frames: frames.max(FEWEST) });
        }
    }
    all.sort_by_key(|stay| stay.from);
    all
}

/// The kinds of sessions in the order in which they are added: in turns, until there are enough of
/// each.
pub(super) fn added(counts: Counts) -> Vec<Kind> {
    let rounds = 0..counts.into_iter().max().unwrap_or(0);
    let both = rounds.flat_map(|round| Kind::ALL.map(|kind| (round, kind)));
    both.filter(|(round, kind)| *round < counts[*kind as usize]).map(|(_, kind)| kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = include_str!("../../../shipped/workloads/gateway.toml");

    fn made(sessions: [Option<u16>; 2], always: bool) -> Result<Workload, Failure> {
        let asked =
            Asked { sessions, duration: Duration::from_secs(60), always, ..Asked::default() };
        workload(Path::new("gateway.toml"), FILE, &asked)
    }

    #[test]
    fn sessions_come_and_go_as_the_simulator_has_them() {
        let workload = made([Some(2), Some(1)], false).expect("a workload");
        let names: Vec<&str> = workload.flows.iter().map(|flow| flow.name.as_str()).collect();
        assert_eq!(names, ["audio-1", "audio-2", "video-1"]);
        let stays = stays(&workload);
        assert!(stays.is_sorted_by_key(|stay| stay.from) && stays.len() > 6, "{stays:?}");
        for flow in &workload.flows {
            let call = format!("{}.1", flow.name);
            let stay = stays.iter().find(|stay| stay.call == call).expect("it comes");
            assert_eq!(Some(stay.from), Schedule::new(flow).next());
        }
        assert_eq!(stays, super::stays(&made([Some(2), Some(1)], false).expect("a workload")));
        // Mean times of 6 and 2 s: three quarters of a minute in the mean.
        let audio = stays.iter().filter(|stay| stay.kind == Kind::Audio).map(|stay| stay.frames);
        let share = audio.sum::<u64>() as f64 / 6000.0;
        assert!((0.4..1.0).contains(&share), "{share}");
    }

    #[test]
    fn a_file_says_how_many_unless_the_command_does() {
        assert_eq!(made([None, None], true).expect("a workload").flows.len(), 6);
        let video = made([Some(0), Some(2)], true).expect("a workload");
        assert!(video.flows.iter().all(|flow| flow.name.starts_with("video-")));
        assert_eq!(made([Some(0), Some(0)], true).expect_err("nothing").kind, Failed::Usage);
    }

    #[test]
    fn other_workloads_are_refused_in_a_sentence() {
        let flow =
            |name: &str, more: &str| format!("[[flow]]\nname='{name}'\nfunction='echo'\n{more}");
        for (text, part) in [
            (flow("other", "request=64\n"), "neither audio nor video"),
            (flow("audio", "request=64\n"), "no period"),
            ("duration = 7".to_owned(), ""),
            (flow("audio", "request=64\nperiod='20ms'\n"), "no flow video"),
        ] {
            let asked = Asked {
                sessions: [None, Some(1)],
                duration: Duration::from_secs(1),
                ..Asked::default()
            };
            let asked = match part {
                "no period" => Asked { sessions: [None, None], ..asked },
                _ => asked,
            };
            let failure = workload(Path::new("w.toml"), &text, &asked).expect_err(part);
            assert_eq!(failure.kind, Failed::Workload, "{failure}");
            assert!(failure.to_string().contains(part), "{failure}");
        }
    }

    #[test]
    fn sessions_are_added_in_turns() {
        let names = |counts| added(counts).into_iter().map(Kind::name).collect::<Vec<_>>();
        assert_eq!(names([2, 1]), ["audio", "video", "audio"]);
        assert_eq!(names([0, 2]), ["video", "video"]);
        assert!(names([0, 0]).is_empty());
    }
}
