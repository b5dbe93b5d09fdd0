//! `narrows replay`: the traffic of a recording once more, on another chip or by other strategies.

pub mod flags;

use crate::base::failure::Failure;
use crate::base::options::Global;
use crate::base::trace::{traced, traced_here};
use crate::experiments::run;
use crate::formats::recording;
use flags::Replay;

/// Plays a recording and prints the report.
///
/// # Errors
/// [`Kind::Input`](crate::base::failure::Kind) if there is nothing to play, and what a run says.
pub fn run(global: &Global, args: &Replay) -> Result<(), Failure> {
    let workload = recording::read(&args.file, args.playing())?;
    let asked = args.run();
    if args.place.platform().is_none() {
        traced_here(&args.trace)?;
        return run::carry_out(global, &asked, &workload);
    }
    traced(global, &args.trace, |global| run::carry_out(global, &asked, &workload))
}
