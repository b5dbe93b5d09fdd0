//! What is to be done when something has happened.

use core::time::Duration;

use super::moves::Move;
use super::{Cause, ControlError, Controller, Decision, Reason};
use crate::model::WHOLE;

/// Times of [`Settings::rest`](super::Settings::rest) after which it is forgotten that a flow was
/// late.
pub(super) const FORGET: u32 = 20;

impl Controller<'_, '_> {
    /// Plans anew, and says what is to be done about it: see [`Controller::next_switch`]. `now` is
    /// a time that only ever grows.
    ///
    /// # Errors
    /// There is no plan: every flow stays as it is.
    pub fn decide(&mut self, now: Duration, cause: Cause) -> Result<Decision, ControlError> {
        let forget = self.settings.rest * FORGET;
        for state in self.tables.flows.iter_mut().flatten() {
            if !state.waits {
                let _ = state.began.get_or_insert(now);
            }
            if !state.going {
                (state.target, state.to) = (None, None);
            }
            if state.missed.is_none_or(|missed| now.saturating_sub(missed) > forget) {
                state.late = 0;
            }
        }
        let before = self.current_load();
        let stands = self.stands();
        let (made, rest) = match (stands, self.plan(Some(now))) {
            // What is necessary does not wait for flows to have rested.
            (Some(_), Err(_)) => (self.plan(None), None),
            (_, made) => (made, Some(now)),
        };
        let moves = self.moves(now, made.ok(), before);
        if let (Err(error), Some(_), None) = (made, stands, moves)
            && self.forget()
        {
            // As long as the machine makes flows late, there and back would be all that comes of
            // it.
            for state in self.tables.flows.iter_mut().flatten() {
                state.calm = now + forget;
            }
            return match self.stands() {
                None => {
                    let reason = Reason::Best;
                    Ok(Decision { cause, reason, switches: 0, before, after: before })
                }
                Some(_) => Err(error),
            };
        }
        if moves.is_none() {
            made?;
        }
        let home = moves.and_then(|one| self.lodge(one, now));
        self.improve(rest);
        self.keep_alike();
        let after = self.keep_little();
        let reason = stands.unwrap_or_else(|| self.worth(before, after, moves));
        if let (Some(moves), Some(home)) = (moves, home) {
            self.settle(moves.index, home);
        }
        self.reason = reason;
        let mut switches = 0;
        if reason == Reason::Saves || reason.necessary() {
            let both = self.tables.flows.iter_mut().zip(&*self.tables.planned);
            for (index, (state, planned)) in both.enumerate() {
                let Some(state) = state.as_mut().filter(|state| !state.going) else { continue };
                let to = moves.filter(|one| one.index == index).map(|one| one.dsp);
                if state.waits {
                    // It begins so.
                    (state.current, state.dsp) = (planned.number, to.unwrap_or(state.dsp));
                } else if planned.number != state.current || to.is_some() {
                    (state.target, state.to) = (Some(planned.number), to);
                    switches += 1;
                }
            }
        }
        let after = if switches == 0 { before } else { after };
        Ok(Decision { cause, reason, switches, before, after })
    }

    /// Whether the plan is worth its switches.
    fn worth(&self, before: u64, after: u64, moves: Option<Move>) -> Reason {
        let both = self.tables.flows.iter().zip(&*self.tables.planned);
        let mut concerned = 0;
        for (index, (state, planned)) in both.enumerate() {
            let Some(state) = state else { continue };
            let moved = moves.is_some_and(|one| one.index == index);
            if planned.number != state.has() || moved {
                concerned += state.load(&self.costs);
            }
        }
        if concerned == 0 || after >= before {
            return Reason::Best;
        }
        let least = concerned.saturating_mul(u64::from(self.settings.saves)) / u64::from(WHOLE);
        if before - after > least { Reason::Saves } else { Reason::Little }
    }

    /// Forgets what flows were late by, with which nothing holds; false if none was.
    pub(super) fn forget(&mut self) -> bool {
        let mut any = false;
        for state in self.tables.flows.iter_mut().flatten() {
            any |= core::mem::take(&mut state.late) > 0;
        }
        any
    }
}
