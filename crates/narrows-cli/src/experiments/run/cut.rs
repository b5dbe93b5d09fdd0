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
