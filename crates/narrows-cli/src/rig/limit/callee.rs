//! The side that answers.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use rustix::io::{FdFlags, fcntl_setfd};

use super::bells::Bells;
use super::raw::{LENGTH, Line, adopt};
use super::side::{Command, Side};
use super::turns::intact;
use super::{Kind, WARM_UP};

/// The callee's side of the limits, made by [`Limits::inherit`](super::Limits::inherit).
pub struct Callee {
    pub(super) side: Side,
}

/// What became of waiting for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// None was asked for in the time given.
    Nothing,
    /// One was run.
    Batch(Kind),
    /// The caller needs this side no longer.
    Dismissed,
}

impl Callee {
    pub(super) fn inherit(argument: &str) -> io::Result<Self> {
        let numbers: Vec<RawFd> = argument
            .split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|_| not_ours(argument, "it is not three numbers"))?;
        let [memory, mine, theirs] = numbers[..] else {
            return Err(not_ours(argument, "it is not three numbers"));
        };
        if memory == mine || memory == theirs || mine == theirs {
            return Err(not_ours(argument, "two of its numbers are the same"));
        }
        let own = |number| {
            let descriptor = adopt(number)
                .map_err(|_| not_ours(argument, "nothing was passed under one of its numbers"))?;
            fcntl_setfd(&descriptor, FdFlags::CLOEXEC)?;
            Ok::<_, io::Error>(descriptor)
        };
        let memory = own(memory)?;
        let bells = Bells::new(own(mine)?, own(theirs)?)?;
        if !is_our_memory(&memory) {
            return Err(not_ours(argument, "the first is not the memory of a bench"));
        }
        if !is_eventfd(&bells.mine) || !is_eventfd(&bells.theirs) {
            return Err(not_ours(argument, "the second and third are not eventfds"));
        }
        Ok(Self { side: Side::new(&memory, bells)? })
    }

    /// How long a batch may take in all, before the caller counts as dead: 5 s unless set.
    pub fn set_patience(&mut self, patience: Duration) {
        self.side.patience = patience;
    }

    /// Waits asleep for a batch, for at most `wait` (not at all, if that is zero), and runs it.
    ///
    /// # Errors
    /// The caller died or stopped within the batch, or asked for what makes no sense. All later
    /// batches fail.
    pub fn serve_one(&mut self, wait: Duration) -> io::Result<Served> {
        if !self.side.bells.listen_for(wait)? {
            return Ok(Served::Nothing);
        }
        let batch = match self.side.take()? {
            Command::Dismiss => return Ok(Served::Dismissed),
            Command::Run(batch) => batch,
        };
        let (kind, number) = (batch.kind, self.side.number);
        self.side.attempt(&batch, |turns, first| {
            // Both partners are the caller's waits for the number.
            turns.shared.mapping.line(Line::Begun).store(number, Release);
            let timed = first + WARM_UP;
            turns.callee(kind, first..timed)?;
            turns.callee(kind, timed..timed + batch.iterations)?;
            let last = timed + batch.iterations - 1;
            let arrived = intact(turns.into, number, last);
            let ended = Line::Ended;
            turns.shared.mapping.word::<1>(ended).store(u64::from(arrived), Relaxed);
            turns.shared.mapping.line(ended).store(number, Release);
            Ok(())
        })?;
        self.side.turn += WARM_UP + batch.iterations;
        Ok(Served::Batch(kind))
    }

    /// Runs batches until the caller is done.
    ///
    /// # Errors
    /// As [`Callee::serve_one`]; or nothing was asked for in `idle`.
    pub fn serve(&mut self, idle: Duration) -> io::Result<()> {
        loop {
            match self.serve_one(idle)? {
                Served::Batch(_) => {}
                Served::Dismissed => return Ok(()),
                Served::Nothing => {
                    let text = format!("the caller asked for no batch within {idle:?}");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
            }
        }
    }
}

/// Whether it can be mapped and used without a length that may change underneath.
fn is_our_memory(memory: &OwnedFd) -> bool {
    let sealed = fcntl_get_seals(memory)
        .is_ok_and(|seals| seals.contains(SealFlags::SHRINK | SealFlags::GROW));
    sealed && fstat(memory).is_ok_and(|status| u64::try_from(status.st_size) == Ok(LENGTH as u64))
}

fn is_eventfd(descriptor: &OwnedFd) -> bool {
    let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    // Without /proc it cannot be known, and a wrong one only makes batches fail.
    std::fs::read_link(link).map_or(true, |kind| kind.as_os_str() == "anon_inode:[eventfd]")
}

fn not_ours(argument: &str, why: &str) -> io::Error {
    let text = format!(
        "--limits {argument}: {why}; this argument is made by the command that starts the callee, \
         so run `narrows bench` and let it do so"
    );
    io::Error::new(io::ErrorKind::InvalidInput, text)
}
