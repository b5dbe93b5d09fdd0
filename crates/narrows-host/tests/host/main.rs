//! Nodes of one machine, in threads and in processes.
//! `cargo test -p narrows-host --test host linx::` runs one theme.
//!
//! Tests that count what the process has, or measure it, are in `alone`. Programs of their own are
//! those with an allocator (`no_allocation`), with memory that is locked (`locked`), that fork
//! (`fork`), and that have system calls fail (`faults`).

mod area;
#[cfg(feature = "bridge")]
mod bridge;
mod churn;
#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod death;
mod door;
mod foreign_set;
mod full;
mod links;
mod linx;
mod linx_layered;
mod linx_names;
mod loopback;
mod mqx;
mod names;
mod observe;
mod peer;
mod readme;
mod secrecy;
mod tap;
mod wire;
