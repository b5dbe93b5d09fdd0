//! What `ps` and `top` can be asked for.

use crate::formats::values::duration;
use clap::Args;
use std::time::Duration;

/// Whose nodes are looked at.
#[derive(Clone, Debug, Args)]
pub struct Whose {
    /// The domain of the nodes
    #[arg(value_name = "DOMAIN", default_value = "default")]
    pub domain: String,
    /// The nodes of every domain that this user's programs have
    #[arg(long, conflicts_with = "domain")]
    pub all: bool,
}

/// What `ps` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows ps                       nodes of the domain default
  narrows ps voice --details       of the domain voice: each link and flow
  narrows ps --all --json
  narrows ps --prometheus          text that Prometheus reads

No node is asked, woken or slowed: what a node publishes is read.")]
pub struct Ps {
    /// Whose nodes.
    #[command(flatten)]
    pub whose: Whose,
    /// Also print each link and each flow
    #[arg(long)]
    pub details: bool,
    /// How long messages are counted for their rate
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = duration)]
    pub interval: Duration,
    /// Print counts as text that Prometheus reads, instead of tables
    #[arg(long, conflicts_with_all = ["details", "json", "interval"])]
    pub prometheus: bool,
}

/// What `top` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows top                      nodes of the domain default; q ends it
  narrows top --all --interval 5s
  narrows top --count 3 | cat      three frames, one after the other")]
pub struct Top {
    /// Whose nodes.
    #[command(flatten)]
    pub whose: Whose,
    /// How often it is looked
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub interval: Duration,
    /// End after so many frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
}
