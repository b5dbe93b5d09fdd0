//! What the software at the two ends of a port tells each other: words that it writes by itself,
//! between the transfers of its DMA controllers.

/// Bytes of the longest header of a frame.
pub const MOST_HEADER: usize = 48;
/// Bytes of the longest payload.
pub(super) const MOST_PAYLOAD: usize = 32 << 10;

const KIND: u32 = 30;
const HEADER: u32 = 24;
const REQUEST: u32 = 1;
const GRANT: u32 = 2;
const BYE: u32 = 3;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// The port is asked for, for a frame with `header` bytes of a header, which follow, and
    /// `payload` bytes of a payload.
    Request { header: usize, payload: usize },
    /// What was asked for may be sent.
    Grant,
    /// Nothing more will come.
    Bye,
}

impl Command {
    /// Its word.
    pub fn word(self) -> u32 {
        match self {
            Command::Request { header, payload } => {
                REQUEST << KIND | (header as u32) << HEADER | payload as u32
            }
            Command::Grant => GRANT << KIND,
            Command::Bye => BYE << KIND,
        }
    }

    /// The command of a word, if it is one's.
    pub fn of(word: u32) -> Option<Command> {
        let header = (word >> HEADER & 0x3f) as usize;
        let payload = (word & 0x00ff_ffff) as usize;
        match word >> KIND {
            REQUEST if header <= MOST_HEADER && payload <= MOST_PAYLOAD => {
                Some(Command::Request { header, payload })
            }
            GRANT if word & !(GRANT << KIND) == 0 => Some(Command::Grant),
            BYE if word & !(BYE << KIND) == 0 => Some(Command::Bye),
            _ => None,
        }
    }
}

/// The words of a header's bytes.
pub(super) fn words(header: &[u8]) -> impl Iterator<Item = u32> {
    header.chunks(4).map(|chunk| {
        let mut bytes = [0; 4];
        bytes.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        u32::from_le_bytes(bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_as_it_was_written_and_nothing_else_is_one() {
        for (header, payload) in [(0, 0), (48, 32 << 10), (20, 1)] {
            let request = Command::Request { header, payload };
            assert_eq!(Command::of(request.word()), Some(request));
        }
        for command in [Command::Grant, Command::Bye] {
            assert_eq!(Command::of(command.word()), Some(command));
            assert_eq!(Command::of(command.word() | 1), None);
        }
        let long = Command::Request { header: 49, payload: 0 }.word();
        let longer = Command::Request { header: 0, payload: (32 << 10) + 1 }.word();
        assert_eq!([0, long, longer].map(Command::of), [None; 3]);
    }

    #[test]
    fn headers_fill_words_from_their_low_ends() {
        assert!(words(&[1, 2, 3, 4, 5]).eq([0x0403_0201, 5]));
        assert!(words(&[]).eq([]));
    }
}
