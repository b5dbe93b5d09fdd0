//! What `doctor` can be asked for.

use clap::Args;

/// What `doctor` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows doctor
  narrows doctor --memory
  narrows doctor --json")]
pub struct Doctor {
    /// Also say how many bytes of memory a link takes
    #[arg(long)]
    pub memory: bool,
}
