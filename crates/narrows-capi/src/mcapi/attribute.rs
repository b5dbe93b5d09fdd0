//! Attributes of endpoints and nodes: their numbers, sizes and values.

use super::control::Kind;
use super::status::{Outcome, Status};

/// The longest message or packet, in bytes.
pub(super) const LONGEST: u32 = 65536;
/// Priorities there are.
pub(super) const PRIORITIES: u32 = 8;
/// Messages of one node that can wait.
pub(super) const INBOX: u32 = 512;
/// A timeout that never comes.
pub(super) const INFINITE: u32 = u32::MAX;

const FAIL_ON_LIMIT: u32 = 0x0001_0000;
const MESSAGE: u32 = 1;
const PACKETS: u32 = 2;
const SCALARS: u32 = 4;

/// Numbers of attributes, as in `mcapi.h`.
pub(super) const TYPE: u32 = 0;
pub(super) const GET_COUNT: u32 = 1;
pub(super) const GET_SOURCE: u32 = 2;
const MAX_PAYLOAD_SIZE: u32 = 3;
const BUFFER_TYPE: u32 = 4;
const MEMORY_TYPE: u32 = 5;
const NUM_PRIORITIES: u32 = 6;
const PRIORITY: u32 = 7;
pub(super) const NUM_SEND_BUFFERS: u32 = 8;
pub(super) const NUM_RECV_BUFFERS: u32 = 9;
pub(super) const STATUS: u32 = 10;
const TIMEOUT: u32 = 11;
const END: u32 = 12;

/// What can be set of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attributes {
    kind: u32,
    pub max_payload: u32,
    memory: u32,
    priority: u32,
    /// Milliseconds.
    pub timeout: u32,
}

impl Default for Attributes {
    fn default() -> Attributes {
        Attributes {
            kind: MESSAGE,
            max_payload: LONGEST,
            memory: 0,
            priority: 0,
            timeout: INFINITE,
        }
    }
}

/// Bytes of an attribute's value.
pub(super) fn size(number: u32) -> Outcome<usize> {
    match number {
        GET_SOURCE => Ok(8),
        0..END => Ok(4),
        _ => Err(Status::AttrNum),
    }
}

impl Attributes {
    /// Whether sends that find no room fail at once.
    pub fn fails_at_limit(&self) -> bool {
        self.memory & FAIL_ON_LIMIT != 0
    }

    /// Whether a channel of this kind may be connected to the endpoint.
    pub fn allows(&self, kind: Kind) -> bool {
        let own = match kind {
            Kind::Packet => PACKETS,
            Kind::Scalar => SCALARS,
        };
        self.kind == MESSAGE || self.kind == own
    }

    /// What the two ends of a channel must have in common.
    pub fn compared(&self) -> [u32; 3] {
        [self.max_payload, self.memory, self.priority]
    }

    /// The value of an attribute, if it does not depend on more than these.
    pub fn get(&self, number: u32) -> Option<u32> {
        Some(match number {
            TYPE => self.kind,
            MAX_PAYLOAD_SIZE => self.max_payload,
            BUFFER_TYPE => 0,
            MEMORY_TYPE => self.memory,
            NUM_PRIORITIES => PRIORITIES,
            PRIORITY => self.priority,
            TIMEOUT => self.timeout,
            _ => return None,
        })
    }

    /// Whether an attribute can be set.
    pub fn settable(number: u32) -> bool {
        matches!(number, TYPE | MAX_PAYLOAD_SIZE | BUFFER_TYPE | MEMORY_TYPE | PRIORITY | TIMEOUT)
    }

    /// Sets a [settable](Attributes::settable) one.
    pub fn set(&mut self, number: u32, value: u32) -> Outcome<()> {
        let possible = match number {
            TYPE => matches!(value, MESSAGE | PACKETS | SCALARS),
            MAX_PAYLOAD_SIZE => (1..=LONGEST).contains(&value),
            BUFFER_TYPE => value == 0,
            MEMORY_TYPE => value & !FAIL_ON_LIMIT <= 1,
            PRIORITY => value < PRIORITIES,
            TIMEOUT => true,
            _ => return Err(Status::AttrReadOnly),
        };
        if !possible {
            return Err(Status::AttrValue);
        }
        match number {
            TYPE => self.kind = value,
            MAX_PAYLOAD_SIZE => self.max_payload = value,
            MEMORY_TYPE => self.memory = value,
            PRIORITY => self.priority = value,
            TIMEOUT => self.timeout = value,
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_and_changes_nothing() {
        let mut some = Attributes::default();
        for (number, value) in [
            (TYPE, 0),
            (TYPE, 3),
            (MAX_PAYLOAD_SIZE, 0),
            (MAX_PAYLOAD_SIZE, LONGEST + 1),
            (MAX_PAYLOAD_SIZE, u32::MAX),
            (BUFFER_TYPE, 1),
            (MEMORY_TYPE, 2),
            (MEMORY_TYPE, 0x2_0000),
            (PRIORITY, 8),
        ] {
            assert_eq!(some.set(number, value), Err(Status::AttrValue), "{number} {value}");
            assert_eq!(some, Attributes::default());
        }
        assert_eq!(some.set(GET_COUNT, 0), Err(Status::AttrReadOnly));
        some.set(MEMORY_TYPE, FAIL_ON_LIMIT | 1).unwrap();
        assert!(some.fails_at_limit() && some.get(MEMORY_TYPE) == Some(0x1_0001));
        some.set(TYPE, PACKETS).unwrap();
        assert!(some.allows(Kind::Packet) && !some.allows(Kind::Scalar));
        assert_eq!(size(END), Err(Status::AttrNum));
        assert_eq!((size(GET_SOURCE), size(TIMEOUT)), (Ok(8), Ok(4)));
    }
}
