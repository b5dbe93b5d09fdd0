//! Simulated chips: what runs when and what it takes, and the stack on them.
//! `cargo test -p narrows-sim --test chips faults::` runs one theme.

mod callees;
mod calls;
mod causes;
mod cluster_links;
mod clusters;
mod common;
mod conformance;
mod costs;
mod deadlock;
mod endpoint;
mod ends;
mod faults;
mod modes;
mod paths;
mod platforms;
mod ports;
mod rtos;
mod scheduling;
mod stamps;
mod stuck;
mod timers;
mod traces;
mod traffic;
mod upkeep;
mod usage;
