//! What every room stands on: how the command fails, reads, prints and reports.
//!
//! Whatever goes wrong becomes a [`failure::Failure`]: one sentence and one exit code. [`options`]
//! are those of every command. [`statistics`] and [`report`] turn measurements into rows, [`table`]
//! and [`output`] put them on a screen or in a file; a [`machine`] is what a report was made on.

pub mod failure;
pub mod input;
pub mod machine;
pub mod options;
pub mod output;
pub mod progress;
pub mod report;
pub mod statistics;
pub mod table;
