//! What both sides hold, and the command that one gives the other.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use super::bells::Bells;
use super::raw::{Line, MAX_BYTES, Mapping, PAGE};
use super::shared::Processes;
use super::turns::{Turns, fill};
use super::{Kind, MAX_ITERATIONS, PATIENCE, Pace};

/// The code of the command that ends the callee; kinds count up from nought.
const DISMISS: u64 = u64::MAX;
const FENCE: u64 = 1 << 8;

/// What both sides hold.
pub struct Side {
    pub mapping: Mapping,
    pub bells: Bells,
    pub patience: Duration,
    /// The number of the last command given or taken.
    pub number: u64,
    /// The next turn.
    pub turn: u64,
    /// A batch failed half-way, so the two sides no longer count alike.
    broken: bool,
    out: Private,
    into: Private,
}

/// One batch, as both sides know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    pub kind: Kind,
    pub bytes: usize,
    pub iterations: u64,
    pub pace: Pace,
}

/// What the callee is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Run(Batch),
    Dismiss,
}

impl Side {
    pub fn new(memory: &OwnedFd, bells: Bells) -> io::Result<Self> {
        Ok(Self {
            mapping: Mapping::new(memory)?,
            bells,
            patience: PATIENCE,
            number: 0,
            turn: 0,
            broken: false,
            out: Private::new(),
            into: Private::new(),
        })
    }

    /// # Errors
    /// An earlier batch failed.
    pub fn usable(&self) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "an earlier batch failed, so the two sides no longer agree: start both afresh",
            ));
        }
        Ok(())
    }

    /// Runs `work` on this side of a batch; a failure spoils the side for good.
    ///
    /// # Errors
    /// What `work` says, or that an earlier one failed.
    pub fn attempt<R>(
        &mut self,
        batch: &Batch,
        work: impl FnOnce(&mut Turns<'_, Processes<'_>>, u64) -> io::Result<R>,
    ) -> io::Result<R> {
        self.usable()?;
        // Until it has succeeded: `work` may also unwind.
        self.broken = true;
        let length = batch.kind.bytes(batch.bytes)?;
        let (out, into) = (self.out.first(length), self.into.first(length));
        fill(out, self.number);
        into.fill(0);
        let mut turns = Turns {
            shared: Processes { mapping: &self.mapping, bells: &self.bells },
            pace: batch.pace,
            patience: self.patience,
            begun: Instant::now(),
            out,
            into,
        };
        let result = work(&mut turns, self.turn)?;
        self.broken = false;
        Ok(result)
    }

    /// Writes a command for the other side and rings it.
    pub fn give(&mut self, command: Command) -> io::Result<()> {
        let words = match command {
            Command::Dismiss => [DISMISS, 0, 0, 0],
            Command::Run(batch) => {
                let fence = if batch.pace.fence { FENCE } else { 0 };
                let pace = u64::from(batch.pace.pauses) | fence;
                [batch.kind as u64, batch.bytes as u64, batch.iterations, pace]
            }
        };
        let line = Line::Command;
        self.mapping.word::<1>(line).store(words[0], Relaxed);
        self.mapping.word::<2>(line).store(words[1], Relaxed);
        self.mapping.word::<3>(line).store(words[2], Relaxed);
        self.mapping.word::<4>(line).store(words[3], Relaxed);
        self.number += 1;
        // Its partner is the load in `take`.
        self.mapping.line(line).store(self.number, Release);
        self.bells.ring()
    }

    /// Takes the command that the other side has rung for; every word of it is checked.
    pub fn take(&mut self) -> io::Result<Command> {
        let line = Line::Command;
        if self.mapping.line(line).load(Acquire) != self.number + 1 {
            return Err(nonsense("its number is not the next one"));
        }
        self.number += 1;
        let code = self.mapping.word::<1>(line).load(Relaxed);
        let bytes = self.mapping.word::<2>(line).load(Relaxed);
        let iterations = self.mapping.word::<3>(line).load(Relaxed);
        let pace = self.mapping.word::<4>(line).load(Relaxed);
        if code == DISMISS {
            return Ok(Command::Dismiss);
        }
        let Some(kind) = Kind::from_code(code) else {
            return Err(nonsense("there is no such kind of limit"));
        };
        let bytes = usize::try_from(bytes)
            .ok()
            .filter(|bytes| *bytes <= MAX_BYTES)
            .ok_or_else(|| nonsense("its payload is too long"))?;
        if iterations == 0 || iterations > MAX_ITERATIONS {
            return Err(nonsense("its number of iterations is out of range"));
        }
        let pace = Pace { pauses: (pace & 0xff) as u8, fence: pace & FENCE != 0 };
        Ok(Command::Run(Batch { kind, bytes, iterations, pace }))
    }
}

fn nonsense(why: &str) -> io::Error {
    let text =
        format!("the caller's command for a limit makes no sense ({why}): start both afresh");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Private memory that starts on a page, so that copies are aligned alike in every run.
struct Private {
    bytes: Vec<u8>,
    start: usize,
}

impl Private {
    fn new() -> Self {
        let bytes = vec![0u8; MAX_BYTES + PAGE];
        let start = bytes.as_ptr().align_offset(PAGE).min(PAGE);
        Self { bytes, start }
    }

    /// The first `length` bytes, or as many as there are.
    fn first(&mut self, length: usize) -> &mut [u8] {
        let end = (self.start + length).min(self.bytes.len());
        self.bytes.get_mut(self.start..end).unwrap_or_default()
    }
}
