//! Real calls between two telephones whose codec runs on another core: `narrows voip`.
//!
//! A house has all that a call needs: a `registrar`, two `phone`s for each call, the `dsp` and
//! the capture of the `wire`, each a process of others.
//! [`mod@plan`] says which configurations are tried, `call` makes the calls of one, [`mod@row`]
//! says what came of them out of the stamps of the plugin (`statistics`), the processor time and
//! the recordings (`sound`). The plugin and the DSP are in `apps/linphone-dsp`.

mod call;
mod dsp;
pub mod flags;
mod phone;
pub mod plan;
mod registrar;
pub mod row;
mod sound;
mod statistics;
mod text;
mod wire;

use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine, Root};
use crate::base::options::Global;
use crate::base::output;
use crate::base::page::{Page, PageOut};
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::signals::catch_signals;
use crate::experiments::house::{self, House};
use crate::formats::wav;
use flags::Voip;
use row::Row;
use std::path::{Path, PathBuf};

/// What comes with the command.
const SPEECH: &str = "workloads/speech.wav";
/// Programs of others, and the package of Debian that has each.
const PROGRAMS: [(&str, &str); 5] = [
    ("linphonec", "linphone-cli"),
    ("kamailio", "kamailio"),
    ("tshark", "tshark"),
    ("dumpcap", "wireshark-common"),
    ("setpriv", "util-linux"),
];
/// What `make -C apps/linphone-dsp` builds.
const BUILT: [&str; 3] = ["dsp", "elsewhere.so", "plugins/libmsnarrows.so"];

/// `narrows voip`.
///
/// # Errors
/// [`Kind::Input`] if something is missing, [`Kind::Name`] if the port is taken, [`Kind::Peer`] if
/// a process leaves, [`Kind::Deadline`], [`Kind::Output`], [`Kind::Stopped`].
pub fn run(global: &Global, args: &Voip) -> Result<(), Failure> {
    let page = PageOut::new(&args.page)?;
    if let Some(keep) = &args.keep {
        output::make_directory(keep)?;
        output::probe_directory(keep)?;
    }
    let speech = wav::read(args.play.as_deref().unwrap_or(Path::new(SPEECH)))?;
    if let Some(port) = args.port {
        registrar::is_free(port)?;
    }
    equipped(&args.plugin)?;
    let plugin = absolute(&args.plugin)?;
    let stop = catch_signals()?;
    let machine = Machine::look(&Root::default());
    let configurations = plan::configurations(args);
    let progress = Progress::new(configurations.len() as u64, global.json);
    let known = plan::known(&configurations)?;
    let mut report = Report::new("voip", machine, Vec::new());
    let mut left = None;
    for configuration in &configurations {
        progress.say(&configuration.name);
        let house = House::new("calls", &stop, global.priority)?;
        let measured = call::make(&house, args, &plugin, global.cores, configuration, &speech);
        if let Some(keep) = &args.keep {
            house.keep(&keep.join(configuration.name.replace('/', ",")))?;
        }
        for measured in measured? {
            report.results.push(Row::new(configuration, args.calls, &measured, &known));
            let said = |note: &String| format!("{}: {note}", configuration.name);
            report.notes.extend(measured.notes.iter().map(said));
            left = left.or(measured.talked.left);
        }
        progress.step();
    }
    drop(progress);
    report.notes.extend(explained(&report.results));
    if global.json {
        report.print()?;
    } else {
        output::print(text::text(&report.results, &report.notes).as_bytes())?;
    }
    page.write(|| Page::of(&report))?;
    match left {
        Some(how) => {
            let text = format!("{how}: the calls went on with the telephones' own codec");
            Err(Failure::new(Kind::Peer, text))
        }
        None => Ok(()),
    }
}

/// Whether all programs and the plugin are there.
fn equipped(plugin: &Path) -> Result<(), Failure> {
    house::installed("calls", &PROGRAMS, "ci/setup telephone")?;
    let how = "build it with ci/setup telephone and make -C apps/linphone-dsp, or say with \
               --plugin where it is";
    house::built(plugin, &BUILT, how)
}

/// Telephones have directories of their own.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| {
        let text = format!("cannot find {}: {error}: name another", path.display());
        Failure::new(Kind::Input, text)
    })
}

/// What to know when reading the figures.
fn explained(rows: &[Row]) -> Vec<String> {
    let mut notes = vec![
        "The load is that of a telephone, all its threads; its sound, SIP and screen are in it. An \
         answer is stamped in the telephone's coding thread; its frame is handed on at the next \
         tick of 10 ms, which is in the delay."
            .to_owned(),
    ];
    if rows.iter().any(|row| row.work_us > 0.0) {
        notes.push(
            "The DSP sleeps for the time that a call is to take, and codes for the caller alone. \
             timer=TIME looks every TIME whether or not a call is under way, poll=TIME from the \
             first call under way on."
                .to_owned(),
        );
    }
    notes
}
