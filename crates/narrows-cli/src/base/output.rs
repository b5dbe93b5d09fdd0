//! Writing results: a file appears whole or not at all.

use crate::base::failure::{Failure, Kind};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Makes a directory for results, with its parents, if it is not there yet.
///
/// # Errors
/// [`Kind::Output`] if it cannot be made, or is something other than a directory.
pub fn make_directory(directory: &Path) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| refusal("make directory", directory, &error))
}

/// Sees whether files can be made in a directory, and leaves none.
///
/// # Errors
/// [`Kind::Output`] if they cannot.
pub fn probe_directory(directory: &Path) -> Result<(), Failure> {
    let made = tempfile::Builder::new().prefix(".narrows-").tempfile_in(directory);
    made.map(|_| ()).map_err(|error| refusal("write to", directory, &error))
}

/// Writes `contents` as `path`: first under another name in the same directory, then renamed. What
/// is there and no file, such as a device or a pipe, is written to as it is.
///
/// # Errors
/// [`Kind::Output`]; then `path` is what it was before, and nothing else is left behind.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    let kept = |kind: fs::FileType| !kind.is_file() && !kind.is_dir();
    if fs::metadata(path).is_ok_and(|found| kept(found.file_type())) {
        let opened = fs::OpenOptions::new().write(true).open(path);
        let written = opened.and_then(|mut file| file.write_all(contents));
        return written.map_err(|error| refusal("write", path, &error));
    }
    write_with(path, |file| file.write_all(contents))
}

/// A file that is written while work goes on.
pub struct Open {
    path: PathBuf,
    /// Under another name until it is whole; none if it is a device or a pipe.
    kept: Option<NamedTempFile>,
}

/// Opens a file for what is written while work goes on; [`Open::close`] gives it its name.
///
/// # Errors
/// [`Kind::Output`] if it cannot be written.
pub fn open(path: &Path) -> Result<(Open, fs::File), Failure> {
    let failed = |error| refusal("write", path, &error);
    probe_file(path)?;
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let file = fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
        return Ok((Open { path: path.into(), kept: None }, file));
    }
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix(".narrows-").permissions(Permissions::from_mode(0o666));
    let kept = builder.tempfile_in(directory_of(path)).map_err(failed)?;
    let file = kept.reopen().map_err(failed)?;
    Ok((Open { path: path.into(), kept: Some(kept) }, file))
}

impl Open {
    /// All was written.
    ///
    /// # Errors
    /// [`Kind::Output`]; then the file is what it was before.
    pub fn close(self) -> Result<(), Failure> {
        let Some(kept) = self.kept else { return Ok(()) };
        let done = kept.as_file().sync_all();
        let done = done.and_then(|()| kept.persist(&self.path).map_err(|error| error.error));
        done.map(|_| ()).map_err(|error| refusal("write", &self.path, &error))
    }
}

/// Says something on standard error; where that is closed, nobody wants to know.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Sees whether a file can be written there, before work whose result it is to take.
///
/// # Errors
/// [`Kind::Output`] if it cannot.
pub fn probe_file(path: &Path) -> Result<(), Failure> {
    let is_directory = || io::Error::from(io::ErrorKind::IsADirectory);
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(refusal("write", path, &is_directory())),
        Ok(found) if !found.is_file() => Ok(()),
        _ => tempfile::Builder::new()
            .prefix(".narrows-")
            .tempfile_in(directory_of(path))
            .map(|_| ())
            .map_err(|error| refusal("write", path, &error)),
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// As [`write_file`], with the contents produced by `write`.
///
/// # Errors
/// [`Kind::Output`]; then `path` is what it was before, and nothing else is left behind.
pub fn write_with(
    path: &Path,
    write: impl FnOnce(&mut NamedTempFile) -> io::Result<()>,
) -> Result<(), Failure> {
    let attempt = || {
        let mut file = tempfile::Builder::new()
            .prefix(".narrows-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory_of(path))?;
        write(&mut file)?;
        file.flush()?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    attempt().map_err(|error: io::Error| refusal("write", path, &error))
}

/// Writes to standard output. A reader that has gone away (`narrows … | head`) is no failure.
///
/// # Errors
/// [`Kind::Output`] if standard output refuses for any other reason.
pub fn print(contents: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(contents).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(refusal("write", Path::new("standard output"), &error))
        }
        _ => Ok(()),
    }
}

pub(crate) fn refusal(what: &str, path: &Path, error: &io::Error) -> Failure {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full; free some space or write elsewhere"
        }
        io::ErrorKind::PermissionDenied => {
            "no permission; choose a directory that you may write to"
        }
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only; write elsewhere",
        io::ErrorKind::NotFound => "its directory does not exist; make it first",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a file is in the way; choose another directory"
        }
        io::ErrorKind::IsADirectory => "a directory is in the way; choose another name",
        _ => "write elsewhere",
    };
    let cause = without_code(error);
    Failure::new(Kind::Output, format!("cannot {what} {}: {cause}: {advice}", path.display()))
}

/// The system's own words, without the number that the standard library appends.
pub(crate) fn without_code(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        write_file(&path, b"one").unwrap();
        write_file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(entries(place.path()), 1);
    }

    #[test]
    fn a_failed_write_leaves_what_was_there() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        write_file(&path, b"one").unwrap();
        let failure = write_with(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        })
        .unwrap_err();
        assert_eq!(failure.kind, Kind::Output);
        assert!(failure.to_string().contains("the disk is full"), "{failure}");
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(entries(place.path()), 1);
    }

    /// Not replaced by a file, which root could do.
    #[test]
    fn a_device_is_written_to() {
        let text = write_file(Path::new("/dev/full"), b"x").unwrap_err().to_string();
        assert!(
            text.contains("cannot write /dev/full") && text.contains("the disk is full"),
            "{text}"
        );
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
    }

    #[test]
    fn what_cannot_be_written_later_is_known_before() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        probe_file(&path).unwrap();
        assert_eq!(entries(place.path()), 0);
        for (wrong, why) in [
            (place.path().to_owned(), "a directory is in the way"),
            (path.join("b"), "its directory does not exist"),
        ] {
            let text = probe_file(&wrong).unwrap_err().to_string();
            assert!(text.contains(why), "{text}");
        }
        write_file(&path, b"x").unwrap();
        let text = probe_file(&path.join("b")).unwrap_err().to_string();
        assert!(text.contains("a file is in the way"), "{text}");
    }

    #[test]
    fn a_missing_or_blocked_directory_is_named() {
        let place = tempfile::tempdir().unwrap();
        let missing = place.path().join("none").join("a");
        let text = write_file(&missing, b"x").unwrap_err().to_string();
        assert!(text.contains("directory does not exist"), "{text}");
        let file = place.path().join("file");
        write_file(&file, b"x").unwrap();
        let text = make_directory(&file).unwrap_err().to_string();
        assert!(text.contains("a file is in the way"), "{text}");
        assert!(make_directory(&file.join("below")).is_err());
    }
}
