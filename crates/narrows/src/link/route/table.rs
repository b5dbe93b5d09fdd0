//! Over which link a message goes on to its processor.

use core::fmt;

use super::LINKS;

/// Ranges that are written down, at most.
pub const RANGES: usize = 32;
/// No way leads there.
const FAR: u8 = u8::MAX;

/// Processors whose messages go over one link: an entry of a routing table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The lowest number.
    pub from: u8,
    /// The highest.
    pub to: u8,
    /// The link.
    pub link: u8,
}

/// No place is left for a range, or this node has no such link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPlace;

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a routing table has at most {RANGES} ranges, each over a link of its node")
    }
}

impl core::error::Error for NoPlace {}

/// The routes of one node: ranges that were written down, and behind them what was computed.
#[derive(Clone, Debug)]
pub struct Table {
    ranges: [Option<Range>; RANGES],
    neighbours: [u8; LINKS],
    links: usize,
    /// Hops to each processor if the first is over the link, and no later one comes back here.
    hops: [[u8; LINKS]; 256],
}

impl Table {
    /// Computes the routes of the node `own`, whose links lead to `neighbours`, from the pairs of
    /// nodes that are adjacent. Links beyond [`LINKS`] are left out.
    #[must_use]
    pub fn new(own: u8, neighbours: &[u8], adjacent: &[(u8, u8)]) -> Table {
        let links = neighbours.len().min(LINKS);
        let mut table = Table {
            ranges: [None; RANGES],
            neighbours: [0; LINKS],
            links,
            hops: [[FAR; LINKS]; 256],
        };
        for (link, &neighbour) in neighbours.iter().take(links).enumerate() {
            table.neighbours[link] = neighbour;
            table.hops[usize::from(neighbour)][link] = 1;
            // Each round finds the nodes that are one hop further; the last finds none.
            let mut found = true;
            while found {
                found = false;
                for &(a, b) in adjacent.iter().filter(|(a, b)| *a != own && *b != own) {
                    for (near, far) in [(a, b), (b, a)] {
                        let next = table.hops[usize::from(near)][link].saturating_add(1);
                        let known = &mut table.hops[usize::from(far)][link];
                        if next < *known {
                            *known = next;
                            found = true;
                        }
                    }
                }
            }
        }
        table
    }

    /// Writes a range down, behind those that are there and before all that was computed.
    ///
    /// # Errors
    /// See [`NoPlace`].
    pub fn prefer(&mut self, range: Range) -> Result<(), NoPlace> {
        if usize::from(range.link) >= self.links {
            return Err(NoPlace);
        }
        let place = self.ranges.iter_mut().find(|place| place.is_none()).ok_or(NoPlace)?;
        *place = Some(range);
        Ok(())
    }

    /// The node at the other end of a link, if the node has it.
    #[must_use]
    pub fn neighbour(&self, link: usize) -> Option<u8> {
        self.neighbours[..self.links].get(link).copied()
    }

    /// Over which link a message goes to a processor: the first that is `up`, in the order of the
    /// ranges and then of the hops. A message goes back over the link by which it came only if no
    /// other leads there: the node behind it has found its own way closed.
    pub fn choose(&self, to: u8, came: Option<usize>, up: impl Fn(usize) -> bool) -> Option<usize> {
        let ranges = self.ranges.iter().flatten();
        let written = ranges
            .filter(|range| (range.from..=range.to).contains(&to))
            .map(|range| usize::from(range.link))
            .filter(|&link| up(link));
        let hops = &self.hops[usize::from(to)];
        let computed = (0..self.links)
            .filter(|&link| hops[link] != FAR && up(link))
            .min_by_key(|&link| (Some(link) == came, hops[link]));
        let mut back = None;
        for link in written.chain(computed) {
            if Some(link) != came {
                return Some(link);
            }
            back = back.or(Some(link));
        }
        back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of four.
    const RING: [(u8, u8); 4] = [(1, 2), (2, 3), (3, 4), (4, 1)];

    #[test]
    fn the_shortest_way_is_taken_and_the_next_best_if_it_is_down() {
        let table = Table::new(1, &[2, 4], &RING);
        assert_eq!(table.choose(2, None, |_| true), Some(0));
        assert_eq!(table.choose(4, None, |_| true), Some(1));
        assert_eq!(table.choose(3, None, |_| true), Some(0), "the first of two that are as long");
        assert_eq!(table.choose(2, None, |link| link == 1), Some(1), "round the ring");
        assert_eq!(table.choose(2, None, |_| false), None);
        assert_eq!(table.choose(9, None, |_| true), None, "nobody knows it");
        assert_eq!(table.choose(1, None, |_| true), None, "itself");
    }

    #[test]
    fn a_message_turns_round_only_if_there_is_no_other_way() {
        let first = Table::new(1, &[2, 4], &RING);
        let second = Table::new(2, &[1, 3], &RING);
        // 2 has lost 3, and gives back to 1, which goes the other way round.
        assert_eq!(second.choose(3, Some(0), |link| link == 0), Some(0));
        assert_eq!(first.choose(3, Some(0), |_| true), Some(1));
        // On a line there is no other way, so nothing comes back.
        let line = Table::new(2, &[1, 3], &[(1, 2), (2, 3)]);
        assert_eq!(line.choose(3, Some(0), |link| link == 0), None);
    }

    #[test]
    fn what_is_written_down_comes_before_what_is_computed() {
        let mut table = Table::new(1, &[2, 4], &RING);
        table.prefer(Range { from: 2, to: 3, link: 1 }).expect("a place");
        assert_eq!(table.choose(2, None, |_| true), Some(1));
        assert_eq!(table.choose(4, None, |_| true), Some(1));
        assert_eq!(table.choose(2, None, |link| link == 0), Some(0), "computed, if that is down");
        assert_eq!(table.choose(2, Some(1), |_| true), Some(0), "not back where it came from");
        assert_eq!(table.prefer(Range { from: 2, to: 3, link: 2 }), Err(NoPlace));
        for _ in 1..RANGES {
            table.prefer(Range { from: 9, to: 9, link: 0 }).expect("a place");
        }
        assert_eq!(table.prefer(Range { from: 9, to: 9, link: 0 }), Err(NoPlace));
        assert_eq!(table.choose(9, None, |_| true), Some(0), "nobody has to be known");
    }
}
