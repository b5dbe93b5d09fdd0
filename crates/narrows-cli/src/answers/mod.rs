//! What conclusions are drawn: [`mod@advise`] tries strategies and says which to choose, [`tune`]
//! chooses them by the model alone, [`compare`] says what changed between two runs, [`doctor`] what
//! spoils a measurement, [`why`] what the messages of a trace waited for, [`ps`] which nodes run
//! and what they do.

pub mod advise;
pub mod compare;
pub mod doctor;
pub mod ps;
pub mod tune;
pub mod why;
