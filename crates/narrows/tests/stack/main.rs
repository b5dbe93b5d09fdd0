//! The stack: two ends or several nodes in one thread, on memory of the heap and made-up time.
//! `cargo test -p narrows --test stack channels::` runs one theme.
//!
//! Programs of their own are `endpoint`, whose files `framed`, the simulator and `streamed` of the
//! host run too, `narrow`, whose slots are smaller, `threads`, and the models of `loom`.
#![cfg(not(loom))]

mod area;
mod bare;
mod carry;
mod channels;
#[path = "../common/mod.rs"]
mod common;
mod connection;
mod crowd;
mod handler;
mod hostile;
mod hunts;
mod library;
mod lies;
mod mqx;
mod outlets;
mod promises;
mod replica;
mod station;
mod unit;
mod wire;
mod wire_control;
