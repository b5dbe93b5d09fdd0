//! What every room stands on: how the command fails, reads, prints and reports.
//!
//! Whatever goes wrong becomes a [`failure::Failure`]: one sentence and one exit code.
//! [`options`] are those of every command, [`signals`] the wish to end it, [`number`] reads
//! their numbers, [`offered`] says what shells complete them by, and [`shipped`] are the files
//! that come with the program. [`statistics`] and [`report`] turn measurements into rows,
//! [`table`] and [`output`] put them on a screen or in a file, and [`page`] has words and
//! charts of them; a [`machine`] is what a report was made on, [`checks`] say what there spoils
//! a measurement, and [`noise`] whether two measurements differ by more than noise. [`trace`] has
//! the file that simulations are traced to, and [`usage`] what a simulated chip's parts did.

pub mod checks;
#[cfg(test)]
#[path = "../../tests/common/documented.rs"]
pub mod documented;
pub mod failure;
pub mod input;
pub mod latencies;
pub mod machine;
pub mod noise;
pub mod number;
pub mod offered;
pub mod options;
pub mod output;
pub mod page;
pub mod progress;
pub mod report;
pub mod shipped;
pub mod signals;
pub mod statistics;
pub mod table;
pub mod threads;
pub mod trace;
pub mod usage;
