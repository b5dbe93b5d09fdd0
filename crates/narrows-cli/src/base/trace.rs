//! The file that a trace goes to, of simulations or of this machine's processes, and reading one.

use crate::base::failure::{Failure, Kind};
use crate::base::options::{Global, TraceFile};
use crate::base::output;
use crate::base::usage::Monitor;
use narrows_host::TRACE_VARIABLE;
use narrows_sim::trace::Trace;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Has this machine's processes traced if a file was named: this one begins anew with the variable
/// of the environment that its nodes, and those of the processes it starts, look at.
///
/// # Errors
/// The file cannot be written, or this program cannot be started again.
pub fn traced_here(file: &TraceFile) -> Result<(), Failure> {
    let Some(path) = &file.trace else { return Ok(()) };
    let whole = std::path::absolute(path).map_err(|e| output::refusal("write", path, &e))?;
    if std::env::var_os(TRACE_VARIABLE).is_some_and(|set| set == whole.as_os_str()) {
        return Ok(());
    }
    File::create(&whole).map_err(|error| output::refusal("write", path, &error))?;
    let failed = |error: std::io::Error| {
        Failure::new(Kind::Internal, format!("cannot start again to be traced: {error}"))
    };
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(std::env::args_os().skip(1)).env(TRACE_VARIABLE, whole);
    // It returns only if it failed.
    Err(failed(command.exec()))
}

/// Has `work` done, and the simulations in it traced if a file was named. The file is there whether
/// it was done or not: what was traced until then says why not.
///
/// # Errors
/// What `work` says, or [`Kind::Output`](crate::base::failure::Kind) if the trace cannot be
/// written.
pub fn traced<R>(
    global: &Global,
    file: &TraceFile,
    work: impl FnOnce(&Global) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let Some(path) = &file.trace else { return work(global) };
    let (open, out) = output::open(path)?;
    let trace = Trace::new(BufWriter::new(out), Trace::LIMIT);
    let done = work(&Global { monitor: Monitor::tracing(trace.clone()), ..global.clone() });
    let written = trace.finish().map_err(|error| output::refusal("write", path, &error));
    let written = written.and_then(|()| open.close());
    let done = done?;
    written?;
    if trace.dropped() > 0 {
        let text = format!(
            "narrows: {} is as long as a trace may be: {} events behind that are not in it; trace \
             less",
            path.display(),
            trace.dropped()
        );
        output::complain(&text);
    }
    Ok(done)
}

/// How a trace's file is named in messages.
pub fn name(path: &Path) -> String {
    match path.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// Reads a trace; `-` is standard input.
///
/// # Errors
/// [`Kind::Input`] if it cannot be read or is no trace.
pub fn read(path: &Path) -> Result<narrows_trace::Trace, Failure> {
    read_to("read", path, "name what --trace or narrows record wrote")
}

/// As [`read`]. What it is read for, and what to name instead, is said if it cannot be.
///
/// # Errors
/// As of [`read`].
pub fn read_to(aim: &str, path: &Path, advice: &str) -> Result<narrows_trace::Trace, Failure> {
    let refuse = |cause: String| {
        Failure::new(Kind::Input, format!("cannot {aim} {}: {cause}: {advice}", name(path)))
    };
    let from: Box<dyn BufRead> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => {
            let file = File::open(path).map_err(|error| refuse(output::without_code(&error)))?;
            Box::new(BufReader::with_capacity(1 << 16, file))
        }
    };
    narrows_trace::read(from).map_err(|error| match error {
        narrows_trace::ReadError::Io(error) => refuse(output::without_code(&error)),
        error => refuse(error.to_string()),
    })
}
