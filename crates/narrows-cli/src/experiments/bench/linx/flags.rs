//! What `bench t0` to `t6` can be asked for.

use crate::formats::linx::{Counter, DriverName, Stack};
use clap::Args;

/// What is for `t0` to `t6` alone.
#[derive(Clone, Debug, Default, Args)]
pub struct Linx {
    /// Of t0 to t6: the driver; if none is named all five on a chip, and on this machine the one that
    /// its nodes have
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,…")]
    pub driver: Vec<DriverName>,
    /// Of t0 to t6: where the layers run; both if none is named
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,…")]
    pub stack: Vec<Stack>,
    /// Of t0 to t6: buffers between cores are cached
    #[arg(long)]
    pub cached: bool,
    /// Of t0 to t6: bytes of the driver's longest frame; flat, a chip's has to hold a whole signal
    #[arg(long, value_name = "N")]
    pub mtu: Option<usize>,
    /// Of t2, layered: the link handler is stopped until all signals were sent
    #[arg(long)]
    pub handler_stopped: bool,
    /// Of t4 to t6 on this machine: how many nodes there are, 2 to 32; 4 if nothing is said
    #[arg(long, value_name = "N")]
    pub nodes: Option<usize>,
    /// Of t0 to t6: what the receiver does against bursts; flat on a chip, window alone
    #[arg(long, value_enum, value_name = "NAME")]
    pub counter: Option<Counter>,
}
