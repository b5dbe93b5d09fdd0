//! Real sessions through a media gateway whose codecs run on another core: `narrows gateway`.
//!
//! `plan` says which sessions there are and when. `processes` are the gateway and its DSP,
//! which `apps/gateway` builds; `control` asks the gateway for a `session`, whose two ends are
//! `client`s: programs of others. `carry` carries all sessions one way, `statistics` is what the
//! gateway and the DSP have counted of them, and `simulated` carries the same on a simulated chip.
//! [`mod@row`] puts both side by side.

mod carry;
mod client;
mod control;
pub mod flags;
mod plan;
mod processes;
pub mod row;
mod session;
mod simulated;
pub mod statistics;
mod text;

use crate::base::failure::{Failure, Kind as Failed};
use crate::base::machine::{Machine, Root};
use crate::base::options::Global;
use crate::base::output;
use crate::base::page::{Page, PageOut};
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::signals::catch_signals;
use crate::experiments::house::{self, House};
use crate::formats::{platform, wav, workload};
use carry::Measured;
use flags::{Gateway, Way};
use plan::{Asked, Kind};
use row::Row;
use simulated::Simulated;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What clients say.
const SPEECH: &str = "workloads/speech.wav";
/// Programs of others, and the package of Debian that has each.
const PROGRAMS: [(&str, &str); 4] = [
    ("gst-launch-1.0", "gstreamer1.0-tools"),
    ("gst-inspect-1.0", "gstreamer1.0-tools"),
    ("ffmpeg", "ffmpeg"),
    ("setpriv", "util-linux"),
];
/// Elements of GStreamer, likewise.
const ELEMENTS: [(&str, &str); 2] =
    [("udpsrc", "gstreamer1.0-plugins-good"), ("rtppcmupay", "gstreamer1.0-plugins-good")];
/// How sessions are carried where nothing is said.
const LENGTH: Duration = Duration::from_secs(10);
/// The time from one session to the next, and the most of a kind, where they are added.
const APART: Duration = Duration::from_secs(2);
const MOST: u16 = 16;

/// `narrows gateway`.
///
/// # Errors
/// [`Failed::Input`] if something is missing, [`Failed::Workload`], [`Failed::Peer`] if a process
/// leaves, [`Failed::Deadline`], [`Failed::Output`], [`Failed::Stopped`].
pub fn run(global: &Global, args: &Gateway) -> Result<(), Failure> {
    let page = PageOut::new(&args.page)?;
    if let Some(keep) = &args.keep {
        output::make_directory(keep)?;
        output::probe_directory(keep)?;
    }
    let text = workload::text(&args.workload)?;
    let sessions = match args.until_late {
        true => [args.audio, args.video].map(|count| Some(count.unwrap_or(MOST))),
        false => [args.audio, args.video],
    };
    let asked = Asked { sessions, duration: args.length.unwrap_or(LENGTH), ..Asked::default() };
    let workload = plan::workload(&args.workload, &text, &asked)?;
    let chip = platform::load(&args.on)?;
    let speech = wav::read(Path::new(SPEECH))?;
    let programs = equipped(&args.gateway)?;
    let stop = catch_signals()?;
    let machine = Machine::look(&Root::default());
    let adding = args.until_late.then(|| {
        let counts = sessions.map(|count| count.unwrap_or(MOST));
        (counts, args.length.unwrap_or(APART))
    });
    let ways: &[&str] = match args.strategy {
        Way::Static => &["static"],
        Way::Auto => &["auto"],
        Way::Both => &["static", "auto"],
    };
    let progress = Progress::new(ways.len() as u64 + 1, global.json);
    let mut report = Report::new("gateway", machine, Vec::new());
    let mut work = [None; 2];
    for way in ways {
        progress.say(way);
        let house = House::new("sessions", &stop, global.priority)?;
        let carried = carry::carry(
            &house,
            &carry::Way {
                name: way,
                args,
                programs: &programs,
                cores: global.cores,
                workload: &workload,
                memory: args.memory.or(workload.memory),
                speech: &speech,
                adding,
            },
        );
        if let Some(keep) = &args.keep {
            house.keep(&keep.join(way))?;
        }
        let carried = carried?;
        report.notes.extend(said(way, &carried));
        work = Kind::ALL.map(|kind| work[kind as usize].or_else(|| worked(&carried, kind)));
        report.results.push(Row::here(way, &carried));
        progress.step();
    }
    progress.say("simulating");
    let simulated = Simulated {
        chip: &chip,
        path: &args.workload,
        text: &text,
        asked: Asked { work, ..asked },
        memory: args.memory,
        stop: &stop,
    };
    report.results.extend(simulated.rows(ways, adding.map(|(counts, _)| counts))?);
    progress.step();
    drop(progress);
    report.notes.insert(0, found(&report.results));
    report.notes.extend(explained(args, &chip.name));
    if global.json {
        report.print()?;
    } else {
        output::print(text::text(&report.results, &report.notes).as_bytes())?;
    }
    page.write(|| Page::of(&report))
}

/// What was found, in a sentence.
fn found(rows: &[Row]) -> String {
    let one = |row: &Row| {
        let (source, way) = (&row.source, &row.strategy);
        let late = row.sum(|flow| flow.late);
        match row.sessions_carried {
            Some(count) => {
                let then = match row.ended_by {
                    Some("refused") => "one more was refused",
                    Some("enough") => "there were no more to add",
                    Some("dropped") => "a frame was dropped",
                    _ => "a frame was late",
                };
                format!("{source} with {way}: {count} sessions, then {then}")
            }
            None => format!(
                "{source} with {way}: load {:.2} %, {late} of {} frames late",
                row.load_percent,
                row.sum(|flow| flow.sent)
            ),
        }
    };
    format!("{}.", rows.iter().map(one).collect::<Vec<_>>().join("; "))
}

/// How long the DSP here took for a frame.
fn worked(measured: &Measured, kind: Kind) -> Option<Duration> {
    let work = measured.dsp.as_ref().and_then(|dsp| row::work(dsp, kind))?;
    Some(Duration::from_nanos((work * 1000.0) as u64))
}

/// Whether all programs are there: where the gateway's are.
fn equipped(programs: &Path) -> Result<std::path::PathBuf, Failure> {
    const SETUP: &str = "ci/setup gateway";
    house::installed("sessions", &PROGRAMS, SETUP)?;
    let has = |element: &str| {
        let mut command = Command::new("gst-inspect-1.0");
        command.args(["--exists", element]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let missing = ELEMENTS.iter().filter(|(element, _)| !has(element));
    house::absent("sessions", missing.map(|(_, package)| *package).collect(), SETUP)?;
    let how = "build it with cargo build --release --manifest-path apps/gateway/Cargo.toml, or say \
               with --gateway where it is";
    house::built(programs, &processes::PROGRAMS, how)?;
    programs.canonicalize().map_err(|error| {
        let text = format!("cannot find {}: {error}: name another", programs.display());
        Failure::new(Failed::Input, text)
    })
}

/// What is to be known of sessions that were carried here.
fn said(way: &str, measured: &Measured) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(why) = measured.refused.first() {
        notes.push(format!("{way}: {} refused, the first because {why}", measured.refused.len()));
    }
    let errors: u64 =
        measured.dsp.iter().flat_map(|dsp| &dsp.functions).map(|function| function.errors).sum();
    if errors > 0 {
        notes.push(format!("{way}: the DSP could not transcode {errors} frames: see dsp.log"));
    }
    notes
}

/// What to know when reading the figures.
fn explained(args: &Gateway, chip: &str) -> Vec<String> {
    vec![
        format!(
            "The load is that of the gateway's process, its RTP, jitter buffers and threads; on \
             {chip} it is that of the core that calls, which has no RTP to do. Work is what the DSP \
             took for a frame at {} % of this core's speed; {chip}'s DSP takes as long.",
            args.speed
        ),
        "Silent counts frames that nobody accounts for: sent, but neither lost, dropped nor heard."
            .to_owned(),
    ]
}
