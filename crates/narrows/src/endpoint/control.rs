//! Control messages: what two stacks say to each other. docs/WIRE.md has the bytes.

use crate::link::{Name, Reply};
use crate::memory::CONTROL;
use crate::strategy::{ENCODED, SHORT, Strategy};

const OPEN_FUNCTION: u8 = 1;
const OPEN_PORT: u8 = 2;
const OPENED: u8 = 3;
const PROPOSE: u8 = 4;
const AGREED: u8 = 5;
const CLOSE: u8 = 6;
const REFUSED: u8 = 7;

/// What a control message says of the flow it names: the sender's flow in `source` where it asks,
/// the receiver's in `target` where it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// Which function has this name?
    OpenFunction(Name),
    /// Is this port open?
    OpenPort(u16),
    /// The answer: the function's place or the port, or that there is none.
    Opened(Option<u16>),
    /// Will you use this strategy, for responses of up to this many bytes?
    Propose(Strategy, u32),
    /// The answer.
    Agreed(bool),
    /// The flow is not used any more.
    Close,
    /// A message came for the port in `source`, which is not open; its own port and tag are in
    /// `target` and `tag`.
    Refused,
}

impl From<Reply> for Control {
    fn from(reply: Reply) -> Control {
        match reply {
            Reply::Opened(place) => Control::Opened(place),
            Reply::Agreed(yes) => Control::Agreed(yes),
        }
    }
}

impl Control {
    /// The bytes and how many of them count.
    pub fn encode(&self) -> ([u8; CONTROL], usize) {
        let mut b = [0; CONTROL];
        let len = match self {
            Control::OpenFunction(name) => {
                let text = name.as_str().as_bytes();
                b[0] = OPEN_FUNCTION;
                b[1] = text.len() as u8;
                b[2..2 + text.len()].copy_from_slice(text);
                2 + text.len()
            }
            Control::OpenPort(port) => {
                b[0] = OPEN_PORT;
                b[2..4].copy_from_slice(&port.to_le_bytes());
                4
            }
            Control::Opened(place) => {
                b[0] = OPENED;
                b[1] = place.is_some().into();
                b[2..4].copy_from_slice(&place.unwrap_or(0).to_le_bytes());
                4
            }
            Control::Propose(strategy, longest) => {
                b[0] = PROPOSE;
                b[4..8].copy_from_slice(&longest.to_le_bytes());
                b[8..8 + ENCODED].copy_from_slice(&strategy.encode());
                8 + if strategy.callee.is_some() { ENCODED } else { SHORT }
            }
            Control::Agreed(yes) => {
                b[0] = AGREED;
                b[1] = u8::from(*yes);
                4
            }
            Control::Close => {
                b[0] = CLOSE;
                4
            }
            Control::Refused => {
                b[0] = REFUSED;
                4
            }
        };
        (b, len)
    }

    /// Reads a peer's bytes; none if they make no sense.
    pub fn decode(b: &[u8]) -> Option<Control> {
        let short = |at: usize| Some(u16::from_le_bytes([*b.get(at)?, *b.get(at + 1)?]));
        let word = |at: usize| b.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
        let flag = || match b.get(1)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        Some(match *b.first()? {
            OPEN_FUNCTION => {
                let text = b.get(2..2 + usize::from(*b.get(1)?))?;
                Control::OpenFunction(core::str::from_utf8(text).ok()?.parse().ok()?)
            }
            OPEN_PORT => Control::OpenPort(short(2)?),
            OPENED => Control::Opened(if flag()? { Some(short(2)?) } else { None }),
            PROPOSE => {
                let mut bytes = [0; ENCODED];
                match b.get(8..8 + ENCODED) {
                    Some(all) => bytes.copy_from_slice(all),
                    None => bytes[..SHORT].copy_from_slice(b.get(8..8 + SHORT)?),
                }
                Control::Propose(Strategy::decode(&bytes)?, word(4)?)
            }
            AGREED => Control::Agreed(flag()?),
            CLOSE => Control::Close,
            REFUSED => Control::Refused,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::strategy::Notification;

    fn told(callee: Notification) -> Strategy {
        Strategy { callee: Some(callee), ..Strategy::default() }
    }

    #[test]
    fn every_control_message_survives_its_encoding() {
        let Ok(name) = "g711.encode".parse() else { panic!("a good name") };
        for control in [
            Control::OpenFunction(name),
            Control::OpenPort(700),
            Control::Opened(Some(3)),
            Control::Opened(None),
            Control::Propose(Strategy::default(), 65536),
            Control::Propose(told(Notification::Spin), 1),
            Control::Agreed(true),
            Control::Agreed(false),
            Control::Close,
            Control::Refused,
        ] {
            let (bytes, len) = control.encode();
            assert_eq!(Control::decode(&bytes[..len]), Some(control));
        }
    }

    #[test]
    fn a_proposal_is_as_long_as_it_has_to_be() {
        let usual = Control::Propose(Strategy::default(), 7);
        assert_eq!(usual.encode().1, 32);
        let every = core::time::Duration::from_secs(1);
        let (mut bytes, len) = Control::Propose(told(Notification::Poll { every }), 7).encode();
        assert_eq!(len, 40);
        // Its time is missing.
        assert_eq!(Control::decode(&bytes[..39]), None);
        bytes[8 + 12] = 7;
        assert_eq!(Control::decode(&bytes[..len]), None);
        bytes[8 + 12] = 0;
        assert_eq!(Control::decode(&bytes[..len]), Some(usual));
    }

    #[test]
    fn nonsense_is_refused() {
        let bad: [&[u8]; 8] = [
            &[],
            &[0],
            &[OPEN_FUNCTION, 60, b'x'],
            &[OPEN_FUNCTION, 1, b'/'],
            &[OPENED, 2, 0, 0],
            &[PROPOSE, 0, 0, 0, 0, 0, 0, 0, 9],
            &[AGREED],
            &[99, 0, 0, 0],
        ];
        for bytes in bad {
            assert_eq!(Control::decode(bytes), None, "{bytes:?}");
        }
    }
}
