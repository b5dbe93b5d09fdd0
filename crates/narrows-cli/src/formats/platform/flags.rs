//! The command line of `narrows platform`.

use crate::base::offered::{offered, platforms};
use clap::builder::StringValueParser;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// Those of `platform`.
pub const EXAMPLES: &str = "\
Examples:
  narrows platform list
  narrows platform show davinci --svg davinci.svg
  narrows platform check platforms/generic-amp.toml";

/// What `platform` takes.
#[derive(Debug, Subcommand)]
pub enum Platform {
    /// List the chips that come with narrows
    #[command(after_help = "\
Examples:
  narrows platform list
  narrows platform list --json")]
    List,
    /// Say whether a file describes a possible chip, or where it is wrong
    Check(Check),
    /// Draw a chip: cores, copy engines, buses and memories
    Show(Show),
}

/// What `platform check` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows platform check platforms/generic-amp.toml")]
pub struct Check {
    /// The platform file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// What `platform show` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows platform show davinci
  narrows platform show platforms/generic-amp.toml --svg chip.svg
  narrows platform show nios2-quad --json")]
pub struct Show {
    /// The name of a chip that comes with narrows, or a platform file
    #[arg(value_name = "NAME|FILE", hide_possible_values = true, value_hint = ValueHint::FilePath,
          value_parser = offered(platforms(), StringValueParser::new()))]
    pub platform: String,
    /// Also write the drawing as a picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}
