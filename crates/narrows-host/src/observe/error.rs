//! Why something cannot be looked at.

use std::fmt;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::error::OpenError;

/// Why a domain cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObserveError {
    /// No domain can have this name.
    Name(String),
    /// There is no domain of this name, so no node of it either.
    NoDomain(String),
    /// Others could replace what is in its directory.
    Exposed(PathBuf),
    /// Its directory cannot be read.
    Directory(PathBuf, Errno),
    /// The system refused something else.
    Other(String),
}

impl From<OpenError> for ObserveError {
    fn from(error: OpenError) -> ObserveError {
        match error {
            OpenError::Exposed(path) => ObserveError::Exposed(path),
            OpenError::Directory(path, error) => ObserveError::Directory(path, error),
            error => ObserveError::Other(error.to_string()),
        }
    }
}

impl fmt::Display for ObserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObserveError::Name(name) => write!(
                f,
                "'{name}' cannot name a domain: use 1 to 31 letters, digits, '.', '_' or '-', the \
                 first no dot"
            ),
            ObserveError::NoDomain(name) => write!(
                f,
                "no node of the domain {name} is running: start one, name another domain, or set \
                 NARROWS_DIR as it is set for the nodes"
            ),
            ObserveError::Exposed(path) => OpenError::Exposed(path.clone()).fmt(f),
            ObserveError::Directory(path, error) => write!(
                f,
                "cannot look at the nodes in {}: {error}; run this as the user whose nodes they are",
                path.display()
            ),
            ObserveError::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ObserveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ObserveError::Directory(_, error) => Some(error),
            _ => None,
        }
    }
}

/// Why a node's status page cannot be read. What is said of the node is its name, and whether it
/// is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageError {
    /// The node is another user's.
    Forbidden,
    /// The node has not said where its page is.
    NoPage,
    /// There is no page where the node said: its process has ended, or is not seen from here.
    Unreachable,
    /// The memory that the node named is not such that it can be read without danger.
    Unsealed,
    /// The page is of another version.
    Version(u32),
    /// The page did not stay the same long enough to be read.
    Unstable,
    /// What is on the page makes no sense: what does not.
    Nonsense(&'static str),
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageError::Forbidden => f.write_str(
                "its status page may be read by its own user and root only: run this as one of them",
            ),
            PageError::NoPage => f.write_str(
                "it publishes no status page: build it with the version of Narrows that this \
                 command has",
            ),
            PageError::Unreachable => f.write_str(
                "its status page is not where it said: its process has ended, or runs in another \
                 process namespace; if so, run this there",
            ),
            PageError::Unsealed => f.write_str(
                "its status page could be cut short while it is read, so it was not read: restart \
                 the node if it is to be seen",
            ),
            PageError::Version(version) => write!(
                f,
                "its status page is of version {version}, and this command reads version {}: use \
                 the command of the node's version",
                crate::status::page::VERSION
            ),
            PageError::Unstable => f.write_str(
                "its status page did not stay the same long enough to be read: try again, and \
                 restart the node if it stays so",
            ),
            PageError::Nonsense(what) => write!(
                f,
                "its status page makes no sense ({what}): nothing of it was believed; restart the \
                 node if it is to be seen"
            ),
        }
    }
}

impl std::error::Error for PageError {}
