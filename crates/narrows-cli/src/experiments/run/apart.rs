//! A workload carried on a chip for another command, which reports what came of it itself.

use super::{Carried, Traffic, carry, setup};
use crate::base::failure::Failure;
use crate::base::options::Global;
use crate::base::progress::Progress;
use crate::base::report::{DecisionRow, RunRow};
use crate::formats::strategy::Policy;
use crate::formats::workload::{Offers, Workload};
use crate::rig::sim;
use narrows_sim::chip::Chip;
use narrows_tune::model::Parameters;
use std::sync::atomic::AtomicBool;

/// What the controller reckons with on a chip.
///
/// # Errors
/// As for a run.
pub(crate) fn costs(chip: &Chip) -> Result<Parameters<f64>, Failure> {
    setup::costs(&Global::default(), chip)
}

/// Carries a workload on a chip by one policy: its rows, and what was decided.
///
/// # Errors
/// Whatever ends it early.
pub(crate) fn on_chip(
    chip: &Chip,
    costs: &Parameters<f64>,
    workload: &Workload,
    policy: Policy,
    stop: &AtomicBool,
) -> Result<(Vec<RunRow>, Vec<DecisionRow>), Failure> {
    let inputs = workload.inputs()?;
    let offers = Offers::new(workload, Some(chip.name.as_str()))?;
    let traffic = Traffic {
        workload,
        inputs: &inputs,
        offers: &offers,
        strategies: &[policy],
        memory: workload.memory,
        costs: (policy == Policy::Auto).then_some(*costs),
        duration: workload.duration,
        distributed: false,
        drawn: false,
        live: None,
        returned: None,
        stop,
        progress: &Progress::new(0, true),
    };
    let global = Global::default();
    let longest = traffic.longest();
    let callees = workload.dsps().into();
    let needs = sim::Needs { longest, offers: offers.further(), callees, ..sim::Needs::default() };
    let on = Some((chip, sim::cores(&global, chip)?));
    let mut carried = Carried::default();
    sim::run(&global, chip, &needs, |mut peer| carry(&mut peer, &traffic, on, &mut carried))?;
    Ok((carried.rows, carried.decisions))
}
