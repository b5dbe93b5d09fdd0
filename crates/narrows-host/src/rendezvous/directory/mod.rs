//! The directory of a domain: one socket per node, made and removed under the directory's lock.

mod lock;
mod look;
mod sweep;

use std::os::fd::AsRawFd as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use narrows::link::Name;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::{self, Errno};
use rustix::net::SocketAddrUnix;

use crate::error::OpenError;
use crate::rendezvous::packet;
use crate::system::stand_in;
pub(crate) use lock::Lock;
pub use look::Pulse;
pub(crate) use look::domains;
pub(crate) use sweep::sweep_some;

/// How long the lock is waited for when a node opens.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Connections that the kernel keeps for a node that is busy.
const BACKLOG: i32 = 128;
/// Seconds from the birth of a socket after which its mode is sure to be the one that it keeps.
const YOUNG: u64 = 1;

/// A domain's directory.
pub(crate) struct Directory {
    path: PathBuf,
    directory: OwnedFd,
    /// What it was opened for: the directory that was asked for, if any, and the domain.
    asked: (Option<PathBuf>, Name),
    /// Directory above, if it is removed as well when it is empty.
    above: Option<PathBuf>,
    /// The file that this user locks; none where nobody else can lock the directory itself.
    lock: Option<String>,
}

/// A node's socket, and which file in the directory it is.
pub(crate) struct Bound {
    pub listener: OwnedFd,
    file: (u64, u64),
}

/// Tells a socket from its successor of the same name.
pub(crate) type Life = ((u64, u64), i64, u64);

fn identity(stat: &Stat) -> (u64, u64) {
    #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    (stat.st_dev as u64, stat.st_ino as u64)
}

fn open(at: BorrowedFd<'_>, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(at, path, flags, Mode::empty())
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
fn default_base() -> Result<(PathBuf, bool), OpenError> {
    if let Some(runtime) = std::env::var_os("XDG_RUNTIME_DIR").filter(|d| !d.is_empty()) {
        let runtime = PathBuf::from(runtime);
        // One that does not exist is made, and is this user's alone then.
        make(&runtime)?;
        enter(CWD, &runtime, &runtime)?;
        return Ok((runtime.join("narrows"), false));
    }
    let uid = rustix::process::geteuid().as_raw();
    Ok((std::env::temp_dir().join(format!("narrows-{uid}")), true))
}

/// Whether a file is this user's.
fn is_mine(file: impl AsFd, stat: &Stat) -> bool {
    let me = rustix::process::geteuid().as_raw();
    // A number that stands for many users proves nothing. That its mode may be set does.
    let proven = || rustix::fs::fchmod(&file, Mode::from_raw_mode(stat.st_mode)).is_ok();
    stat.st_uid == me && (stand_in() != Some(me) || proven())
}

/// Whether a directory is this user's, and nobody else's to enter: what `make` makes.
fn is_private(directory: &OwnedFd) -> io::Result<bool> {
    let stat = rustix::fs::fstat(directory)?;
    Ok(stat.st_mode & 0o7777 == 0o700 && is_mine(directory, &stat))
}

fn check_ours(path: &Path) -> Result<(), OpenError> {
    let not_ours = |e| match e {
        Errno::LOOP | Errno::NOTDIR | Errno::ACCESS => OpenError::NotOurs(path.into()),
        e => OpenError::path(path, e),
    };
    if !open(CWD, path).and_then(|directory| is_private(&directory)).map_err(not_ours)? {
        return Err(OpenError::NotOurs(path.into()));
    }
    Ok(())
}

/// The file that this user locks where others may open the directory, and so could keep its lock.
fn lock_file() -> String {
    format!(".lock-{}", rustix::process::geteuid().as_raw())
}

/// Opens a directory in which nobody but root and this user can replace what is theirs.
fn enter(
    at: BorrowedFd<'_>,
    file: impl rustix::path::Arg,
    path: &Path,
) -> Result<OwnedFd, OpenError> {
    let directory = open(at, file).map_err(|e| match e {
        Errno::LOOP | Errno::NOTDIR => OpenError::Exposed(path.into()),
        e => OpenError::path(path, e),
    })?;
    let stat = rustix::fs::fstat(&directory).map_err(|e| OpenError::path(path, e))?;
    let owned = stat.st_uid == 0 || is_mine(&directory, &stat);
    if !owned || (stat.st_mode & 0o022 != 0 && stat.st_mode & 0o1000 == 0) {
        return Err(OpenError::Exposed(path.into()));
    }
    Ok(directory)
}

impl Directory {
    /// Opens and locks the directory of a domain, under `base` or where the environment says.
    pub(crate) fn open(
        asked: Option<&Path>,
        domain: &Name,
        patience: Duration,
    ) -> Result<(Directory, Lock), OpenError> {
        if rustix::fs::access("/proc/self/fd", rustix::fs::Access::EXEC_OK).is_err() {
            return Err(OpenError::NoProc);
        }
        let given = asked.map(Path::to_path_buf).or_else(|| {
            std::env::var_os("NARROWS_DIR").filter(|d| !d.is_empty()).map(PathBuf::from)
        });
        let ours = given.is_none();
        let (base, exposed) = given.map_or_else(default_base, |base| Ok((base, false)))?;
        let path = base.join(domain.as_str());
        let asked = (asked.map(Path::to_path_buf), *domain);
        let above = ours.then(|| base.clone());
        let opened = |directory, private: bool| Directory {
            path: path.clone(),
            directory,
            asked: asked.clone(),
            above: above.clone(),
            lock: (!private).then(lock_file),
        };
        let result = Directory::enter_and_lock(&base, exposed, &path, patience, &opened);
        if result.is_err()
            && let Ok(directory) = open(CWD, &path)
        {
            // It may have been made for this node alone.
            let made = opened(directory, true);
            if let Ok(lock) = made.try_lock() {
                made.remove_if_empty(&lock);
            }
        }
        result
    }

    /// Makes the directory if it is not there, and locks it.
    fn enter_and_lock(
        base: &Path,
        exposed: bool,
        path: &Path,
        patience: Duration,
        opened: &impl Fn(OwnedFd, bool) -> Directory,
    ) -> Result<(Directory, Lock), OpenError> {
        let deadline = Instant::now() + patience;
        let file = path.file_name().unwrap_or_default();
        loop {
            // The last node of the domain may remove the directories at any moment up to the lock.
            let entered = make(base).and_then(|()| {
                if exposed {
                    check_ours(base)?;
                }
                let above = enter(CWD, base, base)?;
                match rustix::fs::mkdirat(&above, file, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(e) => return Err(OpenError::path(path, e)),
                }
                enter(above.as_fd(), file, path)
            });
            let directory = match entered {
                Err(OpenError::Directory(_, Errno::NOENT | Errno::EXIST))
                    if Instant::now() < deadline =>
                {
                    continue;
                }
                entered => entered?,
            };
            let private = is_private(&directory).map_err(|e| OpenError::path(path, e))?;
            let opened = opened(directory, private);
            let lock = opened.lock_until(deadline)?;
            if opened.is_current() {
                return Ok((opened, lock));
            }
        }
    }

    /// The directory itself.
    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Whether it is still the one at its path.
    pub(crate) fn is_current(&self) -> bool {
        let here = rustix::fs::fstat(&self.directory);
        let there = rustix::fs::statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW);
        matches!((here, there), (Ok(a), Ok(b)) if identity(&a) == identity(&b))
    }

    /// The address of a name. Through the descriptor, because a socket's path has 108 bytes at
    /// most.
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
                    Err(Errno::CONNREFUSED) => {
                        rustix::fs::unlinkat(&self.directory, name.as_str(), AtFlags::empty())
                            .map_err(|e| OpenError::path(&self.path, e))?;
                    }
                    Err(Errno::NOENT) => {}
                    Err(Errno::PROTOTYPE) => return Err(OpenError::Occupied(full)),
                    // Nobody was asked.
                    Err(
                        error @ (Errno::MFILE
                        | Errno::NFILE
                        | Errno::NOMEM
                        | Errno::NOBUFS
                        | Errno::INTR),
                    ) => {
                        return Err(OpenError::path(&self.path, error));
                    }
                    _ => return Err(OpenError::Taken(full)),
                }
            }
            Ok(_) => return Err(OpenError::Occupied(full)),
            Err(e) => return Err(OpenError::path(&self.path, e)),
        }
        self.bear(name, for_others).map_err(|e| match e {
            // Another user's node was faster.
            Errno::ADDRINUSE => OpenError::Taken(full),
            e => OpenError::path(&self.path, e),
        })
    }

    /// The path that a node's socket is bound to: the one that it has in the file system, if that
    /// is short enough. A cleaner of temporary directories looks for it among those of the sockets
    /// that are alive.
    fn birthplace(&self, name: &str) -> io::Result<SocketAddrUnix> {
        let fd = format!("/proc/self/fd/{}", self.directory.as_raw_fd());
        let mut path = rustix::fs::readlinkat(CWD, fd, Vec::new())?.into_bytes();
        path.push(b'/');
        path.extend(name.as_bytes());
        SocketAddrUnix::new(path).or_else(|_| self.address(name))
    }

    /// Under the lock, a node that finds a socket on which nobody listens yet leaves it alone.
    fn bear(&self, name: &Name, for_others: bool) -> io::Result<Bound> {
        let name = name.as_str();
        let mode = Mode::from_raw_mode(if for_others { 0o666 } else { 0o600 });
        let listener = packet::socket()?;
        // The file is born with the mode of the socket, less what the process masks.
        rustix::fs::fchmod(&listener, mode)?;
        rustix::net::bind(&listener, &self.birthplace(name)?)?;
        let file = self.open_to(name, mode).and_then(|file| {
            rustix::net::listen(&listener, BACKLOG)?;
            Ok(file)
        });
        let file = file.inspect_err(|_| {
            let _ = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
        })?;
        Ok(Bound { listener, file })
    }

    /// Sees to it that a socket of this user's has its mode. Nothing else is touched, whatever has
    /// the name by now.
    fn open_to(&self, name: &str, mode: Mode) -> io::Result<(u64, u64)> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.directory, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        let socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
        if !socket || stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(Errno::PERM);
        }
        if Mode::from_raw_mode(stat.st_mode) != mode {
            rustix::fs::chmod(format!("/proc/self/fd/{}", file.as_raw_fd()), mode)?;
        }
        Ok(identity(&stat))
    }

    /// Whether a node's socket is so new that its mode may not yet let others in.
    pub(crate) fn is_young(&self, name: &str) -> bool {
        let stat = rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else { return false };
        #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
        stat.is_ok_and(|stat| now.as_secs().abs_diff(stat.st_ctime as u64) <= YOUNG)
    }

    /// Which life of a name this is: its socket, and when that was made.
    pub(crate) fn life(&self, name: &str) -> Option<Life> {
        let stat = rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        // A number of a file that is gone may be used again.
        #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
        Some((identity(&stat), stat.st_ctime as i64, stat.st_ctime_nsec as u64))
    }

    /// Takes a name again that is gone from the directory, which may be gone as well: a cleaner of
    /// temporary directories removes what looks old. None if there is nothing to do, or not now.
    pub(crate) fn restore(
        &self,
        name: &Name,
        bound: &Bound,
        for_others: bool,
    ) -> Option<(Directory, Bound)> {
        let file = rustix::fs::statat(&self.directory, name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        if file.is_ok_and(|stat| identity(&stat) == bound.file) && self.is_current() {
            return None;
        }
        let (asked, domain) = &self.asked;
        let (directory, lock) = Directory::open(asked.as_deref(), domain, Duration::ZERO).ok()?;
        let bound = directory.bind(&lock, name, for_others).ok()?;
        Some((directory, bound))
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

    #[test]
    fn a_name_that_is_swapped_during_a_birth_changes_no_other_files_mode() {
        let directory = tempfile::tempdir().unwrap();
        let (domain, secret) = (directory.path().join("d"), directory.path().join("secret"));
        std::fs::write(&secret, "").unwrap();
        let permissions = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&secret, permissions.clone()).unwrap();
        let name = "d".parse().unwrap();
        let (d, lock) = Directory::open(Some(directory.path()), &name, PATIENCE).unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let swaps = scope.spawn(|| {
                let link = domain.join("link");
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = std::os::unix::fs::symlink(&secret, &link);
                    let _ = std::fs::rename(&link, domain.join("a"));
                    let _ = std::fs::remove_file(domain.join("a"));
                }
            });
            let name = "a".parse().unwrap();
            let born = (0..2000).filter(|_| d.bind(&lock, &name, true).is_ok()).count();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            println!("{born} of 2000 were born");
            // A scope's own wait is in code that ThreadSanitizer does not see.
            swaps.join().unwrap();
        });
        assert_eq!(std::fs::metadata(&secret).unwrap().permissions(), {
            let mut same = permissions;
            same.set_mode(0o100_600);
            same
        });
    }
}
