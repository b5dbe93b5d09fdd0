//! The caller's side of calls: start, finish, or both at once.
//!
//! Calls of one flow are answered in the order they were started. Up to as many as the ring and the
//! pool hold can be outstanding. Where a flow's granularity is above one, that many requests are
//! gathered in one message; a caller that waits for a response sends what has been gathered so far.

use core::time::Duration;

use super::flow::{Batch, Phase};
use super::{Completed, Failure, FlowId, Node, Payload, SendError};
use crate::driver::{self, DriverError};
use crate::link::{self, LinkId, Target};
use crate::memory::{Descriptor, Kind};
use crate::platform::{Lost, Platform};
use crate::span::{Edge, Span};

use super::frames::{FRAME, FRAMED, padded};

/// Why a call did not give a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// No such flow.
    Unknown,
    /// The peer is gone.
    Gone(Lost),
    /// The deadline passed. The function may still have run; its response is dropped when it comes.
    Deadline,
    /// The function says it failed.
    Failed(Failure),
    /// The response is longer than the buffer, in bytes. It can still be finished with a larger
    /// one.
    Short {
        /// Bytes of the response.
        needed: usize,
    },
    /// Other calls of this flow are outstanding: finish them first.
    Outstanding,
    /// No call of this flow is outstanding.
    Nothing,
    /// The request was not sent.
    Start(SendError),
}

impl<P: Platform> Node<P> {
    /// See [`FlowView::start`](super::FlowView::start).
    #[inline]
    pub(super) fn start<'a>(
        &mut self,
        flow: FlowId,
        payload: impl Into<Payload<'a>>,
    ) -> Result<u16, SendError> {
        self.begins();
        self.start_again(flow, payload.into())
    }

    #[inline]
    fn start_again(&mut self, flow: FlowId, mut payload: Payload<'_>) -> Result<u16, SendError> {
        let found = self.get_flow(flow).ok_or(SendError::Unknown)?;
        if let Target::Port(_) = found.target {
            return Err(SendError::NoFunction);
        }
        found.phase.usable()?;
        let Target::Function(function) = found.target else { return Err(SendError::Unknown) };
        if found.outstanding.saturating_add(found.abandoned) > u16::MAX / 2 {
            return Err(SendError::RingFull);
        }
        let (id, strategy, number) = (found.link, found.strategy, found.next);
        let gathered = strategy.granularity > 1 && self.gather(flow, &mut payload)?;
        if !gathered {
            let driven = payload.driven(id).ok_or(SendError::NotReserved)?;
            let descriptor = Descriptor {
                kind: Kind::Request,
                ack: strategy.acknowledgement.wanted(),
                priority: 0,
                len: 0,
                source: flow.index,
                target: function,
                tag: number,
                block: None,
            };
            self.send_request(id, &strategy, descriptor, driven)?;
            payload.spent();
        }
        if let Some(found) = self.get_flow_mut(flow) {
            found.next = number.wrapping_add(1);
            found.outstanding += 1;
            found.on_the_way += u16::from(!gathered);
        }
        let full = self.get_flow(flow).and_then(|f| f.batch);
        if full.is_some_and(|batch| batch.count >= strategy.granularity) {
            // If there is no room now, the next start or wait sends it.
            let _ = self.flush(flow);
        }
        Ok(number)
    }

    fn send_request(
        &mut self,
        id: LinkId,
        strategy: &crate::strategy::Strategy,
        descriptor: Descriptor,
        payload: driver::Payload<'_>,
    ) -> Result<(), SendError> {
        let link = self.links.get_mut(id).ok_or(SendError::Unknown)?;
        if let Some(reason) = link.lost {
            return Err(SendError::Gone(reason));
        }
        let call = driver::call_id(&descriptor);
        self.platform.stamp(Span::Endpoint, Edge::Enter, call);
        let sent = link::send(&self.platform, link, strategy, descriptor, payload);
        self.platform.stamp(Span::Endpoint, Edge::Leave, call);
        sent.map_err(|error| self.not_sent(id, error))
    }

    /// Adds a request to the flow's batch; false if it has to go alone, because it is in a block
    /// and there is no other to begin a batch in: it may have the only one of its length.
    fn gather(&mut self, flow: FlowId, payload: &mut Payload<'_>) -> Result<bool, SendError> {
        let found = self.get_flow(flow).ok_or(SendError::Unknown)?;
        let (id, strategy, number) = (found.link, found.strategy, found.next);
        let len = match payload {
            Payload::Bytes(bytes) => u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            Payload::Reserved(r) if r.link == id && r.block.is_some() => r.len,
            Payload::Reserved(_) => return Err(SendError::NotReserved),
        };
        let need = padded(len).saturating_add(FRAME);
        let full = found
            .batch
            .is_some_and(|b| need > b.capacity - b.used || b.count >= strategy.granularity);
        if full {
            self.flush(flow)?;
        }
        let call = u32::from(flow.index) << 16;
        let link = self.links.get_mut(id).ok_or(SendError::Unknown)?;
        let begun = self.flows.get(usize::from(flow.index)).and_then(Option::as_ref);
        let mut batch = match begun.and_then(|f| f.batch) {
            Some(batch) => batch,
            None => {
                let limit = link.shared.pool().layout().longest(strategy.placement);
                if need > limit {
                    return Err(SendError::TooLong { limit: limit.saturating_sub(FRAME) & !3 });
                }
                let capacity = need.saturating_mul(strategy.granularity.into()).min(limit);
                let block = match driver::take_block(&mut link.shared, &strategy, capacity) {
                    Ok(block) => block,
                    Err(DriverError::PoolEmpty) if matches!(payload, Payload::Reserved(_)) => {
                        return Ok(false);
                    }
                    Err(error) => return Err(self.not_sent(id, error)),
                };
                Batch { block, capacity, used: 0, count: 0, first: number }
            }
        };
        let call = call | u32::from(batch.first);
        self.platform.stamp(Span::PhaseA, Edge::Enter, call);
        link.shared.write(batch.block, batch.used, &len.to_le_bytes());
        match payload {
            Payload::Bytes(bytes) => {
                link.shared.write(batch.block, batch.used + FRAME, bytes);
            }
            Payload::Reserved(reserved) => {
                let Some(made) = reserved.block.take() else { return Err(SendError::NotReserved) };
                let mut part = [0; 64];
                for at in (0..len).step_by(part.len()) {
                    let some = part.get_mut(..(len - at).min(64) as usize).unwrap_or_default();
                    link.shared.read_back(made, at, some);
                    link.shared.write(batch.block, batch.used + FRAME + at, some);
                }
                link.shared.put_back(made);
            }
        }
        let fill = [0; 3].get(..(padded(len) - len) as usize).unwrap_or_default();
        link.shared.write(batch.block, batch.used + FRAME + len, fill);
        self.platform.stamp(Span::PhaseA, Edge::Leave, call);
        batch.used += need;
        batch.count += 1;
        if let Some(found) = self.get_flow_mut(flow) {
            found.batch = Some(batch);
        }
        Ok(true)
    }

    /// See [`FlowView::flush`](super::FlowView::flush).
    pub(super) fn flush(&mut self, flow: FlowId) -> Result<(), SendError> {
        let found = self.get_flow(flow).ok_or(SendError::Unknown)?;
        let Some(batch) = found.batch else { return Ok(()) };
        let Target::Function(function) = found.target else { return Err(SendError::NoFunction) };
        let (id, strategy) = (found.link, found.strategy);
        let descriptor = Descriptor {
            kind: Kind::Request,
            ack: strategy.acknowledgement.wanted(),
            priority: FRAMED,
            len: 0,
            source: flow.index,
            target: function,
            tag: batch.first,
            block: None,
        };
        let payload = driver::Payload::Block { block: batch.block, len: batch.used };
        self.send_request(id, &strategy, descriptor, payload)?;
        if let Some(found) = self.get_flow_mut(flow) {
            found.batch = None;
            found.on_the_way += 1;
        }
        Ok(())
    }

    /// See [`FlowView::call`](super::FlowView::call).
    // Out of line: what waits inside leaves its caller no register.
    #[inline(never)]
    pub(super) fn call(
        &mut self,
        flow: FlowId,
        mut request: Payload<'_>,
        response: &mut [u8],
        within: Option<Duration>,
    ) -> Result<usize, CallError> {
        let found = self.get_flow(flow).ok_or(CallError::Unknown)?;
        match found.phase {
            // Nobody will answer what is outstanding.
            Phase::Gone(reason) => return Err(CallError::Gone(reason)),
            _ if found.outstanding > 0 => return Err(CallError::Outstanding),
            _ => {}
        }
        let (link, how) = (found.link, found.strategy.notification);
        let deadline = self.deadline(within);
        self.begins();
        loop {
            let again = match &mut request {
                Payload::Bytes(bytes) => self.start_again(flow, Payload::Bytes(bytes)),
                Payload::Reserved(reserved) => self.start_again(flow, Payload::Reserved(reserved)),
            };
            let error = match again {
                Ok(_) => break,
                Err(
                    error @ (SendError::RingFull | SendError::PoolEmpty | SendError::Switching),
                ) => error,
                Err(SendError::Gone(reason)) => return Err(CallError::Gone(reason)),
                Err(error) => return Err(CallError::Start(error)),
            };
            if self.passed(deadline) {
                return Err(CallError::Start(SendError::Deadline));
            }
            self.waits_for(&error);
            self.wait_on(link, how, deadline);
        }
        let done = self.await_response(flow, deadline, response);
        if done == Err(CallError::Deadline)
            && let Some(found) = self.get_flow_mut(flow)
        {
            found.outstanding -= 1;
            found.abandoned += 1;
        }
        done.map(|completed| completed.len)
    }

    /// See [`FlowView::finish`](super::FlowView::finish).
    pub(super) fn finish(
        &mut self,
        flow: FlowId,
        response: &mut [u8],
        within: Option<Duration>,
    ) -> Result<Completed, CallError> {
        let deadline = self.deadline(within);
        self.await_response(flow, deadline, response)
    }

    fn await_response(
        &mut self,
        flow: FlowId,
        deadline: Option<crate::platform::Instant>,
        response: &mut [u8],
    ) -> Result<Completed, CallError> {
        let how = self.get_flow(flow).ok_or(CallError::Unknown)?.strategy.notification;
        loop {
            if let Some(completed) = self.try_finish(flow, response)? {
                return Ok(completed);
            }
            if self.passed(deadline) {
                return Err(CallError::Deadline);
            }
            let found = self.get_flow(flow).ok_or(CallError::Unknown)?;
            let gathered = found.batch.map(|_| found.link);
            if !self.attend() {
                self.wait(how, deadline, gathered);
            }
        }
    }

    /// See [`FlowView::outstanding`](super::FlowView::outstanding).
    pub(super) fn outstanding(&self, flow: FlowId) -> Option<u16> {
        self.get_flow(flow).map(|f| f.outstanding)
    }

    /// See [`FlowView::wait`](super::FlowView::wait).
    pub(super) fn wait_response(&mut self, flow: FlowId, within: Option<Duration>) {
        let deadline = self.deadline(within);
        let Some(found) = self.get_flow(flow) else { return };
        let (link, how, gathered) =
            (found.link, found.strategy.notification, found.batch.is_some());
        if gathered {
            let _ = self.flush(flow);
        }
        self.wait(how, deadline, gathered.then_some(link));
        self.poll();
    }
}
