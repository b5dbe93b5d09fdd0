//! What nodes of MCAPI say to each other: messages of the stack from port 0 to port 0, each of which
//! fits a slot.

use super::id::EndpointId;

/// The type of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Packet,
    Scalar,
}

impl Kind {
    fn code(self) -> u32 {
        match self {
            Kind::Packet => 0,
            Kind::Scalar => 1,
        }
    }
    fn from_code(code: u32) -> Option<Kind> {
        match code {
            0 => Some(Kind::Packet),
            1 => Some(Kind::Scalar),
            _ => None,
        }
    }
}

/// An endpoint as its node knows it: the stack's port, and the mark of this life of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub port: u16,
    pub tag: u16,
}

impl Place {
    fn code(self) -> u32 {
        u32::from(self.port) << 16 | u32::from(self.tag)
    }
    fn from_code(code: u32) -> Place {
        Place { port: (code >> 16) as u16, tag: code as u16 }
    }
}

/// Words of a message.
const WORDS: usize = 10;
/// Bytes of a message.
pub(super) const BYTES: usize = WORDS * 4;

/// A message. `request` is the number by which its asker knows what an answer belongs to, `channel`
/// the number that whoever gets the message gave to its end of a channel, `status` one of
/// `mcapi.h`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// Where is this port? Answered when there is one.
    Get { request: u32, port: u16 },
    /// There it is.
    Found { request: u32, place: Place },
    /// The answer to a get is not wanted any more.
    GiveUp { request: u32 },
    /// Gives a get back.
    Release { place: Place },
    /// An endpoint that the other had got is no more.
    Deleted { place: Place },
    /// What is this attribute?
    Query { request: u32, place: Place, number: u32 },
    /// That is what it is.
    Value { request: u32, status: u32, value: [u32; 2] },
    /// Connect your endpoint to this one, to send to it.
    Connect { request: u32, kind: Kind, from: Place, to: EndpointId },
    /// How that ended.
    Connected { request: u32, status: u32 },
    /// I will send on this ring, from one endpoint to another, whose attributes should be these.
    Offer { channel: u32, kind: Kind, ring: u16, from: EndpointId, to: u16, compared: [u32; 3] },
    /// Whether that is well; `own` is how the receiver calls its end.
    Answer { channel: u32, status: u32, own: u32 },
    /// I have closed my end.
    Close { channel: u32 },
    /// Both ends are closed and there is nothing on the ring any more.
    Free { channel: u32 },
}

impl Control {
    /// The message in bytes.
    #[inline(never)]
    pub fn encode(&self) -> [u8; BYTES] {
        let word = u32::from;
        let words: [u32; WORDS] = match *self {
            Control::Get { request, port } => [1, request, word(port), 0, 0, 0, 0, 0, 0, 0],
            Control::Found { request, place } => [2, request, place.code(), 0, 0, 0, 0, 0, 0, 0],
            Control::GiveUp { request } => [3, request, 0, 0, 0, 0, 0, 0, 0, 0],
            Control::Release { place } => [4, place.code(), 0, 0, 0, 0, 0, 0, 0, 0],
            Control::Deleted { place } => [5, place.code(), 0, 0, 0, 0, 0, 0, 0, 0],
            Control::Query { request, place, number } => {
                [6, request, place.code(), number, 0, 0, 0, 0, 0, 0]
            }
            Control::Value { request, status, value: [low, high] } => {
                [7, request, status, low, high, 0, 0, 0, 0, 0]
            }
            Control::Connect { request, kind, from, to } => {
                [8, request, kind.code(), from.code(), to.0, 0, 0, 0, 0, 0]
            }
            Control::Connected { request, status } => [9, request, status, 0, 0, 0, 0, 0, 0, 0],
            Control::Offer { channel, kind, ring, from, to, compared: [a, b, c] } => {
                [10, channel, kind.code(), word(ring), from.0, word(to), a, b, c, 0]
            }
            Control::Answer { channel, status, own } => {
                [11, channel, status, own, 0, 0, 0, 0, 0, 0]
            }
            Control::Close { channel } => [12, channel, 0, 0, 0, 0, 0, 0, 0, 0],
            Control::Free { channel } => [13, channel, 0, 0, 0, 0, 0, 0, 0, 0],
        };
        let mut bytes = [0; BYTES];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The message that bytes are; none if they are no message.
    #[inline(never)]
    pub fn decode(bytes: &[u8]) -> Option<Control> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let mut words = [0; WORDS];
        for (word, from) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_le_bytes(from.try_into().ok()?);
        }
        let [code, a, b, c, d, e, f, g, h, _] = words;
        let place = Place::from_code;
        Some(match code {
            1 => Control::Get { request: a, port: u16::try_from(b).ok()? },
            2 => Control::Found { request: a, place: place(b) },
            3 => Control::GiveUp { request: a },
            4 => Control::Release { place: place(a) },
            5 => Control::Deleted { place: place(a) },
            6 => Control::Query { request: a, place: place(b), number: c },
            7 => Control::Value { request: a, status: b, value: [c, d] },
            8 => Control::Connect {
                request: a,
                kind: Kind::from_code(b)?,
                from: place(c),
                to: EndpointId(d),
            },
            9 => Control::Connected { request: a, status: b },
            10 => Control::Offer {
                channel: a,
                kind: Kind::from_code(b)?,
                ring: u16::try_from(c).ok()?,
                from: EndpointId(d),
                to: u16::try_from(e).ok()?,
                compared: [f, g, h],
            },
            11 => Control::Answer { channel: a, status: b, own: c },
            12 => Control::Close { channel: a },
            13 => Control::Free { channel: a },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_comes_out_as_it_went_in() {
        let place = Place { port: 0x1234, tag: 0xfedc };
        let (request, channel, status) = (0x3fff_ffff, 0x1234_5678, 29);
        let (from, to) = (EndpointId(u32::MAX), EndpointId(0x0102_0304));
        for message in [
            Control::Get { request, port: 4095 },
            Control::Found { request, place },
            Control::GiveUp { request },
            Control::Release { place },
            Control::Deleted { place },
            Control::Query { request, place, number: 11 },
            Control::Value { request, status, value: [1, u32::MAX] },
            Control::Connect { request, kind: Kind::Scalar, from: place, to },
            Control::Connected { request, status },
            Control::Offer {
                channel,
                kind: Kind::Packet,
                ring: 31,
                from,
                to: 7,
                compared: [1, 2, 3],
            },
            Control::Answer { channel, status, own: 9 },
            Control::Close { channel },
            Control::Free { channel },
        ] {
            assert_eq!(Control::decode(&message.encode()), Some(message));
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        let mut bytes = Control::Close { channel: 1 }.encode();
        assert_eq!(Control::decode(&bytes[1..]), None);
        bytes[0] = 14;
        assert_eq!(Control::decode(&bytes), None);
        let mut bytes = Control::Get { request: 1, port: 2 }.encode();
        bytes[10] = 1;
        assert_eq!(Control::decode(&bytes), None, "a port of more than 16 bits");
    }
}
