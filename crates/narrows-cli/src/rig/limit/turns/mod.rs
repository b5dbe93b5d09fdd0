//! The loops themselves: what each side does, once per iteration, for each kind of limit.
//!
//! Iterations are numbered by *turn*, which both sides count alike and which never goes back
//! while they live. So no line is ever reset between batches, and a value left over from an
//! earlier one is never mistaken for a new one.

mod bells;
mod copies;
mod streams;

use std::hint::black_box;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::laps::{LAP, Laps};
use super::raw::{Area, Line, MAX_BYTES, SLOT_PAYLOAD};
use super::shared::{Buffers, Shared};
use super::{Kind, Pace};
use crate::rig::limit::Timer;

/// Slots that the sender asks for ahead of the one it fills.
const AHEAD: u64 = 8;

/// One side while it runs a batch.
pub struct Turns<'a, S: Shared> {
    pub shared: S,
    pub pace: Pace,
    pub patience: Duration,
    /// Begins with the batch: all of it must be over `patience` later.
    pub begun: Instant,
    /// Private memory that a payload is copied from, as long as it.
    pub out: &'a mut [u8],
    /// Private memory that a payload is copied to, as long as it.
    pub into: &'a mut [u8],
}

impl<S: Shared> Turns<'_, S> {
    /// The side that asks, and measures.
    ///
    /// # Errors
    /// The other side did not do its part in time.
    pub fn caller<T: Timer>(
        &mut self,
        kind: Kind,
        turns: Range<u64>,
        laps: &mut Laps<T>,
    ) -> io::Result<()> {
        match kind {
            Kind::LineEachWay => {
                let back = self.line(Line::Back);
                each(turns, laps, |turns| self.line_each_way_caller(turns, back))
            }
            Kind::LineReadOnly => {
                let back = self.shared.seen(Line::Back);
                each(turns, laps, |turns| self.line_each_way_caller(turns, back))
            }
            Kind::LineThinking => self.thinking_caller(turns, laps, self.line(Line::Back)),
            Kind::ThinkingReadOnly => {
                self.thinking_caller(turns, laps, self.shared.seen(Line::Back))
            }
            Kind::SlotEachWay => each(turns, laps, |turns| self.slot_each_way_caller(turns)),
            Kind::SharedLine => each(turns, laps, |turns| self.shared_line_caller(turns)),
            Kind::Copy => each(turns, laps, |turns| self.copy_caller(turns, false)),
            Kind::CopyBothWays => each(turns, laps, |turns| self.copy_caller(turns, true)),
            Kind::CopyInTurn => each(turns, laps, |turns| self.copy_in_turn_caller(turns)),
            Kind::CopyIn => self.copy_in_caller(turns, laps),
            Kind::CopyRate | Kind::CopyRateReadOnly => self.copy_sender(turns, laps),
            Kind::SlotRate => self.slot_sender::<_, false>(turns, laps),
            Kind::SlotRateFenced => self.slot_sender::<_, true>(turns, laps),
            Kind::Eventfd => self.eventfd_caller(turns, laps, false),
            Kind::EventfdTicking => self.eventfd_caller(turns, laps, true),
            Kind::EventfdWatched => self.watched_caller(turns, laps),
        }
    }

    /// The side that answers.
    ///
    /// # Errors
    /// As [`Turns::caller`].
    pub fn callee(&mut self, kind: Kind, turns: Range<u64>) -> io::Result<()> {
        match kind {
            Kind::LineEachWay | Kind::LineThinking => {
                self.line_each_way_callee(turns, self.line(Line::There))
            }
            Kind::LineReadOnly | Kind::ThinkingReadOnly => {
                self.line_each_way_callee(turns, self.shared.seen(Line::There))
            }
            Kind::SlotEachWay => self.slot_each_way_callee(turns),
            Kind::SharedLine => self.shared_line_callee(turns),
            Kind::Copy => self.copy_callee(turns, false),
            Kind::CopyBothWays => self.copy_callee(turns, true),
            Kind::CopyInTurn | Kind::CopyIn => self.copy_in_turn_callee(turns),
            Kind::CopyRate => self.copy_receiver(turns, self.stream()?),
            Kind::CopyRateReadOnly => self.copy_receiver(turns, self.stream()?.seen()),
            Kind::SlotRate | Kind::SlotRateFenced => self.slot_receiver(turns),
            Kind::Eventfd => self.eventfd_callee(turns, false),
            Kind::EventfdTicking => self.eventfd_callee(turns, true),
            Kind::EventfdWatched => self.watched_callee(turns),
        }
    }

    #[inline(always)]
    fn line_each_way_caller(&self, turns: Range<u64>, back: S::Word) -> io::Result<()> {
        let there = self.line(Line::There);
        for turn in turns {
            self.publish(there, turn + 1);
            self.wait(back, |word| word == turn + 1)?;
        }
        Ok(())
    }

    fn thinking_caller<T: Timer>(
        &self,
        turns: Range<u64>,
        laps: &mut Laps<T>,
        back: S::Word,
    ) -> io::Result<()> {
        for turn in turns {
            laps.think();
            self.line_each_way_caller(turn..turn + 1, back)?;
            laps.end(1);
        }
        Ok(())
    }

    fn line_each_way_callee(&self, turns: Range<u64>, there: S::Word) -> io::Result<()> {
        let back = self.line(Line::Back);
        for turn in turns {
            self.wait(there, |word| word == turn + 1)?;
            self.publish(back, turn + 1);
        }
        Ok(())
    }

    fn slot_each_way_caller(&mut self, turns: Range<u64>) -> io::Result<()> {
        let (mut out, mut into) = (self.slot_payload()?, self.slot_payload()?);
        for turn in turns {
            stamp(&mut out, turn);
            self.fill(Area::There, turn, &out);
            self.drain(Area::Back, turn, &mut into)?;
        }
        self.into.copy_from_slice(&into);
        Ok(())
    }

    fn slot_each_way_callee(&mut self, turns: Range<u64>) -> io::Result<()> {
        let mut payload = self.slot_payload()?;
        for turn in turns {
            self.drain(Area::There, turn, &mut payload)?;
            self.fill(Area::Back, turn, &payload);
        }
        self.into.copy_from_slice(&payload);
        Ok(())
    }

    /// Writes and publishes a slot, as the stack does.
    #[inline(always)]
    fn fill(&self, ring: Area, turn: u64, payload: &[u8; SLOT_PAYLOAD]) {
        self.shared.fill_slot(ring, turn, payload);
        self.announce(ring, turn);
    }

    /// Publishes a slot, and asks for one that is soon to be written.
    #[inline(always)]
    fn announce(&self, ring: Area, turn: u64) {
        self.shared.prefetch_slot(ring, turn + AHEAD);
        self.publish(self.shared.sequence(ring, turn), turn + 1);
    }

    /// Waits for a slot and reads it.
    #[inline(always)]
    fn drain(&self, ring: Area, turn: u64, to: &mut [u8; SLOT_PAYLOAD]) -> io::Result<()> {
        self.wait(self.shared.sequence(ring, turn), |word| word == turn + 1)?;
        self.shared.drain_slot(ring, turn, to);
        black_box(to);
        Ok(())
    }

    fn shared_line_caller(&self, turns: Range<u64>) -> io::Result<()> {
        let both = self.line(Line::Both);
        for turn in turns {
            self.publish(both, 2 * turn + 1);
            self.wait(both, |word| word == 2 * turn + 2)?;
        }
        Ok(())
    }

    fn shared_line_callee(&self, turns: Range<u64>) -> io::Result<()> {
        let both = self.line(Line::Both);
        for turn in turns {
            self.wait(both, |word| word == 2 * turn + 1)?;
            self.publish(both, 2 * turn + 2);
        }
        Ok(())
    }

    #[inline(always)]
    fn line(&self, line: Line) -> S::Word {
        self.shared.line(line)
    }

    fn buffers(&self, area: Area, most: usize) -> io::Result<S::Buffers> {
        self.shared.buffers(area, self.out.len(), most).ok_or_else(|| too_long(self.out.len()))
    }

    fn slot_payload(&self) -> io::Result<[u8; SLOT_PAYLOAD]> {
        <[u8; SLOT_PAYLOAD]>::try_from(&*self.out).map_err(|_| too_long(self.out.len()))
    }

    /// Writes a word that the other side waits for.
    #[inline(always)]
    fn publish(&self, word: S::Word, value: u64) {
        self.shared.store(word, value, self.pace.fence);
    }

    /// Polls a word until `done` likes it, and returns it.
    ///
    /// # Errors
    /// The other side did not do its part in time.
    #[inline(always)]
    pub fn wait(&self, word: S::Word, done: impl Fn(u64) -> bool) -> io::Result<u64> {
        self.shared.wait(word, self.pace.pauses, done, || self.look())
    }

    /// Now and then during a long wait: is it over, and does anybody else want this core?
    #[cold]
    #[inline(never)]
    fn look(&self) -> io::Result<()> {
        self.left()?;
        std::thread::yield_now();
        Ok(())
    }

    fn left(&self) -> io::Result<Duration> {
        self.patience
            .checked_sub(self.begun.elapsed())
            .filter(|left| !left.is_zero())
            .ok_or_else(|| silent(self.patience))
    }
}

/// Runs iterations in laps.
#[inline(always)]
fn each<T: Timer>(
    turns: Range<u64>,
    laps: &mut Laps<T>,
    mut run: impl FnMut(Range<u64>) -> io::Result<()>,
) -> io::Result<()> {
    let mut start = turns.start;
    while start < turns.end {
        let end = turns.end.min(start + LAP);
        laps.begin();
        run(start..end)?;
        laps.end(end - start);
        start = end;
    }
    Ok(())
}

/// What a payload of a batch consists of, its stamp apart.
pub fn fill(payload: &mut [u8], seed: u64) {
    for (byte, index) in payload.iter_mut().zip(seed..) {
        *byte = (index.wrapping_mul(0x9e37_79b9) >> 13) as u8;
    }
}

/// Whether `payload` is what `fill` and then `stamp` leave.
pub fn intact(payload: &[u8], seed: u64, turn: u64) -> bool {
    let mut expected = vec![0; payload.len()];
    fill(&mut expected, seed);
    stamp(&mut expected, turn);
    payload == expected
}

/// Marks a payload as this turn's, so that no turn sends what the last one sent.
#[inline(always)]
fn stamp(payload: &mut [u8], turn: u64) {
    let turn = turn.to_le_bytes();
    if let Some(head) = payload.first_chunk_mut::<8>() {
        *head = turn;
    } else {
        for (byte, stamp) in payload.iter_mut().zip(turn) {
            *byte = stamp;
        }
    }
}

pub fn silent(patience: Duration) -> io::Error {
    let text = format!(
        "the other process did not do its part of a batch within {patience:?}: it has ended, is \
         stopped or gets no processor time; see whether it still runs, or measure fewer iterations"
    );
    io::Error::new(io::ErrorKind::TimedOut, text)
}

pub fn too_long(bytes: usize) -> io::Error {
    let text = format!(
        "a limit cannot be measured for {bytes} bytes: choose at most {MAX_BYTES}, and \
         {SLOT_PAYLOAD} or fewer for the slot ring"
    );
    io::Error::new(io::ErrorKind::InvalidInput, text)
}
