//! Handles: what C has of a node, a peer, a flow, a publisher or a subscriber.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of a handle: the kind of thing, its node's slot, its place there, and which life of it.
const KIND: u32 = 3;
const SLOT: u32 = 10;
const PLACE: u32 = 16;

/// Nodes that a process can have at a time.
pub(super) const SLOTS: usize = 1 << SLOT;

/// What a handle is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Node = 1,
    Peer = 2,
    Flow = 3,
    Publisher = 4,
    Subscriber = 5,
}

/// Which thing a handle means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub kind: Kind,
    pub slot: u16,
    pub place: u16,
    /// See [`serial`].
    pub serial: u64,
}

/// Never zero, so that no life is taken for another whatever has its place.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The number of the next life, in this process and its children. With pointers of 64 bits none
/// comes twice in any time; with 32, one in 8 does.
pub(super) fn serial() -> u64 {
    // Relaxed: nothing is read because of it.
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    next & (u64::MAX >> (64 - usize::BITS + KIND + SLOT + PLACE))
}

impl Handle {
    /// What C has of it. Never null.
    pub fn word(self) -> usize {
        let Handle { kind, slot, place, serial } = self;
        let low = kind as u64 | u64::from(slot) << KIND | u64::from(place) << (KIND + SLOT);
        (low | serial << (KIND + SLOT + PLACE)) as usize
    }

    /// What C means, if it can be something of this kind.
    #[inline]
    pub fn of(word: usize, kind: Kind) -> Option<Handle> {
        let word = word as u64;
        let part = |from: u32, bits: u32| (word >> from & ((1 << bits) - 1)) as u16;
        (part(0, KIND) == kind as u16).then_some(Handle {
            kind,
            slot: part(KIND, SLOT),
            place: part(KIND + SLOT, PLACE),
            serial: word >> (KIND + SLOT + PLACE),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_says_what_it_was_made_of_and_nothing_else_is_one() {
        let all = [Kind::Node, Kind::Peer, Kind::Flow, Kind::Publisher, Kind::Subscriber];
        let places = [(0, 0), (1023, 65535), (7, 4096), (1, 1), (512, 3)];
        for (kind, (slot, place)) in all.into_iter().zip(places) {
            let handle = Handle { kind, slot, place, serial: serial() };
            assert_eq!(Handle::of(handle.word(), kind), Some(handle));
            for other in all.into_iter().filter(|other| *other != kind) {
                assert_eq!(Handle::of(handle.word(), other), None);
            }
        }
        assert_eq!(Handle::of(0, Kind::Node), None);
        assert_ne!(serial(), serial());
    }
}
