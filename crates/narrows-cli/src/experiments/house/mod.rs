//! Where all processes of a measurement live: a directory, free ports, and the flag of Ctrl-C.
//!
//! A [`helper`] holds a process of others, and [`load`] says what it takes of the processors.

pub(crate) mod helper;
pub(crate) mod load;

use crate::base::failure::{Failure, Kind};
use std::ffi::OsString;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A house.
pub(crate) struct House {
    directory: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    priority: Option<u8>,
    /// What lives in it, in the plural.
    whose: &'static str,
}

impl House {
    /// # Errors
    /// [`Kind::Output`].
    pub fn new(
        whose: &'static str,
        stop: &Arc<AtomicBool>,
        priority: Option<u8>,
    ) -> Result<House, Failure> {
        let made = tempfile::Builder::new().prefix(&format!("narrows-{whose}-")).tempdir();
        let directory = made.map_err(|error| {
            let text = format!("cannot make a temporary directory: {error}: set TMPDIR");
            Failure::new(Kind::Output, text)
        })?;
        Ok(House { directory, stop: Arc::clone(stop), priority, whose })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What a command line begins with whose process is to run on a core, and with the priority
    /// that was asked for.
    pub fn placed(&self, core: Option<usize>) -> Vec<String> {
        let priority = self.priority.map(|priority| ("chrt", "-f", priority.to_string()));
        let core = core.map(|core| ("taskset", "-c", core.to_string()));
        let words = |(program, option, value): (&str, &str, String)| {
            [program.to_owned(), option.to_owned(), value]
        };
        priority.into_iter().chain(core).flat_map(words).collect()
    }

    /// Writes a file of it.
    ///
    /// # Errors
    /// [`Kind::Output`].
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.path(name);
        crate::base::output::write_file(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Makes a directory in it.
    ///
    /// # Errors
    /// [`Kind::Output`].
    pub fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.path(name);
        crate::base::output::make_directory(&path)?;
        Ok(path)
    }

    /// Sleeps, unless the user stops it.
    ///
    /// # Errors
    /// [`Kind::Stopped`].
    pub fn pause(&self, time: Duration) -> Result<(), Failure> {
        /// How soon Ctrl-C is noticed.
        const TURN: Duration = Duration::from_millis(20);
        let end = Instant::now() + time;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                let text = format!("stopped: all {} are ended", self.whose);
                return Err(Failure::new(Kind::Stopped, text));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(TURN));
        }
    }

    /// Removes the directory of this name, and the files whose name begins with it and a point.
    pub fn forget(&self, name: &str) {
        let start = format!("{name}.");
        // What stays goes with the house.
        let _ = std::fs::remove_dir_all(self.path(name));
        for entry in std::fs::read_dir(self.directory.path()).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&start) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Copies all that is in it, except what only processes have to each other.
    ///
    /// # Errors
    /// [`Kind::Output`].
    pub fn keep(&self, to: &Path) -> Result<(), Failure> {
        crate::base::output::make_directory(to)?;
        let failed = |error: std::io::Error| {
            let text = format!("cannot keep files in {}: {error}: name another", to.display());
            Failure::new(Kind::Output, text)
        };
        for entry in std::fs::read_dir(self.directory.path()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_file() {
                std::fs::copy(entry.path(), to.join(entry.file_name())).map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// A UDP port of loopback that is free, and the next one too, for RTP and RTCP.
///
/// # Errors
/// [`Kind::Internal`].
pub(crate) fn free_port() -> Result<u16, Failure> {
    const TRIES: usize = 100;
    let free = |port: u16| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).ok();
    let even = || {
        let first = free(0)?;
        let port = first.local_addr().ok()?.port();
        (port % 2 == 0 && free(port.checked_add(1)?).is_some()).then_some(port)
    };
    (0..TRIES).find_map(|_| even()).ok_or_else(|| {
        Failure::new(Kind::Internal, "there is no free UDP port on loopback: close some sockets")
    })
}

/// Whether nobody has a UDP port of loopback.
pub(crate) fn is_free(port: u16) -> bool {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Whether somebody listens at a UDP port, of any address. Asking for it oneself would take it away
/// from a process that is just about to.
pub(crate) fn is_bound(port: u16) -> bool {
    let end = format!(":{port:04X}");
    ["/proc/net/udp", "/proc/net/udp6"].iter().any(|table| {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        text.lines().any(|line| {
            line.split_whitespace().nth(1).is_some_and(|address| address.ends_with(&end))
        })
    })
}

/// Where programs are looked for: where Debian has servers too, which is not in every user's path.
pub(crate) fn path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    // A folder with a colon in its name, which cannot be joined, came from no path.
    std::env::join_paths(folders).unwrap_or(path)
}

/// Whether programs of others are there, each with the package of Debian that has it.
///
/// # Errors
/// [`Kind::Input`] with the packages that are missing, and how they are had.
pub(crate) fn installed(what: &str, programs: &[(&str, &str)], setup: &str) -> Result<(), Failure> {
    let path = path();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let has = |program: &str| folders.iter().any(|folder| folder.join(program).is_file());
    let missing = programs.iter().filter(|(program, _)| !has(program));
    absent(what, missing.map(|(_, package)| *package).collect(), setup)
}

/// # Errors
/// [`Kind::Input`] if any package is missing.
pub(crate) fn absent(what: &str, mut packages: Vec<&str>, setup: &str) -> Result<(), Failure> {
    packages.dedup();
    match packages.is_empty() {
        true => Ok(()),
        false => {
            let packages = packages.join(", ");
            let text =
                format!("{what} need Debian's packages {packages}: install them with {setup}");
            Err(Failure::new(Kind::Input, text))
        }
    }
}

/// Whether files were built in a folder.
///
/// # Errors
/// [`Kind::Input`] with the first that is missing, and how it is had.
pub(crate) fn built(folder: &Path, files: &[&str], how: &str) -> Result<(), Failure> {
    match files.iter().find(|file| !folder.join(file).is_file()) {
        None => Ok(()),
        Some(file) => {
            let text = format!("there is no {}: {how}", folder.join(file).display());
            Err(Failure::new(Kind::Input, text))
        }
    }
}
