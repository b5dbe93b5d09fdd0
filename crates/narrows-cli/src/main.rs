//! The command `narrows`.
fn main() {}
