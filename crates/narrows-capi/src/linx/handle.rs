//! Handles of endpoints: which there are, and which signals are whose.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use narrows_host::linx::{Endpoint, Error, HandlerError, Options, Signal, Stack};
use narrows_host::{Maker, OpenError};
use parking_lot::{Mutex, RwLock};

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
    })
}

/// An endpoint, and the signals that it owns, by where they are.
pub(super) struct Handle {
    pub endpoint: Endpoint,
    /// The node it shares with others, if it does.
    shares: Option<String>,
    owned: Mutex<HashMap<usize, Signal>>,
}

impl Handle {
    /// Makes a signal C's. Where it is.
    pub fn own(&self, mut signal: Signal) -> usize {
        let place = signal.as_mut_ptr() as usize;
        self.owned.lock().insert(place, signal);
        place
    }

    /// Takes a signal back from C.
    ///
    /// # Errors
    /// `EINVAL`: it is none of this handle's, or has been sent, consumed or freed.
    pub fn disown(&self, place: usize) -> Outcome<Signal> {
        self.owned.lock().remove(&place).ok_or(Errno(libc::EINVAL))
    }

    /// Looks at one of C's signals.
    ///
    /// # Errors
    /// As for [`Handle::disown`].
    pub fn with<R>(&self, place: usize, act: impl FnOnce(&mut Signal) -> R) -> Outcome<R> {
        let mut owned = self.owned.lock();
        owned.get_mut(&place).map(act).ok_or(Errno(libc::EINVAL))
    }
}

/// Handles by what C has of them: never a number that was used before.
type Handles = RwLock<HashMap<usize, Arc<Handle>>>;

/// Every handle of a process. A child that was forked has none of its parent's: it begins with a
/// table of its own, since the locks of the other are as its parent's threads left them.
struct Table {
    maker: Maker,
    handles: Handles,
    /// Of a child.
    next: OnceLock<Box<Table>>,
}

static FIRST: OnceLock<Box<Table>> = OnceLock::new();
static NEXT: AtomicUsize = AtomicUsize::new(16);
static NAMELESS: AtomicU32 = AtomicU32::new(0);

/// This process's handles, which are made if `make` says so.
fn table(make: bool) -> Option<&'static Handles> {
    let mut place = &FIRST;
    loop {
        let new = || {
            Box::new(Table {
                maker: Maker::this(),
                handles: Handles::default(),
                next: OnceLock::new(),
            })
        };
        let table = if make { place.get_or_init(new) } else { place.get()? };
        if !table.maker.is_another() {
            return Some(&table.handles);
        }
        place = &table.next;
    }
}

/// The handle that C means.
///
/// # Errors
/// `EBADF`: it is none, or is closed.
pub(super) fn find(linx: usize) -> Outcome<Arc<Handle>> {
    let handle = table(false).and_then(|handles| handles.read().get(&linx).cloned());
    handle.ok_or(Errno(libc::EBADF))
}

fn options(name: &str) -> Outcome<Options> {
    let stack = match std::env::var(STACK_VARIABLE).as_deref() {
        Err(_) | Ok("" | "flat") => Stack::Flat,
        Ok("layered") => Stack::Layered,
        Ok(_) => return Err(Errno(libc::EINVAL)),
    };
    Ok(Options::new(name).stack(stack))
}

/// Opens an endpoint: on a node of its own, or on the one that is named before a slash, which all
/// of this process share that name it.
pub(super) fn open(name: &str) -> Outcome<usize> {
    let opened = |result: Result<Endpoint, Error>| result.map_err(|error| errno(&error));
    let mut handles = table(true).ok_or(Errno(libc::ENOMEM))?.write();
    let (endpoint, shares) = match name.split_once('/') {
        None if name.is_empty() => {
            let count = NAMELESS.fetch_add(1, Ordering::Relaxed);
            let node = options(&format!("linx-{}-{count}", std::process::id()))?.node();
            (opened(node.and_then(|node| node.open(None)))?, None)
        }
        None => (opened(options(name)?.open())?, None),
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
    handles.insert(linx, Arc::new(Handle { endpoint, shares, owned: Mutex::default() }));
    Ok(linx)
}

/// Closes an endpoint, with all the signals it owns.
pub(super) fn close(linx: usize) -> Outcome<()> {
    // Dropped behind the lock: others go on meanwhile.
    let handle = table(false).and_then(|handles| handles.write().remove(&linx));
    handle.map(drop).ok_or(Errno(libc::EBADF))
}
