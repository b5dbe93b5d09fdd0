//! Carriers over ports: the suite of all media of frames, unchanged, and traffic of which nothing
//! may be lost, whatever the interrupts do.

#[path = "../common/dice.rs"]
#[allow(dead_code, reason = "not every test uses all of it")]
mod dice;
mod suite;
mod traffic;
