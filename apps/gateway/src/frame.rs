//! What travels to the DSP and back.
//!
//! ```text
//!   request    session u64 | from u8 | to u8 | 0 u16 | a coded frame
//!   response   nanoseconds of the DSP's work u32 | the frame, coded anew; nothing if none came out
//! ```
//!
//! All numbers are little-endian. A request whose frame is empty ends its session.

use std::fmt;

/// The longest coded frame, in bytes: what H.263 allows for a picture of this size.
pub const LONGEST: usize = 8192 - REQUEST;
/// Bytes before the frame in a request.
pub const REQUEST: usize = 12;
/// Bytes before the frame in a response.
pub const RESPONSE: usize = 4;

/// How a frame is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// G.711 µ-law.
    Pcmu,
    /// G.711 A-law.
    Pcma,
    /// H.263, SQCIF.
    H263,
}

/// What is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Audio,
    Video,
}

impl Codec {
    pub const ALL: [Codec; 3] = [Codec::Pcmu, Codec::Pcma, Codec::H263];

    /// Its static payload type (RFC 3551).
    #[must_use]
    pub fn payload_type(self) -> u8 {
        match self {
            Codec::Pcmu => 0,
            Codec::Pcma => 8,
            Codec::H263 => 34,
        }
    }

    #[must_use]
    pub fn of_payload_type(number: u8) -> Option<Codec> {
        Codec::ALL.into_iter().find(|codec| codec.payload_type() == number)
    }

    /// Its name in SDP.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Codec::Pcmu => "PCMU",
            Codec::Pcma => "PCMA",
            Codec::H263 => "H263",
        }
    }

    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Codec::Pcmu | Codec::Pcma => Kind::Audio,
            Codec::H263 => Kind::Video,
        }
    }

    #[must_use]
    pub fn clock_rate(self) -> u32 {
        match self.kind() {
            Kind::Audio => 8000,
            Kind::Video => 90_000,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Kind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Audio => "audio",
            Kind::Video => "video",
        }
    }

    /// The DSP's function for it.
    #[must_use]
    pub fn function(self) -> &'static str {
        match self {
            Kind::Audio => "g711.transcode",
            Kind::Video => "h263.transcode",
        }
    }
}

/// Which session a frame is of, and what is to become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub session: u64,
    pub from: Codec,
    pub to: Codec,
}

impl Header {
    /// What stands before the frame in a request.
    #[must_use]
    pub fn bytes(&self) -> [u8; REQUEST] {
        let mut bytes = [0; REQUEST];
        let (session, rest) = bytes.split_at_mut(8);
        session.copy_from_slice(&self.session.to_le_bytes());
        rest.copy_from_slice(&[self.from.payload_type(), self.to.payload_type(), 0, 0]);
        bytes
    }

    /// The header of a request and its frame; none for what no gateway sends.
    #[must_use]
    pub fn read(request: &[u8]) -> Option<(Header, &[u8])> {
        let (session, rest) = request.split_first_chunk()?;
        let ([from, to, 0, 0], frame) = rest.split_first_chunk::<4>()? else { return None };
        let (from, to) = (Codec::of_payload_type(*from)?, Codec::of_payload_type(*to)?);
        let header = Header { session: u64::from_le_bytes(*session), from, to };
        (from.kind() == to.kind() && frame.len() <= LONGEST).then_some((header, frame))
    }
}

/// How long the DSP worked, in nanoseconds, and the frame of a response.
#[must_use]
pub fn response(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (work, frame) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*work), frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written_and_others_are_not() {
        let header = Header { session: 7 << 40, from: Codec::Pcmu, to: Codec::Pcma };
        let mut request = [header.bytes().as_slice(), b"frame"].concat();
        assert_eq!(Header::read(&request), Some((header, b"frame".as_slice())));
        for cut in 0..REQUEST {
            assert_eq!(Header::read(&request[..cut]), None, "{cut} bytes");
        }
        for (at, byte) in [(8, 1), (9, 34), (10, 1), (11, 255)] {
            let mut other = request.clone();
            other[at] = byte;
            assert_eq!(Header::read(&other), None, "{byte} at {at}");
        }
        request.resize(REQUEST + LONGEST + 1, 0);
        assert_eq!(Header::read(&request), None, "a frame longer than any");
    }

    #[test]
    fn a_response_has_the_time_of_work_before_the_frame() {
        assert_eq!(response(&[1, 2, 0, 0, 9]), Some((513, [9].as_slice())));
        assert_eq!(response(&[1, 2, 0]), None);
    }
}
