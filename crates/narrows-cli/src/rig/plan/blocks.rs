//! Whether the blocks of a layout are enough for a plan: bytes may be, and blocks not.

use narrows::memory::Class;
use narrows::strategy::Placement;

/// Buffers that a flow needs of each side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needed {
    pub placement: Placement,
    /// Bytes of a request and of a response, which lie in different pools.
    pub bytes: [u32; 2],
    pub count: u32,
}

/// The first placement whose blocks are not enough; none if all are. A payload takes a block of the
/// shortest class that it fits into, or, where none of those is left, a longer one.
pub(super) fn missing(classes: &[Class], needed: &[Needed]) -> Option<Placement> {
    let places = [Placement::Internal, Placement::External];
    places.into_iter().find(|placement| {
        let of = || classes.iter().filter(|class| class.placement == *placement);
        (0..2).any(|side| {
            let mut left: Vec<(u32, u32)> = of().map(|class| (class.size, class.count)).collect();
            left.sort_unstable();
            let here = needed.iter().filter(|one| one.placement == *placement);
            let mut wanted: Vec<(u32, u32)> =
                here.map(|one| (one.bytes[side], one.count)).collect();
            // The longest first: nothing else can have their blocks then.
            wanted.sort_unstable_by(|a, b| b.cmp(a));
            wanted.iter().any(|(bytes, count)| {
                let mut open = *count;
                for (size, free) in &mut left {
                    if *size >= *bytes {
                        let taken = open.min(*free);
                        (open, *free) = (open - taken, *free - taken);
                    }
                }
                open > 0
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_spill_into_longer_blocks_and_not_into_shorter_ones() {
        let class = |size, count| Class { placement: Placement::Internal, size, count };
        let classes = [class(512, 2), class(4096, 1)];
        let needed = |bytes, count| Needed { placement: Placement::Internal, bytes, count };
        assert_eq!(missing(&classes, &[needed([300, 10], 3)]), None);
        assert_eq!(missing(&classes, &[needed([300, 10], 4)]), Some(Placement::Internal));
        assert_eq!(missing(&classes, &[needed([10, 1000], 1), needed([300, 300], 2)]), None);
        let full = [needed([1000, 10], 1), needed([300, 300], 3)];
        assert_eq!(missing(&classes, &full), Some(Placement::Internal));
        let outside = Needed { placement: Placement::External, ..needed([1, 1], 1) };
        assert_eq!(missing(&classes, &[outside]), Some(Placement::External));
        assert_eq!(missing(&classes, &[]), None);
    }
}
