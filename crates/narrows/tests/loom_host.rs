//! The host's own accessors of shared memory under the model checker: its file, with the checker's
//! words, fences and copies in the place of the processor's. The models are those of
//! `loom_models.rs`.
#![cfg(loom)]

#[path = "loom_memory/ends.rs"]
mod ends;
#[path = "loom_memory/host.rs"]
mod memory;
#[path = "loom_memory/models.rs"]
mod models;
#[path = "loom_memory/word.rs"]
mod word;
#[path = "../../narrows-host/src/memory/words.rs"]
#[allow(dead_code, reason = "what only areas of LINX need")]
mod words;

use memory::{mapping, sync};
