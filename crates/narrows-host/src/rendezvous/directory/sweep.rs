//! What nodes that have ended leave in a domain's directory, and the directory itself.

use std::ffi::{CStr, CString};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use narrows::link::Name;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, FileType};
use rustix::io::Errno;

use super::{Bound, Directory, Lock, PATIENCE, identity, is_private};
use crate::rendezvous::packet;

/// How many of a domain's files are looked at before it is taken that they are all in use.
const SOME: usize = 64;

/// Has what is left over removed. Where there are many files, some are looked at, others each time,
/// and all only if one of those was left over: else each of many nodes would look at all, under the
/// lock.
pub(crate) fn sweep_some<T>(mut files: Vec<T>, mut remove: impl FnMut(&T) -> bool) {
    if files.len() > SOME {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let from = now.subsec_nanos() as usize % files.len();
        files.rotate_left(from);
    }
    let rest = files.split_off(SOME.min(files.len()));
    // Not `any`: each of them is looked at.
    let left = files.iter().filter(|file| remove(file)).count();
    if left > 0 {
        for file in &rest {
            remove(file);
        }
    }
}

impl Directory {
    /// Removes every socket of this user's that nobody has any more, as [`sweep_some`] finds them.
    pub(crate) fn sweep(&self, lock: &Lock) {
        let Ok(entries) = Dir::read_from(&self.directory) else { return };
        let Ok(probe) = packet::probe() else { return };
        let files = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_owned()));
        sweep_some(files.collect(), |file| self.remove_if_stale(file, &probe));
        self.sweep_notes(lock);
    }

    /// Removes the socket of a node that was seen to die; false if it must be tried again.
    pub(crate) fn remove_dead(&self, name: &Name) -> bool {
        let Ok(lock) = self.try_lock() else { return false };
        match self.connect(name.as_str()) {
            Err(Errno::CONNREFUSED) => {
                if let (Ok(file), Ok(probe)) = (CString::new(name.as_str()), packet::probe()) {
                    self.remove_if_stale(&file, &probe);
                }
                self.sweep_notes(&lock);
                true
            }
            Err(Errno::NOENT) => true,
            // Dying, or its next life.
            _ => false,
        }
    }

    /// Whether it was.
    fn remove_if_stale(&self, file: &CStr, probe: &OwnedFd) -> bool {
        let Ok(stat) = rustix::fs::statat(&self.directory, file, AtFlags::SYMLINK_NOFOLLOW) else {
            return false;
        };
        let Ok(text) = file.to_str() else { return false };
        // Another user's may be about to be listened on: the lock says nothing of it.
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket
            || stat.st_uid != rustix::process::geteuid().as_raw()
        {
            return false;
        }
        let nobody_has = || {
            let asked = self.address(text).and_then(|at| rustix::net::connect(probe, &at));
            asked == Err(Errno::CONNREFUSED)
        };
        // No node has such a name: what others call so is left over.
        let stale = text.starts_with('.') || nobody_has();
        if stale {
            let _ = rustix::fs::unlinkat(&self.directory, file, AtFlags::empty());
        }
        stale
    }

    /// Removes this node's socket, unless its name has another's, those of the dead, and what is
    /// empty then.
    pub(crate) fn leave(&self, name: &Name, bound: &Bound) {
        let file = rustix::fs::statat(&self.directory, name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        if file.is_ok_and(|stat| identity(&stat) == bound.file) {
            self.tell_no_more(name);
            let _ = rustix::fs::unlinkat(&self.directory, name.as_str(), AtFlags::empty());
        }
        // One that somebody prepared, for several users say, stays as it is.
        if !is_private(&self.directory).unwrap_or(false) {
            return;
        }
        // Under the lock, so that nobody is about to be born in a directory that is gone.
        let Ok(lock) = self.lock_until(Instant::now() + PATIENCE / 10) else { return };
        // What killed ones left: this may be the last node that could see to it.
        self.sweep(&lock);
        self.remove_if_empty(&lock);
    }

    /// Removes the directory if it is this user's and has nothing in it.
    pub(crate) fn remove_if_empty(&self, _lock: &Lock) {
        // One that somebody prepared, for several users say, stays.
        if !is_private(&self.directory).unwrap_or(false) {
            return;
        }
        // The lock is on this directory; another may have its path by now, and its own nodes.
        if self.is_current()
            && rustix::fs::unlinkat(CWD, &self.path, AtFlags::REMOVEDIR).is_ok()
            && let Some(above) = &self.above
        {
            let _ = rustix::fs::unlinkat(CWD, above, AtFlags::REMOVEDIR);
        }
    }
}
