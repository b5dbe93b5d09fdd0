//! Connections: what turns a driver's messages into the link's.

pub mod direct;
