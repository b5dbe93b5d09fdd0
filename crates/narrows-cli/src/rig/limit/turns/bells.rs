//! Round trips of two sides that sleep until they are rung.

use std::io;
use std::ops::Range;

use super::Turns;
use crate::rig::limit::Timer;
use crate::rig::limit::laps::Laps;
use crate::rig::limit::shared::Shared;

impl<S: Shared> Turns<'_, S> {
    pub(super) fn eventfd_caller<T: Timer>(
        &self,
        turns: Range<u64>,
        laps: &mut Laps<T>,
        ticking: bool,
    ) -> io::Result<()> {
        self.shared.guarded(self.left()?, || {
            for _ in turns {
                laps.begin();
                self.shared.ring()?;
                if ticking {
                    self.shared.hold_tick()?;
                }
                self.shared.listen()?;
                laps.end(1);
            }
            Ok(())
        })
    }

    pub(super) fn eventfd_callee(&self, turns: Range<u64>, ticking: bool) -> io::Result<()> {
        self.shared.guarded(self.left()?, || {
            for _ in turns {
                if ticking {
                    self.shared.hold_tick()?;
                }
                self.shared.listen()?;
                self.shared.ring()?;
            }
            Ok(())
        })
    }

    pub(super) fn watched_caller<T: Timer>(
        &self,
        turns: Range<u64>,
        laps: &mut Laps<T>,
    ) -> io::Result<()> {
        let rings = turns.end - turns.start;
        self.shared.watched(self.left()?, || {
            for _ in turns {
                laps.begin();
                self.shared.ring()?;
                self.shared.sleep()?;
                laps.end(1);
            }
            self.shared.take(rings)
        })
    }

    pub(super) fn watched_callee(&self, turns: Range<u64>) -> io::Result<()> {
        let (rings, last) = (turns.end - turns.start, turns.end - 1);
        self.shared.watched(self.left()?, || {
            for turn in turns {
                self.shared.sleep()?;
                if turn == last {
                    // Before the answer, behind which the next batch's first ring may come.
                    self.shared.take(rings)?;
                }
                self.shared.ring()?;
            }
            Ok(())
        })
    }
}
