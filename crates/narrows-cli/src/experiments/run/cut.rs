//! A request that is cut: parts that have not been sent, and what has come back of it.

use crate::formats::workload::Requests;
use narrows::platform::Instant;
use narrows::strategy::Parts;
use std::collections::VecDeque;

/// The request of a lane that is being sent in parts.
#[derive(Default)]
pub(super) struct Cut {
    rest: VecDeque<Vec<u8>>,
    due: Option<Instant>,
    /// When the call of its first part began.
    began: Option<Instant>,
    /// The responses of parts that are back, of the request whose last is not.
    back: Vec<u8>,
    /// Whether any of those was wrong.
    wrong: bool,
}

/// A part to send, or a whole request.
pub(super) struct Piece {
    pub request: Vec<u8>,
    pub due: Instant,
    /// When the call of the first part began, unless this is it.
    pub began: Option<Instant>,
    pub last: bool,
}

impl Cut {
    /// Whether parts are left to send.
    pub fn is_left(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Cuts a request. What is spare holds the parts.
    pub fn fill(
        &mut self,
        requests: &Requests<'_>,
        (request, due): (Vec<u8>, Instant),
        parts: Parts,
        spare: &mut Vec<Vec<u8>>,
    ) {
        (self.due, self.began) = (Some(due), None);
        for range in requests.parts(parts, request.len()) {
            let mut part = spare.pop().unwrap_or_default();
            part.clear();
            part.extend_from_slice(request.get(range).unwrap_or_default());
            self.rest.push_back(part);
        }
        spare.push(request);
    }

    /// The next part.
    pub fn next(&mut self) -> Option<Piece> {
        let request = self.rest.pop_front()?;
        let last = self.rest.is_empty();
        Some(Piece { request, due: self.due?, began: self.began, last })
    }

    /// The call of a part has begun: gives when that of the first did.
    pub fn begin(&mut self, at: Instant) {
        let _ = self.began.get_or_insert(at);
    }

    /// Forgets what was not sent.
    pub fn forget(&mut self) {
        self.rest.clear();
    }

    /// A part is back. With the last gives whether any was wrong, and hands the response of all to
    /// `bring`.
    pub fn take(
        &mut self,
        response: &[u8],
        right: bool,
        last: bool,
        bring: impl FnOnce(&[u8]),
    ) -> Option<bool> {
        self.wrong |= !right;
        if !last {
            self.back.extend_from_slice(response);
            return None;
        }
        if self.back.is_empty() {
            bring(response);
        } else {
            self.back.extend_from_slice(response);
            bring(&self.back);
            self.back.clear();
        }
        Some(std::mem::take(&mut self.wrong))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::workload;
    use std::path::Path;

    #[test]
    fn parts_are_sent_in_turn_and_their_responses_are_one() {
        let text = "[[flow]]\nname='a'\nfunction='echo'\nrequest=10\nperiod='1ms'\nparts=4";
        let workload = workload::parse(Path::new("x.toml"), text).unwrap();
        let requests = Requests::new(&workload.flows[0], None);
        let (mut cut, mut spare) = (Cut::default(), Vec::new());
        let parts = Parts { count: 4, at_once: 1 };
        for wrong in [false, true] {
            let whole: Vec<u8> = (0..10).collect();
            cut.fill(&requests, (whole.clone(), Instant(7)), parts, &mut spare);
            let mut whole_back = Vec::new();
            for number in 0..4 {
                let piece = cut.next().unwrap();
                assert_eq!((piece.due, piece.last), (Instant(7), number == 3));
                assert_eq!(piece.began, (number > 0).then_some(Instant(100)));
                cut.begin(Instant(100 + number));
                let right = !(wrong && number == 1);
                let back = |all: &[u8]| whole_back = all.to_vec();
                let ended = cut.take(&piece.request, right, piece.last, back);
                assert_eq!(ended, (number == 3).then_some(wrong), "{number}");
            }
            assert_eq!(whole_back, whole);
            assert!(cut.next().is_none() && !cut.is_left());
        }
        // One that is not cut is its own and only part.
        let mut back = Vec::new();
        assert_eq!(cut.take(&[1, 2], true, true, |all| back = all.to_vec()), Some(false));
        assert_eq!(back, [1, 2]);
    }
}
