//! The audio that came back, as files.

use crate::base::failure::Failure;
use crate::base::output;
use crate::formats::strategy::Policy;
use crate::formats::wav;
use crate::formats::workload::Workload;
use std::path::{Path, PathBuf};

/// The directory of `--out`.
pub(super) struct Returned {
    directory: PathBuf,
}

impl Returned {
    /// Makes the directory and sees that it can be written to, before anything is measured.
    ///
    /// # Errors
    /// The directory cannot be made or written to.
    pub fn new(directory: &Path) -> Result<Returned, Failure> {
        output::make_directory(directory)?;
        output::probe_directory(directory)?;
        Ok(Returned { directory: directory.to_owned() })
    }

    /// Writes what a flow brought back by a strategy, if the workload names a file for it. The
    /// strategy is added to the name. Gives the file's path.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(
        &self,
        workload: &Workload,
        flow: &str,
        strategy: Policy,
        samples: &[i16],
    ) -> Result<Option<String>, Failure> {
        let named = workload.flows.iter().find(|one| one.name == flow);
        let Some(name) = named.and_then(|flow| flow.output.as_deref()) else { return Ok(None) };
        let name = Path::new(name);
        let part = |part: Option<&std::ffi::OsStr>| {
            part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let (stem, ending) = (part(name.file_stem()), part(name.extension()));
        let strategy = strategy.to_string().replace(['/', ':'], "-");
        let file = match ending.as_str() {
            "" => format!("{stem}-{strategy}"),
            ending => format!("{stem}-{strategy}.{ending}"),
        };
        let path = self.directory.join(file);
        wav::write(&path, samples)?;
        Ok(Some(path.display().to_string()))
    }
}
