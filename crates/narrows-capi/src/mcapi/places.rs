//! Sets of the places that peers have at a node.

/// Nodes that one node can deal with at a time, at most.
pub(super) const MAX_PEERS: usize = 1024;
/// Bits of a word.
const WORD: usize = u64::BITS as usize;
/// Words of a set.
const WORDS: usize = MAX_PEERS / WORD;

/// Some of the places below [`MAX_PEERS`]. To go through it takes as long as it has places.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// A bit for each word that is not zero.
    some: u16,
    words: [u64; WORDS],
}

const _: () = assert!(MAX_PEERS.is_multiple_of(WORD) && WORDS <= u16::BITS as usize);

impl Places {
    /// The first place that is not there.
    pub fn free(&self) -> Option<u16> {
        let word = self.words.iter().position(|word| *word != u64::MAX)?;
        let bit = self.words.get(word)?.trailing_ones();
        Some((word * WORD) as u16 + bit as u16)
    }

    pub fn add(&mut self, place: u16) {
        let word = usize::from(place) / WORD;
        if let Some(bits) = self.words.get_mut(word) {
            *bits |= 1 << (usize::from(place) % WORD);
            self.some |= 1 << word;
        }
    }

    pub fn has(&self, place: u16) -> bool {
        let word = self.words.get(usize::from(place) / WORD);
        word.is_some_and(|bits| bits & 1 << (usize::from(place) % WORD) != 0)
    }

    /// Takes a place out, and says whether it was there.
    pub fn remove(&mut self, place: u16) -> bool {
        let (word, bit) = (usize::from(place) / WORD, 1 << (usize::from(place) % WORD));
        let Some(bits) = self.words.get_mut(word) else { return false };
        let was = *bits & bit != 0;
        *bits &= !bit;
        if *bits == 0 {
            self.some &= !(1 << word);
        }
        was
    }

    pub fn is_empty(&self) -> bool {
        self.some == 0
    }

    /// The first place that is there and not below this one.
    #[inline]
    pub fn from(&self, place: u16) -> Option<u16> {
        let (at, bit) = (usize::from(place) / WORD, usize::from(place) % WORD);
        let here = self.words.get(at)? & u64::MAX << bit;
        if here != 0 {
            return Some((at * WORD) as u16 + here.trailing_zeros() as u16);
        }
        // Behind the last word there is none.
        let behind = self.some & u16::MAX.checked_shl(at as u32 + 1).unwrap_or(0);
        let word = self.words.get(behind.trailing_zeros() as usize)?;
        Some((behind.trailing_zeros() as usize * WORD) as u16 + word.trailing_zeros() as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_and_not_removed_is_there_in_order() {
        let mut set = Places::default();
        assert_eq!((set.free(), set.is_empty()), (Some(0), true));
        for place in (0..MAX_PEERS as u16).rev() {
            assert!(!set.has(place) && !set.remove(place));
            set.add(place);
            assert!(set.has(place));
        }
        assert_eq!(set.free(), None);
        for place in [0, 1, 63, 64, 700, 1023] {
            assert!(set.remove(place));
            assert_eq!(set.free(), Some(place));
            set.add(place);
        }
        for place in (0..MAX_PEERS as u16).filter(|place| ![63, 64, 1023].contains(place)) {
            assert!(set.remove(place));
        }
        let all = |set: &Places| {
            std::iter::successors(set.from(0), |place| set.from(place + 1)).collect::<Vec<_>>()
        };
        assert_eq!(all(&set), [63, 64, 1023]);
        assert_eq!((set.from(65), set.from(1024)), (Some(1023), None));
        assert!(!set.is_empty());
        assert!(all(&Places::default()).is_empty());
        // A place that no peer has.
        set.add(u16::MAX);
        assert!(!set.remove(u16::MAX));
    }
}
