//! Entries of a table in a row, chained by their numbers.

use core::mem::replace;

/// No entry.
pub(crate) const NONE: u16 = u16::MAX;

/// An entry of a table, in one row at most.
pub(crate) trait InRow {
    /// The entry behind it.
    fn next(&mut self) -> &mut u16;
    /// How urgent it is: the higher comes first.
    fn urgency(&self) -> u8;
}

/// A row, by its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    first: u16,
    last: u16,
}

impl Row {
    /// Nothing in it.
    pub const EMPTY: Row = Row { first: NONE, last: NONE };

    /// The first entry.
    #[inline]
    pub fn first(&self) -> Option<u16> {
        (self.first != NONE).then_some(self.first)
    }

    /// The last entry.
    pub fn last(&self) -> Option<u16> {
        (self.last != NONE).then_some(self.last)
    }

    /// Puts an entry behind those that are as urgent.
    pub fn insert<E: InRow>(&mut self, table: &mut [E], at: u16) {
        let urgency = table[usize::from(at)].urgency();
        let mut before = NONE;
        // Most are as urgent as the last.
        if self.last != NONE && table[usize::from(self.last)].urgency() >= urgency {
            before = self.last;
        } else {
            let mut look = self.first;
            while look != NONE && table[usize::from(look)].urgency() >= urgency {
                (before, look) = (look, *table[usize::from(look)].next());
            }
        }
        self.put(table, before, at);
    }

    /// Puts an entry behind all.
    pub fn append<E: InRow>(&mut self, table: &mut [E], at: u16) {
        self.put(table, self.last, at);
    }

    fn put<E: InRow>(&mut self, table: &mut [E], before: u16, at: u16) {
        let next = match before {
            NONE => replace(&mut self.first, at),
            before => replace(table[usize::from(before)].next(), at),
        };
        if next == NONE {
            self.last = at;
        }
        *table[usize::from(at)].next() = next;
    }

    /// Takes the first entry out.
    pub fn pop<E: InRow>(&mut self, table: &mut [E]) -> Option<u16> {
        let at = self.first;
        self.first = replace(table.get_mut(usize::from(at))?.next(), NONE);
        if self.first == NONE {
            self.last = NONE;
        }
        Some(at)
    }
}
