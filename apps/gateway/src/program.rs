//! What both programs do alike: options, signals, what they say, and how they end.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use narrows_host::{Options, system};
use serde::Serialize;

/// Options of both programs.
#[derive(Args, Debug)]
pub struct Common {
    /// The domain in which the two find each other; NARROWS_DIR is the folder that it is in
    #[arg(long, default_value = "default")]
    pub domain: String,
    /// Run on this core only
    #[arg(long)]
    pub core: Option<usize>,
    /// Write statistics to this file at the end, as JSON
    #[arg(long)]
    pub statistics: Option<PathBuf>,
}

/// Why a program ends before it was asked to, and what it exits with.
#[derive(Debug)]
pub struct Failure {
    pub sentence: String,
    pub code: u8,
}

impl Failure {
    /// Something that the machine refused.
    pub fn new(sentence: impl fmt::Display) -> Failure {
        Failure { sentence: sentence.to_string(), code: 1 }
    }

    /// A port or a name that somebody else has.
    pub fn taken(sentence: impl fmt::Display) -> Failure {
        Failure { sentence: sentence.to_string(), code: 7 }
    }
}

/// Writes a line to standard error.
pub fn log(sentence: &str) {
    // Nobody reads it: then nothing is lost.
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{sentence}");
}

/// Says that others can come now.
///
/// # Errors
/// Nobody reads standard output.
pub fn ready() -> Result<(), Failure> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let said = writeln!(out, "ready").and_then(|()| out.flush());
    said.map_err(|error| Failure::new(format!("cannot say that it is ready: {error}")))
}

/// Becomes true when the program is to end: SIGTERM, SIGINT, or nobody reads what it says.
///
/// # Errors
/// What the system says.
pub fn asked_to_end() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::new(format!("cannot wait for signals: {error}")))?;
    }
    Ok(stop)
}

/// Opens a node, after the process was pinned: threads that follow inherit that.
///
/// # Errors
/// A core that is not there, or what keeps the node from opening.
pub fn open(common: &Common, name: &str) -> Result<narrows_host::Node, Failure> {
    if let Some(core) = common.core {
        system::pin(core).map_err(Failure::new)?;
    }
    let limits = narrows::endpoint::Limits { flows: 512, ..Default::default() };
    Options::new(name).domain(&common.domain).limits(limits).node().map_err(|error| match error {
        narrows_host::OpenError::Taken(_) => Failure::taken(error),
        other => Failure::new(other),
    })
}

/// Writes a statistics file.
///
/// # Errors
/// What the system says, with the file's name.
pub fn write(path: Option<&Path>, statistics: &impl Serialize) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let text = serde_json::to_string_pretty(statistics).map_err(Failure::new)?;
    let written = std::fs::write(path, text + "\n");
    let said = |error| Failure::new(format!("cannot write {}: {error}", path.display()));
    written.map_err(said)
}

/// Ends a program: what went wrong is a line on standard error.
#[must_use]
pub fn end(name: &str, result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            log(&format!("{name}: {}", failure.sentence));
            ExitCode::from(failure.code)
        }
    }
}
