//! A domain's directory as a process sees it that has no node in it: nothing is made, locked or
//! removed.

use std::path::{Path, PathBuf};

use narrows::link::Name;
use rustix::fd::AsFd as _;
use rustix::fs::{CWD, Dir, FileType};
use rustix::io::Errno;

use super::{Directory, enter};
use crate::error::OpenError;
use crate::rendezvous::packet;

/// What a name's socket says of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// A node has it.
    Alive,
    /// Nobody has it any more.
    Dead,
    /// It is of another user, and that user lets nobody ask.
    Unknown,
}

/// The directory above all domains, as nodes find it.
fn above(asked: Option<&Path>) -> PathBuf {
    let of = |name: &str| std::env::var_os(name).filter(|d| !d.is_empty()).map(PathBuf::from);
    let given = asked.map(Path::to_path_buf).or_else(|| of("NARROWS_DIR"));
    let runtime = || Some(of("XDG_RUNTIME_DIR")?.join("narrows"));
    let uid = rustix::process::geteuid().as_raw();
    let temporary = || std::env::temp_dir().join(format!("narrows-{uid}"));
    given.or_else(runtime).unwrap_or_else(temporary)
}

/// The names of the domains that there are.
pub(crate) fn domains(asked: Option<&Path>) -> Result<Vec<Name>, OpenError> {
    let above = above(asked);
    let entries = match std::fs::read_dir(&above) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let error = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            return Err(OpenError::path(above, error));
        }
    };
    let directories = entries.flatten().filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = directories.filter_map(|entry| entry.file_name().to_str()?.parse::<Name>().ok());
    let mut names: Vec<Name> = names.collect();
    names.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
    Ok(names)
}

impl Directory {
    /// Opens the directory of a domain, if there is one.
    pub(crate) fn look(
        asked: Option<&Path>,
        domain: &Name,
    ) -> Result<Option<Directory>, OpenError> {
        let path = above(asked).join(domain.as_str());
        let directory = match enter(CWD, &path, &path) {
            Ok(directory) => directory,
            Err(OpenError::Directory(_, Errno::NOENT)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let asked = (asked.map(Path::to_path_buf), *domain);
        Ok(Some(Directory { path, directory, asked, above: None, lock: None }))
    }

    /// The names that have a socket.
    pub(crate) fn names(&self) -> Vec<Name> {
        let entries = Dir::read_from(self.directory.as_fd()).into_iter().flatten().flatten();
        let sockets = entries.filter(|entry| entry.file_type() == FileType::Socket);
        let names = sockets.filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok());
        let mut names: Vec<Name> = names.collect();
        names.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
        names
    }

    /// Whether a node has a name. The node is not asked, and not woken: the kernel says it.
    pub(crate) fn pulse(&self, name: &Name) -> Pulse {
        let asked = || rustix::net::connect(&packet::probe()?, &self.address(name.as_str())?);
        match asked() {
            Err(Errno::PROTOTYPE) | Ok(()) => Pulse::Alive,
            Err(Errno::CONNREFUSED | Errno::NOENT) => Pulse::Dead,
            Err(_) => Pulse::Unknown,
        }
    }
}
