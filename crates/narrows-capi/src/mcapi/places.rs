//! Sets of the places that peers have at a node.

use super::node::MAX_PEERS;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;
/// Words of a set.
const WORDS: usize = MAX_PEERS / WORD;

/// Some of the places below [`MAX_PEERS`]. To go through it takes as long as it has places.
#[derive(Clone, Debug, Default)]
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
}

/// The places, the lowest first.
impl IntoIterator for Places {
    type Item = u16;
    type IntoIter = Iter;

    #[inline]
    fn into_iter(self) -> Iter {
        Iter(self)
    }
}

/// What is left to go through.
pub(super) struct Iter(Places);

impl Iterator for Iter {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        if self.0.some == 0 {
            return None;
        }
        let word = self.0.some.trailing_zeros() as usize;
        let bits = self.0.words.get_mut(word)?;
        let place = (word * WORD) as u16 + bits.trailing_zeros() as u16;
        *bits &= bits.wrapping_sub(1);
        if *bits == 0 {
            self.0.some &= self.0.some.wrapping_sub(1);
        }
        Some(place)
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
        assert_eq!(set.clone().into_iter().collect::<Vec<_>>(), [63, 64, 1023]);
        assert!(!set.is_empty());
        assert_eq!(Places::default().into_iter().count(), 0);
        // A place that no peer has.
        set.add(u16::MAX);
        assert!(!set.remove(u16::MAX));
    }
}
