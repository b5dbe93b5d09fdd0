//! The receiving end of messages that go one way: it reads every byte of each and says at the end
//! what it has read.
//!
//! Where a message is copied out, the copy has read every byte, as the receiver of the limit does,
//! and only the last is summed as well. Where it is read in place, summing is the reading.

use std::hint::black_box;

use narrows::endpoint::{Message, Node, Received, Select, Source, What};
use narrows::platform::Platform;
use narrows::strategy::Strategy;

use crate::rig::peer::caller;
use crate::rig::service::{LAST, SINK_PORT};

/// Bytes that are brought to a core's own memory at a time, where payload is read in place.
const CHUNK: usize = 256;

/// What the sink says at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Messages that it has read.
    pub count: u64,
    /// The [`sum`] of the last one.
    pub sum: u64,
}

impl Receipt {
    /// Bytes of a receipt.
    pub const BYTES: usize = 16;

    /// The answer.
    pub fn to_bytes(self) -> [u8; Receipt::BYTES] {
        (u128::from(self.count) << 64 | u128::from(self.sum)).to_le_bytes()
    }

    /// Reads the answer.
    pub fn from_bytes(bytes: [u8; Receipt::BYTES]) -> Receipt {
        let both = u128::from_le_bytes(bytes);
        Receipt { count: (both >> 64) as u64, sum: both as u64 }
    }
}

/// The wrapping sum of all bytes, taken as little-endian words; it reads every byte once.
pub fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    words.fold(u64::from_le_bytes(last), u64::wrapping_add)
}

/// Reads messages until one says that it is the last, and answers that one; false if the sender
/// is gone. With `all`, those that are there are received at a time.
pub fn serve<P: Platform>(
    node: &mut Node<P>,
    strategy: Strategy,
    longest: usize,
    all: bool,
) -> bool {
    let Some(link) = caller(node) else { return false };
    let opened = node.open(SINK_PORT).is_ok();
    if opened && node.link(link).attach(SINK_PORT).is_err() {
        return false;
    }
    node.set_notification(strategy.at_callee());
    let in_place = strategy.transfer.read_in_place();
    let mut buffer = vec![0; longest];
    let mut count = 0;
    if all {
        let Some((last, sum)) = together(node, &mut buffer, &mut count) else { return false };
        return answer(node, &last, Receipt { count, sum });
    }
    loop {
        let received = match in_place {
            true => there(node),
            false => out(node, &mut buffer),
        };
        let Some((message, sum)) = received else { return false };
        match message.what {
            What::PeerGone(_) => return false,
            What::Message => count += 1,
            _ => continue,
        }
        if message.tag == LAST {
            return answer(node, &message, Receipt { count, sum });
        }
    }
}

fn answer<P: Platform>(node: &mut Node<P>, last: &Received, receipt: Receipt) -> bool {
    let receipt = receipt.to_bytes();
    let message = Message::new(&receipt).priority(0).tag(LAST);
    node.send(SINK_PORT, last.from, message, None).is_ok()
}

/// Copies messages out as many as there are at a time, up to the last, and sums that one.
fn together<P: Platform>(
    node: &mut Node<P>,
    buffer: &mut [u8],
    count: &mut u64,
) -> Option<(Received, u64)> {
    let (mut last, mut gone) = (None, false);
    while last.is_none() && !gone {
        let each = |message: &Received, bytes: &[u8]| {
            // As in `out`.
            let bytes = black_box(bytes);
            *count += u64::from(message.what == What::Message);
            gone |= matches!(message.what, What::PeerGone(_));
            if message.tag == LAST {
                last = Some((*message, sum(bytes)));
            }
        };
        node.receive_all(SINK_PORT, buffer, each, None).ok()?;
    }
    last
}

/// Copies the next message out, and sums the copy of the last.
fn out<P: Platform>(node: &mut Node<P>, buffer: &mut [u8]) -> Option<(Received, u64)> {
    let message = node.receive_into(SINK_PORT, buffer, None).ok()?;
    // Only the last is looked at, but every one is to be copied.
    let bytes = black_box(buffer).get(..message.len);
    let last = bytes.filter(|_| message.tag == LAST);
    Some((message, last.map_or(0, sum)))
}

/// Sums the next message where it is.
fn there<P: Platform>(node: &mut Node<P>) -> Option<(Received, u64)> {
    let message = node.receive(SINK_PORT, &Select::default(), None).ok()?;
    let summed = node.read_in_place(&message, |source: &dyn Source| {
        let mut total = 0u64;
        let mut chunk = [0; CHUNK];
        for at in (0..source.len()).step_by(CHUNK) {
            let piece = chunk.get_mut(..CHUNK.min(source.len() - at)).unwrap_or_default();
            if source.read(at, piece).is_err() {
                return 0;
            }
            total = total.wrapping_add(sum(piece));
        }
        total
    });
    let received = *message;
    node.release(message);
    Some((received, summed.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        let mut bytes: Vec<u8> = (0..300).map(|at| at as u8).collect();
        let whole = sum(&bytes);
        let pieces = bytes.chunks(CHUNK).map(sum).fold(0, u64::wrapping_add);
        assert_eq!(pieces, whole);
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            assert_ne!(sum(&bytes), whole, "{at}");
            bytes[at] ^= 1;
        }
    }

    #[test]
    fn receipts_go_there_and_back() {
        let receipt = Receipt { count: 1 << 40, sum: u64::MAX };
        assert_eq!(Receipt::from_bytes(receipt.to_bytes()), receipt);
    }
}
