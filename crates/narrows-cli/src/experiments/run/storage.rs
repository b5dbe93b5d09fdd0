//! What the controller of a run works in.

use super::setup::Setup;
use crate::rig::plan::rooms::Rooms;
use narrows_tune::control::{FlowState, Planned, Tables};
use narrows_tune::optimise::{Choice, Group, Pick};

/// What a controller of all flows of a workload works in.
#[derive(Default)]
pub(super) struct Storage<'s> {
    flows: Vec<Option<FlowState<'s>>>,
    planned: Vec<Planned>,
    groups: Vec<Group>,
    members: Vec<u16>,
    choices: Vec<Choice>,
    numbers: Vec<u16>,
    picks: Vec<Pick>,
    search: Rooms,
}

impl<'s> Storage<'s> {
    pub fn new(setup: &Setup) -> Storage<'s> {
        let flows = setup.flows.len();
        let choices = setup.flows.iter().map(|one| one.strategies.len()).sum();
        let mut search = Rooms::default();
        search.hold(flows, choices);
        Storage {
            flows: vec![None; flows],
            planned: vec![Planned::default(); flows],
            groups: vec![Group::default(); flows],
            members: vec![0; flows],
            choices: vec![Choice::default(); choices],
            numbers: vec![0; choices],
            picks: vec![Pick::default(); flows],
            search,
        }
    }

    pub fn tables(&mut self) -> Tables<'_, 's> {
        Tables {
            flows: &mut self.flows,
            planned: &mut self.planned,
            groups: &mut self.groups,
            members: &mut self.members,
            choices: &mut self.choices,
            numbers: &mut self.numbers,
            picks: &mut self.picks,
            search: self.search.storage(),
        }
    }
}
