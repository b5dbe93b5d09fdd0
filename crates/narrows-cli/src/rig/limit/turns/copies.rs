//! Round trips of a payload that is copied in and out.

use std::io;
use std::ops::Range;

use super::{Turns, stamp, too_long};
use crate::rig::limit::Timer;
use crate::rig::limit::laps::Laps;
use crate::rig::limit::raw::{Area, Line};
use crate::rig::limit::shared::{Buffers, Shared};

impl<S: Shared> Turns<'_, S> {
    pub(super) fn copy_caller(&mut self, turns: Range<u64>, echo: bool) -> io::Result<()> {
        let there = self.buffers(Area::There, 1)?;
        let back = self.buffers(Area::Back, 1)?;
        let (asked, answered) = (self.line(Line::There), self.line(Line::Back));
        for turn in turns {
            stamp(self.out, turn);
            there.write(0, self.out);
            self.publish(asked, turn + 1);
            self.wait(answered, |word| word == turn + 1)?;
            if echo {
                back.read(0, self.into);
            }
        }
        Ok(())
    }

    pub(super) fn copy_callee(&mut self, turns: Range<u64>, echo: bool) -> io::Result<()> {
        let there = self.buffers(Area::There, 1)?;
        let back = self.buffers(Area::Back, 1)?;
        let (asked, answered) = (self.line(Line::There), self.line(Line::Back));
        for turn in turns {
            self.wait(asked, |word| word == turn + 1)?;
            there.read(0, self.into);
            if echo {
                back.write(0, self.into);
            }
            self.publish(answered, turn + 1);
        }
        Ok(())
    }

    pub(super) fn copy_in_turn_caller(&mut self, turns: Range<u64>) -> io::Result<()> {
        let [there, back] = self.pools()?;
        for turn in turns {
            stamp(self.out, turn);
            there.write(turn, self.out);
            self.announce(Area::There, turn);
            self.wait(self.shared.sequence(Area::Back, turn), |word| word == turn + 1)?;
            back.read(turn, self.into);
        }
        Ok(())
    }

    /// As [`Turns::copy_in_turn_caller`], with a lap for each copying in.
    pub(super) fn copy_in_caller<T: Timer>(
        &mut self,
        turns: Range<u64>,
        laps: &mut Laps<T>,
    ) -> io::Result<()> {
        let [there, back] = self.pools()?;
        for turn in turns {
            stamp(self.out, turn);
            laps.begin();
            there.write(turn, self.out);
            laps.end(1);
            self.announce(Area::There, turn);
            self.wait(self.shared.sequence(Area::Back, turn), |word| word == turn + 1)?;
            back.read(turn, self.into);
        }
        Ok(())
    }

    pub(super) fn copy_in_turn_callee(&mut self, turns: Range<u64>) -> io::Result<()> {
        let [there, back] = self.pools()?;
        for turn in turns {
            self.wait(self.shared.sequence(Area::There, turn), |word| word == turn + 1)?;
            there.read(turn, self.into);
            back.write(turn, self.into);
            self.announce(Area::Back, turn);
        }
        Ok(())
    }

    /// Blocks for the payload there and back, of the size and as many as a node's pool usually has.
    fn pools(&self) -> io::Result<[S::Buffers; 2]> {
        let bytes = self.out.len();
        let pool = |area| self.shared.pool(area, bytes).ok_or_else(|| too_long(bytes));
        Ok([pool(Area::There)?, pool(Area::Back)?])
    }
}
