//! `libnarrows`: interfaces of the field as a C library over the stack.
//!
//! [`mcapi`] is the Multicore Communications API. What its calls do is in `docs/MCAPI.md`, their
//! declarations are in `include/mcapi.h`. [`linx`] is the interface of LINX: `docs/LINX.md` and
//! `include/linx.h`. [`mqx`] is MQX's message component: `docs/MQX.md` and `include/mqx_message.h`.
//! The native interface of Narrows is the Rust one; nothing here is meant to be called from Rust
//! but by tests.
#![deny(unsafe_code)]

pub mod linx;
pub mod mcapi;
pub mod mqx;
mod per_process;
