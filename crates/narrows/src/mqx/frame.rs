//! What IPC services of adjacent processors send each other: docs/WIRE.md has the bytes.

use core::fmt;

use super::{Control, Header, QueueId};
use crate::link::route::{HOPS, Lie};

/// Bytes of the longest header of a frame.
pub const LONGEST: usize = MESSAGE + 2 * HOPS;
/// Bytes of each kind of frame before its credit.
const HELLO: usize = 8;
const MESSAGE: usize = 28;
const CREDIT: usize = 4;
/// Bytes of the header of a further part of a message.
pub(super) const PART: usize = 8;
const VERSION: u8 = 1;
const SOON: u8 = 1;
const AGAIN: u8 = 2;

/// What a neighbour sent that cannot be. Its link ends; nothing else is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Broken {
    /// A frame of no known kind, or one that is not as long as its kind is.
    Kind,
    /// Another version of the protocol, or another hop limit.
    Version,
    /// It is not the processor that the routing table names.
    Processor,
    /// Something before it said who it is, or that again.
    Begin,
    /// A message that is longer than was agreed, or that has more bytes than its size.
    Size,
    /// A part of no message, or out of order, or a message in the middle of another.
    Part,
    /// It gave or used credit that there is not.
    Credit(Lie),
    /// A frame without the bytes that its length promises.
    Payload,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Broken::Kind => "it sent a frame of no known kind or length",
            Broken::Version => "it speaks another version, or has another hop limit",
            Broken::Processor => "it is not the processor that the routing table names",
            Broken::Begin => "it did not begin by saying who it is, or said so twice",
            Broken::Size => "it sent a message that is longer than was agreed",
            Broken::Part => "a part of a message is missing, out of order or of no message",
            Broken::Credit(lie) => return lie.fmt(f),
            Broken::Payload => "it sent a frame without the bytes that its length promises",
        })
    }
}

impl core::error::Error for Broken {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Broken::Credit(lie) => lie.source(),
            _ => None,
        }
    }
}

/// A frame without its payload and its credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A link begins.
    Hello {
        /// The processor that sends it.
        processor: u8,
        /// Bytes of the longest message it takes.
        longest: u32,
    },
    /// The first bytes of a message, or all.
    Message {
        /// The message's own header.
        header: Header,
        /// The processor that sent it.
        origin: u8,
        /// That processor's life.
        life: u64,
        /// The message's number among those from its origin to its target's processor.
        number: u32,
        /// Hops it has made when it arrives.
        hops: u8,
        /// Whether its sender wants to know at once that it was taken.
        soon: bool,
        /// Whether it may have gone another way before.
        again: bool,
        /// Messages that its sender has taken over this link.
        taken: u16,
    },
    /// Further bytes of the last message.
    Part {
        /// Where they belong.
        offset: u32,
    },
    /// Nothing but what was taken, and credit.
    Credit {
        /// Messages that its sender has taken over this link.
        taken: u16,
    },
}

impl Frame {
    /// Writes a frame's header, with the credit for messages of each class from 1 on. Returns its
    /// length.
    pub fn write(&self, credit: &[u16], to: &mut [u8; LONGEST]) -> usize {
        *to = [0; LONGEST];
        let own = match *self {
            Frame::Hello { processor, longest } => {
                to[..4].copy_from_slice(&[1, VERSION, processor, credit.len() as u8]);
                to[4..8].copy_from_slice(&longest.to_le_bytes());
                HELLO
            }
            Frame::Message { header, origin, life, number, hops, soon, again, taken } => {
                to[0] = 2;
                to[1] = header.control.bits().unwrap_or(0);
                to[2..4].copy_from_slice(&taken.to_le_bytes());
                to[4..6].copy_from_slice(&header.target.0.to_le_bytes());
                to[6..8].copy_from_slice(&header.source.0.to_le_bytes());
                to[8..12].copy_from_slice(&header.size.to_le_bytes());
                let flags = if soon { SOON } else { 0 } | if again { AGAIN } else { 0 };
                to[12..16].copy_from_slice(&[origin, hops, flags, 0]);
                to[16..20].copy_from_slice(&number.to_le_bytes());
                to[20..28].copy_from_slice(&life.to_le_bytes());
                MESSAGE
            }
            Frame::Part { offset } => {
                to[0] = 3;
                to[4..8].copy_from_slice(&offset.to_le_bytes());
                return PART;
            }
            Frame::Credit { taken } => {
                to[0] = 4;
                to[2..4].copy_from_slice(&taken.to_le_bytes());
                CREDIT
            }
        };
        for (place, credit) in to[own..].chunks_exact_mut(2).zip(credit) {
            place.copy_from_slice(&credit.to_le_bytes());
        }
        own + 2 * credit.len()
    }

    /// Reads the header of a frame of `len` bytes, with this number of classes. Returns it, its
    /// length, and the credit for messages of each class from 1 on, if it has some.
    ///
    /// # Errors
    /// [`Broken::Kind`] or [`Broken::Version`].
    pub fn read(
        from: &[u8; LONGEST],
        len: usize,
        classes: u8,
    ) -> Result<(Frame, usize, Option<[u16; HOPS]>), Broken> {
        let half = |at: usize| u16::from_le_bytes([from[at], from[at + 1]]);
        let word = |at: usize| u32::from(half(at + 2)) << 16 | u32::from(half(at));
        let (frame, own) = match from[0] {
            1 if from[1] != VERSION || from[3] != classes => return Err(Broken::Version),
            1 => (Frame::Hello { processor: from[2], longest: word(4) }, HELLO),
            2 => {
                let control = Control::of(from[1]).ok_or(Broken::Kind)?;
                let [origin, hops, flags, 0] = [from[12], from[13], from[14], from[15]] else {
                    return Err(Broken::Kind);
                };
                if flags & !(SOON | AGAIN) != 0 {
                    return Err(Broken::Kind);
                }
                let header = Header {
                    size: word(8),
                    target: QueueId(half(4)),
                    source: QueueId(half(6)),
                    control,
                };
                let (soon, again) = (flags & SOON != 0, flags & AGAIN != 0);
                let (number, life, taken) =
                    (word(16), u64::from(word(24)) << 32 | u64::from(word(20)), half(2));
                let frame =
                    Frame::Message { header, origin, life, number, hops, soon, again, taken };
                (frame, MESSAGE)
            }
            3 if from[1] == 0 && half(2) == 0 && len > PART => {
                return Ok((Frame::Part { offset: word(4) }, PART, None));
            }
            4 if from[1] == 0 => (Frame::Credit { taken: half(2) }, CREDIT),
            _ => return Err(Broken::Kind),
        };
        let classes = usize::from(classes).min(HOPS);
        let whole = own + 2 * classes;
        let open = matches!(frame, Frame::Message { .. });
        if len < whole || (len > whole && !open) {
            return Err(Broken::Kind);
        }
        let mut credit = [0; HOPS];
        (0..classes).for_each(|n| credit[n] = half(own + 2 * n));
        Ok((frame, whole, Some(credit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let header = Header {
            size: 0x0102_0304,
            target: QueueId::new(3, 8),
            source: QueueId::new(1, 9),
            control: Control { priority: 15, urgent: true },
        };
        let message = |soon, again| Frame::Message {
            header,
            origin: 1,
            life: u64::MAX - 9,
            number: 0x0908_0706,
            hops: 2,
            soon,
            again,
            taken: 0xabcd,
        };
        let all = [
            Frame::Hello { processor: 7, longest: 1 << 20 },
            message(true, false),
            message(false, true),
            Frame::Part { offset: 0x0102_0304 },
            Frame::Credit { taken: 0x1234 },
        ];
        for classes in [1, HOPS as u8] {
            let credit: [u16; HOPS] = core::array::from_fn(|n| 0x100 + n as u16);
            let credit = &credit[..usize::from(classes)];
            for frame in all {
                let mut bytes = [0xff; LONGEST];
                let len = frame.write(credit, &mut bytes);
                let part = matches!(frame, Frame::Part { .. });
                let extra = usize::from(part);
                let (read, own, got) = Frame::read(&bytes, len + extra, classes).expect("a frame");
                assert_eq!((read, own), (frame, len));
                match got {
                    Some(got) => assert_eq!(&got[..credit.len()], credit),
                    None => assert!(part),
                }
                assert!(Frame::read(&bytes, len - 1 + extra, classes).is_err());
                let open = part || matches!(frame, Frame::Message { .. });
                assert_eq!(Frame::read(&bytes, len + 1 + extra, classes).is_ok(), open);
            }
        }
    }

    #[test]
    fn what_was_never_written_is_not_read() {
        let read = |frame: Frame, change: (usize, u8)| {
            let mut bytes = [0; LONGEST];
            let len = frame.write(&[1, 2], &mut bytes);
            bytes[change.0] = change.1;
            Frame::read(&bytes, len, 2).err()
        };
        let hello = Frame::Hello { processor: 1, longest: 1 };
        assert_eq!(read(hello, (2, 9)), None);
        assert_eq!(read(hello, (0, 0)), Some(Broken::Kind));
        assert_eq!(read(hello, (0, 5)), Some(Broken::Kind));
        assert_eq!(read(hello, (1, 2)), Some(Broken::Version));
        assert_eq!(read(hello, (3, 3)), Some(Broken::Version));
        assert_eq!(read(Frame::Credit { taken: 1 }, (1, 1)), Some(Broken::Kind));
        let header =
            Header { size: 0, target: QueueId(0), source: QueueId(0), control: Control::default() };
        let message = Frame::Message {
            header,
            origin: 0,
            life: 0,
            number: 0,
            hops: 0,
            soon: false,
            again: false,
            taken: 0,
        };
        assert_eq!(read(message, (1, 31)), None);
        assert_eq!(read(message, (1, 32)), Some(Broken::Kind));
        assert_eq!(read(message, (14, 4)), Some(Broken::Kind));
        assert_eq!(read(message, (15, 1)), Some(Broken::Kind));
    }
}
