//! What a node notes, in four words of a ring.

use narrows::platform::{Wait, Woken};
use narrows::span::{Carried, Edge, For, Note, Passage, Span};

/// What a node was in before it waited, and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A span begins or ends.
    Stamp(Span, Edge, u32),
    /// Something happened to a message.
    Note(Note),
    /// A wait begins.
    Waits(Wait),
    /// A wait ended.
    Woken(Woken),
    /// A link is up: what is known of it is the fact of this number.
    Linked(u32),
    /// A link was lost: its key.
    Lost(u32),
    /// A peer's bell was rung.
    Rang,
}

const STAMP: u64 = 0;
const BEGINS: u64 = 1;
const SENT: u64 = 2;
const TAKEN: u64 = 3;
const USED: u64 = 4;
const FOR: u64 = 5;
const WAITS: u64 = 6;
const WOKEN: u64 = 7;
const LINKED: u64 = 8;
const LOST: u64 = 9;
const RANG: u64 = 10;

/// No entry of an inbox.
const STRAIGHT: u64 = u16::MAX as u64;

const CARRIED: [Carried; 6] = [
    Carried::Message,
    Carried::Request,
    Carried::Response,
    Carried::Control,
    Carried::Packet,
    Carried::Scalar,
];
const FORS: [For; 3] = [For::Credit, For::Block, For::Switch];
const WAITED: [Wait; 5] = [Wait::Spin, Wait::Yield, Wait::Bell, Wait::Timer, Wait::Look];
const WOKE: [Woken; 4] = [Woken::Word, Woken::Bell, Woken::Event, Woken::Deadline];

/// The place of a value in a list of all.
fn place<T: PartialEq>(all: &[T], value: &T) -> u64 {
    all.iter().position(|one| one == value).unwrap_or(0) as u64
}

/// The 16 bits of a word from this one on.
fn half(word: u64, from: u32) -> u16 {
    (word >> from) as u16
}

impl Event {
    /// The words behind that of the time.
    #[inline]
    pub fn pack(&self) -> [u64; 3] {
        let one = |kind, a: u64| [kind | a << 32, 0, 0];
        match *self {
            Event::Stamp(span, edge, id) => {
                let edge = u64::from(edge == Edge::Leave);
                [STAMP | (span as u64) << 8 | edge << 16 | u64::from(id) << 32, 0, 0]
            }
            Event::Note(Note::Begins) => one(BEGINS, 0),
            Event::Note(Note::Sent(passage)) => packed(SENT, &passage, STRAIGHT),
            Event::Note(Note::Taken(passage, entry)) => {
                packed(TAKEN, &passage, entry.map_or(STRAIGHT, u64::from))
            }
            Event::Note(Note::Used { link, entry }) => {
                [USED | u64::from(entry) << 16 | u64::from(link) << 32, 0, 0]
            }
            Event::Note(Note::Waits(what)) => one(FOR, place(&FORS, &what)),
            Event::Waits(how) => one(WAITS, place(&WAITED, &how)),
            Event::Woken(why) => one(WOKEN, place(&WOKE, &why)),
            Event::Linked(fact) => one(LINKED, fact.into()),
            Event::Lost(key) => one(LOST, key.into()),
            Event::Rang => one(RANG, 0),
        }
    }

    /// What the words say; none if nothing is written so.
    pub fn unpack([first, second, third]: [u64; 3]) -> Option<Event> {
        let upper = (first >> 32) as u32;
        let list = upper as usize;
        Some(match first & 0xff {
            STAMP => {
                let span = *Span::ALL.get(usize::from(first as u16 >> 8))?;
                let edge = if first >> 16 & 1 == 0 { Edge::Enter } else { Edge::Leave };
                Event::Stamp(span, edge, upper)
            }
            BEGINS => Event::Note(Note::Begins),
            kind @ (SENT | TAKEN) => {
                let passage = Passage {
                    link: upper,
                    number: second as u32,
                    kind: *CARRIED.get(usize::from(half(first, 8) & 0xf))?,
                    bytes: (second >> 32) as u32,
                    source: half(third, 0),
                    target: half(third, 16),
                    priority: (first >> 12 & 0xf) as u8,
                    tag: half(third, 32),
                };
                let entry = half(third, 48);
                let entry = (u64::from(entry) != STRAIGHT).then_some(entry);
                Event::Note(match kind {
                    SENT => Note::Sent(passage),
                    _ => Note::Taken(passage, entry),
                })
            }
            USED => Event::Note(Note::Used { link: upper, entry: half(first, 16) }),
            FOR => Event::Note(Note::Waits(*FORS.get(list)?)),
            WAITS => Event::Waits(*WAITED.get(list)?),
            WOKEN => Event::Woken(*WOKE.get(list)?),
            LINKED => Event::Linked(upper),
            LOST => Event::Lost(upper),
            RANG => Event::Rang,
            _ => return None,
        })
    }
}

fn packed(kind: u64, passage: &Passage, entry: u64) -> [u64; 3] {
    let &Passage { link, number, kind: carried, bytes, source, target, priority, tag } = passage;
    let carried = carried as u64;
    [
        kind | carried << 8 | u64::from(priority & 0xf) << 12 | u64::from(link) << 32,
        u64::from(number) | u64::from(bytes) << 32,
        u64::from(source) | u64::from(target) << 16 | u64::from(tag) << 32 | entry << 48,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_survives_its_words() {
        let passage = Passage {
            link: u32::MAX,
            number: 7,
            kind: Carried::Response,
            bytes: (1 << 24) - 1,
            source: u16::MAX,
            target: 3,
            priority: 7,
            tag: 0xabcd,
        };
        let mut all = vec![
            Event::Note(Note::Begins),
            Event::Note(Note::Sent(passage)),
            Event::Note(Note::Taken(passage, None)),
            Event::Note(Note::Taken(passage, Some(9))),
            Event::Note(Note::Used { link: 5, entry: 77 }),
            Event::Linked(3),
            Event::Lost(u32::MAX),
            Event::Rang,
        ];
        for span in Span::ALL {
            all.push(Event::Stamp(span, Edge::Enter, u32::MAX));
            all.push(Event::Stamp(span, Edge::Leave, 0));
        }
        all.extend(FORS.map(|what| Event::Note(Note::Waits(what))));
        all.extend(WAITED.map(Event::Waits));
        all.extend(WOKE.map(Event::Woken));
        for kind in CARRIED {
            all.push(Event::Note(Note::Sent(Passage { kind, ..passage })));
        }
        for event in all {
            assert_eq!(Event::unpack(event.pack()), Some(event));
        }
        assert_eq!(Event::unpack([0xff, 0, 0]), None);
    }
}
