//! LINX, as C has it: handles of endpoints, and the signals that each handle owns. What calls do is
//! in `docs/LINX.md`; endpoints and links are `narrows_host::linx`.
//!
//! A signal is C's to write to from when it is made or received until it is sent, consumed or
//! freed. Which those are is known here, by where they are, so that nothing is ever done with any
//! other.

pub mod ffi;
mod handle;
