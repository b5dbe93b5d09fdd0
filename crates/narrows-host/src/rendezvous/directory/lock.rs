//! The lock that a user's nodes are born under.

use std::time::{Duration, Instant};

use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::{self, Errno};

use super::{Directory, is_mine, open};
use crate::error::OpenError;

/// Between two tries to get the lock, at first and at most.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(32);
/// Times as long again as a node is patient, where others have it in turns.
const TURNS: u32 = 15;

/// The lock on a directory. Its holder knows that no other node of this user adds or replaces
/// a socket.
pub(crate) struct Lock {
    file: OwnedFd,
    /// Whether another node had it, which keeps the directory swept.
    pub awaited: bool,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Not by closing alone: a process being started may have inherited the descriptor.
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

impl Directory {
    pub(super) fn try_lock(&self) -> io::Result<Lock> {
        // A lock belongs to an opening of the file, not to a process: each needs its own.
        let lock = match &self.lock {
            None => open(self.directory.as_fd(), ".")?,
            Some(name) => {
                // Not waiting: another user may have put a pipe there.
                let flags = OFlags::RDONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
                let mode = Mode::RUSR | Mode::WUSR;
                let flags = flags | OFlags::CLOEXEC;
                let file = rustix::fs::openat(&self.directory, name, flags, mode)?;
                let stat = rustix::fs::fstat(&file)?;
                let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
                if !plain || stat.st_mode & 0o077 != 0 || !is_mine(&file, &stat) {
                    return Err(Errno::PERM);
                }
                file
            }
        };
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Lock { file: lock, awaited: false })
    }

    /// When something was last added or removed.
    #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    fn changed(&self) -> Option<(i64, u64)> {
        let stat = rustix::fs::fstat(&self.directory).ok()?;
        Some((stat.st_mtime as i64, stat.st_mtime_nsec as u64))
    }

    /// Waits for the lock until then, and longer while others have it in turns: then the directory
    /// changes.
    pub(super) fn lock_until(&self, mut deadline: Instant) -> Result<Lock, OpenError> {
        let patience = deadline.saturating_duration_since(Instant::now());
        let last = deadline + patience * TURNS;
        let mut changed = self.changed();
        // Longer each time: of many that wait for it, the one that has it must get on.
        let mut pause = SHORTEST;
        loop {
            match self.try_lock() {
                Ok(mut lock) => {
                    lock.awaited = pause > SHORTEST;
                    return Ok(lock);
                }
                Err(Errno::AGAIN | Errno::INTR) if Instant::now() < deadline => {
                    std::thread::sleep(pause);
                    let now = self.changed();
                    if changed != now {
                        changed = now;
                        deadline = last.min(Instant::now() + patience);
                    }
                    pause = (2 * pause).min(LONGEST);
                }
                Err(Errno::AGAIN | Errno::INTR) => {
                    return Err(OpenError::Busy(self.path.clone()));
                }
                Err(Errno::PERM | Errno::LOOP | Errno::ACCESS) if self.lock.is_some() => {
                    let file = self.lock.as_deref().unwrap_or_default();
                    return Err(OpenError::NotOurs(self.path.join(file)));
                }
                Err(e) => return Err(OpenError::path(&self.path, e)),
            }
        }
    }
}
