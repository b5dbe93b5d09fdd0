//! Carries the traffic of a cell on a simulated chip, and says how it fared.

use super::traffic::kind;
use crate::base::failure::Failure;
use crate::base::options::Global;
use crate::experiments::run::{self, Fared, Outcome, Setup, longest};
use crate::formats::strategy::Policy;
use crate::formats::workload::{Flow, Offers, Presence, Workload};
use crate::rig::sim::{self, Needs};
use narrows::strategy::Strategy;
use narrows_sim::chip::Chip;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A strategy for all sessions of audio, and one for those of video.
pub(super) type Pair = [Strategy; 2];

/// What came of it.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    /// Of the calling core, in percent.
    pub load: f64,
    /// Sessions that were turned away, or carried less than was due.
    pub refused: usize,
    /// Responses that came after their deadline.
    pub late: u64,
    pub switches: u64,
}

impl Carried {
    /// Whether everything that was due was carried in time.
    pub fn holds(&self) -> bool {
        self.refused == 0 && self.late == 0
    }

    fn of(workload: &Workload, outcome: Outcome) -> Result<Carried, Failure> {
        let [load, _] = outcome.load();
        if let Some(failure) = outcome.failure {
            return Err(failure);
        }
        let mut made = Carried { load, refused: 0, late: 0, switches: 0 };
        made.switches = outcome.switches.iter().sum();
        for (flow, fared) in workload.flows.iter().zip(&outcome.flows) {
            match fared {
                Fared::Ran(figures, _) => {
                    made.late += figures.late;
                    let whole = figures.received >= due(flow, workload.duration);
                    made.refused += usize::from(!whole || figures.refusals > 0);
                }
                Fared::Refused(_) => made.refused += 1,
            }
        }
        Ok(made)
    }
}

/// Requests of a session that have to be answered within `duration`: those whose deadlines end in
/// it, but for the last, which may not have begun.
fn due(flow: &Flow, duration: Duration) -> u64 {
    let begins = match flow.presence {
        Presence::Once { arrives: Some(arrives), .. } => arrives,
        _ => Duration::ZERO,
    };
    let period = flow.period().unwrap_or(duration).as_nanos().max(1);
    let begins = begins.saturating_add(flow.deadline.unwrap_or_default());
    let all = duration.saturating_sub(begins).as_nanos() / period;
    u64::try_from(all.saturating_sub(1)).unwrap_or(u64::MAX)
}

/// By a strategy for each kind.
///
/// # Errors
/// The simulation is stuck.
pub(super) fn fixed(
    (global, chip): (&Global, &Chip),
    mut workload: Workload,
    by: Pair,
) -> Result<Carried, Failure> {
    for flow in &mut workload.flows {
        flow.r#static = Some(by[kind(flow)]);
    }
    let offers = Offers::new(&workload, None)?;
    let inputs = vec![None; workload.flows.len()];
    let needs = Needs { longest: longest(&workload), ..Needs::default() };
    let outcome = sim::run(global, chip, &needs, |mut peer| {
        let stop = AtomicBool::new(false);
        run::once(&mut peer, (&workload, &offers), &inputs, Policy::Static, &stop)
    })?;
    Carried::of(&workload, outcome)
}

/// As the controller chooses.
///
/// # Errors
/// The simulation is stuck.
pub(super) fn auto(
    (global, chip): (&Global, &Chip),
    workload: &Workload,
    setup: &Setup,
) -> Result<Carried, Failure> {
    let needs = Needs { longest: longest(workload), ..Needs::default() };
    let outcome = sim::run(global, chip, &needs, |mut peer| {
        run::known(&mut peer, workload, Policy::Auto, setup)
    })?;
    Carried::of(workload, outcome)
}
