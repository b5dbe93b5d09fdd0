//! Narrows on Linux.
