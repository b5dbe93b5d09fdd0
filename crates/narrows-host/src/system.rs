//! What a program asks of the machine before it measures: cores, priority, locked memory, CPU time.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::size_of;
use std::num::NonZeroU64;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rustix::fd::{AsRawFd as _, BorrowedFd};
use rustix::io::{self, Errno};
use rustix::mm::MlockAllFlags;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Something that the machine refused: the text says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemError {
    text: String,
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for SystemError {}

fn refused(text: String) -> SystemError {
    SystemError { text }
}

/// Pins the calling thread to one core. Threads that it starts later inherit that, and can be
/// pinned elsewhere.
///
/// # Errors
/// There is no such core, or this process may not use it.
pub fn pin(core: usize) -> Result<(), SystemError> {
    let mut set = CpuSet::new();
    let pinned = if core < CpuSet::MAX_CPU {
        set.set(core);
        rustix::thread::sched_setaffinity(None, &set)
    } else {
        Err(Errno::INVAL)
    };
    pinned.map_err(|e| {
        refused(match e {
            Errno::INVAL => format!(
                "there is no core {core}, or a cpuset keeps this process off it: choose another \
                 (this thread runs on {:?})",
                cores()
            ),
            e => format!("cannot pin this thread to core {core}: {e}"),
        })
    })
}

/// The cores that the calling thread may run on.
#[must_use]
pub fn cores() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()
}

/// Runs the calling thread at a real-time priority (1 to 99, first in first out). A thread that
/// spins at one keeps everything else off its core.
///
/// # Errors
/// The limit of the user, or the priority does not exist.
pub fn real_time(priority: u8) -> Result<(), SystemError> {
    let parameters = libc::sched_param { sched_priority: libc::c_int::from(priority) };
    // SAFETY: 0 is the calling thread, and the parameters are only read during the call.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(refused(match error.raw_os_error() {
        Some(libc::EPERM) => format!(
            "real-time priority {priority} is not allowed: raise the limit with 'ulimit -r {priority}' \
             (rtprio in /etc/security/limits.conf), or run as root"
        ),
        _ => format!("cannot set real-time priority {priority} (1 to 99): {error}"),
    }))
}

/// Why the C library's last call of this thread failed.
pub(crate) fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Bytes of the stack of a thread in the background.
const STACK: usize = 256 << 10;

/// Starts a thread that sees to something while the application's threads have better to do: not on
/// the core of the one that starts it, nor at its real-time priority, and signals are not for it.
///
/// # Errors
/// What the system says if it has no room for one.
pub fn in_background(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    let thread = Builder::new().name(name.into()).stack_size(STACK);
    without_signals(|| {
        thread.spawn(|| {
            run_anywhere();
            no_real_time();
            work();
        })
    })
}

/// Lets the calling thread run on every core, though the thread that started it is pinned to one.
pub(crate) fn run_anywhere() {
    let mut everywhere = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|core| everywhere.set(core));
    let _ = sched_setaffinity(None, &everywhere);
}

/// Does something with all signals of the calling thread held back, as a thread that it starts then
/// has them for good.
fn without_signals<R>(act: impl FnOnce() -> R) -> R {
    // SAFETY: a set of signals is a plain array of numbers, for which zeroes will do.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: both are this function's, and the calls only write and read them.
    let changed = unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before) == 0
    };
    let result = act();
    if changed {
        // SAFETY: as above.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut())
        };
    }
    result
}

/// Takes the calling thread's real-time priority away, if it has inherited one.
fn no_real_time() {
    schedule(libc::SCHED_OTHER);
}

/// Runs the calling thread only while no other wants its core: one that observes others keeps them
/// waiting less so. Of a core that others want all the time it still gets less than a hundredth.
pub fn idle() {
    schedule(libc::SCHED_IDLE);
}

/// Has the calling thread scheduled by a policy that knows no priorities, which every user may ask
/// for.
fn schedule(policy: libc::c_int) {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 is the calling thread, and the parameters are only read during the call.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
}

/// Locks the process's memory so that no access waits for a disk: what it has at once, and what it
/// gets as soon as it is used.
///
/// # Errors
/// The limit of the user.
pub fn lock_memory() -> Result<(), SystemError> {
    // What comes is not made at once: a peer's region may be a gigabyte of holes.
    let later = MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    let locked = rustix::mm::mlockall(MlockAllFlags::CURRENT);
    locked.and_then(|()| rustix::mm::mlockall(later)).map_err(|e| {
        refused(match e {
            Errno::NOMEM | Errno::PERM => "the process's memory cannot be locked: raise the limit \
                with 'ulimit -l unlimited' (memlock in /etc/security/limits.conf), or run as root"
                .into(),
            e => format!("cannot lock the process's memory: {e}"),
        })
    })
}

/// Has timed waits of the calling thread end on time, instead of up to 50 µs late.
///
/// # Errors
/// The kernel has no timer slack.
pub fn precise_timers() -> Result<(), SystemError> {
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))
        .map_err(|e| refused(format!("cannot set this thread's timer slack: {e}")))
}

/// CPU time that all threads of this process have used.
#[must_use]
pub fn process_time() -> Duration {
    time(ClockId::ProcessCPUTime)
}

/// CPU time that the calling thread has used.
#[must_use]
pub fn thread_time() -> Duration {
    time(ClockId::ThreadCPUTime)
}

fn time(clock: ClockId) -> Duration {
    let t = clock_gettime(clock);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// The user at the other end of a local socket.
///
/// Asked of the kernel without the process number beside it, which is zero, and so no number at
/// all, for a process of another namespace.
pub(crate) fn peer_user(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, the size of the structure, and any bytes make
    // one.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut len,
        )
    };
    if result != 0 || len as usize != size_of::<libc::ucred>() {
        return Err(last_error());
    }
    Ok(peer.uid)
}

/// The number that stands for every user without one in this process's user namespace; none where
/// each user has one.
pub(crate) fn stand_in() -> Option<u32> {
    let number = |text: &str| text.trim().parse().ok();
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if map.split_whitespace().eq(["0", "0", "4294967295"]) {
        return None;
    }
    let overflow = std::fs::read_to_string("/proc/sys/kernel/overflowuid");
    overflow.ok().and_then(|text| number(&text)).or(Some(65534))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_pins_itself_and_a_core_that_is_not_there_is_refused_in_words() {
        let all = cores();
        let last = all[all.len() - 1];
        let all_of_them = all.clone();
        std::thread::spawn(move || {
            pin(last).unwrap();
            assert_eq!(cores(), [last]);
            pin(all_of_them[0]).unwrap();
            assert_eq!(cores(), [all_of_them[0]], "and elsewhere");
        })
        .join()
        .unwrap();
        assert_eq!(cores(), all, "other threads are not pinned");
        let error = pin(CpuSet::MAX_CPU + 7).unwrap_err().to_string();
        assert!(error.contains("there is no core"), "{error}");
    }

    #[test]
    fn cpu_time_rises_with_work_only() {
        let (process, thread) = (process_time(), thread_time());
        while thread_time() < thread + Duration::from_millis(2) {
            std::hint::spin_loop();
        }
        assert!(process_time() >= process + Duration::from_millis(2));
    }

    #[test]
    fn a_priority_that_does_not_exist_is_refused_in_words() {
        let error = real_time(200).unwrap_err().to_string();
        assert!(error.contains("priority 200"), "{error}");
    }
}
