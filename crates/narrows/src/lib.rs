//! Message passing between the cores of asymmetric chips: the stack, without an operating system
//! and without allocation.
#![no_std]

#[cfg(feature = "_conformance")]
pub mod conformance;
pub mod connection;
pub mod driver;
pub mod endpoint;
pub mod link;
pub mod memory;
pub mod notify;
pub mod platform;
pub mod span;
pub mod strategy;

#[cfg(test)]
extern crate std;
