//! A thread that drives the nodes of a process whose program makes no calls, so that peers find
//! them and their endpoints all the same.

use std::ffi::OsStr;
use std::thread::JoinHandle;
use std::time::Duration;

use narrows_host::system::in_background;
use parking_lot::{Condvar, Mutex};

/// How long nodes are left to themselves.
pub(super) const TURN: Duration = Duration::from_millis(20);
/// The variable of the environment that leaves the thread out.
const VARIABLE: &str = "NARROWS_MCAPI_HELPER";

/// The thread of a process, if it has one.
pub(super) struct Helper {
    over: Mutex<bool>,
    ends: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Helper {
    pub(super) const fn new() -> Helper {
        Helper { over: Mutex::new(false), ends: Condvar::new(), thread: Mutex::new(None) }
    }

    /// Has a thread `drive` the nodes now and then, unless one does or the environment says no.
    pub(super) fn start(&'static self, drive: fn()) -> std::io::Result<()> {
        let mut thread = self.thread.lock();
        if thread.is_some() || std::env::var_os(VARIABLE).as_deref() == Some(OsStr::new("0")) {
            return Ok(());
        }
        *self.over.lock() = false;
        let work = move || {
            let mut over = self.over.lock();
            while !*over {
                if self.ends.wait_for(&mut over, TURN).timed_out() {
                    drop(over);
                    drive();
                    over = self.over.lock();
                }
            }
        };
        *thread = Some(in_background("narrows-mcapi", work)?);
        Ok(())
    }

    /// Whether there is a thread.
    #[cold]
    pub(super) fn runs(&self) -> bool {
        self.thread.lock().is_some()
    }

    /// Ends the thread.
    pub(super) fn stop(&self) {
        let Some(thread) = self.thread.lock().take() else { return };
        *self.over.lock() = true;
        self.ends.notify_all();
        // It has nothing to say but that it panicked, which is said already.
        let _ = thread.join();
    }
}
