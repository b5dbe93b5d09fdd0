//! `narrows calibrate`: a platform file of this machine, and how near simulating on it comes.
//!
//! `sample` takes turns measuring `parts` and the round trips that are compared; the constants
//! follow from the parts alone, `file` writes them down, and `check` simulates the round trips on
//! what was written. With `--function` it measures a `function` instead.

mod check;
mod file;
pub mod flags;
mod function;
mod parts;
mod sample;

use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine, Root};
use crate::base::options::Global;
use crate::base::output;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::table::wrap;
use crate::formats::platform;
use crate::rig::pair::Pair;
use flags::Calibrate;
use parts::Parts;
use sample::Samples;
use std::path::Path;

/// Measures this machine, writes its platform file and compares.
///
/// # Errors
/// The other process is gone, the file cannot be written, or what was written is no platform.
pub fn run(global: &Global, args: &Calibrate) -> Result<(), Failure> {
    if let Some(name) = &args.function {
        return function::run(global, args, name);
    }
    let out =
        args.out.as_deref().ok_or_else(|| Failure::new(Kind::Usage, "--out names no file"))?;
    let directory = out.parent().filter(|directory| !directory.as_os_str().is_empty());
    output::probe_directory(directory.unwrap_or(Path::new(".")))?;
    let longest = sample::LONG.max(check::LONGEST);
    let mut pair = Pair::start(global, false, longest, None)?;
    pair.warn();
    let mut samples = Samples::new(parts::items().into_iter().chain(check::items()));
    let progress = Progress::new(u64::from(args.rounds), global.json);
    for round in 0..args.rounds {
        progress.say(&format!("round {} of {}", round + 1, args.rounds));
        samples.round(&mut pair)?;
        progress.reach(u64::from(round) + 1);
    }
    drop(pair);
    let (kept, left_out) = samples.settle();
    let parts = Parts::of(&samples).ok_or_else(|| defect("a part was not measured"))?;
    let layout = file::layout().ok_or_else(|| defect("the standard layout is impossible"))?;
    let machine = Machine::look(&Root::default());
    let text = file::text(&parts, &parts.constants(), &machine, &layout);
    output::write_file(out, text.as_bytes())?;
    progress.say("simulating");
    let chip = platform::read(out)?.parse()?;
    let rows = check::compare(&samples, &chip)?;
    drop(progress);

    let off = rows.iter().filter(|row| !row.holds).count();
    let worst = rows.iter().map(|row| row.deviation_percent.abs()).fold(0.0, f64::max);
    let within = format!(
        "{} of {} round trips are simulated within {} % of what was measured, the worst within \
         {worst:.0} %.",
        rows.len() - off,
        rows.len(),
        check::MOST
    );
    let batches = format!(
        "{kept} batches count; {left_out} do not, beside which a line took a time unlike mostly."
    );
    if global.json {
        let mut report = Report::new("calibrate", machine, rows);
        report.notes = vec![within, batches];
        return report.print();
    }
    let name = out.display();
    let mut words = wrap("", &format!("{name} is written. {within}"));
    words += "\ncalls, in ns\n";
    words += &check::text(&rows);
    words.push('\n');
    words += &wrap("", &batches);
    words += &wrap("", &format!("On {}.", machine.line()));
    output::print(words.as_bytes())
}

fn defect(what: &str) -> Failure {
    Failure::new(Kind::Internal, format!("{what}: report this defect"))
}
