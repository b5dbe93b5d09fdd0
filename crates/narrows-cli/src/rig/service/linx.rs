//! What the caller has the other side do.

use crate::formats::linx::{Counter, DriverName, Stack};
use serde::{Deserialize, Serialize};

/// How the nodes of a trial are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct How {
    /// Bytes of the longest frame, if that is said.
    pub mtu: Option<usize>,
    /// What is done against bursts, if that is said.
    pub counter: Option<Counter>,
    /// One of the five drivers; none for the nodes of this host.
    pub driver: Option<DriverName>,
    /// Bytes of the longest signal that a driver is to carry.
    pub longest: usize,
}

/// What the other side is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Open an endpoint of each stack, for a caller of this process number.
    Open(u32, How),
    /// Receive this many signals of a test case, answer them, and report.
    Serve(Stack, u32),
    /// Send this many signals back.
    Echo(Stack, u32),
    /// Close the endpoints.
    Close,
}
