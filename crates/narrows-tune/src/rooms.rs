//! Storage on the heap, where there is one: what the optimiser and the controller work in, of any
//! size.

use alloc::vec;
use alloc::vec::Vec;

use crate::control::{FlowState, Planned, Tables};
use crate::model::Stream;
use crate::optimise::{
    Choice, Found, Group, GroupState, HullStep, KeptChoice, Needs, Pick, Problem, SearchFrame,
    Storage, Timing, Unsolved, optimise,
};

/// What a search works in, and what it found.
#[derive(Debug, Default)]
pub struct SearchRooms {
    groups: Vec<GroupState>,
    kept: Vec<KeptChoice>,
    steps: Vec<HullStep>,
    frames: Vec<SearchFrame>,
    trial: Vec<Pick>,
    /// A pick for each flow, in the order of the groups.
    pub picks: Vec<Pick>,
}

impl SearchRooms {
    /// Has room for a problem.
    pub fn fit(&mut self, problem: &Problem<'_>) {
        self.make(&Needs::of(problem));
    }

    /// Has room for any problem of `flows` flows, which have `choices` choices together.
    pub fn hold(&mut self, flows: usize, choices: usize) {
        self.make(&Needs { groups: flows, choices, flows });
    }

    fn make(&mut self, needs: &Needs) {
        self.groups.resize(needs.groups, GroupState::default());
        self.kept.resize(needs.choices, KeptChoice::default());
        self.steps.resize(needs.choices, HullStep::default());
        self.frames.resize(needs.flows, SearchFrame::default());
        self.trial.resize(needs.flows, Pick::default());
        self.picks.resize(needs.flows, Pick::default());
    }

    /// Solves a problem that there is room for.
    ///
    /// # Errors
    /// As [`optimise`].
    pub fn solve(&mut self, problem: &Problem<'_>, limit: u32) -> Result<Found, Unsolved> {
        let SearchRooms { groups, kept, steps, frames, trial, picks } = self;
        let mut storage = Storage { groups, kept, steps, frames, trial };
        optimise(problem, &mut storage, picks, limit)
    }

    /// The storage itself.
    pub fn storage(&mut self) -> Storage<'_> {
        let SearchRooms { groups, kept, steps, frames, trial, .. } = self;
        Storage { groups, kept, steps, frames, trial }
    }
}

/// What a controller works in.
#[derive(Default)]
pub struct ControlRooms<'s> {
    flows: Vec<Option<FlowState<'s>>>,
    planned: Vec<Planned>,
    groups: Vec<Group>,
    members: Vec<u16>,
    choices: Vec<Choice>,
    timings: Vec<Timing>,
    numbers: Vec<u16>,
    picks: Vec<Pick>,
    streams: Vec<Stream>,
    search: SearchRooms,
}

impl<'s> ControlRooms<'s> {
    /// For `flows` flows at once, which have `choices` strategies together.
    #[must_use]
    pub fn new(flows: usize, choices: usize) -> ControlRooms<'s> {
        let mut search = SearchRooms::default();
        search.hold(flows, choices);
        ControlRooms {
            flows: vec![None; flows],
            planned: vec![Planned::default(); flows],
            groups: vec![Group::default(); flows],
            members: vec![0; flows],
            choices: vec![Choice::default(); choices],
            timings: vec![Timing::default(); choices],
            numbers: vec![0; choices],
            picks: vec![Pick::default(); flows],
            streams: vec![Stream::default(); flows],
            search,
        }
    }

    /// The tables themselves.
    pub fn tables(&mut self) -> Tables<'_, 's> {
        Tables {
            flows: &mut self.flows,
            planned: &mut self.planned,
            groups: &mut self.groups,
            members: &mut self.members,
            choices: &mut self.choices,
            timings: &mut self.timings,
            numbers: &mut self.numbers,
            picks: &mut self.picks,
            streams: &mut self.streams,
            search: self.search.storage(),
        }
    }
}
