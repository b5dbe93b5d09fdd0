//! A picture cut into bands of rows.

use std::ops::Range;

use super::Find;

/// Rows of a picture that one CPU finds something in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// The rows of the results.
    pub rows: Range<usize>,
    /// The rows that they are found in: those and a border.
    pub strip: Range<usize>,
}

impl Band {
    /// The rows of the results, by their places in the strip.
    pub fn keep(&self) -> Range<usize> {
        self.rows.start - self.strip.start..self.rows.end - self.strip.start
    }
}

/// Cuts rows into `count` bands, whose heights differ by one at most. The first are the higher.
pub fn bands(height: usize, count: usize, finds: &[Find]) -> Vec<Band> {
    let border = finds.iter().map(|find| find.border()).max().unwrap_or(0);
    let count = count.max(1);
    let starts = |number: usize| number * (height / count) + number.min(height % count);
    let band = |number: usize| {
        let rows = starts(number)..starts(number + 1);
        let strip = match rows.is_empty() {
            true => rows.clone(),
            false => rows.start.saturating_sub(border)..(rows.end + border).min(height),
        };
        Band { rows, strip }
    };
    (0..count).map(band).collect()
}
