//! The side that measures.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::base::statistics::median;

use super::bells::Bells;
use super::clock::Clock;
use super::laps::Laps;
use super::raw::{LENGTH, Line};
use super::side::{Batch, Command, Side};
use super::turns::intact;
use super::{Callee, Kind, MAX_ITERATIONS, Pace, WARM_UP};

/// Rounds in which [`Limits::settle`] tries each pace.
const TRIALS: usize = 7;

/// The caller's side of the limits. Dropping it lets the callee go.
pub struct Limits {
    pub(super) side: Side,
    pub(super) memory: OwnedFd,
    settled: Vec<(Kind, usize, Pace)>,
}

impl Limits {
    /// Makes the memory and the eventfds, and the argument by which [`Limits::inherit`] finds
    /// them in a child started under [`Limits::lend`]. Takes some 20 ms.
    ///
    /// # Errors
    /// The system has no memory or no descriptors to give.
    pub fn create() -> io::Result<(Self, String)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let memory = memfd_create("narrows-limit", flags)?;
        ftruncate(&memory, LENGTH as u64)?;
        // A mapping whose file shrinks kills the process that touches it.
        fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let bells = Bells::create()?;
        // Now rather than in the middle of the first batch.
        Clock::get();
        let argument = format!(
            "{},{},{}",
            memory.as_raw_fd(),
            bells.theirs.as_raw_fd(),
            bells.mine.as_raw_fd()
        );
        let limits = Self { side: Side::new(&memory, bells)?, memory, settled: Vec::new() };
        Ok((limits, argument))
    }

    /// The callee's side, in a child process, from the argument that [`Limits::create`] gave.
    ///
    /// Call it once, before the process opens or closes any descriptor: the numbers in the
    /// argument are taken to be what the parent passed, and belong to the result from then on.
    ///
    /// # Errors
    /// The argument, or what is open under its numbers, is not what `create` made.
    pub fn inherit(argument: &str) -> io::Result<Callee> {
        Callee::inherit(argument)
    }

    /// Runs `spawn`, which is to start the child, with the descriptors left open for it.
    ///
    /// Another thread that starts a process meanwhile passes them on as well.
    ///
    /// # Errors
    /// What `spawn` says, or the system of the descriptors.
    pub fn lend<R>(&self, spawn: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        let _taken_back = Lent::new([
            self.memory.as_fd(),
            self.side.bells.mine.as_fd(),
            self.side.bells.theirs.as_fd(),
        ])?;
        spawn()
    }

    /// How long a batch may take in all, before the other side counts as dead: 5 s unless set.
    pub fn set_patience(&mut self, patience: Duration) {
        self.side.patience = patience;
    }

    /// Measures one batch at the pace that [settles](Limits::settle) lowest, in nanoseconds per
    /// iteration. `bytes` matters to kinds with a [payload](Kind::has_payload) only.
    ///
    /// # Errors
    /// `InvalidInput`: too many bytes, or iterations not from 1 to [`MAX_ITERATIONS`]; this can be
    /// called again. Otherwise the other side did not do its part, or not in time, and all
    /// later batches fail.
    pub fn caller_batch(&mut self, kind: Kind, bytes: usize, iterations: u64) -> io::Result<f64> {
        let pace = self.settle(kind, bytes)?;
        self.batch_at(pace, kind, bytes, iterations)
    }

    /// As [`Limits::caller_batch`], at a given pace.
    ///
    /// # Errors
    /// As [`Limits::caller_batch`].
    pub fn batch_at(
        &mut self,
        pace: Pace,
        kind: Kind,
        bytes: usize,
        iterations: u64,
    ) -> io::Result<f64> {
        kind.bytes(bytes)?;
        if iterations == 0 || iterations > MAX_ITERATIONS {
            let text = format!("a batch has 1 to {MAX_ITERATIONS} iterations, not {iterations}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let bytes = if kind.has_payload() { bytes } else { 0 };
        let batch = Batch { kind, bytes, iterations, pace };
        self.side.usable()?;
        self.side.give(Command::Run(batch))?;
        let number = self.side.number;
        let ns = self.side.attempt(&batch, |turns, first| {
            let (begun, ended) = (Line::Begun, Line::Ended);
            turns.wait(turns.shared.mapping.line(begun), |word| word == number)?;
            let timed = first + WARM_UP;
            turns.caller(kind, first..timed, &mut Laps::new(WARM_UP))?;
            let mut laps = Laps::new(iterations);
            turns.caller(kind, timed..timed + iterations, &mut laps)?;
            turns.wait(turns.shared.mapping.line(ended), |word| word == number)?;
            let last = timed + iterations - 1;
            let there = turns.shared.mapping.word::<1>(ended).load(Relaxed) == 1;
            let back = !kind.comes_back() || intact(turns.into, number, last);
            if let (true, true, Some(ns)) = (there, back, laps.middle()) {
                Ok(ns)
            } else {
                Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a payload did not arrive as it was sent, so the figure would be worthless: \
                     something else writes to the memory of this bench; start both afresh",
                ))
            }
        })?;
        self.side.turn += WARM_UP + iterations;
        Ok(ns)
    }

    /// Measures `rounds` batches of [`Kind::iterations`] each.
    ///
    /// # Errors
    /// As [`Limits::caller_batch`].
    pub fn sample(&mut self, kind: Kind, bytes: usize, rounds: usize) -> io::Result<Vec<f64>> {
        (0..rounds).map(|_| self.caller_batch(kind, bytes, kind.iterations(bytes))).collect()
    }

    /// The pace at which a limit is lowest: each of [`Pace::TRIED`] in turns, by the median.
    /// Measured when first asked for, then remembered.
    ///
    /// # Errors
    /// As [`Limits::caller_batch`].
    pub fn settle(&mut self, kind: Kind, bytes: usize) -> io::Result<Pace> {
        if matches!(kind, Kind::Eventfd | Kind::EventfdWatched | Kind::EventfdTicking) {
            return Ok(Pace::default());
        }
        let bytes = if kind.has_payload() { bytes } else { 0 };
        let known = self.settled.iter().find(|known| (known.0, known.1) == (kind, bytes));
        if let Some((_, _, pace)) = known {
            return Ok(*pace);
        }
        let mut trials: Vec<(Pace, Vec<f64>)> = Pace::TRIED.map(|pace| (pace, Vec::new())).to_vec();
        for _ in 0..TRIALS {
            for (pace, times) in &mut trials {
                times.push(self.batch_at(*pace, kind, bytes, kind.iterations(bytes))?);
            }
        }
        let middles = trials.into_iter().filter_map(|(pace, mut times)| {
            let middle = median(&mut times)?;
            Some((pace, middle))
        });
        let lowest = middles.min_by(|a, b| a.1.total_cmp(&b.1));
        let pace = lowest.map_or_else(Pace::default, |(pace, _)| pace);
        self.settled.push((kind, bytes, pace));
        Ok(pace)
    }
}

impl Drop for Limits {
    fn drop(&mut self) {
        // If it cannot be told, the callee's own deadline ends it.
        let _ = self.side.give(Command::Dismiss);
    }
}

/// Descriptors that a child is to inherit, until dropped.
struct Lent<'a>([BorrowedFd<'a>; 3]);

impl<'a> Lent<'a> {
    fn new(descriptors: [BorrowedFd<'a>; 3]) -> io::Result<Self> {
        let lent = Self(descriptors);
        for descriptor in lent.0 {
            fcntl_setfd(descriptor, FdFlags::empty())?;
        }
        Ok(lent)
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        for descriptor in self.0 {
            // Setting a flag on an open descriptor has no way to fail.
            let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
        }
    }
}
