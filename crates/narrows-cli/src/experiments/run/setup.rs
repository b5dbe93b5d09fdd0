//! What a run needs to know before flows can be controlled: what the machine takes, and what each
//! flow may travel by.

use super::Traffic;
use crate::base::failure::{Failure, Kind};
use crate::base::options::{Cores, Global};
use crate::formats::strategy::Policy;
use crate::formats::workload::Workload;
use crate::rig::costs;
use crate::rig::costs::machine::{Measured, measured};
use crate::rig::peer::Peer;
use crate::rig::place::Place;
use crate::rig::plan::{Machine, subjects};
use narrows::strategy::{Acknowledgement, Notification, Parts, Placement, Strategy, Transfer};
use narrows_sim::chip::Chip;
use narrows_tune::control::Settings;
use narrows_tune::model::{self, Costs, Parameters};
use narrows_tune::optimise::Dsp;
use narrows_tune::rooms::ControlRooms;
use std::time::Duration;

/// What every flow begins with.
const SAFE: Strategy = Strategy {
    transfer: Transfer::Copy,
    placement: Placement::External,
    acknowledgement: Acknowledgement::Batched,
    notification: Notification::Interrupt,
    callee: None,
    granularity: 1,
    parts: Parts::WHOLE,
    fragment: 8192,
};

/// Counts of parts that a flow may be cut into while it is controlled.
const CUTS: usize = 3;

/// A flow to control.
pub(crate) struct Own {
    pub name: String,
    pub flow: model::Flow,
    /// The safe one first.
    pub strategies: Vec<Strategy>,
}

/// What the controller is told of the machine and the workload.
pub(crate) struct Setup {
    pub costs: Costs,
    /// The cores that are called, in the order of the peer's links.
    pub dsps: Vec<Dsp>,
    pub load: u64,
    pub settings: Settings,
    pub flows: Vec<Own>,
    /// Whether nothing about them has to be learnt.
    pub known: bool,
}

/// What is run on: nothing, if that is this machine.
pub(super) type OnChip<'a> = Option<(&'a Chip, Cores)>;

impl Setup {
    /// What a controller of all flows works in.
    pub(super) fn rooms<'s>(&self) -> ControlRooms<'s> {
        let choices = self.flows.iter().map(|one| one.strategies.len()).sum();
        ControlRooms::new(self.flows.len(), choices)
    }

    /// Measures what the peer runs on, if any flow is to be controlled.
    ///
    /// # Errors
    /// [`Kind::Workload`] for a flow that the model has no answer for, or the other side is gone.
    pub(super) fn new<P: Place>(
        peer: &mut Peer<P>,
        traffic: &Traffic<'_>,
        chip: OnChip<'_>,
    ) -> Result<Option<Setup>, Failure> {
        if !traffic.strategies.contains(&Policy::Auto) {
            return Ok(None);
        }
        traffic.progress.say("measuring");
        let measured = match traffic.costs {
            Some(costs) => Measured::with(costs, chip),
            None => Measured::by(peer, chip)?,
        };
        let machine = measured.within(traffic.memory, 1, model::WHOLE.into())?;
        let place = chip.map(|(chip, cores)| (chip, cores.callee));
        Setup::of(&machine, traffic.workload, place).map(Some)
    }

    /// What a controller is told of a machine that was measured, a core of a chip if it is one.
    ///
    /// # Errors
    /// [`Kind::Workload`] for a flow that the model has no answer for.
    pub(crate) fn of(
        machine: &Machine,
        workload: &Workload,
        place: Option<(&Chip, usize)>,
    ) -> Result<Setup, Failure> {
        let subjects = subjects::subjects(workload, place, &[], false)?;
        if let Some(flow) = subjects.iter().find(|subject| subject.flow.period.is_none()) {
            let text = format!(
                "flow {} has no period, so what it costs a second is not known: give it one, or name \
                 a strategy instead of auto",
                flow.name
            );
            return Err(Failure::new(Kind::Workload, text));
        }
        let costs = machine.costs;
        let flows = subjects.into_iter().enumerate().map(|(number, subject)| {
            let longest = |by: &Strategy| {
                let whole = workload.longest(number);
                let flow = workload.flows.get(number);
                let [request, response] = flow.map_or(whole, |flow| flow.part(by.parts, whole));
                u32::try_from(request.max(response)).unwrap_or(u32::MAX)
            };
            let allowed = |by: &Strategy| fits(machine, longest(by), by);
            let named = || subject.strategies.iter().copied().filter(allowed);
            let mut strategies = vec![SAFE];
            let whole = |by: &Strategy| by.parts == Parts::WHOLE;
            crate::formats::strategy::append(&mut strategies, named().filter(whole));
            // Parts are for memory that holds no whole request: as few as do, or a few more where
            // flows share it.
            let whole = |by: &Strategy| Strategy { parts: Parts::WHOLE, ..*by };
            let cut = |by: &Strategy| by.parts.at_once == 1 && !allowed(&whole(by));
            let mut counts: Vec<u16> = named().filter(cut).map(|by| by.parts.count).collect();
            counts.sort_unstable();
            counts.dedup();
            counts.truncate(CUTS);
            let few = |by: &Strategy| cut(by) && counts.contains(&by.parts.count);
            crate::formats::strategy::append(&mut strategies, named().filter(few));
            if !allowed(&SAFE) {
                strategies.remove(0);
            }
            Own { name: subject.name, flow: subject.flow, strategies }
        });
        let flows: Vec<Own> = flows.collect();
        if let Some(flow) = flows.iter().find(|flow| flow.strategies.is_empty()) {
            let text = format!(
                "flow {} cannot be controlled: no strategy carries messages of its length here",
                flow.name
            );
            return Err(Failure::new(Kind::Workload, text));
        }
        Ok(Setup {
            costs,
            dsps: vec![Dsp { memory: machine.memory, work: model::WHOLE }; workload.dsps().into()],
            load: machine.load,
            settings: Settings { pause: pause(&costs), ..Settings::default() },
            flows,
            known: false,
        })
    }
}

/// What a chip takes, with its caches cold too: measured in simulations of their own, as that is so
/// only when a chip has just begun.
///
/// # Errors
/// The chip does not have the cores, or a simulation got stuck.
pub(super) fn costs(global: &Global, chip: &Chip) -> Result<Parameters<f64>, Failure> {
    Ok(measured(global, Some(chip), costs::LONG)?.parameters)
}

/// Whether a flow of messages of `bytes` bytes may travel by a strategy here while it is
/// controlled. A message has one request, since a request that waits for others misses what a
/// switch promises. It is told in a way that waits for no other flow's.
fn fits(machine: &Machine, bytes: u32, by: &Strategy) -> bool {
    let internal = by.placement == Placement::Internal;
    let longest = machine.longest[usize::from(!internal)];
    let engine = by.transfer != Transfer::CopyEngine || machine.engine;
    let waits = |how| matches!(how, Notification::Coalesced { .. } | Notification::Spin);
    let told = !waits(by.notification) && !waits(by.at_callee());
    bytes <= longest && engine && told && by.granularity == 1
}

/// For how long a switch may keep a request back beside looks: a proposal goes there and its answer
/// comes back, each like a message by interrupt, and a flow may be opened or closed in between.
fn pause(costs: &Costs) -> Duration {
    let side = |side: &model::Side<u64>| side.request + side.interrupt;
    let way = side(&costs.caller) + side(&costs.callee) + 2 * costs.wake;
    let tick = costs.caller.tick + costs.callee.tick;
    let picos = 4 * way + tick;
    Duration::from_nanos(picos / 1000)
}
