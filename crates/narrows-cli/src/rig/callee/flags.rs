//! What the process takes, from the process that starts it.

use clap::Args;
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
    /// Have room for this many links, each with a small region
    #[arg(long)]
    pub links: Option<usize>,
    /// A shared library with a function to offer beside the others
    #[arg(long)]
    pub library: Vec<PathBuf>,
    /// The function of each of them
    #[arg(long)]
    pub function: Vec<String>,
    /// The descriptors of the limits
    #[arg(long)]
    pub limits: Option<String>,
}
