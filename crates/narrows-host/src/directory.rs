//! The directory of a domain: one socket per node, made and removed under the directory's lock.

use std::ffi::CStr;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use narrows::link::Name;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::{self, Errno};
use rustix::net::SocketAddrUnix;

use crate::error::OpenError;
use crate::packet;

/// How long the lock is waited for when a node opens.
const PATIENCE: Duration = Duration::from_secs(2);
/// Connections that the kernel keeps for a node that is busy.
const BACKLOG: i32 = 128;

/// A domain's directory.
pub(crate) struct Directory {
    path: PathBuf,
    directory: OwnedFd,
    /// Directory above, if it is removed as well when it is empty.
    above: Option<PathBuf>,
}

/// The lock on a directory. Whoever has it knows that nobody else adds or replaces a socket.
pub(crate) struct Lock(OwnedFd);

impl Drop for Lock {
    fn drop(&mut self) {
        // Not by closing alone: a process being started may have inherited the descriptor.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

/// A node's socket, and which file in the directory it is.
pub(crate) struct Bound {
    pub listener: OwnedFd,
    file: (u64, u64),
}

fn identity(stat: &Stat) -> (u64, u64) {
    #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    (stat.st_dev as u64, stat.st_ino as u64)
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(CWD, path, flags, Mode::empty())
}

fn make(path: &Path) -> Result<(), OpenError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|e| match Errno::from_io_error(&e) {
        // Not the one that was there and is gone again.
        Some(Errno::EXIST) if path.exists() && !path.is_dir() => {
            OpenError::path(path, Errno::NOTDIR)
        }
        error => OpenError::path(path, error.unwrap_or(Errno::IO)),
    })
}

/// The directory above all domains when none is given, and whether it needs looking at because
/// anybody could have made it.
fn default_base() -> (PathBuf, bool) {
    if let Some(runtime) = std::env::var_os("XDG_RUNTIME_DIR").filter(|d| !d.is_empty()) {
        return (Path::new(&runtime).join("narrows"), false);
    }
    let uid = rustix::process::geteuid().as_raw();
    (std::env::temp_dir().join(format!("narrows-{uid}")), true)
}

/// Whether it is this user's, and nobody else's to enter: what `make` makes.
fn is_private(stat: &Stat) -> bool {
    stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o7777 == 0o700
}

fn check_ours(path: &Path) -> Result<(), OpenError> {
    let not_ours = |e| match e {
        Errno::LOOP | Errno::NOTDIR | Errno::ACCESS => OpenError::NotOurs(path.into()),
        e => OpenError::path(path, e),
    };
    let stat = rustix::fs::fstat(open(path).map_err(not_ours)?).map_err(not_ours)?;
    if !is_private(&stat) {
        return Err(OpenError::NotOurs(path.into()));
    }
    Ok(())
}

impl Directory {
    /// Opens and locks the directory of a domain, under `base` or where the environment says.
    pub(crate) fn open(base: Option<&Path>, domain: &Name) -> Result<(Directory, Lock), OpenError> {
        let given = base.map(Path::to_path_buf).or_else(|| {
            std::env::var_os("NARROWS_DIR").filter(|d| !d.is_empty()).map(PathBuf::from)
        });
        let ours = given.is_none();
        let (base, exposed) = given.map_or_else(default_base, |base| (base, false));
        let path = base.join(domain.as_str());
        let deadline = Instant::now() + PATIENCE;
        loop {
            // The last node of the domain may remove the directories at any moment up to the lock.
            let made = make(&base).and_then(|()| {
                if exposed {
                    check_ours(&base)?;
                }
                make(&path)
            });
            match made {
                Err(OpenError::Directory(_, Errno::NOENT | Errno::EXIST))
                    if Instant::now() < deadline =>
                {
                    continue;
                }
                made => made?,
            }
            let directory = match open(&path) {
                Err(Errno::NOENT) if Instant::now() < deadline => continue,
                opened => opened.map_err(|e| OpenError::path(&path, e))?,
            };
            let above = ours.then(|| base.clone());
            let made = Directory { path: path.clone(), directory, above };
            let lock = made.lock_until(deadline)?;
            if made.is_current() {
                return Ok((made, lock));
            }
        }
    }

    fn is_current(&self) -> bool {
        let here = rustix::fs::fstat(&self.directory);
        let there = rustix::fs::statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW);
        matches!((here, there), (Ok(a), Ok(b)) if identity(&a) == identity(&b))
    }

    fn try_lock(&self) -> io::Result<Lock> {
        // A lock belongs to an opening of the directory, not to a process: each needs its own.
        let lock = Lock(rustix::fs::openat(
            &self.directory,
            ".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?);
        rustix::fs::flock(&lock.0, FlockOperation::NonBlockingLockExclusive)?;
        Ok(lock)
    }

    fn lock_until(&self, deadline: Instant) -> Result<Lock, OpenError> {
        loop {
            match self.try_lock() {
                Ok(lock) => return Ok(lock),
                Err(Errno::AGAIN | Errno::INTR) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(Errno::AGAIN | Errno::INTR) => {
                    return Err(OpenError::Busy(self.path.clone()));
                }
                Err(e) => return Err(OpenError::path(&self.path, e)),
            }
        }
    }

    /// The address of a name. Through the descriptor, because a socket's path has 108 bytes at most.
    fn address(&self, file: &str) -> io::Result<SocketAddrUnix> {
        SocketAddrUnix::new(format!("/proc/self/fd/{}/{file}", self.directory.as_raw_fd()))
    }

    /// Connects to a node, without waiting.
    pub(crate) fn connect(&self, name: &str) -> io::Result<OwnedFd> {
        let socket = packet::socket()?;
        rustix::net::connect(&socket, &self.address(name)?)?;
        Ok(socket)
    }

    /// Makes this node's socket under its name, in place of one that a dead node left.
    ///
    /// # Errors
    /// A live node has the name, or the directory cannot be written to.
    pub(crate) fn bind(
        &self,
        _lock: &Lock,
        name: &Name,
        for_others: bool,
    ) -> Result<Bound, OpenError> {
        let full = self.path.join(name.as_str());
        match rustix::fs::statat(&self.directory, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {}
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Socket => {
                match self.connect(name.as_str()) {
                    Err(Errno::CONNREFUSED | Errno::NOENT) => {}
                    Err(Errno::PROTOTYPE) => return Err(OpenError::Occupied(full)),
                    _ => return Err(OpenError::Taken(full)),
                }
            }
            Ok(_) => return Err(OpenError::Occupied(full)),
            Err(e) => return Err(OpenError::path(&self.path, e)),
        }
        // Born under a name that no node can have, and renamed when it can be connected to.
        let unborn = format!(".{name}");
        let _ = rustix::fs::unlinkat(&self.directory, &unborn, AtFlags::empty());
        let born = self.bear(&unborn, name, for_others);
        born.map_err(|e| {
            let _ = rustix::fs::unlinkat(&self.directory, &unborn, AtFlags::empty());
            OpenError::path(&self.path, e)
        })
    }

    fn bear(&self, unborn: &str, name: &Name, for_others: bool) -> io::Result<Bound> {
        let listener = packet::socket()?;
        rustix::net::bind(&listener, &self.address(unborn)?)?;
        let mode = if for_others { 0o666 } else { 0o600 };
        rustix::fs::chmodat(&self.directory, unborn, Mode::from_raw_mode(mode), AtFlags::empty())?;
        rustix::net::listen(&listener, BACKLOG)?;
        let file = rustix::fs::statat(&self.directory, unborn, AtFlags::SYMLINK_NOFOLLOW)?;
        rustix::fs::renameat(&self.directory, unborn, &self.directory, name.as_str())?;
        Ok(Bound { listener, file: identity(&file) })
    }

    /// Removes every socket that nobody accepts on.
    pub(crate) fn sweep(&self, _lock: &Lock) {
        let Ok(entries) = Dir::read_from(&self.directory) else { return };
        for entry in entries.filter_map(Result::ok) {
            self.remove_if_stale(entry.file_name());
        }
    }

    /// Removes the socket of a node that was seen to die; false if it must be tried again.
    pub(crate) fn remove_dead(&self, name: &Name) -> bool {
        let Ok(_lock) = self.try_lock() else { return false };
        match self.connect(name.as_str()) {
            Err(Errno::CONNREFUSED) => {
                if let Ok(file) = std::ffi::CString::new(name.as_str()) {
                    self.remove_if_stale(&file);
                }
                true
            }
            Err(Errno::NOENT) => true,
            // Dying, or its next life.
            _ => false,
        }
    }

    fn remove_if_stale(&self, file: &CStr) {
        let Ok(stat) = rustix::fs::statat(&self.directory, file, AtFlags::SYMLINK_NOFOLLOW) else {
            return;
        };
        let Ok(text) = file.to_str() else { return };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            return;
        }
        // Under the lock nobody is being born, so an unborn one is stale.
        if text.starts_with('.') || self.connect(text).err() == Some(Errno::CONNREFUSED) {
            let _ = rustix::fs::unlinkat(&self.directory, file, AtFlags::empty());
        }
    }

    /// Removes this node's socket, unless its name has another's, those of the dead, and what is
    /// empty then.
    pub(crate) fn leave(&self, name: &Name, bound: &Bound) {
        let file = rustix::fs::statat(&self.directory, name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        if file.is_ok_and(|stat| identity(&stat) == bound.file) {
            let _ = rustix::fs::unlinkat(&self.directory, name.as_str(), AtFlags::empty());
        }
        // One that somebody prepared, for several users say, stays.
        if !rustix::fs::fstat(&self.directory).is_ok_and(|stat| is_private(&stat)) {
            return;
        }
        // Under the lock, so that nobody is about to be born in a directory that is gone.
        let Ok(lock) = self.lock_until(Instant::now() + PATIENCE / 10) else { return };
        // What killed ones left: this may be the last node that could see to it.
        self.sweep(&lock);
        // The lock is on this directory; another may have its path by now, and its own nodes.
        if self.is_current()
            && rustix::fs::unlinkat(CWD, &self.path, AtFlags::REMOVEDIR).is_ok()
            && let Some(above) = &self.above
        {
            let _ = rustix::fs::unlinkat(CWD, above, AtFlags::REMOVEDIR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_directory_that_others_could_have_made_must_be_private_and_no_link() {
        let directory = tempfile::tempdir().unwrap();
        let (ours, link) = (directory.path().join("ours"), directory.path().join("link"));
        make(&ours).unwrap();
        assert_eq!(check_ours(&ours), Ok(()));
        std::os::unix::fs::symlink(&ours, &link).unwrap();
        assert_eq!(check_ours(&link), Err(OpenError::NotOurs(link)));
        for mode in [0o755, 0o701, 0o1700] {
            std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_ours(&ours), Err(OpenError::NotOurs(ours.clone())), "{mode:o}");
        }
    }
}
