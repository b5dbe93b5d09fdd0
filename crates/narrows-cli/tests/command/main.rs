//! The command as a user starts it: what it says, and what it does on simulated chips.
//! `cargo test -p narrows-cli --test command tune::` runs one theme.
//!
//! What is carried or measured between processes of this machine is in `machine`, so that no
//! simulation takes the cores from it.

mod admitted;
mod advise;
mod choosing;
mod clusters;
mod command;
#[path = "../common/mod.rs"]
mod common;
mod cut;
mod full_disk;
mod functions;
mod keys;
mod mcapi;
mod on;
mod papers;
mod platform;
mod readme;
mod report;
mod sessions;
mod sra;
mod susan;
mod sweep;
mod traces;
mod tune;
mod usage;
mod view;
mod voip;
