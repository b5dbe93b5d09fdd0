//! What the endpoint promises, two ends in one thread: here over regions on the heap, and the same
//! files over a simulated chip in `crates/narrows-sim/tests/chips/endpoint`. What that cannot do is
//! in `lies.rs` and `wire.rs` of `stack`.
#![cfg(not(loom))]

mod answers;
mod calls;
#[path = "../common/mod.rs"]
mod common;
mod death;
mod growth;
mod links;
mod loans;
mod messages;
mod news;
mod outstanding;
mod quick;
mod room;
mod several;
mod switching;
mod timers;
mod urgent;
mod walk;
