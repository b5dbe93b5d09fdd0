//! Traces of simulations: what each core and process did, and when, in virtual time.
//!
//! All times are rounded down to nanoseconds, so that stretches which follow each other still add
//! up to the whole.

mod buses;
mod calls;
mod file;
mod messages;
mod ports;
mod states;
mod tracer;

pub use file::Trace;
pub use messages::Signal;
pub(crate) use states::Doing;
pub(crate) use tracer::{Shown, Tracer};
