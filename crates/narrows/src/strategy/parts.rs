//! Requests that are cut: how many parts, and how many of them are under way.

use core::fmt;
use core::ops::Range;
use core::str::FromStr;

use super::StrategyError;

/// How a request is cut into calls. As text the number of parts, and of those that may be under way
/// if that is not one: `4`, `4:2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// Parts of a request, at least 1.
    pub count: u16,
    /// Parts that may be under way, at least 1: with one each goes when the one before has come
    /// back.
    pub at_once: u16,
}

impl Parts {
    /// Requests that are not cut.
    pub const WHOLE: Parts = Parts { count: 1, at_once: 1 };

    pub(super) fn is_possible(self) -> bool {
        (1..=self.count).contains(&self.at_once)
    }

    /// Units of the longest part, if `units` units are cut.
    #[must_use]
    pub fn longest(self, units: usize) -> usize {
        units.div_ceil(usize::from(self.count.max(1)))
    }

    /// Where each part lies if `bytes` bytes are cut, in units of `unit` bytes. No part is longer
    /// than another by more than a unit, but for the last, which has what is left.
    pub fn ranges(self, bytes: usize, unit: usize) -> impl Iterator<Item = Range<usize>> {
        let (count, unit) = (usize::from(self.count.max(1)), unit.max(1));
        let (each, more) = ((bytes / unit) / count, (bytes / unit) % count);
        let begin = move |part: usize| match part {
            last if last == count => bytes,
            part => (part * each + part.min(more)) * unit,
        };
        (0..count).map(move |part| begin(part)..begin(part + 1))
    }
}

impl FromStr for Parts {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Parts, StrategyError> {
        let (count, at_once) = text.split_once(':').unwrap_or((text, "1"));
        let number = |text: &str| text.parse().map_err(|_| StrategyError::Parts);
        let parts = Parts { count: number(count)?, at_once: number(at_once)? };
        if parts.count > 1 && parts.is_possible() { Ok(parts) } else { Err(StrategyError::Parts) }
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.count)?;
        if self.at_once != 1 {
            write!(f, ":{}", self.at_once)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn parts_are_of_the_same_length_but_for_a_unit_and_leave_nothing_out() {
        for (bytes, unit, count) in [(10, 1, 4), (9, 1, 4), (640, 2, 3), (641, 2, 3), (3, 1, 8)] {
            let parts = Parts { count, at_once: 1 };
            let ranges: Vec<_> = parts.ranges(bytes, unit).collect();
            let said = (bytes, unit, count);
            assert_eq!(ranges.len(), usize::from(count), "{said:?}");
            assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (0, bytes), "{said:?}");
            assert!(ranges.windows(2).all(|two| two[0].end == two[1].start), "{said:?}");
            let rest = bytes % unit;
            let long = ranges.iter().map(|range| range.len()).max();
            let longest = parts.longest(bytes / unit) * unit;
            assert!(
                long.is_some_and(|long| (longest..=longest + rest).contains(&long)),
                "{said:?}"
            );
            let short = ranges.iter().map(|range| range.len()).min().unwrap_or(0);
            assert!(short + unit >= longest, "{said:?}: {short}");
            assert!(ranges.iter().all(|range| range.start % unit == 0), "{said:?}");
        }
    }
}
