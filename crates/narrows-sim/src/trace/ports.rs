//! How many words are under way in each direction of each port between two cores.

use super::tracer::{Tracer, counter};
use crate::time::Time;
use narrows_trace::Row;
use std::collections::HashMap;

/// The row of each end that a word was ever written for, and what it says.
pub(super) type Ports = HashMap<(usize, usize), (Row, usize)>;

impl Tracer {
    /// `words` words are under way to an end of a port, whose row has this name.
    pub fn has_words(
        &mut self,
        end: (usize, usize),
        name: impl FnOnce() -> String,
        words: usize,
        now: Time,
    ) {
        let before = self.ports.get(&end).copied();
        if before.map_or(0, |(_, words)| words) == words {
            return;
        }
        let (group, at) = (self.shared_group(), self.at(now));
        let file = self.file.clone();
        let row = before.map(|(row, _)| row);
        let row = row.unwrap_or_else(|| counter(&file, group, &name(), "words"));
        self.ports.insert(end, (row, words));
        file.write(at, |out| out.count(row, at, words as i64));
    }
}
