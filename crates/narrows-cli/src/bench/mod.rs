//! Measuring the stack beside what the machine itself allows.
//!
//! Two processes, each pinned to its core, do everything: a *round* is a batch of the
//! [limit](limit) and a batch of each thing measured, in turns, so that what disturbs one
//! disturbs the other. A row is the median of all rounds, and its ratio the median of the rounds'
//! own ratios.

pub mod choice;
pub mod limit;
pub mod series;
