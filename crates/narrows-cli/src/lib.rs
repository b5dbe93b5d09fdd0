//! What the command `narrows` is made of.
//!
//! The way through it: [`flags`] says what can be asked, [`workload`] reads the traffic to
//! carry, [`mod@run`] carries it, with the other core's process at the far end: [`peer`] starts it,
//! [`callee`] is what it does, [`service`] what it can be asked about itself, [`functions`] its
//! work, [`place`] what both sides run on: this machine, or a simulated chip ([`sim`], which
//! [`platform`] reads, checks and draws; [`calibrate`] writes one of this machine, [`sweep`] goes
//! through a grid of them, [`papers`] puts published figures beside what they give, [`mcapi`] runs
//! programs in C on one). [`statistics`]
//! and [`report`] turn measurements into rows, [`table`] and [`output`] put them on a screen or in a
//! file. [`mod@bench`] measures the stack beside what the machine allows, [`doctor`] looks at the
//! machine itself. Whatever goes wrong becomes a [`failure::Failure`]: one sentence and one exit code.
#![deny(unsafe_code)]

pub mod bench;
pub mod calibrate;
pub mod callee;
pub mod doctor;
pub mod failure;
pub mod flags;
pub mod functions;
pub mod input;
pub mod linx;
pub mod machine;
pub mod manual;
pub mod mcapi;
pub mod options;
pub mod output;
pub mod papers;
pub mod peer;
pub mod phases;
pub mod place;
pub mod platform;
pub mod progress;
pub mod report;
pub mod run;
pub mod service;
pub mod sim;
pub mod statistics;
pub mod strategy;
pub mod sweep;
pub mod table;
pub mod tune;
pub mod values;
pub mod wav;
pub mod workload;
