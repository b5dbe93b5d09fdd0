//! What a subscriber asks of a publisher, and what it is told, as messages between their ports.

use narrows::memory::{MAX_HOLDS, Overflow, Terms};
use narrows_host::Place;

/// The most slots of a publisher, and the deepest queue.
pub(crate) const MOST_SLOTS: u32 = 1 << 16;

const JOIN: u32 = u32::from_le_bytes(*b"NsJ1");
const LEAVE: u32 = u32::from_le_bytes(*b"NsL1");
const JOINED: u32 = u32::from_le_bytes(*b"NsA1");
const REFUSED: u32 = u32::from_le_bytes(*b"NsR1");

/// What a subscriber says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// It wants what is published.
    Join(Join),
    /// It wants no more.
    Leave,
}

/// How a subscriber wants what is published: by these terms, and so many of the latest that are
/// there. Its types, and where its note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Join {
    pub types: u32,
    pub terms: Terms,
    pub history: u32,
    pub note: Place,
}

/// What a publisher says. A message without a byte wakes a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Where all is.
    Joined(Shown),
    /// Why not.
    Refused(Refusal),
}

/// Where a subscriber finds its queue and the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub place: Place,
    /// Where its queue begins, and the slots, in bytes.
    pub queue: u32,
    pub slots: u32,
    /// How many slots there are, and bytes of each.
    pub count: u32,
    pub size: u32,
}

/// Why a publisher takes a subscriber not in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Its types are others.
    Types,
    /// There are as many subscribers as there may be.
    Full,
    /// So deep a queue, so many holds or so much history are more than the publisher has slots for.
    Terms,
    /// The publisher cannot read the subscriber's memory.
    Memory,
}

/// Little-endian words.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*word))
    }

    fn place(&mut self) -> Option<Place> {
        let (place, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(Place::decode(place))
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Wish {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match *self {
            Wish::Join(Join { types, terms, history, note }) => {
                let Terms { depth, holds, overflow } = terms;
                let overflow = match overflow {
                    Overflow::Wait => 0,
                    Overflow::DropNewest => 1,
                    Overflow::DropOldest => 2,
                };
                let mut bytes = words(&[JOIN, types, depth, holds, overflow, history]);
                bytes.extend(note.encode());
                bytes
            }
            Wish::Leave => words(&[LEAVE]),
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Wish> {
        let mut from = Reader(bytes);
        match from.word()? {
            JOIN => {
                let [types, depth, holds] = [from.word()?, from.word()?, from.word()?];
                let overflow = match from.word()? {
                    0 => Overflow::Wait,
                    1 => Overflow::DropNewest,
                    2 => Overflow::DropOldest,
                    _ => return None,
                };
                let history = from.word()?;
                let sensible = depth.is_power_of_two()
                    && depth <= MOST_SLOTS
                    && (1..=MAX_HOLDS).contains(&holds)
                    && history <= depth;
                let terms = Terms { depth, holds, overflow };
                let note = from.place()?;
                sensible.then_some(Wish::Join(Join { types, terms, history, note }))
            }
            LEAVE => Some(Wish::Leave),
            _ => None,
        }
    }
}

impl Answer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match *self {
            Answer::Joined(Shown { place, queue, slots, count, size }) => {
                let mut bytes = words(&[JOINED, queue, slots, count, size]);
                bytes.extend(place.encode());
                bytes
            }
            Answer::Refused(why) => {
                let why = match why {
                    Refusal::Types => 0,
                    Refusal::Full => 1,
                    Refusal::Terms => 2,
                    Refusal::Memory => 3,
                };
                words(&[REFUSED, why])
            }
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Answer> {
        let mut from = Reader(bytes);
        match from.word()? {
            JOINED => {
                let [queue, slots, count, size] =
                    [from.word()?, from.word()?, from.word()?, from.word()?];
                let place = from.place()?;
                Some(Answer::Joined(Shown { place, queue, slots, count, size }))
            }
            REFUSED => Some(Answer::Refused(match from.word()? {
                0 => Refusal::Types,
                1 => Refusal::Full,
                2 => Refusal::Terms,
                _ => Refusal::Memory,
            })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood_and_nonsense_is_not() {
        let note = Place::decode(&std::array::from_fn(|at| at as u8 + 1));
        let mut all = vec![Wish::Leave];
        for overflow in [Overflow::Wait, Overflow::DropNewest, Overflow::DropOldest] {
            let terms = Terms { depth: 8, holds: 3, overflow };
            all.push(Wish::Join(Join { types: 0xdead_beef, terms, history: 2, note }));
        }
        for wish in all {
            let bytes = wish.encode();
            assert_eq!(Wish::decode(&bytes), Some(wish));
            assert_eq!(Wish::decode(&bytes[..bytes.len() - 1]), None);
        }
        let shown = Shown { place: note, queue: 1, slots: 2, count: 3, size: 4 };
        let refusals = [Refusal::Types, Refusal::Full, Refusal::Terms, Refusal::Memory];
        let answers = refusals.map(Answer::Refused).into_iter().chain([Answer::Joined(shown)]);
        for answer in answers {
            let bytes = answer.encode();
            assert_eq!(Answer::decode(&bytes), Some(answer));
            assert_eq!(Answer::decode(&bytes[..bytes.len() - 1]), None);
        }
        for (depth, holds, history) in [(0, 1, 0), (3, 1, 0), (8, 0, 0), (8, 16, 0), (8, 1, 9)] {
            let terms = Terms { depth, holds, overflow: Overflow::Wait };
            let bytes = Wish::Join(Join { types: 1, terms, history, note }).encode();
            assert_eq!(Wish::decode(&bytes), None, "{terms:?} {history}");
        }
    }
}
