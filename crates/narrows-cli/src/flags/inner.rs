//! What the processes take that the command starts itself.

use super::values::full_strategy;
use clap::Args;
use narrows::strategy::Strategy;
use std::path::PathBuf;

/// What `callee` takes.
#[derive(Debug, Args)]
#[command(override_usage = "narrows callee [OPTIONS]")]
pub struct Callee {
    /// The directory that the domain is in
    #[arg(long)]
    pub directory: PathBuf,
    /// The domain that both nodes belong to
    #[arg(long)]
    pub domain: String,
    /// The name that this node answers to
    #[arg(long)]
    pub name: String,
    /// The core to run on
    #[arg(long)]
    pub core: usize,
    /// Have a copy engine, on that core; -1 leaves its core open
    #[arg(long, allow_negative_numbers = true)]
    pub engine: Option<i64>,
    /// The longest request or response in bytes
    #[arg(long)]
    pub longest: usize,
    /// Have room for so many links, each with a small region
    #[arg(long)]
    pub links: Option<usize>,
    /// The descriptors of the limits
    #[arg(long)]
    pub limits: Option<String>,
}

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
    /// Hunt who started this, rather than be hunted
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
}
