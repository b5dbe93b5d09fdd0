//! Why a node cannot open on this host.

use std::fmt;
use std::path::PathBuf;

use narrows::endpoint::NodeError;
use narrows::memory::LayoutError;
use rustix::io::Errno;

/// Why a host's node did not open. Nothing is left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The node's or the domain's name is none.
    Name(String),
    /// The layout is made for another line size than this machine's.
    Line(u32),
    /// No layout has blocks for messages of this many bytes.
    Longest(usize, LayoutError),
    /// A node of that name is alive in the domain.
    Taken(PathBuf),
    /// Something that is no node's socket has that name.
    Occupied(PathBuf),
    /// The directory for rendezvous belongs to another user, or others may enter it.
    NotOurs(PathBuf),
    /// Others could replace what is in the directory for rendezvous.
    Exposed(PathBuf),
    /// There is no `/proc`.
    NoProc,
    /// Another node has been holding the directory for seconds.
    Busy(PathBuf),
    /// The directory cannot be made, entered or written to.
    Directory(PathBuf, Errno),
    /// The process or the system has no descriptor left.
    Descriptors,
    /// The environment names no carrier.
    Carrier(String),
    /// The file of the trace that was asked for cannot be written: why.
    Trace(String),
    /// The node's thread cannot run on the core it asked for.
    Core(String),
    /// The copy engine's thread did not start.
    Engine(String),
    /// The node's tables could not be made.
    Node(NodeError),
    /// The system refused something else: what, and its error.
    System(&'static str, Errno),
}

impl OpenError {
    /// What an error means when it has nothing to do with a path.
    pub(crate) fn system(what: &'static str, error: Errno) -> OpenError {
        match error {
            Errno::MFILE | Errno::NFILE => OpenError::Descriptors,
            error => OpenError::System(what, error),
        }
    }

    /// What an error means for a directory.
    pub(crate) fn path(path: impl Into<PathBuf>, error: Errno) -> OpenError {
        match error {
            Errno::MFILE | Errno::NFILE => OpenError::Descriptors,
            error => OpenError::Directory(path.into(), error),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Name(name) => write!(
                f,
                "'{name}' cannot name a node or a domain: use 1 to 31 letters, digits, '.', '_' or \
                 '-', the first no dot"
            ),
            OpenError::Longest(longest, error) => {
                write!(f, "messages of {longest} bytes are too long: {error}")
            }
            OpenError::Line(line) => write!(
                f,
                "the layout has lines of {line} bytes, but this host's are {} bytes: make it with \
                 that line size",
                crate::memory::LINE
            ),
            OpenError::Taken(path) => write!(
                f,
                "a node of this name is running: it answers at {}; stop it, or choose another name \
                 or domain",
                path.display()
            ),
            OpenError::Occupied(path) => write!(
                f,
                "{} exists and is no node's socket: remove it, or choose another name",
                path.display()
            ),
            OpenError::NotOurs(path) => write!(
                f,
                "{} belongs to another user or is open to others: remove it, or set NARROWS_DIR to \
                 a directory of your own",
                path.display()
            ),
            OpenError::Exposed(path) => write!(
                f,
                "others could replace what is in {}: use a directory, not a link to one, that \
                 belongs to this user or root, and if others may write to it make it sticky \
                 ('chmod +t')",
                path.display()
            ),
            OpenError::NoProc => f.write_str(
                "nodes need /proc to meet, and it is not mounted here: mount it with \
                 'mount -t proc proc /proc'",
            ),
            OpenError::Busy(path) => write!(
                f,
                "another process has kept {} locked for two seconds: see who with 'fuser' and try \
                 again",
                path.display()
            ),
            OpenError::Directory(path, error) => write!(
                f,
                "cannot meet other nodes at {}: {error}; set NARROWS_DIR to a directory that you \
                 can write to",
                path.display()
            ),
            OpenError::Descriptors => f.write_str(
                "no file descriptor is left: raise the limit with 'ulimit -n', or close some",
            ),
            OpenError::Carrier(text) => {
                write!(
                    f,
                    "NARROWS_CARRIER is '{text}', which is no carrier: set it to memory or stream"
                )
            }
            OpenError::Trace(error) => write!(
                f,
                "the trace cannot be written: {error}; name another file with NARROWS_TRACE or \
                 Options::trace, or none"
            ),
            OpenError::Core(error) => f.write_str(error),
            OpenError::Engine(error) => {
                write!(f, "the copy engine's thread did not start: {error}")
            }
            OpenError::Node(error) => error.fmt(f),
            OpenError::System(what, error) => write!(f, "cannot {what}: {error}"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Longest(_, error) => Some(error),
            OpenError::Directory(_, error) | OpenError::System(_, error) => Some(error),
            OpenError::Node(error) => error.source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn what_an_error_wraps_is_its_source_unless_it_says_the_same() {
        let source = |error: OpenError| error.source().map(ToString::to_string);
        let denied = Errno::ACCESS;
        let directory = OpenError::Directory("/nowhere".into(), denied);
        assert_eq!(source(directory), Some(denied.to_string()));
        assert_eq!(source(OpenError::System("map a region", denied)), Some(denied.to_string()));
        let layout = LayoutError::Line;
        assert_eq!(source(OpenError::Longest(1, layout)), Some(layout.to_string()));
        assert_eq!(source(OpenError::Node(NodeError::NoStorage)), None);
        assert_eq!(source(OpenError::NoProc), None);
    }
}
