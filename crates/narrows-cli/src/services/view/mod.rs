//! `narrows view`: traces in a browser, by a page that is served for as long as this runs, or as
//! one file.
//!
//! [`narrows_trace`] reads a trace, `columns` makes numbers of it that the page's script uses as
//! they are, `page` is the page, and `serve` hands both out. The script is in `web/view`.

mod columns;
pub mod flags;
mod page;
mod serve;
#[cfg(test)]
mod tests;

use crate::base::failure::Failure;
use crate::base::output;
use crate::base::signals::catch_signals;
use crate::base::table::counted;
use crate::base::trace;
use flags::View;
use narrows_trace::Trace;
use serve::{Content, Serving};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::NamedTempFile;

/// What to name instead of a file that is no trace.
const ADVICE: &str = "name a file that --trace wrote, or another in Perfetto's format";

/// Shows traces until it is stopped, or writes them as a page.
///
/// # Errors
/// [`Kind`](crate::base::failure::Kind)'s `Input` for a file that is no trace, `Output` for a page
/// that cannot be written, `Usage` for a port that is taken, `Internal` for the system's refusals.
pub fn run(args: &View) -> Result<(), Failure> {
    if let Some(path) = &args.export {
        output::probe_file(path)?;
    }
    let mut names = Vec::new();
    let mut traces = Vec::new();
    for path in &args.files {
        let name = name(path);
        let trace = trace::read_to("show", path, ADVICE)?;
        say(&format!("{}: {}", path.display(), summary(&trace)));
        traces.push(columns::encode(&name, &trace));
        names.push(name);
    }
    let title = names.join(", ");
    if let Some(path) = &args.export {
        let page = page::whole(&title, args.align, &traces);
        output::write_file(path, page.as_bytes())?;
        say(&format!("{}: {:.1} MB, needs no network", path.display(), page.len() as f64 / 1e6));
        return Ok(());
    }
    let page = page::served(&title, args.align, traces.len());
    let content = Content { page, policy: page::served_policy(), traces };
    let stop = catch_signals()?;
    let serving = Serving::new(args.port, content)?;
    let address = serving.address();
    // The file is there for as long as a browser may read it.
    let opened = if args.no_open { None } else { open(&address) };
    let hint = if opened.is_some() { "opened in a browser; " } else { "" };
    say(&format!("{address}\n{hint}Ctrl-C ends it"));
    serving.serve(&stop);
    Ok(())
}

/// What the page calls a file.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// What is in a trace, and what is not.
fn summary(trace: &Trace) -> String {
    let events = trace.slices.len() + trace.moments.len() + trace.counted.len();
    let mut says = format!(
        "{}, {}, {}",
        counted(trace.tracks.len(), "row", "rows"),
        counted(events, "event", "events"),
        counted(trace.messages.len(), "message", "messages")
    );
    if trace.dropped > 0 {
        says += &format!("; {} were dropped", counted(trace.dropped as usize, "event", "events"));
    }
    if trace.cut {
        says += "; the file ends in the middle of an event";
    }
    says
}

/// Prints a line now. Nobody may be there to read it: the page is there all the same.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Has the desktop open the page, if there is one.
///
/// Other users see the arguments of a process, so the browser is given a file that only this user
/// reads, and the address is in it.
fn open(address: &str) -> Option<NamedTempFile> {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !has("DISPLAY") && !has("WAYLAND_DISPLAY") {
        return None;
    }
    let mut file =
        tempfile::Builder::new().prefix("narrows-view-").suffix(".html").tempfile().ok()?;
    write!(file, "{}", page::redirect(address)).and_then(|()| file.flush()).ok()?;
    let mut command = Command::new("xdg-open");
    command.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    std::thread::spawn(move || child.wait());
    Some(file)
}
