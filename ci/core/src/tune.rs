//! The tuner: a flow's choices by the model, and the best of them for two flows.

use core::time::Duration;

use narrows::strategy::{Notification, Placement, Strategy};
use narrows_tune::model::{Access, Costs, Estimate, Flow, Pool, Side, estimate};
use narrows_tune::optimise::{
    Blocks, Choice, Deadlines, Dsp, Group, GroupState, HullStep, KeptChoice, Pick, Problem,
    SearchFrame, Storage, optimise,
};

/// Internal and external memory, by interrupt and by looks.
const CHOICES: usize = 4;
const FLOWS: usize = 2;

/// Two flows, of which the internal memory has room for one; none if they were not chosen for so.
pub fn choose() -> Option<()> {
    let external = Pool::even(Access { write: 120_000_000, read: 120_000_000, block: 0 });
    let internal = Pool::even(Access { write: 7_000_000, read: 7_000_000, block: 0 });
    let (request, interrupt, poll) = (500_000_000, 76_000_000, 2_000_000);
    let caller = Side { request, interrupt, poll, internal, external, ..Side::default() };
    let costs = Costs { caller, ..Costs::default() };
    let period = Duration::from_millis(20);
    let audio = Flow { request: 320, response: 160, burst: 1, depth: 1, ..Flow::default() };
    let audio = Flow { period: Some(period), work: Duration::from_millis(2), ..audio };
    let mut choices = [Choice::default(); CHOICES];
    for (number, choice) in choices.iter_mut().enumerate() {
        let placement = if number < 2 { Placement::Internal } else { Placement::External };
        let looks = Notification::Poll { every: period };
        let notification = if number % 2 == 0 { looks } else { Notification::Interrupt };
        let strategy = Strategy { placement, notification, ..Strategy::default() };
        let Estimate { load, work, memory, .. } = estimate(&costs, &audio, &strategy).ok()?;
        *choice = Choice { cost: load, memory, work, load };
    }
    let problem = Problem {
        groups: &[Group { first: 0, choices: CHOICES as u16, flows: FLOWS as u16, dsp: None }],
        choices: &choices,
        dsps: &[Dsp { memory: 1000, work: 1_000_000 }],
        load: 1_000_000,
        blocks: Blocks::default(),
        deadlines: Deadlines::default(),
    };
    let mut storage = Storage {
        groups: &mut [GroupState::default()],
        kept: &mut [KeptChoice::default(); CHOICES],
        steps: &mut [HullStep::default(); CHOICES],
        frames: &mut [SearchFrame::default(); FLOWS],
        trial: &mut [Pick::default(); FLOWS],
    };
    let mut picks = [Pick::default(); FLOWS];
    let found = optimise(&problem, &mut storage, &mut picks, 1000).ok()?;
    let placed = picks.map(|pick| pick.choice);
    (found.proven() && (placed == [0, 2] || placed == [2, 0])).then_some(())
}
