//! `bench tune --against`: the model's figures beside measured ones.

pub(super) mod cases;
pub mod flags;
mod host;
mod row;
pub(super) mod simulated;
mod text;

use crate::base::failure::{Failure, Kind};
use crate::experiments::bench::task::Asked;
use flags::{Against, Beside};

/// Whether every flag that was given means something, beside the simulator or not.
///
/// # Errors
/// [`Kind::Usage`] for one that does not.
pub(super) fn sensible(asked: &Asked<'_>, args: &Against) -> Result<(), Failure> {
    let simulator = args.of_chips();
    let flags = [
        ("--seed", args.seed.is_some(), simulator),
        ("--cases", args.cases.is_some(), simulator),
        ("--case", args.case.is_some(), simulator),
        ("--callees", args.callees, simulator),
        ("--on", asked.args.place.platform().is_some(), simulator),
        ("--rounds", asked.args.rounds.is_some(), !simulator),
    ];
    let Some((flag, ..)) = flags.iter().find(|(_, given, sense)| *given && !sense) else {
        return Ok(());
    };
    let text = match simulator {
        true => format!("{flag} says nothing to bench tune --against simulator: leave it out"),
        false => format!(
            "{flag} is for bench tune --against simulator, the rest is measured on this machine: \
             leave {flag} out"
        ),
    };
    Err(Failure::new(Kind::Usage, text))
}

/// Puts the model beside what was asked for.
///
/// # Errors
/// What cannot be measured; or a bound of the model's that was exceeded.
pub(super) fn run(asked: &Asked<'_>, args: &Against) -> Result<(), Failure> {
    match args.against {
        Some(Beside::Simulator) => simulated::run(asked, args),
        _ => host::run(asked),
    }
}
