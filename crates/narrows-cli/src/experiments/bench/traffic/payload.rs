//! Payloads that say which they are, and whether they are whole.

use narrows::endpoint::Node;
use narrows::link::LinkId;
use narrows::memory::Layout;
use narrows::strategy::Placement;

use crate::rig::place::Place;

/// The longest payload of a message.
pub const LONGEST: usize = 60_000;
/// The longest payload of a call.
pub const LONGEST_CALL: usize = 1024;
/// Bytes that fit a slot of any platform that this runs on.
pub const SHORT: usize = 48;
/// Bytes of the number at the beginning.
const NUMBER: usize = 8;
/// Payloads that differ in more than their number.
const PHASES: u64 = 251;

/// The longest payloads that a link's memory carries in one placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    /// Of a message.
    pub message: usize,
    /// Of a call. There are more blocks of that size than calls can have: were the
    /// requests of both sides in them, no function could be answered.
    pub call: usize,
}

/// Blocks of a size that calls of both sides cannot have all.
const ENOUGH: u32 = 4;

impl Longest {
    /// Over a link that is or was up.
    pub fn of<P: Place>(node: &mut Node<P>, link: LinkId, placement: Placement) -> Longest {
        let both = node.link(link).layouts();
        let of = |layout: Layout, count: u32| {
            let all = layout.classes().iter();
            let fit = all.filter(|class| class.placement == placement && class.count >= count);
            fit.map(|class| class.size as usize).max().unwrap_or(SHORT)
        };
        let least = |count| both.map_or(SHORT, |(own, peer)| of(own, count).min(of(peer, count)));
        Longest { message: least(1).min(LONGEST), call: least(ENOUGH).min(LONGEST_CALL) }
    }
}

/// Makes and checks payloads.
pub struct Payloads {
    pattern: Vec<u8>,
    buffer: Vec<u8>,
}

impl Default for Payloads {
    fn default() -> Payloads {
        let pattern = (0..LONGEST + PHASES as usize).map(|at| (at * 31 % 253) as u8).collect();
        Payloads { pattern, buffer: vec![0; LONGEST] }
    }
}

/// Bytes of payload `number`: most fit into a slot; of the others some need the largest blocks.
fn length(number: u64) -> usize {
    let more = match number % 256 {
        5 => number * 7919 % (LONGEST - NUMBER) as u64,
        n if n % 16 == 0 => number * 397 % 3001,
        n if n % 16 == 8 => number * 31 % 1000,
        _ => number % 41,
    };
    NUMBER + more as usize
}

impl Payloads {
    /// Payload `number`, of at most `longest` bytes.
    pub fn make(&mut self, number: u64, longest: usize) -> &[u8] {
        let length = length(number).min(longest);
        let rest = self.pattern.get((number % PHASES) as usize..).unwrap_or_default();
        let Some(bytes) = self.buffer.get_mut(..length) else { return &[] };
        if let Some((head, tail)) = bytes.split_first_chunk_mut::<NUMBER>() {
            *head = number.to_le_bytes();
            tail.copy_from_slice(rest.get(..tail.len()).unwrap_or_default());
        }
        bytes
    }

    /// Whether these bytes are payload `number`, all of it and nothing else.
    pub fn is(&self, number: u64, longest: usize, bytes: &[u8]) -> bool {
        let rest = self.pattern.get((number % PHASES) as usize..).unwrap_or_default();
        bytes.len() == length(number).min(longest)
            && bytes.split_first_chunk::<NUMBER>().is_some_and(|(head, tail)| {
                *head == number.to_le_bytes() && rest.get(..tail.len()) == Some(tail)
            })
    }
}

/// The number that a payload says it has.
pub fn number(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|head| u64::from_le_bytes(*head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_itself_and_no_other() {
        let (mut payloads, other) = (Payloads::default(), Payloads::default());
        for n in (0..2000).chain([u64::from(u32::MAX) + 5]) {
            let mut bytes = payloads.make(n, LONGEST).to_vec();
            assert!(other.is(n, LONGEST, &bytes) && number(&bytes) == Some(n));
            assert!(!other.is(n + 1, LONGEST, &bytes));
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            assert!(!other.is(n, LONGEST, &bytes), "{n} was damaged");
            assert!(!other.is(n, LONGEST, &bytes[..last]), "{n} was cut");
        }
        assert!(payloads.make(5 + 256 * 9, LONGEST_CALL).len() <= LONGEST_CALL);
    }

    #[test]
    fn some_fit_in_a_slot_and_some_need_the_largest_blocks() {
        let sizes: Vec<usize> = (0..4096).map(length).collect();
        assert!(sizes.iter().filter(|size| **size <= 48).count() > 3000);
        assert!(sizes.iter().any(|size| *size > 8192) && sizes.iter().all(|s| *s <= LONGEST));
    }
}
