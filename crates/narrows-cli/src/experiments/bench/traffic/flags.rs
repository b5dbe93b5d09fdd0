//! What the other process of `bench storm` and `bench soak` takes, from the process that starts it.

use crate::formats::values::full_strategy;
use clap::Args;
use narrows::strategy::Strategy;
use std::path::PathBuf;

/// What `partner` takes.
#[derive(Debug, Args)]
#[command(override_usage = "narrows partner [OPTIONS]")]
pub struct Partner {
    /// The directory that the domain is in
    #[arg(long)]
    pub directory: PathBuf,
    /// The name that this node answers to
    #[arg(long)]
    pub name: String,
    /// The core to run on
    #[arg(long)]
    pub core: usize,
    /// Hunt the process that started this, rather than be hunted
    #[arg(long)]
    pub hunts: bool,
    /// Send messages and calls, rather than only answer
    #[arg(long)]
    pub active: bool,
    /// Have a copy engine
    #[arg(long)]
    pub engine: bool,
    /// How everything travels
    #[arg(long, value_parser = full_strategy)]
    pub strategy: Strategy,
    /// What sizes are drawn with
    #[arg(long)]
    pub seed: u64,
    /// Be this member of a mesh
    #[arg(long, requires = "members")]
    pub number: Option<u16>,
    /// Members of that mesh
    #[arg(long, requires = "number")]
    pub members: Option<u16>,
    /// Link and go again, this many times a second
    #[arg(long)]
    pub churn: Option<u32>,
}
