//! What link handlers say to each other: signals to the address 0. docs/WIRE.md has the bytes.

use super::paths::Path;
use super::{Misled, Spid};

/// Bytes of the longest of them.
pub(super) const LONGEST: usize = 4 + Path::MAX;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Look for this, and say when it is there.
    Hunt { number: u16, path: Path },
    /// What was looked for is there.
    Found { number: u16, spid: Spid },
    /// What was looked for can never be found: there is no such link.
    Refused { number: u16 },
    /// It is not looked for any more.
    GivenUp { number: u16 },
    /// This address is gone.
    Gone { spid: Spid },
}

impl Word {
    /// Writes it. Returns its length.
    pub fn write(&self, to: &mut [u8; LONGEST]) -> usize {
        let mut put = |kind: u8, number: u16, rest: &[u8]| {
            to[0] = kind;
            to[1] = 0;
            to[2..4].copy_from_slice(&number.to_le_bytes());
            to[4..4 + rest.len()].copy_from_slice(rest);
            4 + rest.len()
        };
        match *self {
            Word::Hunt { number, path } => put(1, number, path.as_str().as_bytes()),
            Word::Found { number, spid } => put(2, number, &spid.0.to_le_bytes()),
            Word::Refused { number } => put(3, number, &[]),
            Word::GivenUp { number } => put(4, number, &[]),
            Word::Gone { spid } => put(5, 0, &spid.0.to_le_bytes()),
        }
    }

    /// Reads one.
    pub fn read(bytes: &[u8]) -> Result<Word, Misled> {
        let (head, rest) = bytes.split_first_chunk::<4>().ok_or(Misled::Word)?;
        let [kind, 0, low, high] = *head else { return Err(Misled::Word) };
        let number = u16::from_le_bytes([low, high]);
        let spid = <[u8; 4]>::try_from(rest).map(|bytes| Spid(u32::from_le_bytes(bytes)));
        match (kind, rest.len()) {
            (1, _) => {
                let text = core::str::from_utf8(rest).map_err(|_| Misled::Word)?;
                Ok(Word::Hunt { number, path: text.parse().map_err(|_| Misled::Word)? })
            }
            (2, _) => Ok(Word::Found { number, spid: spid.map_err(|_| Misled::Word)? }),
            (3, 0) => Ok(Word::Refused { number }),
            (4, 0) => Ok(Word::GivenUp { number }),
            (5, _) if number == 0 => Ok(Word::Gone { spid: spid.map_err(|_| Misled::Word)? }),
            _ => Err(Misled::Word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let path = "node1/consumer".parse().expect("a path");
        let spid = Spid(0x0102_0304);
        let all = [
            Word::Hunt { number: 7, path },
            Word::Found { number: 0xfffe, spid },
            Word::Refused { number: 1 },
            Word::GivenUp { number: 2 },
            Word::Gone { spid },
        ];
        for word in all {
            let mut bytes = [0; LONGEST];
            let len = word.write(&mut bytes);
            assert_eq!(Word::read(&bytes[..len]), Ok(word));
            assert!(Word::read(&bytes[..len + 1]).is_err());
            assert!(Word::read(&bytes[..3]).is_err());
            bytes[1] = 1;
            assert_eq!(Word::read(&bytes[..len]), Err(Misled::Word));
        }
        assert_eq!(Word::read(&[6, 0, 0, 0]), Err(Misled::Word));
        assert_eq!(Word::read(&[5, 0, 1, 0, 4, 3, 2, 1]), Err(Misled::Word), "of no hunt");
        assert_eq!(Word::read(b"\x01\0\0\0a//b"), Err(Misled::Word));
        assert_eq!(Word::read(&[1, 0, 0, 0, 0xff]), Err(Misled::Word));
    }
}
