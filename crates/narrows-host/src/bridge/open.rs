//! What an end says first that connects: which node it looks for, and what that is greeted with.

use narrows::link::Name;

use crate::memory::HEADER;
use crate::rendezvous::packet::{Hello, Said};

const MAGIC: u32 = 0x4e52_4252;
/// The versions that this end speaks: the newest and the oldest.
const VERSION: u32 = 1;
/// Bytes of a name: its length, and the longest.
const NAME: usize = 32;

/// The first record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Open {
    pub target: Name,
    pub hello: Hello,
    /// The header of the greeting node's region, which its stream begins with.
    pub header: [u8; HEADER],
}

/// Why a first record is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotOpen {
    Garbage,
    Version,
}

impl Open {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend(MAGIC.to_le_bytes());
        body.extend(VERSION.to_le_bytes());
        let text = self.target.as_str().as_bytes();
        let mut name = [0; NAME];
        let bytes = std::iter::once(text.len() as u8).chain(text.iter().copied());
        name.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        body.extend(name);
        body.extend(self.header);
        body.extend(Said::Hello(self.hello.clone()).encode());
        body
    }

    pub(super) fn decode(body: &[u8]) -> Result<Open, NotOpen> {
        let word = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        let (magic, rest) = body.split_first_chunk::<4>().ok_or(NotOpen::Garbage)?;
        let (version, rest) = rest.split_first_chunk::<4>().ok_or(NotOpen::Garbage)?;
        if word(magic) != MAGIC {
            return Err(NotOpen::Garbage);
        }
        if word(version) != VERSION {
            return Err(NotOpen::Version);
        }
        let (name, rest) = rest.split_first_chunk::<NAME>().ok_or(NotOpen::Garbage)?;
        let (header, hello) = rest.split_first_chunk::<HEADER>().ok_or(NotOpen::Garbage)?;
        let text = name.split_first().and_then(|(len, text)| text.get(..usize::from(*len)));
        let text = text.and_then(|text| std::str::from_utf8(text).ok());
        let target = text.and_then(|text| text.parse().ok()).ok_or(NotOpen::Garbage)?;
        match Said::decode(hello) {
            Ok(Said::Hello(hello)) if hello.framed => Ok(Open { target, hello, header: *header }),
            Err(crate::rendezvous::packet::Refusal::Incompatible) => Err(NotOpen::Version),
            _ => Err(NotOpen::Garbage),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_record_survives_and_a_cut_or_changed_one_is_none() {
        let hello = Hello {
            name: "gpp".parse().unwrap(),
            incarnation: 7,
            line: 64,
            size: 1 << 20,
            framed: true,
        };
        let target = "a-name-of-thirty-one-characters".parse().unwrap();
        let open = Open { target, hello, header: [3; HEADER] };
        let body = open.encode();
        assert_eq!(Open::decode(&body), Ok(open.clone()));
        for cut in 0..body.len() {
            assert!(Open::decode(&body[..cut]).is_err(), "{cut} bytes");
        }
        let mut other = body.clone();
        other[4] = 2;
        assert_eq!(Open::decode(&other), Err(NotOpen::Version));
        let mut longer = body.clone();
        longer[8] = 33;
        assert_eq!(Open::decode(&longer), Err(NotOpen::Garbage));
        let memory = Open { hello: Hello { framed: false, ..open.hello.clone() }, ..open };
        assert_eq!(Open::decode(&memory.encode()), Err(NotOpen::Garbage));
    }
}
