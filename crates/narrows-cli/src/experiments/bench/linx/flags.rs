//! What `bench t0` to `t6` can be asked for.

use crate::base::number::{number, size};
use crate::experiments::bench::args::{Fixed, Sizes};
use crate::formats::linx::{Counter, DriverName, Stack};
use clap::Args;

/// What all of them take.
#[derive(Clone, Debug, Args)]
pub struct Linx {
    /// The driver; if none is named all five on a chip, and on this machine the one that its nodes
    /// have
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,…")]
    pub driver: Vec<DriverName>,
    /// Where the layers run; both if none is named
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,…")]
    pub stack: Vec<Stack>,
    /// Buffers between cores are cached
    #[arg(long)]
    pub cached: bool,
    /// Bytes of the driver's longest frame; flat, a chip's has to hold a whole signal
    #[arg(long, value_name = "N", value_parser = size::<usize>(0..=u32::MAX.into()))]
    pub mtu: Option<usize>,
    /// What the receiver does against bursts; flat on a chip, window alone
    #[arg(long, value_enum, value_name = "NAME")]
    pub counter: Option<Counter>,
    /// How long signals are.
    #[command(flatten)]
    pub sizes: Sizes,
    /// How often, and where.
    #[command(flatten)]
    pub fixed: Fixed,
    /// As [`Burst::handler_stopped`].
    #[arg(skip)]
    pub handler_stopped: bool,
    /// As [`Nodes::nodes`].
    #[arg(skip)]
    pub nodes: Option<usize>,
}

/// What `t2` takes.
#[derive(Clone, Debug, Args)]
pub struct Burst {
    /// What all take.
    #[command(flatten)]
    pub linx: Linx,
    /// Layered, the link handler is stopped until all signals were sent
    #[arg(long)]
    pub handler_stopped: bool,
}

impl Burst {
    /// All of it.
    pub fn linx(&self) -> Linx {
        Linx { handler_stopped: self.handler_stopped, ..self.linx.clone() }
    }
}

/// What `t4` to `t6` take.
#[derive(Clone, Debug, Args)]
pub struct Nodes {
    /// What all take.
    #[command(flatten)]
    pub linx: Linx,
    /// On this machine, how many nodes there are, 2 to 32; 4 if nothing is said
    #[arg(long, value_name = "N", value_parser = number::<usize>(0..=u32::MAX.into()))]
    pub nodes: Option<usize>,
}

impl Nodes {
    /// All of it.
    pub fn linx(&self) -> Linx {
        Linx { nodes: self.nodes, ..self.linx.clone() }
    }
}
