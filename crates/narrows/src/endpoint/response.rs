//! The caller's side of responses: which call each answers, and handing it over.

use super::flow::Phase;
use super::frames::{FRAMED, frame, padded};
use super::{Arrived, CallError, Failure, FlowId, Node, Select, Source};
use crate::link::EntryId;
use crate::memory::Corrupt;
use crate::platform::Platform;
use crate::span::{Edge, Span};

/// A response that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The number that the call had when it was started.
    pub number: u16,
    /// Bytes of the response.
    pub len: usize,
    /// Set if the function failed; then there are no bytes.
    pub failure: Option<Failure>,
}

impl<P: Platform> Node<P> {
    /// See [`FlowView::try_finish`](super::FlowView::try_finish).
    #[inline]
    pub(super) fn try_finish(
        &mut self,
        flow: FlowId,
        response: &mut [u8],
    ) -> Result<Option<Completed>, CallError> {
        let finished = self.take_response(flow, response.len(), |_, source| {
            let fits = source.len().min(response.len());
            response.get_mut(..fits).map_or(Ok(()), |part| source.read(0, part))
        })?;
        match finished {
            None => Ok(None),
            Some((Completed { failure: Some(failure), .. }, _)) => Err(CallError::Failed(failure)),
            Some((completed, _)) => Ok(Some(completed)),
        }
    }

    /// See [`FlowView::complete`](super::FlowView::complete).
    pub(super) fn complete(
        &mut self,
        flow: FlowId,
        mut callback: impl FnMut(Completed, &dyn Source),
    ) -> Result<usize, CallError> {
        let mut count = 0;
        while self.outstanding(flow).is_some_and(|n| n > 0) {
            let handed = |completed, source: &dyn Source| callback(completed, source);
            match self.take_response(flow, usize::MAX, handed)? {
                Some(_) => count += 1,
                None => break,
            }
        }
        Ok(count)
    }

    /// Takes the oldest response, hands it to `reader`, and gives it back. A response longer than
    /// `longest` is left where it is.
    fn take_response<R>(
        &mut self,
        id: FlowId,
        longest: usize,
        reader: impl FnOnce(Completed, &dyn Source) -> R,
    ) -> Result<Option<(Completed, R)>, CallError> {
        let Some(part) = self.await_part(id)? else { return Ok(None) };
        let flow = self.get_flow(id).ok_or(CallError::Unknown)?;
        let (link, number, strategy) = (flow.link, flow.done, flow.strategy);
        let over = self.links.get(link).ok_or(CallError::Unknown)?;
        let taken = over.inbox.get(part.at.entry).and_then(|entry| entry.taken.as_ref());
        let taken = taken.ok_or(CallError::Unknown)?;
        let failure = Failure::from_status(part.status);
        let len = if failure.is_some() { 0 } else { part.len };
        if len as usize > longest {
            return Err(CallError::Short { needed: len as usize });
        }
        let completed = Completed { number, len: len as usize, failure };
        let call = u32::from(id.index) << 16 | u32::from(number);
        self.platform.stamp(Span::PhaseD, Edge::Leave, call);
        self.platform.stamp(Span::PhaseE, Edge::Enter, call);
        let result = reader(
            completed,
            &Arrived {
                platform: &self.platform,
                shared: &over.shared,
                strategy: &strategy,
                taken,
                start: part.start,
                len,
            },
        );
        self.platform.stamp(Span::PhaseE, Edge::Leave, call);
        self.used(part.at);
        // What a peer left unanswered ends the link; this answer counts all the same.
        let _ = self.finish_part(id, &part).map_err(|what| self.fail(link, what));
        Ok(Some((completed, result)))
    }

    /// The oldest response that somebody waits for, if it is there.
    fn await_part(&mut self, id: FlowId) -> Result<Option<Part>, CallError> {
        let mut pumped = false;
        loop {
            let flow = self.get_flow(id).ok_or(CallError::Unknown)?;
            let link = flow.link;
            if flow.outstanding == 0 {
                return Err(CallError::Nothing);
            }
            let part = match self.drop_abandoned(id) {
                Ok(()) => self.first_part(id),
                Err(what) => Err(what),
            };
            match part {
                Ok(Some(part)) => return Ok(Some(part)),
                Ok(None) => {}
                Err(what) => {
                    return Err(CallError::Gone(self.fail(link, what)));
                }
            }
            let flow = self.get_flow(id).ok_or(CallError::Unknown)?;
            if let Phase::Gone(reason) = flow.phase {
                return Err(CallError::Gone(reason));
            }
            if pumped {
                return self.stuck(link).map_or(Ok(None), |reason| Err(CallError::Gone(reason)));
            }
            if flow.batch.is_some() {
                // If there is no room now, the next wait sends it.
                let _ = self.flush(id);
            }
            self.pump();
            pumped = true;
        }
    }

    /// The oldest response, or the oldest part of a message of several.
    fn first_part(&self, id: FlowId) -> Result<Option<Part>, Corrupt> {
        let Some(flow) = self.get_flow(id) else { return Ok(None) };
        let Some(at) = flow.responses.peek() else { return Ok(None) };
        let Some(link) = self.links.at(at.link) else { return Ok(None) };
        let entry = link.inbox.get(at.entry);
        let Some(taken) = entry.and_then(|e| e.taken.as_ref()) else { return Ok(None) };
        let d = &taken.descriptor;
        if flow.sent() == 0 || (flow.read == 0 && d.tag != flow.done) {
            return Err(Corrupt::Response);
        }
        if d.priority != FRAMED {
            let (start, len, status) = (0, d.len, d.priority);
            return Ok(Some(Part { at, start, len, status, next: None }));
        }
        let whole = Arrived {
            platform: &self.platform,
            shared: &link.shared,
            strategy: &flow.strategy,
            taken,
            start: 0,
            len: d.len,
        };
        let (start, len, status) = frame(&whole, flow.read).ok_or(Corrupt::Response)?;
        let next = Some(start + padded(len)).filter(|next| *next < d.len);
        Ok(Some(Part { at, start, len, status, next }))
    }

    /// Counts the oldest call as finished and gives its response back.
    fn finish_part(&mut self, id: FlowId, part: &Part) -> Result<(), Corrupt> {
        let Some(flow) = self.get_flow_mut(id) else { return Ok(()) };
        flow.done = flow.done.wrapping_add(1);
        flow.read = part.next.unwrap_or(0);
        if flow.abandoned > 0 {
            flow.abandoned -= 1;
        } else {
            flow.outstanding = flow.outstanding.saturating_sub(1);
        }
        if part.next.is_some() {
            return Ok(());
        }
        let mut responses = core::mem::take(&mut flow.responses);
        responses.pop(&mut self.links, &Select::default());
        self.give_back(part.at);
        let Some(flow) = self.get_flow_mut(id) else { return Ok(()) };
        flow.responses = responses;
        let unanswered = flow.on_the_way == 0 && flow.responses.is_empty() && flow.sent() > 0;
        if unanswered { Err(Corrupt::Response) } else { Ok(()) }
    }

    /// Waits no more for the calls of a flow that are started and not finished. Their functions may
    /// still run; their responses are dropped when they come.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// node.flow(flow).start(b"request")?;
    /// node.abandon(flow);
    /// assert_eq!(node.flow(flow).outstanding(), Some(0));
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "library")]
    #[doc(hidden)]
    pub fn abandon(&mut self, flow: FlowId) {
        let Some(found) = self.get_flow_mut(flow) else { return };
        let link = found.link;
        found.abandoned += core::mem::take(&mut found.outstanding);
        if let Err(what) = self.drop_abandoned(flow) {
            self.fail(link, what);
        }
    }

    /// Drops the responses that nobody waits for any more, as far as they have come.
    pub(super) fn drop_abandoned(&mut self, id: FlowId) -> Result<(), Corrupt> {
        while self.get_flow(id).is_some_and(|flow| flow.abandoned > 0) {
            let Some(part) = self.first_part(id)? else { return Ok(()) };
            self.finish_part(id, &part)?;
        }
        Ok(())
    }
}

/// A response that has arrived, or one of several in a message.
struct Part {
    at: EntryId,
    start: u32,
    len: u32,
    status: u8,
    /// Where the next one of the message starts.
    next: Option<u32>,
}
