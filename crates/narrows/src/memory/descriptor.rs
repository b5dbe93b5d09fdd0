//! The descriptor: four words at the start of a slot, and room behind them for a short payload.

use super::Corrupt;

/// The most bytes of payload that a slot carries: those of a slot of 128 bytes.
pub const IN_SLOT: usize = 112;
/// Bytes of payload on the first cache line of a slot, where it has 64.
pub(super) const NEAR: usize = 48;
/// The longest word between two stacks in bytes.
pub const CONTROL: usize = 48;
/// The longest message in bytes.
pub const MAX_MESSAGE: u32 = (1 << 24) - 1;

/// What a descriptor carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message to an endpoint.
    Message = 1,
    /// A request to a function.
    Request = 2,
    /// The response to a request.
    Response = 3,
    /// A word between the two stacks.
    Control = 4,
}

/// How a receiver acknowledges a message, asked for by its sender in each descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ack {
    /// Credit goes back when a batch of it has gathered, or the receiver is about to wait.
    Batched = 0,
    /// Credit goes back at once, in a status word that the sender looks at before its next send.
    Lazy = 1,
    /// Credit goes back at once and the sender's bell is rung.
    Interrupt = 2,
}

/// A block of a pool: its class in the top four bits, its index in the class below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block(pub u16);

impl Block {
    /// The most blocks of one class.
    pub const MAX_COUNT: u32 = 4095;
    const NONE: u16 = u16::MAX;

    pub(crate) fn new(class: usize, index: u32) -> Block {
        Block(((class as u16) << 12) | (index as u16 & 0xfff))
    }
    pub(crate) fn class(self) -> usize {
        usize::from(self.0 >> 12)
    }
    pub(crate) fn index(self) -> u32 {
        u32::from(self.0 & 0xfff)
    }
}

/// What a slot says of its message. A private copy: checked once, then trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// What it carries.
    pub kind: Kind,
    /// How its sender wants it acknowledged.
    pub ack: Ack,
    /// 0 is the most urgent, 7 the least.
    pub priority: u8,
    /// Payload bytes.
    pub len: u32,
    /// Where it comes from: a port, a function or a flow, by kind.
    pub source: u16,
    /// Where it goes.
    pub target: u16,
    /// The sender's own mark: a call's number, a message's tag.
    pub tag: u16,
    /// The block that holds the payload; none if it travels in the slot.
    pub block: Option<Block>,
}

impl Descriptor {
    /// Of a message from one port to another, but for its length and its block.
    #[must_use]
    pub fn message(ack: Ack, source: u16, target: u16, priority: u8, tag: u16) -> Descriptor {
        Descriptor { kind: Kind::Message, ack, priority, len: 0, source, target, tag, block: None }
    }

    /// Words one to three of the slot; word zero is the sequence number.
    #[inline(always)]
    #[must_use]
    pub fn pack(&self) -> [u32; 3] {
        [
            self.len << 8
                | (self.kind as u32) << 5
                | Descriptor::of_urgency(self.priority)
                | self.ack as u32,
            u32::from(self.source) << 16 | u32::from(self.target),
            u32::from(self.block.map_or(Block::NONE, |b| b.0)) << 16 | u32::from(self.tag),
        ]
    }

    /// The words of a descriptor that has neither length nor priority, tag or block, with them.
    #[inline(always)]
    pub(crate) fn completed(
        words: [u32; 3],
        len: u32,
        priority: u8,
        tag: u16,
        block: Option<Block>,
    ) -> [u32; 3] {
        let [first, ports, _] = words;
        let block = block.map_or(Block::NONE, |b| b.0);
        let last = u32::from(block) << 16 | u32::from(tag);
        [first | Descriptor::of_size(len, priority), ports, last]
    }

    /// Reads the words of the usual message back: one whose credit may gather. None for others.
    #[inline(always)]
    pub(crate) fn usual(words: [u32; 3]) -> Option<Descriptor> {
        let usual = words[0] & (7 << 5 | 3) == Self::USUAL;
        usual.then(|| Descriptor::with(Kind::Message, Ack::Batched, words))
    }

    /// A priority's part of the first word.
    #[inline(always)]
    pub(crate) fn of_urgency(priority: u8) -> u32 {
        u32::from(priority & 7) << 2
    }

    /// The first word's parts that say a length and a priority.
    #[inline(always)]
    pub(crate) fn of_size(len: u32, priority: u8) -> u32 {
        len << 8 | Descriptor::of_urgency(priority)
    }

    /// Whether the first word is of a message that does not fit the first cache line of a slot.
    #[inline(always)]
    pub(crate) fn is_long(first: u32) -> bool {
        first >> 8 > NEAR as u32
    }

    /// The priority that the first word says.
    #[inline(always)]
    pub(crate) fn urgency(first: u32) -> u8 {
        (first >> 2 & 7) as u8
    }

    /// The first word of a message that is acknowledged in batches, without length and priority.
    pub(crate) const USUAL: u32 = (Kind::Message as u32) << 5 | Ack::Batched as u32;

    /// Whether the first word is of the usual message of a channel, of `len` bytes: none is more
    /// urgent there.
    #[inline(always)]
    pub(crate) fn is_usual(first: u32, len: u32) -> bool {
        first == len << 8 | Self::USUAL
    }

    /// Length and block of the usual message of a channel that is in one, from its first and last
    /// words. A block of no layout stands for none.
    #[inline(always)]
    pub(crate) fn packet(first: u32, last: u32) -> Option<(u32, Block)> {
        (first & 0xff == Self::USUAL).then_some((first >> 8, Block((last >> 16) as u16)))
    }

    /// Whether the last word is of a message without a block.
    #[inline(always)]
    pub(crate) fn is_bare(last: u32) -> bool {
        (last >> 16) as u16 == Block::NONE
    }

    /// What the words say besides kind and acknowledgement.
    #[inline(always)]
    fn with(kind: Kind, ack: Ack, [first, ports, last]: [u32; 3]) -> Descriptor {
        let block = (last >> 16) as u16;
        Descriptor {
            kind,
            ack,
            priority: Descriptor::urgency(first),
            len: first >> 8,
            source: (ports >> 16) as u16,
            target: ports as u16,
            tag: last as u16,
            block: (block != Block::NONE).then_some(Block(block)),
        }
    }

    /// Reads the words back. The caller checks length and block: it knows the layout.
    #[inline(always)]
    pub(crate) fn unpack(words: [u32; 3]) -> Result<Descriptor, Corrupt> {
        let first = words[0];
        let kind = match first >> 5 & 7 {
            1 => Kind::Message,
            2 => Kind::Request,
            3 => Kind::Response,
            4 => Kind::Control,
            _ => return Err(Corrupt::Kind),
        };
        let ack = match first & 3 {
            0 => Ack::Batched,
            1 => Ack::Lazy,
            2 => Ack::Interrupt,
            _ => return Err(Corrupt::Kind),
        };
        Ok(Descriptor::with(kind, ack, words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_survives_packing_at_its_extremes() {
        for kind in [Kind::Message, Kind::Request, Kind::Response, Kind::Control] {
            for ack in [Ack::Batched, Ack::Lazy, Ack::Interrupt] {
                for (len, priority, port, tag, block) in [
                    (0, 0, 0, 0, None),
                    (48, 3, 9, 1, None),
                    (65536, 5, 0x1234, 0xabcd, Some(Block::new(3, 17))),
                    (MAX_MESSAGE, 7, u16::MAX, u16::MAX, Some(Block::new(15, 4094))),
                ] {
                    let d = Descriptor {
                        kind,
                        ack,
                        priority,
                        len,
                        source: port,
                        target: !port,
                        tag,
                        block,
                    };
                    assert_eq!(Descriptor::unpack(d.pack()), Ok(d));
                }
            }
        }
    }

    #[test]
    fn words_of_no_kind_are_refused() {
        for first in [0, 5 << 5, 6 << 5, 7 << 5, 1 << 5 | 3] {
            assert_eq!(Descriptor::unpack([first, 0, 0]), Err(Corrupt::Kind));
        }
    }
}
