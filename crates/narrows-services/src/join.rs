//! What a subscriber asks of a publisher, and what it is told, as messages between their ports; and
//! the note by which publishers are found.

use narrows::endpoint::Port;
use narrows::link::Name;
use narrows::memory::{MAX_HOLDS, Overflow, Terms};
use narrows_host::Place;

/// The most slots of a publisher, and the deepest queue.
pub(crate) const MOST_SLOTS: u32 = 1 << 16;

const JOIN: u32 = u32::from_le_bytes(*b"NsJ2");
const JOINED: u32 = u32::from_le_bytes(*b"NsA3");
const REFUSED: u32 = u32::from_le_bytes(*b"NsR2");
const ENDED: u32 = u32::from_le_bytes(*b"NsE1");

/// What a subscriber says: how it wants what is published, by these terms, and how many of the
/// latest that are there. Its types, and where its note is, in which it says when it wants no more.
/// A message without a byte wakes a publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Join {
    pub types: u32,
    pub terms: Terms,
    pub history: u32,
    pub note: Place,
}

/// What a publisher says to the subscriber whose note this is: so an answer that comes late is
/// taken for no other. A message without a byte wakes a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub note: Place,
    pub said: Said,
}

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Where all is.
    Joined(Shown),
    /// Why not.
    Refused(Refusal),
    /// No more is published.
    Ended,
}

/// Where a subscriber finds its queue, whose messages say where in the same memory they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub place: Place,
    /// Where its queue begins, in bytes.
    pub queue: u32,
}

/// Why a publisher takes a subscriber not in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Its types are others.
    Types,
    /// There are as many subscribers as there may be.
    Full,
    /// The queue, the holds or the history that the subscriber asks for need more slots than the
    /// publisher has.
    Terms,
    /// The publisher cannot read the subscriber's memory.
    Memory,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Types => f.write_str("its types are others"),
            Refusal::Full => f.write_str("there are as many as may be (Topic::subscribers)"),
            Refusal::Terms => f.write_str("it has too few slots for a queue of that depth and that number of holds (Topic::slots, Topic::limit)"),
            Refusal::Memory => f.write_str("one of them cannot read the other's memory"),
        }
    }
}

impl std::error::Error for Refusal {}

/// A publisher of a topic, as the note of its node says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The node.
    pub of: Name,
    pub types: String,
    pub port: Port,
}

impl Source {
    /// The text of its note.
    pub(crate) fn text(types: &str, port: Port) -> String {
        format!("publish {types} {port}")
    }

    /// Those of a topic that there are, in the order of their nodes' names.
    pub(crate) fn all(node: &narrows_host::Node, topic: &Name) -> Vec<Source> {
        let offers = node.platform().offers().into_iter();
        let of = offers.filter(|offer| offer.service == *topic);
        of.filter_map(|offer| {
            let (types, port) = offer.text.strip_prefix("publish ")?.rsplit_once(' ')?;
            Some(Source { of: offer.node, types: types.to_owned(), port: port.parse().ok()? })
        })
        .collect()
    }
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

impl Join {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Join { types, terms: Terms { depth, holds, overflow }, history, note } = *self;
        let overflow = match overflow {
            Overflow::Wait => 0,
            Overflow::DropNewest => 1,
            Overflow::DropOldest => 2,
        };
        let mut bytes = words(&[JOIN, types, depth, holds, overflow, history]);
        bytes.extend(note.encode());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Join> {
        let mut from = Reader(bytes);
        if from.word()? != JOIN {
            return None;
        }
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
        sensible.then_some(Join { types, terms, history, note })
    }
}

impl Answer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = match self.said {
            Said::Joined(Shown { place, queue }) => {
                let mut bytes = words(&[JOINED, queue]);
                bytes.extend(place.encode());
                bytes
            }
            Said::Refused(why) => {
                let why = match why {
                    Refusal::Types => 0,
                    Refusal::Full => 1,
                    Refusal::Terms => 2,
                    Refusal::Memory => 3,
                };
                words(&[REFUSED, why])
            }
            Said::Ended => words(&[ENDED]),
        };
        bytes.extend(self.note.encode());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Answer> {
        let mut from = Reader(bytes);
        let said = match from.word()? {
            JOINED => {
                let queue = from.word()?;
                Said::Joined(Shown { queue, place: from.place()? })
            }
            REFUSED => Said::Refused(match from.word()? {
                0 => Refusal::Types,
                1 => Refusal::Full,
                2 => Refusal::Terms,
                _ => Refusal::Memory,
            }),
            ENDED => Said::Ended,
            _ => return None,
        };
        Some(Answer { note: from.place()?, said })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood_and_nonsense_is_not() {
        let note = Place::decode(&std::array::from_fn(|at| at as u8 + 1));
        for overflow in [Overflow::Wait, Overflow::DropNewest, Overflow::DropOldest] {
            let terms = Terms { depth: 8, holds: 3, overflow };
            let join = Join { types: 0xdead_beef, terms, history: 2, note };
            let bytes = join.encode();
            assert_eq!(Join::decode(&bytes), Some(join));
            assert_eq!(Join::decode(&bytes[..bytes.len() - 1]), None);
        }
        let shown = Shown { place: note, queue: 1 };
        let refusals = [Refusal::Types, Refusal::Full, Refusal::Terms, Refusal::Memory];
        let answers = refusals.map(Said::Refused).into_iter();
        for said in answers.chain([Said::Joined(shown), Said::Ended]) {
            let answer = Answer { note, said };
            let bytes = answer.encode();
            assert_eq!(Answer::decode(&bytes), Some(answer));
            assert_eq!(Answer::decode(&bytes[..bytes.len() - 1]), None);
        }
        for (depth, holds, history) in [(0, 1, 0), (3, 1, 0), (8, 0, 0), (8, 16, 0), (8, 1, 9)] {
            let terms = Terms { depth, holds, overflow: Overflow::Wait };
            let bytes = Join { types: 1, terms, history, note }.encode();
            assert_eq!(Join::decode(&bytes), None, "{terms:?} {history}");
        }
    }
}
