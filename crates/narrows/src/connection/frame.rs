//! The headers of frames: docs/WIRE.md has the bytes.

use core::fmt;

/// Bytes of the longest header: of the first frame of a signal.
pub const UDATA: usize = 20;
/// Bytes of the header of every further frame of a signal.
pub const FRAG: usize = 12;
/// Bytes of a frame that only says that its sender is alive, or is going.
pub(super) const SHORT: usize = 8;
/// Bytes of the frame that a connection begins with.
pub(super) const HELLO: usize = 16;
/// What a connection begins with says which protocol it is, and which version.
const VERSION: u8 = 3;

/// A check that a peer's frame failed. The connection ends; nothing else is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Broken {
    /// A frame of no known kind, or not as long as its kind is.
    Kind,
    /// Another version of the protocol, or a window or longest signal that cannot be.
    Version,
    /// A frame before the one that a connection begins with, or that one again.
    Begin,
    /// A frame is missing, came twice or out of order.
    Sequence,
    /// A fragment of no signal.
    Stray,
    /// A fragment is missing, came out of order, or is longer than what is left of its signal.
    Fragment,
    /// A signal over the longest that was agreed.
    TooLong,
    /// More signals than the window lets the peer send.
    Window,
    /// More signals given back than were sent.
    Credit,
    /// A frame whose payload the driver does not have.
    Payload,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Broken::Kind => "it sent a frame of no known kind or length",
            Broken::Version => "it speaks another version of the protocol",
            Broken::Begin => "it did not begin as a connection begins, or began twice",
            Broken::Sequence => "a frame of it is missing, came twice or out of order",
            Broken::Stray => "it sent a fragment of no signal",
            Broken::Fragment => "a fragment of a signal is missing, out of order or too long",
            Broken::TooLong => "it sent a signal that is longer than was agreed",
            Broken::Window => "it sent more signals than the window allows",
            Broken::Credit => "it gave back more signals than it had been sent",
            Broken::Payload => "it sent a frame without the payload that its header promises",
        })
    }
}

impl core::error::Error for Broken {}

/// Why a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Closed {
    /// This side closed it.
    Here,
    /// The peer closed it.
    Peer,
    /// The driver lost the peer.
    Lost,
    /// Nothing was heard of the peer for longer than was agreed.
    TimedOut,
    /// The peer broke the protocol.
    Broken(Broken),
    /// The peer says that this side broke the protocol.
    Accused,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Closed::Here => f.write_str("it was closed here"),
            Closed::Peer => f.write_str("the peer closed it"),
            Closed::Lost => f.write_str("the peer is gone"),
            Closed::TimedOut => f.write_str("nothing was heard of the peer for too long"),
            Closed::Broken(what) => write!(f, "the peer broke the protocol ({what})"),
            Closed::Accused => f.write_str("the peer says that this side broke the protocol"),
        }
    }
}

impl core::error::Error for Closed {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Closed::Broken(what) => Some(what),
            _ => None,
        }
    }
}

/// What a header says beside its number and credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// The connection begins: how many signals its sender takes before it gives some back, and how
    /// long each may be.
    Hello {
        /// Signals.
        window: u16,
        /// Bytes.
        longest: u32,
    },
    /// The first frame of a signal.
    Udata {
        /// Bytes of the whole signal.
        size: u32,
        /// Its sender.
        from: u32,
        /// Its receiver.
        to: u32,
    },
    /// A further frame of a signal.
    Frag {
        /// Where in the signal its payload belongs.
        offset: u32,
    },
    /// Its sender is alive.
    Alive,
    /// Its sender ends the connection; whether because of what was sent to it.
    Bye {
        /// Whether the receiver broke the protocol.
        accused: bool,
    },
}

impl Header {
    /// Writes a header with its frame's number and the signals given back so far. Returns its
    /// length.
    pub fn write(&self, sequence: u16, freed: u16, to: &mut [u8; UDATA]) -> usize {
        let (kind, mark, words, len) = match *self {
            Header::Hello { window, longest } => {
                (1, VERSION, [u32::from(window), longest, 0], HELLO)
            }
            Header::Udata { size, from, to } => (2, 0, [size, from, to], UDATA),
            Header::Frag { offset } => (3, 0, [offset, 0, 0], FRAG),
            Header::Alive => (4, 0, [0; 3], SHORT),
            Header::Bye { accused } => (5, u8::from(accused), [0; 3], SHORT),
        };
        *to = [0; UDATA];
        to[0] = kind;
        to[1] = mark;
        to[2..4].copy_from_slice(&sequence.to_le_bytes());
        to[4..6].copy_from_slice(&freed.to_le_bytes());
        for (place, word) in to[SHORT..].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        len
    }

    /// Reads the header of a frame of `len` bytes: itself, its length, the frame's number, and the
    /// signals given back.
    ///
    /// # Errors
    /// [`Broken::Kind`] or [`Broken::Version`].
    #[inline]
    pub fn read(from: &[u8; UDATA], len: usize) -> Result<(Header, usize, u16, u16), Broken> {
        let half = |at: usize| u16::from_le_bytes([from[at], from[at + 1]]);
        let word =
            |n: usize| u32::from(half(SHORT + 4 * n + 2)) << 16 | u32::from(half(SHORT + 4 * n));
        let mark = from[1];
        // Every kind but the data has one length.
        let (header, own, open) = match from[0] {
            1 => {
                if mark != VERSION || word(0) > u32::from(u16::MAX) {
                    return Err(Broken::Version);
                }
                (Header::Hello { window: word(0) as u16, longest: word(1) }, HELLO, false)
            }
            2 => (Header::Udata { size: word(0), from: word(1), to: word(2) }, UDATA, true),
            3 => (Header::Frag { offset: word(0) }, FRAG, true),
            4 => (Header::Alive, SHORT, false),
            5 => (Header::Bye { accused: mark == 1 }, SHORT, false),
            _ => return Err(Broken::Kind),
        };
        let right = match header {
            Header::Hello { .. } => mark == VERSION,
            Header::Bye { .. } => mark <= 1,
            _ => mark == 0,
        };
        if !right || half(6) != 0 || len < own || (!open && len > own) {
            return Err(Broken::Kind);
        }
        Ok((header, own, half(2), half(4)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let all = [
            Header::Hello { window: 7, longest: 1 << 20 },
            Header::Udata { size: 5, from: u32::MAX, to: 1 << 31 },
            Header::Frag { offset: 0x0102_0304 },
            Header::Alive,
            Header::Bye { accused: true },
            Header::Bye { accused: false },
        ];
        for header in all {
            let mut bytes = [0xff; UDATA];
            let len = header.write(0xabcd, 0x1234, &mut bytes);
            assert_eq!(Header::read(&bytes, len), Ok((header, len, 0xabcd, 0x1234)));
            assert_eq!(Header::read(&bytes, len - 1), Err(Broken::Kind));
            let open = matches!(header, Header::Udata { .. } | Header::Frag { .. });
            assert_eq!(Header::read(&bytes, len + 1).is_ok(), open);
        }
    }

    #[test]
    fn what_was_never_written_is_not_read() {
        let read = |change: &[(usize, u8)]| {
            let mut bytes = [0; UDATA];
            Header::Hello { window: 1, longest: 1 }.write(0, 0, &mut bytes);
            change.iter().for_each(|(at, value)| bytes[*at] = *value);
            Header::read(&bytes, HELLO).err()
        };
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[(0, 0)]), Some(Broken::Kind));
        assert_eq!(read(&[(0, 6)]), Some(Broken::Kind));
        assert_eq!(read(&[(1, 1)]), Some(Broken::Version));
        assert_eq!(read(&[(6, 1)]), Some(Broken::Kind));
        assert_eq!(read(&[(10, 1)]), Some(Broken::Version));
        assert_eq!(read(&[(8, 0xff), (9, 0xff)]), None);
    }

    #[test]
    fn every_end_is_a_sentence_of_its_own() {
        extern crate std;
        use std::string::ToString;
        let broken = [
            Broken::Kind,
            Broken::Version,
            Broken::Begin,
            Broken::Sequence,
            Broken::Stray,
            Broken::Fragment,
            Broken::TooLong,
            Broken::Window,
            Broken::Credit,
            Broken::Payload,
        ];
        let others = [Closed::Here, Closed::Peer, Closed::Lost, Closed::TimedOut, Closed::Accused];
        let all = broken.map(Closed::Broken).into_iter().chain(others);
        let mut said: std::vec::Vec<_> = all.map(|why| why.to_string()).collect();
        assert!(said.iter().all(|text| text.len() > 10), "{said:?}");
        said.sort();
        said.dedup();
        assert_eq!(said.len(), broken.len() + others.len());
    }
}
