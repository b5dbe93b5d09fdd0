//! The bytes of a flow's requests.

use super::{Flow, Recorded, Work};
use crate::formats::functions::{ORDER_BYTES, Order};
use narrows::strategy::Parts;
use std::ops::Range;

/// Makes the requests of a flow that does not follow another; allocates nothing.
pub struct Requests<'a> {
    work: Work,
    request: usize,
    response: usize,
    unit: usize,
    recorded: &'a [Recorded],
    samples: Option<&'a [i16]>,
}

impl<'a> Requests<'a> {
    /// The requests of `flow`; `samples` are those of its input, if it has one.
    pub fn new(flow: &'a Flow, samples: Option<&'a [i16]>) -> Requests<'a> {
        Requests {
            work: flow.work.clone(),
            request: flow.request,
            response: flow.response,
            unit: flow.unit(),
            recorded: flow.recorded(),
            samples: samples.filter(|samples| !samples.is_empty()),
        }
    }

    /// Requests and responses have this many bytes from now on.
    pub fn resize(&mut self, request: usize, response: usize) {
        (self.request, self.response) = (request, response);
    }

    /// Bytes of request number `call` (from 0).
    pub fn bytes(&self, call: u64) -> usize {
        self.recorded(call).map_or(self.request, |recorded| recorded.request)
    }

    fn recorded(&self, call: u64) -> Option<&Recorded> {
        self.recorded.get(usize::try_from(call).ok()?)
    }

    /// How many requests one pass over the input takes; `None` without an input.
    pub fn in_a_pass(&self) -> Option<u64> {
        Some(self.samples?.len().div_ceil(self.samples_each()) as u64)
    }

    /// Where the parts of a request of `bytes` bytes lie.
    pub fn parts(&self, parts: Parts, bytes: usize) -> impl Iterator<Item = Range<usize>> {
        parts.ranges(bytes, self.unit)
    }

    /// Writes request number `call` (from 0), to be cut into `parts`, into `room`, which is as long
    /// as a request is; a room of another length is filled as far as it goes.
    ///
    /// Requests that carry an input are cut from it, begun again when it ends; the last one
    /// before that is filled up with silence. Others carry an order, or a pattern that differs
    /// from call to call, so that an answer to another call does not pass for this one's.
    pub fn write(&self, call: u64, parts: Parts, room: &mut [u8]) {
        if let (Some(samples), Some(pass)) = (self.samples, self.in_a_pass()) {
            let start = usize::try_from(call % pass).map_or(0, |frame| frame * self.samples_each());
            let frame = samples.get(start..).unwrap_or_default();
            let frame = frame.iter().copied().chain(std::iter::repeat(0));
            for (bytes, sample) in room.chunks_mut(2).zip(frame) {
                for (byte, half) in bytes.iter_mut().zip(sample.to_le_bytes()) {
                    *byte = half;
                }
            }
            return;
        }
        for (at, byte) in room.iter_mut().enumerate() {
            *byte = (at as u8).wrapping_mul(3).wrapping_add(call as u8);
        }
        let busy_ns = match &self.work {
            Work::Busy(time) => u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            Work::Log => 0,
            _ => return,
        };
        let response = self.recorded(call).map_or(self.response, |recorded| recorded.response);
        // Each part says what to do for it.
        let busy_ns = busy_ns / u64::from(parts.count.max(1));
        let responses = parts.ranges(response, 1);
        for (part, response) in self.parts(parts, room.len()).zip(responses) {
            let response = u32::try_from(response.len()).unwrap_or(u32::MAX);
            let order = Order { busy_ns, response, call: call as u32 };
            let order = order.to_bytes();
            if let Some(room) = room.get_mut(part).and_then(|part| part.get_mut(..ORDER_BYTES)) {
                room.copy_from_slice(&order);
            }
        }
    }

    fn samples_each(&self) -> usize {
        (self.request / 2).max(1)
    }
}
