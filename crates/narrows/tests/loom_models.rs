//! The protocol in shared memory under the model checker: every interleaving and every stale value
//! that its orderings allow.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p narrows --release --test 'loom*'`
#![cfg(loom)]

#[path = "loom_memory/ends.rs"]
mod ends;
#[path = "loom_memory/plain.rs"]
mod memory;
#[path = "loom_memory/models.rs"]
mod models;
#[path = "loom_memory/word.rs"]
mod word;
