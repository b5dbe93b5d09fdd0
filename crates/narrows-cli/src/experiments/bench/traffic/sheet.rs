//! What a member of a mesh was told, one row for each life of each peer, in memory that is still
//! there when its process is not.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a row.
const ROW: usize = 8;
/// The row of the member itself: its phase, whether it is quiet, and how many rows there are.
const PHASE: usize = 0;
const QUIET: usize = 1;
const ROWS: usize = 2;

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Cell {
    /// Which life of a peer it is of.
    Life,
    /// Messages to it that were about to be sent.
    Tried,
    /// Messages of which this member was told that they are sent.
    Sent,
    /// Messages of it that the application was handed.
    Received,
    /// Messages that came back as not taken.
    Back,
    /// Messages that were damaged, doubled or out of order, either way.
    Wrong,
    /// 0 while the link is up; 1 once the peer was said to have died, 2 if it ended otherwise.
    Ended,
}

/// What a member is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Phase {
    /// Send.
    Run,
    /// Take what comes, and send no more.
    Settle,
    /// Leave.
    Leave,
}

/// A member's rows. The member writes them, and its starter the phase.
#[derive(Clone, Copy)]
pub struct Sheet<'a>(&'a [AtomicU64]);

impl<'a> Sheet<'a> {
    /// The sheet that is in these words.
    pub fn new(words: &'a [AtomicU64]) -> Sheet<'a> {
        Sheet(words)
    }

    fn load(&self, at: usize) -> u64 {
        // Acquire: pairs with the release in `store`, so that words read later are no older.
        self.0.get(at).map_or(0, |word| word.load(Ordering::Acquire))
    }

    fn store(&self, at: usize, value: u64) {
        if let Some(word) = self.0.get(at) {
            // Release: pairs with the acquire in `load`. What is counted happened before.
            word.store(value, Ordering::Release);
        }
    }

    /// What the member is to do.
    pub fn phase(&self) -> Phase {
        match self.load(PHASE) {
            0 => Phase::Run,
            1 => Phase::Settle,
            _ => Phase::Leave,
        }
    }

    /// Says what the member is to do.
    pub fn set_phase(&self, phase: Phase) {
        self.store(PHASE, phase as u64);
    }

    /// Whether the member sends no more.
    pub fn is_quiet(&self) -> bool {
        self.load(QUIET) == 1
    }

    /// Says that it sends no more.
    pub fn be_quiet(&self) {
        self.store(QUIET, 1);
    }

    /// The row of a peer's life.
    pub fn find(&self, life: u64) -> Option<usize> {
        let rows = self.load(ROWS) as usize;
        (1..=rows).find(|row| self.get(*row, Cell::Life) == life)
    }

    /// A row for a peer's life; none if there is no room for more.
    pub fn add(&self, life: u64) -> Option<usize> {
        let row = self.load(ROWS) as usize + 1;
        if (row + 1) * ROW > self.0.len() {
            return None;
        }
        self.set(row, Cell::Life, life);
        self.store(ROWS, row as u64);
        Some(row)
    }

    /// What a row says.
    pub fn get(&self, row: usize, cell: Cell) -> u64 {
        self.load(row * ROW + cell as usize)
    }

    /// Sets what a row says.
    pub fn set(&self, row: usize, cell: Cell, value: u64) {
        self.store(row * ROW + cell as usize, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_by_its_life_and_there_are_no_more_than_fit() {
        let words: Vec<AtomicU64> = (0..4 * ROW).map(|_| AtomicU64::new(0)).collect();
        let sheet = Sheet::new(&words);
        assert_eq!(sheet.find(7), None);
        let rows = [7, 8, 9].map(|life| sheet.add(life).unwrap());
        assert_eq!((rows, sheet.add(10)), ([1, 2, 3], None));
        sheet.set(2, Cell::Back, 5);
        assert_eq!(sheet.find(8), Some(2));
        assert_eq!((sheet.get(2, Cell::Back), sheet.get(3, Cell::Back)), (5, 0));
        sheet.set_phase(Phase::Settle);
        assert!(sheet.phase() == Phase::Settle && !sheet.is_quiet());
    }
}
