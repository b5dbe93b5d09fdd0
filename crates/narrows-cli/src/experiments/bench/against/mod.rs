//! `bench tune --against`: the model's figures beside measured ones.

mod cases;
pub mod flags;
mod host;
mod simulated;
mod text;

use crate::base::failure::Failure;
use crate::base::options::Global;
use crate::experiments::bench::flags::Bench;
use flags::Beside;

/// Puts the model beside what was asked for.
///
/// # Errors
/// What cannot be measured; or a bound of the model's that was exceeded.
pub(super) fn run(global: &Global, args: &Bench, beside: Beside) -> Result<(), Failure> {
    match beside {
        Beside::Simulator => simulated::run(global, args),
        Beside::Host => host::run(global, args),
    }
}
