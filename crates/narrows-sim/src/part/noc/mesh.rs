//! A 2-D mesh of routers and the way through it: first along the row, then along the column. No two
//! packets can wait for each other in a circle, as none turns from a column into a row.

use std::fmt::{self, Display, Formatter};

/// A place in the mesh: its column and its row.
pub(crate) type Spot = (u32, u32);

/// What a packet holds for as long as its flits pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// From the interface of a spot into its router.
    In(Spot),
    /// Over the link from one router to a neighbour.
    Link(Spot, Spot),
    /// From the router of a spot into its interface.
    Out(Spot),
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Stage::In(spot) => write!(f, "into the mesh at {}.{}", spot.0, spot.1),
            Stage::Link(from, to) => {
                write!(f, "mesh from {}.{} to {}.{}", from.0, from.1, to.0, to.1)
            }
            Stage::Out(spot) => write!(f, "out of the mesh at {}.{}", spot.0, spot.1),
        }
    }
}

/// The mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mesh {
    pub columns: u32,
    pub rows: u32,
}

impl Mesh {
    /// Whether there is such a spot.
    pub fn has(self, (column, row): Spot) -> bool {
        column < self.columns && row < self.rows
    }

    /// What a packet passes, in order. `None` if a spot is outside, or both are one: what stays in
    /// a cluster does not go over the network.
    pub fn route(self, from: Spot, to: Spot) -> Option<Vec<Stage>> {
        if !self.has(from) || !self.has(to) || from == to {
            return None;
        }
        let mut stages = vec![Stage::In(from)];
        let mut at = from;
        while at != to {
            let next =
                if at.0 != to.0 { (step(at.0, to.0), at.1) } else { (at.0, step(at.1, to.1)) };
            stages.push(Stage::Link(at, next));
            at = next;
        }
        stages.push(Stage::Out(to));
        Some(stages)
    }
}

fn step(at: u32, to: u32) -> u32 {
    if to > at { at + 1 } else { at - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_goes_along_the_row_and_then_along_the_column() {
        let mesh = Mesh { columns: 4, rows: 3 };
        let stages = mesh.route((3, 0), (1, 2)).expect("both are in the mesh");
        let spots = [(3, 0), (2, 0), (1, 0), (1, 1), (1, 2)];
        let links = spots.windows(2).map(|pair| Stage::Link(pair[0], pair[1]));
        let expected: Vec<Stage> =
            [Stage::In((3, 0))].into_iter().chain(links).chain([Stage::Out((1, 2))]).collect();
        assert_eq!(stages, expected);
    }

    #[test]
    fn every_two_spots_are_as_many_links_apart_as_columns_and_rows_lie_between_them() {
        let mesh = Mesh { columns: 5, rows: 4 };
        let spots: Vec<Spot> = (0..5).flat_map(|x| (0..4).map(move |y| (x, y))).collect();
        for &from in &spots {
            for &to in &spots {
                let links = mesh.route(from, to).map(|stages| stages.len() - 2);
                let apart = (from.0.abs_diff(to.0) + from.1.abs_diff(to.1)) as usize;
                assert_eq!(links, (apart > 0).then_some(apart), "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn there_is_no_way_from_or_to_a_spot_outside_nor_in_a_mesh_of_nothing() {
        let mesh = Mesh { columns: 2, rows: 2 };
        for (from, to) in [((2, 0), (0, 0)), ((0, 0), (0, 2)), ((1, 1), (1, 1))] {
            assert_eq!(mesh.route(from, to), None, "{from:?} to {to:?}");
        }
        assert_eq!(Mesh { columns: 0, rows: 3 }.route((0, 0), (0, 1)), None);
    }
}
