//! The native interface for C: what `include/narrows.h` declares. What its calls do is there and in
//! `docs/C.md`; nodes, links and flows are `narrows_host`'s.
//!
//! A handle is a number that C has for a pointer. It says where something is in a table, and which
//! life of that place is meant. So whatever C hands in is looked up, and never looked through. A
//! node is behind a lock that nobody waits for: a call that finds it taken is an error.

mod code;
pub mod ffi;
mod handle;
mod memory;
mod node;
mod places;
mod served;
mod spans;
mod table;
mod topics;
