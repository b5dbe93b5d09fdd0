//! Streams one way, of slots and of payload that is copied in and out.

use std::hint::black_box;
use std::io;
use std::ops::Range;

use super::{AHEAD, Turns, stamp};
use crate::rig::limit::Timer;
use crate::rig::limit::laps::{Laps, stream_lap};
use crate::rig::limit::raw::{Area, Line};
use crate::rig::limit::shared::{Buffers, Shared};

/// Messages after which the receiver gives their slots back.
const CREDITS: u64 = 32;
/// Buffers of a stream, where they fit: of up to a line, one for each slot.
const STREAM_BUFFERS: usize = 64;
const SMALL: usize = 64;

impl<S: Shared> Turns<'_, S> {
    pub(super) fn stream(&self) -> io::Result<S::Buffers> {
        let slots = usize::try_from(self.shared.slots()).unwrap_or(STREAM_BUFFERS);
        let small = self.out.len() <= SMALL;
        self.buffers(Area::There, if small { slots } else { slots.min(STREAM_BUFFERS) })
    }

    pub(super) fn copy_sender<T: Timer>(
        &mut self,
        turns: Range<u64>,
        laps: &mut Laps<T>,
    ) -> io::Result<()> {
        let there = self.stream()?;
        let credit = self.line(Line::Credit);
        let mut taken = turns.start;
        let lap = stream_lap(self.out.len());
        laps.begin();
        for turn in turns.clone() {
            laps.iteration(lap);
            if turn - taken >= there.count() {
                taken = self.wait(credit, |word| turn.wrapping_sub(word) < there.count())?;
            }
            stamp(self.out, turn);
            there.write(turn, self.out);
            self.shared.store(self.shared.sequence(Area::There, turn), turn + 1, false);
            self.shared.prefetch_slot(Area::There, turn + AHEAD);
            there.prefetch(turn + AHEAD);
        }
        self.wait(credit, |word| word == turns.end)?;
        laps.finish();
        Ok(())
    }

    pub(super) fn copy_receiver(&mut self, turns: Range<u64>, there: S::Buffers) -> io::Result<()> {
        let share = (there.count() / 4).clamp(1, CREDITS);
        let credit = self.line(Line::Credit);
        let mut given = turns.start;
        for turn in turns.clone() {
            self.wait(self.shared.sequence(Area::There, turn), |word| word == turn + 1)?;
            there.read(turn, self.into);
            if turn + 1 - given >= share {
                given = turn + 1;
                self.shared.store(credit, given, false);
            }
        }
        self.shared.store(credit, turns.end, false);
        Ok(())
    }

    pub(super) fn slot_sender<T: Timer, const FENCE: bool>(
        &mut self,
        turns: Range<u64>,
        laps: &mut Laps<T>,
    ) -> io::Result<()> {
        let (credit, slots) = (self.line(Line::Credit), self.shared.slots());
        let mut taken = turns.start;
        let mut payload = self.slot_payload()?;
        let lap = stream_lap(payload.len());
        laps.begin();
        for turn in turns.clone() {
            laps.iteration(lap);
            if turn - taken >= slots {
                taken = self.wait(credit, |word| turn.wrapping_sub(word) < slots)?;
            }
            stamp(&mut payload, turn);
            self.shared.fill_slot(Area::There, turn, &payload);
            self.shared.store(self.shared.sequence(Area::There, turn), turn + 1, FENCE);
            self.shared.prefetch_slot(Area::There, turn + AHEAD);
        }
        self.wait(credit, |word| word == turns.end)?;
        laps.finish();
        Ok(())
    }

    pub(super) fn slot_receiver(&mut self, turns: Range<u64>) -> io::Result<()> {
        let credit = self.line(Line::Credit);
        let share = CREDITS.min(self.shared.slots() / 2);
        let mut given = turns.start;
        let mut payload = self.slot_payload()?;
        for turn in turns.clone() {
            self.wait(self.shared.sequence(Area::There, turn), |word| word == turn + 1)?;
            self.shared.drain_slot(Area::There, turn, &mut payload);
            // Only the last is looked at, but every one is to be copied.
            black_box(&mut payload);
            if turn + 1 - given >= share {
                given = turn + 1;
                self.shared.store(credit, given, false);
            }
        }
        self.shared.store(credit, turns.end, false);
        self.into.copy_from_slice(&payload);
        Ok(())
    }
}
