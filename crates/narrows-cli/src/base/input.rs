//! Reading what the user wrote: workloads, platforms and sweeps.

use crate::base::failure::{Failure, Kind};
use crate::base::output::without_code;
use crate::base::shipped;
use narrows_sim::file::{Mistake, Table};
use std::io::Read;
use std::path::Path;

/// The longest file in bytes.
pub(crate) const MAX_FILE: u64 = 1 << 20;

/// The text of a file. `what` it is and an `example` of such a file are for messages.
///
/// # Errors
/// [`Kind::Workload`] if it cannot be read, is too large or is no text.
pub fn text(path: &Path, what: &str, example: &str) -> Result<String, Failure> {
    let refuse = |cause: String| {
        let sentence = format!("cannot read {what} {}: {cause}: name {example}", path.display());
        Failure::new(Kind::Workload, sentence)
    };
    let mut bytes = Vec::new();
    shipped::open(path)
        .and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(|error| refuse(without_code(&error)))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(refuse(format!("it is larger than {MAX_FILE} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8 text".into()))
}

/// What reports call what a file describes: its `name`, or the file's own without its ending.
///
/// # Errors
/// The name is none.
pub fn name(path: &Path, top: &Table<'_>) -> Result<String, Mistake> {
    match top.find("name") {
        Some(value) => value.name(),
        None => Ok(path.file_stem().unwrap_or_default().to_string_lossy().into_owned()),
    }
}

/// What is wrong with a file, with its place.
pub fn wrong(mistake: Mistake) -> Failure {
    Failure::new(Kind::Workload, mistake.to_string())
}
