//! The command line of `narrows view`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Traces that are shown at once: more leave no room for rows.
const MOST: usize = 4;

/// What `view` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows view run.pftrace
  narrows view before.pftrace after.pftrace --align message
  narrows view run.pftrace --export run.html

The page is for you alone: it is served on this machine, and its address has a
secret in it. Ctrl-C ends it. A page of --export needs no server and no network.")]
pub struct View {
    /// Traces that --trace wrote, or others in Perfetto's format; two are shown one above the other
    #[arg(value_name = "FILE", required = true, num_args = 1..=MOST)]
    pub files: Vec<PathBuf>,
    /// What is at the zero of the time axis, in each trace
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Align::Event)]
    pub align: Align,
    /// Write one page that has everything in it, and stop
    #[arg(long, value_name = "FILE.html", conflicts_with_all = ["port", "no_open"])]
    pub export: Option<PathBuf>,
    /// Listen at this port of 127.0.0.1, not at any that is free
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Print the address, and open no browser
    #[arg(long)]
    pub no_open: bool,
}

/// What is at the zero of the time axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Align {
    /// Its first event
    Event,
    /// When its first message was begun to be sent
    Message,
}
