//! The file that simulations are traced to.

use crate::base::failure::Failure;
use crate::base::options::{Global, TraceFile};
use crate::base::output;
use narrows_sim::trace::Trace;
use std::io::BufWriter;

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
    let done = work(&Global { chips: Some(trace.clone()), ..global.clone() });
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
