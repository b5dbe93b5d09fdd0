//! What finding something takes, counted.

/// Operations of the algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Pixels of results.
    pub pixels: u64,
    /// Pixels of masks that were compared with their nucleus.
    pub compared: u64,
    /// Pixels of masks whose places were summed, for edges and corners.
    pub placed: u64,
    /// Pixels of masks that were averaged.
    pub averaged: u64,
    /// Medians of neighbours.
    pub medians: u64,
    /// Neighbours that a pixel had to be stronger than.
    pub challenged: u64,
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.pixels += other.pixels;
        self.compared += other.compared;
        self.placed += other.placed;
        self.averaged += other.averaged;
        self.medians += other.medians;
        self.challenged += other.challenged;
    }
}

/// What an operation takes of a core that runs one instruction in each cycle, none of which waits.
/// Counted from the operation and not from a compiler's output; set from no published figure.
mod cycles {
    /// Load the nucleus, compare with the threshold, branch, store, two addresses, close the loop
    /// (two).
    pub const PIXEL: u64 = 8;
    /// Load the pixel, find its place in the table, load from there, add.
    pub const COMPARED: u64 = 4;
    /// Compare (four as above, without the add), then five products and six sums.
    pub const PLACED: u64 = 14;
    /// Load, find the place, load; weigh by distance and by brightness, each a product whose result
    /// is fetched; two sums.
    pub const AVERAGED: u64 = 9;
    /// Eight loads, and 28 compare-and-exchange of three instructions.
    pub const MEDIAN: u64 = 92;
    /// Load, compare, branch.
    pub const CHALLENGED: u64 = 3;
}

impl Work {
    /// Cycles of a core that runs one instruction in each: assumed.
    pub fn cycles(&self) -> u64 {
        self.pixels * cycles::PIXEL
            + self.compared * cycles::COMPARED
            + self.placed * cycles::PLACED
            + self.averaged * cycles::AVERAGED
            + self.medians * cycles::MEDIAN
            + self.challenged * cycles::CHALLENGED
    }
}
