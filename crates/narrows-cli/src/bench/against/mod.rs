//! `bench tune --against`: the model's figures beside measured ones.

mod cases;
pub mod flags;
mod host;
mod simulated;
mod text;

use crate::bench::flags::Bench;
use crate::failure::Failure;
use crate::options::Global;
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
