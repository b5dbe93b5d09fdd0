//! The workload with the strategies that were chosen.

use crate::base::failure::{Failure, Kind};
use crate::base::{output, shipped};
use narrows::strategy::Strategy;
use std::io::Read;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, value};

/// What was chosen for a flow.
pub(super) struct Chosen {
    pub name: String,
    pub strategy: Strategy,
    /// Which of the cores that are called serves it, if that is to be said.
    pub dsp: Option<u8>,
}

/// Writes it into a directory, with its comments as they are, and returns its path. Inputs and
/// libraries are named by where they are.
///
/// # Errors
/// [`Kind::Output`] if it cannot be written.
pub(super) fn write(
    directory: &Path,
    (workload, text): (&Path, &str),
    chosen: &[Chosen],
) -> Result<PathBuf, Failure> {
    let file = workload.file_name().unwrap_or(workload.as_os_str());
    let path = directory.join(file);
    let same = |a: &Path, b: &Path| {
        a.canonicalize().ok().is_some_and(|a| b.canonicalize().is_ok_and(|b| a == b))
    };
    if same(&path, workload) {
        let text = format!(
            "{} is the workload itself, which is not overwritten: name another directory after --out",
            path.display()
        );
        return Err(Failure::new(Kind::Usage, text));
    }
    let mut document: DocumentMut = text.parse().map_err(|error| {
        Failure::new(
            Kind::Internal,
            format!("{} was read and is no TOML: {error}", workload.display()),
        )
    })?;
    document["strategy"] = value("static");
    let from = workload.parent().unwrap_or(Path::new(""));
    if let Some(flows) = document.get_mut("flow").and_then(Item::as_array_of_tables_mut) {
        for flow in flows.iter_mut() {
            let name = flow.get("name").and_then(Item::as_str).unwrap_or_default().to_owned();
            if let Some(one) = chosen.iter().find(|one| one.name == name) {
                flow["static"] = value(one.strategy.to_string());
                if let Some(dsp) = one.dsp {
                    flow["dsp"] = value(i64::from(dsp));
                }
            }
            for key in ["input", "library"] {
                let named = flow.get(key).and_then(Item::as_str).map(|name| from.join(name));
                if let Some(named) = named {
                    flow[key] = value(reachable(&named, directory)?);
                }
            }
        }
    }
    output::write_file(&path, document.to_string().as_bytes())?;
    Ok(path)
}

/// What a file in the directory names another file by: where it is, or a copy of the one that comes
/// with the program.
fn reachable(input: &Path, directory: &Path) -> Result<String, Failure> {
    if let Ok(there) = input.canonicalize() {
        return Ok(there.to_string_lossy().into_owned());
    }
    let failed = |error| {
        let text = format!("cannot read {}: {error}", input.display());
        Failure::new(Kind::Input, text)
    };
    let mut bytes = Vec::new();
    shipped::open(input).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(failed)?;
    let name = input.file_name().unwrap_or(input.as_os_str());
    output::write_file(&directory.join(name), &bytes)?;
    Ok(name.to_string_lossy().into_owned())
}
