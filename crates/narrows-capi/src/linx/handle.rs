//! Handles of endpoints: which there are, and which signals are whose.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use narrows_host::OpenError;
use narrows_host::linx::{Endpoint, Error, HandlerError, Node, Options, Signal, Spid, Stack};

use crate::per_process::OfProcess;

/// The variable of the environment that says where the layers run.
const STACK_VARIABLE: &str = "NARROWS_LINX_STACK";

/// An error number of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Errno(pub i32);

pub(super) type Outcome<T> = Result<T, Errno>;

/// What an error is called in C.
pub(super) fn errno(error: &Error) -> Errno {
    Errno(match error {
        Error::Open(OpenError::Taken(_) | OpenError::Occupied(_)) => libc::EADDRINUSE,
        Error::Open(OpenError::Name(_)) | Error::Path(_) => libc::EINVAL,
        Error::Open(OpenError::Descriptors) => libc::EMFILE,
        Error::Open(OpenError::NotOurs(_) | OpenError::Exposed(_) | OpenError::Directory(..)) => {
            libc::EACCES
        }
        Error::Open(OpenError::Busy(_)) => libc::EAGAIN,
        Error::Open(_) | Error::Resources => libc::ENOMEM,
        Error::Handler(HandlerError::Duplicate) => libc::EADDRINUSE,
        Error::Handler(HandlerError::Full) => libc::ENOBUFS,
        Error::Handler(HandlerError::UnknownLink) => libc::EHOSTUNREACH,
        Error::Handler(HandlerError::Unknown) => libc::EINVAL,
        Error::Handler(HandlerError::Gone) => libc::ECONNRESET,
        Error::Handler(HandlerError::Refused(_)) | Error::Length => libc::EMSGSIZE,
        Error::Closed => libc::EBADF,
        _ => libc::EIO,
    })
}

/// An endpoint, and the signals that it owns, by where they are.
pub(super) struct Handle {
    pub endpoint: Endpoint,
    /// The node it shares with others, if it does.
    shares: Option<String>,
    owned: Mutex<HashMap<usize, Signal>>,
    /// Signals sent and their bytes, and signals received and theirs.
    counts: [AtomicU64; 4],
}

impl Handle {
    /// Notes that a signal was sent.
    pub fn sent(&self, len: usize) {
        self.count(0, len);
    }

    /// Notes that a signal was received.
    pub fn received(&self, len: usize) {
        self.count(2, len);
    }

    // Relaxed: nothing is read because of what is counted.
    fn count(&self, first: usize, len: usize) {
        for (count, more) in self.counts[first..].iter().zip([1, len as u64]) {
            count.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Signals sent and their bytes, and signals received and theirs.
    pub fn counts(&self) -> [u64; 4] {
        self.counts.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    fn owned(&self) -> MutexGuard<'_, HashMap<usize, Signal>> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a signal C's. Where it is.
    pub fn own(&self, mut signal: Signal) -> usize {
        let place = signal.as_mut_ptr() as usize;
        self.owned().insert(place, signal);
        place
    }

    /// Takes a signal back from C.
    ///
    /// # Errors
    /// `EINVAL`: it is none of this handle's, or has been sent, consumed or freed.
    pub fn disown(&self, place: usize) -> Outcome<Signal> {
        self.owned().remove(&place).ok_or(Errno(libc::EINVAL))
    }

    /// Makes one of C's signals shorter or longer. Where it is then.
    ///
    /// # Errors
    /// As for [`Handle::disown`], and `EMSGSIZE`.
    pub fn resize(&self, place: usize, len: usize) -> Outcome<usize> {
        let mut owned = self.owned();
        let signal = owned.get_mut(&place).ok_or(Errno(libc::EINVAL))?;
        if !signal.resize(len) {
            return Err(Errno(libc::EMSGSIZE));
        }
        let now = signal.as_mut_ptr() as usize;
        if now != place
            && let Some(signal) = owned.remove(&place)
        {
            owned.insert(now, signal);
        }
        Ok(now)
    }

    /// Looks at one of C's signals.
    ///
    /// # Errors
    /// As for [`Handle::disown`].
    pub fn with<R>(&self, place: usize, act: impl FnOnce(&mut Signal) -> R) -> Outcome<R> {
        let mut owned = self.owned();
        owned.get_mut(&place).map(act).ok_or(Errno(libc::EINVAL))
    }
}

/// Handles by what C has of them: never a number that was used before.
type Known = HashMap<usize, Arc<Handle>>;

/// The handles of a process. The standard library's lock is a word: a child that is forked can make
/// one, whatever its parent's threads waited for.
#[derive(Default)]
struct Handles(RwLock<Known>);

impl Handles {
    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

static HANDLES: OfProcess<Handles> = OfProcess::new();
static NEXT: AtomicUsize = AtomicUsize::new(16);
static NAMELESS: AtomicU32 = AtomicU32::new(0);

/// The handle that C means.
///
/// # Errors
/// `EBADF`: it is none, or is closed.
pub(super) fn find(linx: usize) -> Outcome<Arc<Handle>> {
    let handle = HANDLES.get().and_then(|handles| handles.read().get(&linx).cloned());
    handle.ok_or(Errno(libc::EBADF))
}

/// The handle of an endpoint of this process.
pub(super) fn of(spid: Spid) -> Option<Arc<Handle>> {
    let handles = HANDLES.get()?.read();
    handles.values().find(|handle| handle.endpoint.spid() == spid).cloned()
}

fn options(name: &str) -> Outcome<Options> {
    let stack = match std::env::var(STACK_VARIABLE).as_deref() {
        Err(_) | Ok("" | "flat") => Stack::Flat,
        Ok("layered") => Stack::Layered,
        Ok(_) => return Err(Errno(libc::EINVAL)),
    };
    Ok(Options::new(name).stack(stack))
}

/// A node whose name nobody looks for.
fn nameless() -> Outcome<Node> {
    let count = NAMELESS.fetch_add(1, Ordering::Relaxed);
    let name = format!("linx-{}-{count}", std::process::id());
    options(&name)?.node().map_err(|error| errno(&error))
}

/// Opens an endpoint: on a node of its own, or on the one that is named before a slash, which all
/// of this process share that name it.
pub(super) fn open(name: &str) -> Outcome<usize> {
    let opened = |result: Result<Endpoint, Error>| result.map_err(|error| errno(&error));
    let mut handles = HANDLES.get_or_make().write();
    let (endpoint, shares) = match name.split_once('/') {
        None if name.is_empty() => (opened(nameless()?.open(None))?, None),
        None => {
            let endpoint = match opened(options(name)?.open()) {
                // Another node has the name; endpoints may have it too.
                Err(Errno(libc::EADDRINUSE)) => opened(nameless()?.open(Some(name))),
                other => other,
            };
            (endpoint?, None)
        }
        Some((node, name)) => {
            let here = handles.values().find(|handle| handle.shares.as_deref() == Some(node));
            let at = match here {
                Some(handle) => handle.endpoint.node().clone(),
                None => options(node)?.node().map_err(|error| errno(&error))?,
            };
            (opened(at.open(Some(name)))?, Some(node.to_owned()))
        }
    };
    // As C sees it: aligned as a pointer is.
    let linx = NEXT.fetch_add(16, Ordering::Relaxed);
    let (owned, counts) = Default::default();
    handles.insert(linx, Arc::new(Handle { endpoint, shares, owned, counts }));
    Ok(linx)
}

/// Closes an endpoint, with all the signals it owns. Other threads that wait with it stop waiting.
pub(super) fn close(linx: usize) -> Outcome<()> {
    // Closed behind the lock: others go on meanwhile.
    let handle = HANDLES.get().and_then(|handles| handles.write().remove(&linx));
    handle.map(|handle| handle.endpoint.close()).ok_or(Errno(libc::EBADF))
}
