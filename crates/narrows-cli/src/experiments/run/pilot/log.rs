//! What is reported of the decisions of the controller.

use super::{PERCENT, Pilot};
use crate::base::report::{DecisionRow, SwitchRow};
use narrows_tune::control::{Cause, ControlError, Decision, Handle};
use std::time::Duration;

impl Pilot<'_, '_> {
    /// The switch of a flow that has not ended, as it is reported.
    pub(super) fn row(&mut self, lane: usize) -> Option<&mut SwitchRow> {
        let name = &self.setup.flows[lane].name;
        let recent = self.log.iter_mut().skip(self.open).flat_map(|row| &mut row.switches);
        let mut open = recent.filter(|row| row.took_ms.is_none() && row.failed.is_none());
        open.find(|row| row.flow == *name)
    }

    /// What was decided before and not begun is not done any more.
    pub(super) fn supersede(&mut self) {
        let flows = &self.setup.flows;
        let going = self.under_way.map(|one| flows[one.lane].name.as_str());
        for row in self.log.iter_mut().skip(self.open).flat_map(|row| &mut row.switches) {
            if row.took_ms.is_none() && row.failed.is_none() && Some(row.flow.as_str()) != going {
                row.failed = Some("another decision came first".to_owned());
            }
        }
        if going.is_none() {
            self.open = self.log.len();
        }
    }

    pub(super) fn note(&mut self, made: Decision, lane: Option<usize>, now: Duration) {
        if made.cause == Cause::Rested && made.switches == 0 {
            return;
        }
        let Decision { cause, reason, before, after, .. } = made;
        let switches = self.controller.switches().map(|one| SwitchRow {
            flow: self.name(one.flow),
            from: one.from.to_string(),
            to: one.to.to_string(),
            core: one.moves.then_some(one.dsp),
            load_before_percent: f64::from(one.before) / PERCENT,
            load_after_percent: f64::from(one.after) / PERCENT,
            took_ms: None,
            failed: None,
        });
        let switches = switches.collect();
        self.log.push(DecisionRow {
            strategy: "auto".into(),
            at_s: now.as_secs_f64(),
            cause: cause.name().into(),
            flow: lane.map(|lane| self.setup.flows[lane].name.clone()),
            reason: reason.name().into(),
            load_before_percent: before as f64 / PERCENT,
            load_after_percent: after as f64 / PERCENT,
            memory_bytes: self.taken().sum(),
            memory_most_bytes: self.taken().max().unwrap_or(0),
            switches,
            refused: None,
        });
    }

    pub(super) fn refuse(
        &mut self,
        cause: Cause,
        lane: Option<usize>,
        now: Duration,
        why: &ControlError,
    ) {
        let load = self.controller.current_load() as f64 / PERCENT;
        self.log.push(DecisionRow {
            strategy: "auto".into(),
            at_s: now.as_secs_f64(),
            cause: cause.name().into(),
            flow: lane.map(|lane| self.setup.flows[lane].name.clone()),
            reason: "refused".into(),
            load_before_percent: load,
            load_after_percent: load,
            memory_bytes: self.taken().sum(),
            memory_most_bytes: self.taken().max().unwrap_or(0),
            switches: Vec::new(),
            refused: Some(why.to_string()),
        });
    }

    fn name(&self, handle: Handle) -> String {
        let mut all = self.setup.flows.iter().zip(&self.flows);
        let found = all.find(|(_, known)| known.handle == Some(handle));
        found.map(|(own, _)| own.name.clone()).unwrap_or_default()
    }
}
