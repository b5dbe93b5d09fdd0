//! Chooses how each flow travels.
#![cfg_attr(not(any(test, feature = "solver")), no_std)]
#![deny(unsafe_code)]

pub mod optimise;
