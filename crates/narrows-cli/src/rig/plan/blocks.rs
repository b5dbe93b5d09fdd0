//! The blocks of a layout, as the optimiser counts them: bytes may be enough, and blocks not.

use super::terms::Way;
use narrows::memory::Class;
use narrows::strategy::Placement;
use narrows_tune::model::Flow;

/// A kind of blocks: those of a place that are longer than `above`. A payload takes a block of the
/// shortest class that it fits into, or, where none of those is left, a longer one; so for every
/// length all that need as much have to find room in all that have as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    placement: Placement,
    /// Requests and responses lie in different pools.
    response: bool,
    /// More bytes than the class before it has.
    above: u32,
}

/// The kinds of blocks of a layout.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds {
    all: Vec<Kind>,
    /// How many of each there are.
    pub there: Vec<u32>,
}

impl Kinds {
    pub fn of(classes: &[Class]) -> Kinds {
        let mut made = Kinds::default();
        // Without classes there are as many as are needed.
        if classes.is_empty() {
            return made;
        }
        for placement in [Placement::Internal, Placement::External] {
            let here = || classes.iter().filter(|class| class.placement == placement);
            let mut sizes: Vec<u32> = here().map(|class| class.size).collect();
            sizes.sort_unstable();
            sizes.dedup();
            // What is longer than all has no block; an empty payload needs one.
            let lengths = std::iter::once(None).chain(sizes.into_iter().map(Some));
            for (above, response) in lengths.flat_map(|above| [(above, false), (above, true)]) {
                let longer = here().filter(|class| above.is_none_or(|above| class.size > above));
                made.there.push(longer.map(|class| class.count).sum());
                made.all.push(Kind { placement, response, above: above.unwrap_or(0) });
            }
        }
        made
    }

    /// How many blocks of each kind `flows` flows need that travel this way.
    pub fn needs(&self, flow: &Flow, way: &Way, flows: u32) -> impl Iterator<Item = u32> {
        let times = u32::from(way.strategy.granularity);
        let parts = way.strategy.parts;
        let long = |one: u32| parts.longest(one.saturating_mul(times) as usize) as u32;
        let bytes = [flow.request, flow.response].map(long);
        let buffers = way.estimate.buffers.saturating_mul(flows);
        self.all.iter().enumerate().map(move |(at, kind)| {
            let [request, response] = bytes;
            let long = if kind.response { response } else { request };
            // Every length is that of the first kinds of a place.
            let first = at < 2 || self.all[at - 2].placement != kind.placement;
            let needed = kind.placement == way.strategy.placement && (first || long > kind.above);
            if needed { buffers } else { 0 }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_tune::model::Estimate;

    /// Whether flows find room. Each has its placement, its bytes out and back, and its buffers.
    fn fits(classes: &[Class], flows: &[(Placement, [u32; 2], u32)]) -> bool {
        let kinds = Kinds::of(classes);
        let mut needed = vec![0; kinds.there.len()];
        for (placement, [request, response], buffers) in flows {
            let flow = Flow { request: *request, response: *response, ..Flow::default() };
            let strategy = format!("copy/interrupt/{placement}").parse().unwrap();
            let estimate = Estimate { buffers: *buffers, ..Estimate::default() };
            let way = Way { strategy, estimate, paced: true, cost: 0 };
            let needs = kinds.needs(&flow, &way, 1);
            needed.iter_mut().zip(needs).for_each(|(sum, one)| *sum += one);
        }
        needed.iter().zip(&kinds.there).all(|(needed, there)| needed <= there)
    }

    #[test]
    fn payloads_spill_into_longer_blocks_and_not_into_shorter_ones() {
        let class = |size, count| Class { placement: Placement::Internal, size, count };
        let classes = [class(512, 2), class(4096, 1)];
        let inside = |bytes, count| (Placement::Internal, bytes, count);
        assert!(fits(&classes, &[inside([300, 10], 3)]));
        assert!(!fits(&classes, &[inside([300, 10], 4)]));
        assert!(fits(&classes, &[inside([10, 1000], 1), inside([300, 300], 2)]));
        assert!(!fits(&classes, &[inside([1000, 10], 1), inside([300, 300], 3)]));
        assert!(!fits(&classes, &[inside([5000, 10], 1)]));
        assert!(fits(&classes, &[inside([512, 4096], 1), inside([513, 0], 1)]));
        assert!(!fits(&classes, &[inside([0, 0], 4)]));
        assert!(!fits(&classes, &[(Placement::External, [1, 1], 1)]));
        assert!(fits(&classes, &[]));
        assert!(fits(&[], &[inside([1 << 20, 1], 100)]));
    }
}
