//! What `bench t0` to `t6` can be asked for.

use crate::base::failure::{Failure, Kind};
use crate::base::number::{number, size};
use crate::experiments::bench::args::{Fixed, Sizes};
use crate::formats::linx::{Counter, DriverName, Stack};
use clap::Args;
use std::path::PathBuf;

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
    /// Bytes of the driver's longest frame, with --stack layered: longer signals are cut, but by
    /// single-copy
    #[arg(long, value_delimiter = ',', value_name = "N,…",
          value_parser = size::<usize>(0..=u32::MAX.into()))]
    pub mtu: Vec<usize>,
    /// What the receiver does against bursts; flat on a chip, window alone
    #[arg(long, value_enum, value_name = "NAME")]
    pub counter: Option<Counter>,
    /// How long signals are.
    #[command(flatten)]
    pub sizes: Sizes,
    /// How often, and where.
    #[command(flatten)]
    pub fixed: Fixed,
    /// Write a line for each signal
    #[arg(long, value_name = "FILE.csv")]
    pub out: Option<PathBuf>,
    /// As [`Burst::handler_stopped`].
    #[arg(skip)]
    pub handler_stopped: bool,
    /// As [`Nodes::nodes`].
    #[arg(skip)]
    pub nodes: Option<usize>,
}

impl Linx {
    /// The longest frames that a driver is tried with; none: one is chosen. Of what its receiver
    /// copies only headers are in frames.
    pub fn frames(&self, driver: Option<DriverName>) -> Vec<Option<usize>> {
        match self.mtu.is_empty() || driver == Some(DriverName::SingleCopy) {
            true => vec![None],
            false => self.mtu.iter().copied().map(Some).collect(),
        }
    }

    /// Refuses what does nothing, wherever the bench runs.
    ///
    /// # Errors
    /// What does nothing, and why.
    pub fn sensible(&self, stacks: &[Stack]) -> Result<(), Failure> {
        let flat = stacks.contains(&Stack::Flat);
        let single = |driver: &DriverName| *driver == DriverName::SingleCopy;
        let text = if self.handler_stopped && flat {
            "--handler-stopped is for --stack layered: flat has no link handler"
        } else if !self.mtu.is_empty() && flat {
            "--mtu is for --stack layered: flat cuts no signal up"
        } else if !self.mtu.is_empty() && !self.driver.is_empty() && self.driver.iter().all(single)
        {
            "--mtu does nothing with --driver single-copy: its frames have headers alone; leave it out"
        } else {
            return Ok(());
        };
        Err(Failure::new(Kind::Usage, text))
    }
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
