//! `libnarrows`: interfaces of the field as a C library over the stack.
//!
//! [`mcapi`] is the Multicore Communications API. What its calls do is in `docs/MCAPI.md`, their
//! declarations are in `include/mcapi.h`. [`linx`] is the interface of LINX: `docs/LINX.md` and
//! `include/linx.h`. [`mqx`] is MQX's message component: `docs/MQX.md` and `include/mqx_message.h`.
//! [`native`] is Narrows' own interface for C: `docs/C.md` and `include/narrows.h`. That for Rust
//! is the crate `narrows_host`; nothing here is meant to be called from Rust but by tests.
#![deny(unsafe_code)]

pub mod linx;
pub mod mcapi;
pub mod mqx;
pub mod native;
mod per_process;
