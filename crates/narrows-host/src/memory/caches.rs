//! Whether long payload is written through the caches or around them. What its reader has in its
//! cache has to be taken back from there, line by line, before it can be written again: near cores
//! do that faster than memory is written, far ones much more slowly. Where cores are is not known
//! and may change, so writes are timed.

use std::cell::Cell;

use crate::clock::ticks;

/// Bytes of the shortest payload that is timed.
const SHORTEST: usize = 4096;
/// Writes of a size for one that goes the other way.
const OFTEN: u16 = 1024;
/// Writes before the first of these.
const SOON: u16 = 16;
/// Writes for one that is timed.
const TIMED: u16 = 4;
/// This many times as long a write takes through the caches where going around them is better. A
/// write around them leaves its reader to fetch from memory, which is not in this time.
const FAR: u32 = 6;

/// What is known of writes of about one length: between two powers of two.
#[derive(Clone, Copy)]
struct Size {
    /// Ticks through the caches and around them; 0 if not known.
    took: [u32; 2],
    around: bool,
    /// Writes before the next that goes the other way.
    left: u16,
}

impl Size {
    const NEW: Size = Size { took: [0; 2], around: false, left: SOON };

    /// Whether the next write goes around the caches, and whether it is timed.
    fn next(&mut self) -> (bool, bool) {
        let tries = self.left == 0;
        self.left = if tries { OFTEN } else { self.left - 1 };
        (self.around != tries, tries || self.left.is_multiple_of(TIMED))
    }

    /// Notes what a write took.
    fn took(&mut self, around: bool, ticks: u64) {
        let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
        let before = &mut self.took[usize::from(around)];
        *before = if around != self.around || *before == 0 {
            ticks
        } else {
            // A core that was taken away for a while counts for little.
            *before - *before / 4 + ticks.min(before.saturating_mul(4)) / 4
        };
        let [through, around] = self.took;
        self.around = around > 0 && through / FAR > around;
    }
}

/// How a region's owner writes to it.
pub(crate) struct Caches([Cell<Size>; Caches::SIZES]);

impl Caches {
    /// From 4 KiB to 16 MiB.
    const SIZES: usize = 13;

    pub(crate) fn new() -> Caches {
        Caches(std::array::from_fn(|_| Cell::new(Size::NEW)))
    }

    fn of(&self, len: usize) -> Option<&Cell<Size>> {
        self.0.get((len / SHORTEST).checked_ilog2()? as usize)
    }

    /// Has this many bytes written, in a way that `write` is told and may go: it says whether it
    /// went around the caches.
    #[inline]
    pub(crate) fn written(&self, len: usize, write: impl FnOnce(bool) -> bool) {
        let Some(cell) = self.of(len) else {
            write(false);
            return;
        };
        let mut size = cell.get();
        let (around, timed) = size.next();
        let before = if timed { ticks() } else { 0 };
        let went = write(around);
        if timed && went == around {
            size.took(around, ticks().wrapping_sub(before));
        }
        cell.set(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THROUGH: usize = 0;
    const AROUND: usize = 1;

    /// Makes `count` writes of one size; `took` has how long one takes through the caches and
    /// around them. Returns how many went which way.
    fn writes(caches: &Caches, count: u32, took: [u64; 2]) -> [u32; 2] {
        let cell = caches.of(65536).expect("long");
        let mut ways = [0; 2];
        for _ in 0..count {
            let mut size = cell.get();
            let (around, timed) = size.next();
            ways[usize::from(around)] += 1;
            if timed {
                size.took(around, took[usize::from(around)]);
            }
            cell.set(size);
        }
        ways
    }

    #[test]
    fn far_cores_are_written_to_around_the_caches_and_near_ones_through_them() {
        let caches = Caches::new();
        let near = writes(&caches, 10_000, [4_500, 5_300]);
        assert!(near[AROUND] > 0 && near[AROUND] < 20, "{near:?}");
        let far = writes(&caches, 10_000, [67_000, 5_400]);
        assert!(far[THROUGH] < 100, "{far:?}");
        // What was written around them takes longer through them at first.
        writes(&caches, 2_000, [20_000, 5_300]);
        let near = writes(&caches, 10_000, [4_500, 5_300]);
        assert!(near[AROUND] < 20, "{near:?}");
    }

    #[test]
    fn a_core_that_is_taken_away_during_a_write_changes_nothing() {
        let caches = Caches::new();
        for _ in 0..10 {
            writes(&caches, 1_000, [4_500, 5_300]);
            writes(&caches, 1, [40_000_000, 5_300]);
        }
        assert!(!caches.of(65536).expect("long").get().around);
    }

    #[test]
    fn a_way_that_cannot_be_gone_is_not_timed() {
        let caches = Caches::new();
        let mut asked = [0; 2];
        for _ in 0..10_000 {
            caches.written(SHORTEST, |around| {
                asked[usize::from(around)] += 1;
                false
            });
        }
        assert!(asked[AROUND] > 0 && asked[AROUND] < 20, "{asked:?}");
        assert_eq!(caches.of(SHORTEST).expect("long").get().took[AROUND], 0);
    }

    #[test]
    fn sizes_are_apart_and_what_is_longer_than_any_goes_through() {
        let caches = Caches::new();
        assert!(caches.of(SHORTEST - 1).is_none());
        let at = |len| caches.of(len).map(std::ptr::from_ref);
        assert_eq!(at(SHORTEST), at(2 * SHORTEST - 1));
        assert_ne!(at(SHORTEST), at(2 * SHORTEST));
        assert!(at(16 << 20).is_some() && at(32 << 20).is_none());
    }
}
