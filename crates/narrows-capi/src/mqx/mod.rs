//! Messages in MQX's terms, as C has them: pointers to a header and what follows it. What calls do
//! is in `docs/MQX.md`; processors, pools, queues and links are `narrows_host::mqx`.
//!
//! A message is C's to write to from when it is allocated or received until it is sent or freed.
//! Which those are is known here, by where they are, so that nothing is ever done with any other.

mod code;
mod component;
pub mod ffi;
mod place;
mod settings;
mod task;
