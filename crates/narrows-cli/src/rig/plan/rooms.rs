//! Storage of the optimiser, of any size.

use narrows_tune::optimise::{
    Found, GroupState, HullStep, KeptChoice, Needs, Pick, Problem, SearchFrame, Storage, Unsolved,
    optimise,
};

/// What a search works in, and what it found.
#[derive(Debug, Default)]
pub(crate) struct Rooms {
    groups: Vec<GroupState>,
    kept: Vec<KeptChoice>,
    steps: Vec<HullStep>,
    frames: Vec<SearchFrame>,
    trial: Vec<Pick>,
    /// A pick for each flow, in the order of the groups.
    pub picks: Vec<Pick>,
}

impl Rooms {
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
    pub fn solve(&mut self, problem: &Problem<'_>, limit: u32) -> Result<Found, Unsolved> {
        let Rooms { groups, kept, steps, frames, trial, picks } = self;
        let mut storage = Storage { groups, kept, steps, frames, trial };
        optimise(problem, &mut storage, picks, limit)
    }

    /// The storage itself.
    pub fn storage(&mut self) -> Storage<'_> {
        let Rooms { groups, kept, steps, frames, trial, .. } = self;
        Storage { groups, kept, steps, frames, trial }
    }
}
