//! How a lane's flow of the stack is opened, changed, moved to another link and closed.

use super::lane::{Lane, Stage};
use crate::rig::place::Place;
use narrows::endpoint::{FlowError, FlowId, Node};
use narrows::link::LinkId;
use narrows::strategy::Strategy;
use std::time::Duration;

impl Lane<'_> {
    /// Has a flow of the stack from now on, by a strategy.
    pub fn open(&mut self, id: FlowId, strategy: Strategy, stage: Stage) {
        (self.id, self.strategy, self.stage) = (Some(id), strategy, stage);
    }

    /// Begins to open a flow of the stack; requests are due from when it can be used.
    pub fn begin<P: Place>(
        &mut self,
        node: &mut Node<P>,
        link: LinkId,
        strategy: Strategy,
    ) -> Result<(), FlowError> {
        let id = self.ask(node, link, strategy)?;
        self.open(id, strategy, Stage::Opening);
        Ok(())
    }

    /// Asks the other side of a link for a flow of the stack.
    fn ask<P: Place>(
        &self,
        node: &mut Node<P>,
        link: LinkId,
        strategy: Strategy,
    ) -> Result<FlowId, FlowError> {
        let name = self.offer.name.parse().map_err(|_| FlowError::NotFound)?;
        let whole = [self.flow.request, self.response.len()];
        let [_, longest] = self.flow.part(strategy.parts, whole);
        let longest = u32::try_from(longest).unwrap_or(u32::MAX);
        node.begin_flow(link, &name, strategy, longest)
    }

    /// Sees how a flow that opens or leaves gets on; true if it is another stage.
    pub fn advance<P: Place>(&mut self, node: &mut Node<P>) -> Result<bool, FlowError> {
        let Some(id) = self.id else { return Ok(false) };
        match self.stage {
            Stage::Opening if node.flow(id).is_ready()? => {
                self.stage = Stage::Here;
                self.arrivals.begin(node.platform().time());
            }
            Stage::Leaving if self.is_clear() && self.brought.is_empty() => {
                self.cancel(node);
                self.stay(node);
                node.flow(id).close()?;
                (self.id, self.stage, self.held) = (None, Stage::Away, false);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Changes the strategy, once nothing is under way: true when both sides have.
    pub fn switch<P: Place>(
        &mut self,
        node: &mut Node<P>,
        to: Strategy,
    ) -> Result<bool, FlowError> {
        let id = self.id.ok_or(FlowError::Unknown)?;
        if !self.is_clear() {
            return Ok(false);
        }
        if self.strategy != to {
            self.unmake(node);
            node.flow(id).begin_switch(to)?;
            self.strategy = to;
        }
        node.flow(id).is_ready()
    }

    /// Has a flow on another link instead, by a strategy of its own, once nothing is under way:
    /// true when that is so. With an error it goes on as before.
    pub fn move_to<P: Place>(
        &mut self,
        node: &mut Node<P>,
        link: LinkId,
        to: Strategy,
    ) -> Result<bool, FlowError> {
        let id = self.id.ok_or(FlowError::Unknown)?;
        if !self.is_clear() {
            return Ok(false);
        }
        let coming = match self.coming {
            Some(coming) => coming,
            None => self.ask(node, link, to)?,
        };
        self.coming = Some(coming);
        match node.flow(coming).is_ready() {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => {
                self.stay(node);
                return Err(error);
            }
        }
        self.unmake(node);
        self.coming = None;
        node.flow(id).close()?;
        self.open(coming, to, Stage::Here);
        Ok(true)
    }

    /// Does not move.
    pub(super) fn stay<P: Place>(&mut self, node: &mut Node<P>) {
        if let Some(coming) = self.coming.take() {
            // It may be gone already.
            let _ = node.flow(coming).close();
        }
    }

    /// A request that was made in memory of another strategy or link is made again.
    fn unmake<P: Place>(&mut self, node: &mut Node<P>) {
        if let Some(block) = self.ready.as_mut().and_then(|ready| ready.block.take()) {
            node.cancel(block);
        }
    }

    /// Gives back what was not sent, and waits for what was, so that the flow can be closed.
    pub fn end<P: Place>(&mut self, node: &mut Node<P>, within: Duration) {
        self.cancel(node);
        self.stay(node);
        self.stage = Stage::Away;
        let Some(id) = self.id else { return };
        let deadline = node.platform().time() + within;
        while node.flow(id).outstanding().is_some_and(|count| count > 0)
            && node.platform().time() < deadline
        {
            if node.flow(id).complete(|_, _| {}).is_err() {
                break;
            }
            node.flow(id).wait(Some(Duration::from_millis(10)));
        }
        let _ = node.flow(id).close();
    }

    /// Forgets a request that was made and not sent.
    fn cancel<P: Place>(&mut self, node: &mut Node<P>) {
        if let Some(block) = self.ready.take().and_then(|ready| ready.block) {
            node.cancel(block);
        }
        self.cut.forget();
    }
}
