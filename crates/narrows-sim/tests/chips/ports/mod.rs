//! Carriers over ports: the suite of all media of frames, unchanged, and traffic of which nothing
//! may be lost, whatever the interrupts do.

mod suite;
mod traffic;
