//! Chooses how each flow travels: which memory, which way, how its ends are told.
//!
//! [`model`] says what a flow costs by a strategy, of the calling core's time, of internal memory
//! and in latency. [`optimise`](mod@optimise) picks a strategy for each of many flows, the cheapest
//! that memory, deadlines and cores allow. [`control`] does so again and again while flows come and
//! go, and says which are to switch. None allocates, blocks or computes with floating point once
//! the parameters are [converted](model::Parameters::costs), so a board can choose anew while flows
//! come and go.
//!
//! ```
//! use core::time::Duration;
//! use narrows_tune::model::{Access, Flow, Parameters, Pool, Side, estimate};
//!
//! // A core that takes 0.5 ms for a request, 76 µs for an interrupt and 0.12 µs to copy a byte.
//! let copy = Pool::even(Access { write: 0.12e-6, read: 0.12e-6, block: 0.0 });
//! let caller = Side { request: 0.5e-3, interrupt: 76e-6, external: copy, ..Side::default() };
//! let costs = Parameters { caller, ..Parameters::default() }.costs()?;
//! let flow = Flow {
//!     period: Some(Duration::from_millis(20)),
//!     request: 320,
//!     response: 160,
//!     burst: 1,
//!     depth: 1,
//!     ..Flow::default()
//! };
//! let strategy = "copy_lazy/interrupt/external".parse().expect("a strategy");
//! let made = estimate(&costs, &flow, &strategy)?;
//! // (500 + 76 + 480 · 0.12) µs in 20 ms are 3.168 % of the core.
//! assert_eq!(made.load, 31_680);
//! # Ok::<(), narrows_tune::model::ModelError>(())
//! ```
#![cfg_attr(not(any(test, feature = "solver")), no_std)]
#![deny(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod control;
pub mod model;
pub mod optimise;
#[cfg(feature = "alloc")]
pub mod rooms;
#[cfg(feature = "solver")]
pub mod solver;
