//! How a round begins: flows of the stack for those of the workload, as far as strategies can carry
//! them.

use super::lane::{Lane, Stage};
use super::round::{PATIENCE, Round};
use crate::base::failure::{Failure, Kind};
use crate::formats::strategy::Policy;
use crate::formats::workload::{Flow, Offer, Presence, Source};
use crate::rig::place::Place;
use narrows::endpoint::FlowError;
use narrows::link::LinkId;
use narrows::strategy::Strategy;

impl<'w, P: Place> Round<'_, 'w, P> {
    /// Opens a flow of the stack for each of the workload's, as far as the strategy can carry it.
    pub(super) fn open(&mut self) -> Result<(), Failure> {
        let start = self.time();
        for (index, flow) in self.plan.workload.flows.iter().enumerate() {
            let samples = self.plan.inputs.get(index).and_then(Option::as_deref);
            let [_, longest] = self.plan.workload.longest(index);
            let offer = self.plan.offers.get(index).ok_or_else(|| {
                let text = format!("nothing is offered to flow {}: report this defect", flow.name);
                Failure::new(Kind::Internal, text)
            })?;
            let mut lane = Lane::new(flow, offer, samples, longest, start);
            let refused = match self.fixed(flow) {
                None => None,
                Some(strategy) => match self.open_one(index, offer, strategy)? {
                    Ok(id) => {
                        lane.open(id, strategy, Stage::Here);
                        None
                    }
                    Err(why) => Some(why),
                },
            };
            self.lanes.push(refused.is_none().then_some(lane));
            self.refused.push(refused);
        }
        // A flow that follows one that cannot run has nothing to do; and a pass is as long as the
        // first one's of a chain.
        for _ in 0..self.lanes.len() {
            for index in 0..self.lanes.len() {
                let Some(Some(lane)) = self.lanes.get(index) else { continue };
                let Source::After(before) = lane.flow.source else { continue };
                let pass = self.lanes.get(before).and_then(Option::as_ref).map(Lane::pass);
                match (pass, self.lanes.get_mut(index).and_then(Option::as_mut)) {
                    (Some(pass), Some(lane)) => lane.set_pass(pass),
                    _ => self.refuse(index, "the flow before it could not run".into()),
                }
            }
        }
        Ok(())
    }

    /// The strategy of a flow that is there from the beginning and is not controlled.
    fn fixed(&self, flow: &Flow) -> Option<Strategy> {
        self.strategy(flow).filter(|_| flow.presence == Presence::Always)
    }

    /// The strategy of a flow that is not controlled.
    pub(super) fn strategy(&self, flow: &Flow) -> Option<Strategy> {
        match self.policy {
            Policy::Same(strategy) => Some(strategy),
            Policy::Static => flow.r#static,
            Policy::Auto => None,
        }
    }

    /// Which of the cores that are called serves a flow that is not controlled: the one that it
    /// names, or each in turn.
    pub(super) fn place(&self, index: usize) -> u8 {
        let said = self.plan.workload.flows.get(index).and_then(|flow| flow.dsp);
        said.unwrap_or((index % self.peer.links().count()) as u8)
    }

    /// The link to one of the cores that are called.
    pub(super) fn link(&self, dsp: u8) -> LinkId {
        self.peer.links().nth(dsp.into()).unwrap_or(self.peer.link)
    }

    /// Why a flow cannot travel by a strategy, if its requests may not be cut so, or are too long
    /// for its memory.
    pub(super) fn unfit(&mut self, index: usize, strategy: Strategy) -> Option<String> {
        let flow = self.plan.workload.flows.get(index)?;
        if let Some(why) = flow.uncut(strategy.parts) {
            return Some(why);
        }
        let layouts = self.peer.node.link(self.peer.link).layouts();
        let longest = layouts.map_or(0, |(own, theirs)| {
            let placement = strategy.placement;
            own.longest(placement).min(theirs.longest(placement)) as usize
        });
        let [request, response] = flow.part(strategy.parts, self.plan.workload.longest(index));
        (request.max(response) > longest).then(|| match longest {
            0 => "there is no memory of that placement".into(),
            longest => format!(
                "the largest block of this memory has {longest} bytes; make requests and \
                 responses that fit"
            ),
        })
    }

    fn open_one(
        &mut self,
        index: usize,
        offer: &Offer,
        strategy: Strategy,
    ) -> Result<Result<narrows::endpoint::FlowId, String>, Failure> {
        if let Some(why) = self.unfit(index, strategy) {
            return Ok(Err(why));
        }
        let whole = self.plan.workload.longest(index);
        let flow = self.plan.workload.flows.get(index);
        let [_, response] = flow.map_or(whole, |flow| flow.part(strategy.parts, whole));
        let response = u32::try_from(response).unwrap_or(u32::MAX);
        let link = self.link(self.place(index));
        match self.peer.try_flow_to(link, &offer.name, strategy, response) {
            Ok(id) => Ok(Ok(id)),
            Err(error @ (FlowError::Infeasible | FlowError::Strategy(_) | FlowError::Full)) => {
                Ok(Err(error.to_string()))
            }
            Err(error) => Err(self.peer.explain_flow(offer.body.name(), strategy, error)),
        }
    }

    /// Takes a flow out of the run.
    pub(super) fn refuse(&mut self, index: usize, why: String) {
        if let Some(mut lane) = self.lanes.get_mut(index).and_then(Option::take) {
            lane.end(&mut self.peer.node, PATIENCE);
        }
        let ran = self.time().since(self.start).saturating_sub(self.paused);
        if let Some(pilot) = &mut self.pilot {
            pilot.leave(index, ran);
        }
        if let Some(refused) = self.refused.get_mut(index) {
            refused.get_or_insert(why);
        }
    }
}
