//! What a receive came to, in two words. A result of many fields is handed on in memory: it is
//! stored in pieces and read back in larger ones, and these loads wait until the pieces have left
//! the store buffer. Two words stay in registers.

use super::{Address, Received, What};
use crate::link::LinkId;

/// What came, if anything did.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    /// Length, the sender's port, tag.
    message: u64,
    /// The link's life and place, priority, and which of the states below.
    link: u64,
}

const MESSAGE: u8 = 1;
const OTHER: u8 = 2;

impl Packed {
    /// Nothing came.
    pub const NONE: Packed = Packed { message: 0, link: 0 };

    /// Something else than a message: it is in [`Node::other`](super::Node::other).
    pub const OTHER: Packed = Packed { message: 0, link: OTHER as u64 };

    /// A message.
    #[inline(always)]
    pub fn message(of: &Received) -> Packed {
        let Received { from, len, priority, tag, .. } = *of;
        let word = |high: u32, middle: u16, low: u16| {
            u64::from(high) << 32 | u64::from(middle) << 16 | u64::from(low)
        };
        Packed {
            message: word(len as u32, from.port, tag),
            link: word(from.link.life, from.link.index, u16::from_le_bytes([MESSAGE, priority])),
        }
    }

    /// Whether nothing came.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.link as u8 == 0
    }

    /// The message or nothing; none if it is something else.
    #[inline(always)]
    pub fn unpack(self) -> Option<Option<Received>> {
        let Packed { message, link } = self;
        match link as u8 {
            0 => Some(None),
            MESSAGE => Some(Some(Received {
                what: What::Message,
                from: Address {
                    link: LinkId { index: (link >> 16) as u16, life: (link >> 32) as u32 },
                    port: (message >> 16) as u16,
                },
                len: (message >> 32) as usize,
                priority: (link >> 8) as u8,
                tag: message as u16,
            })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_message_comes_out_as_it_went_in() {
        let all = |index, life, port, len, priority, tag| Received {
            what: What::Message,
            from: Address { link: LinkId { index, life }, port },
            len,
            priority,
            tag,
        };
        for received in [
            all(0, 1, 0, 0, 0, 0),
            all(u16::MAX, u32::MAX, u16::MAX, u32::MAX as usize, u8::MAX, u16::MAX),
            all(1, 2, 3, 4, 5, 6),
        ] {
            let packed = Packed::message(&received);
            assert!(!packed.is_none());
            assert_eq!(packed.unpack(), Some(Some(received)));
        }
        assert!(Packed::NONE.is_none() && !Packed::OTHER.is_none());
        assert_eq!((Packed::NONE.unpack(), Packed::OTHER.unpack()), (Some(None), None));
    }
}
