//! What messages carry, from when they are sent until it is written.

use std::collections::VecDeque;

/// Bytes that wait to be written at most.
const MOST: usize = 64 << 20;

/// What the messages carry that are noted as sent in a node's ring, in the same order.
#[derive(Default)]
pub(super) struct Payloads {
    waiting: VecDeque<Option<Vec<u8>>>,
    bytes: usize,
    left_out: u64,
}

impl Payloads {
    /// Keeps what a message carries, if that is known and there is room; counts it if not.
    pub fn put(&mut self, carried: Option<Vec<u8>>) {
        let carried = carried.filter(|bytes| bytes.len() <= MOST - self.bytes);
        match &carried {
            Some(bytes) => self.bytes += bytes.len(),
            None => self.left_out += 1,
        }
        self.waiting.push_back(carried);
    }

    /// What the next message carries, if that was kept.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let carried = self.waiting.pop_front()??;
        self.bytes -= carried.len();
        Some(carried)
    }

    /// How many were not kept since this was asked last.
    pub fn left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_counted_and_the_rest_stays_in_order() {
        let mut payloads = Payloads::default();
        let half = || Some(vec![1; MOST / 2]);
        for carried in [half(), half(), Some(vec![2]), None, Some(Vec::new())] {
            payloads.put(carried);
        }
        assert_eq!((payloads.left_out(), payloads.left_out()), (2, 0));
        assert!(payloads.take() == half());
        payloads.put(Some(vec![3]));
        assert!(payloads.take() == half());
        let rest: Vec<_> = (0..5).map(|_| payloads.take()).collect();
        assert_eq!(rest, [None, None, Some(Vec::new()), Some(vec![3]), None]);
    }
}
