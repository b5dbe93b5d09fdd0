//! What nodes of MCAPI say to each other. It goes over a channel of each link that is kept for it,
//! cut into words, so that no message of the application's is in its way.

/// Added to the mark of a message before which its sender said something else that matters: that is
/// heard before the message is used.
pub(super) const HEAR: u16 = 1 << 15;

/// The type of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Packet = 0,
    Scalar = 1,
}

impl Kind {
    /// The kind that a message has as this word.
    pub fn of(word: u32) -> Kind {
        if word == Kind::Packet as u32 { Kind::Packet } else { Kind::Scalar }
    }
}

/// An endpoint as its node knows it: the stack's port in the upper half, and the mark of this life
/// of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(pub u32);

impl Place {
    #[inline]
    pub fn new(port: u16, tag: u16) -> Place {
        Place(u32::from(port) << 16 | u32::from(tag))
    }
    #[inline]
    pub fn port(self) -> u16 {
        (self.0 >> 16) as u16
    }
    #[inline]
    pub fn tag(self) -> u16 {
        self.0 as u16
    }
}

/// Words of a message, beside what it says.
pub(super) const WORDS: usize = 9;

/// What a message says, with what its words are. `request` is the number by which its asker knows
/// what an answer belongs to, `channel` the number that the receiver of the message gave to its end
/// of a channel, `place` a [`Place`], `status` one of `mcapi.h`'s, `kind` a [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Said {
    /// Where is this port? Answered when there is one. `request, port`
    Get = 1,
    /// There it is, and whether that counts as a get; the place 0 if it is not. `request, place,
    /// counts`
    Found = 2,
    /// The answer to a get is not wanted any more. `request`
    GiveUp = 3,
    /// Gives a get back. `place`
    Release = 4,
    /// An endpoint that the other had got is no more. `place`
    Deleted = 5,
    /// What is this attribute? `request, place, number`
    Query = 6,
    /// That is what it is. `request, status, low, high`
    Value = 7,
    /// Connect your endpoint to this one, to send to it. `request, kind, place, to`
    Connect = 8,
    /// How that ended. `request, status`
    Connected = 9,
    /// I will send on this ring, from one endpoint to another, whose attributes should be these.
    /// `channel, kind, ring, from, port`, and three to compare
    Offer = 10,
    /// Whether that is well; `own` is how the receiver calls its end. `channel, status, own`
    Answer = 11,
    /// I have closed my end. `channel`
    Close = 12,
    /// Both ends are closed and there is nothing on the ring any more. `channel`
    Free = 13,
    /// As Get, answered at once and not counted. `request, port`
    Look = 14,
}

/// A message: what it says and its words, each in the bytes that it is sent as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control([[u8; 4]; 1 + WORDS]);

impl Control {
    /// Room for one.
    pub const NONE: Control = Control([[0; 4]; 1 + WORDS]);

    /// A message; words that are not given are 0.
    #[inline]
    pub fn new(said: Said, words: &[u32]) -> Control {
        let mut new = Control::NONE;
        let [first, rest @ ..] = &mut new.0;
        *first = (said as u32).to_le_bytes();
        for (to, word) in rest.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        new
    }

    /// A piece of it, in which zeros at its end are left out, and whether it is the last.
    #[inline]
    pub fn piece(&self, at: usize) -> (u64, bool) {
        let (pieces, _) = self.0.as_chunks::<2>();
        let piece = pieces.get(at).copied().unwrap_or_default();
        let mut rest = pieces.iter().skip(at + 1).flatten();
        (
            u64::from_le_bytes(piece.as_flattened().try_into().unwrap_or_default()),
            rest.all(|word| *word == [0; 4]),
        )
    }

    /// Puts a piece where it belongs. False if there is no such place.
    #[inline]
    #[must_use]
    pub fn put(&mut self, at: usize, piece: u64) -> bool {
        let (pieces, _) = self.0.as_chunks_mut::<2>();
        let Some(place) = pieces.get_mut(at) else { return false };
        place.as_flattened_mut().copy_from_slice(&piece.to_le_bytes());
        true
    }

    /// What a message says, and its words; none if it is no message.
    #[inline]
    pub fn read(&self) -> Option<(Said, [u32; WORDS])> {
        use Said::*;
        const ALL: [Said; 14] = [
            Get, Found, GiveUp, Release, Deleted, Query, Value, Connect, Connected, Offer, Answer,
            Close, Free, Look,
        ];
        let [code, bytes @ ..] = &self.0;
        let mut words = [0; WORDS];
        for (word, from) in words.iter_mut().zip(bytes) {
            *word = u32::from_le_bytes(*from);
        }
        let said = *ALL.get((u32::from_le_bytes(*code) as usize).wrapping_sub(1))?;
        let [_, kind_or_port, ring, _, port, ..] = words;
        let (is_kind, is_port) = (kind_or_port <= Kind::Scalar as u32, |word| word <= 0xffff);
        let sound = match said {
            Get | Look => is_port(kind_or_port),
            Connect => is_kind,
            Offer => is_kind && is_port(ring) && is_port(port),
            _ => true,
        };
        sound.then_some((said, words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_comes_out_as_it_went_in() {
        for (said, words) in [
            (Said::Get, &[0x3fff_ffff, 4095][..]),
            (Said::Found, &[1, Place::new(0x1234, 0xfedc).0]),
            (Said::Value, &[1, 29, 1, u32::MAX]),
            (Said::Connect, &[1, Kind::Scalar as u32, 0x1234_fedc, u32::MAX]),
            (Said::Offer, &[1, Kind::Packet as u32, 31, u32::MAX, 7, 1, 2, 3]),
            (Said::Free, &[u32::MAX]),
        ] {
            let (here, mut there) = (Control::new(said, words), Control::NONE);
            for at in 0.. {
                let (piece, last) = here.piece(at);
                assert!(there.put(at, piece) && at < 5);
                if last {
                    break;
                }
            }
            let (what, got) = there.read().unwrap();
            assert_eq!((what, &got[..words.len()]), (said, words));
            assert!(got[words.len()..].iter().all(|word| *word == 0));
        }
        for code in 1..=14 {
            let sound = Control([[code, 0, 0, 0]; 1 + WORDS]).read().map(|(said, _)| said as u8);
            assert_eq!(sound, (![8, 10].contains(&code)).then_some(code));
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        let none = |said, words: &[u32]| Control::new(said, words).read();
        for code in [0, 15, 255] {
            let mut message = Control::new(Said::Close, &[1]);
            assert!(message.put(0, 1 << 32 | code) && !message.put(5, 1));
            assert_eq!(message.read(), None);
        }
        assert_eq!(none(Said::Get, &[1, 0x1_0000]), None, "a port of more than 16 bits");
        assert_eq!(none(Said::Connect, &[1, 2]), None, "no kind of a channel");
        for words in [[1, 2, 3, 4, 5], [1, 1, 0x1_0000, 4, 5], [1, 1, 3, 4, 0x1_0000]] {
            assert_eq!(none(Said::Offer, &words), None, "{words:?}");
        }
    }

    #[test]
    fn a_place_has_both_its_halves() {
        let place = Place::new(0x1234, 0xfedc);
        assert_eq!((place.port(), place.tag(), place.0), (0x1234, 0xfedc, 0x1234_fedc));
    }
}
