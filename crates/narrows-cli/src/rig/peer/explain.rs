//! Errors of the stack as sentences.

use super::Peer;
use crate::base::failure::{Failure, Kind};
use crate::rig::place::{FAREWELL, Other, Place};
use narrows::endpoint::{CallError, FlowError, SendError};
use narrows::strategy::Strategy;
use std::time::Duration;

impl<P: Place> Peer<P> {
    /// What a flow's error means here.
    pub fn explain_flow(
        &mut self,
        function: &str,
        strategy: Strategy,
        error: FlowError,
    ) -> Failure {
        match error {
            FlowError::Gone(_) | FlowError::Unknown => self.lost(),
            FlowError::NotFound => Failure::new(
                Kind::Name,
                format!("the other core has no function {function}: start both from one build"),
            ),
            FlowError::Deadline => self.silent(),
            error => Failure::new(Kind::Internal, format!("{function} by {strategy}: {error}")),
        }
    }

    /// What a call's error means here.
    pub fn explain_call(&mut self, error: CallError) -> Failure {
        match error {
            CallError::Gone(_) | CallError::Unknown => self.lost(),
            CallError::Deadline => self.silent(),
            CallError::Start(error) => self.explain_send(error),
            CallError::Failed(failure) => {
                let sentence = format!(
                    "the other core refused a request ({failure}): start both from one build"
                );
                Failure::new(Kind::Peer, sentence)
            }
            CallError::Short { needed } => {
                let sentence = format!("a response has {needed} bytes, more than was agreed on");
                Failure::new(Kind::Peer, sentence)
            }
            CallError::Outstanding | CallError::Nothing => {
                Failure::new(Kind::Internal, "calls of a flow were mixed up: report this defect")
            }
            error => Failure::new(Kind::Internal, error.to_string()),
        }
    }

    /// What a send's error means here.
    pub fn explain_send(&mut self, error: SendError) -> Failure {
        match error {
            SendError::Gone(_) | SendError::Unknown => self.lost(),
            SendError::Deadline | SendError::RingFull | SendError::PoolEmpty => self.silent(),
            error => Failure::new(Kind::Internal, error.to_string()),
        }
    }

    /// It did not answer: because it is gone, or for another reason.
    fn silent(&mut self) -> Failure {
        self.other.ended(Duration::ZERO).map_or_else(silent, |how| gone(&how))
    }

    /// What became of the other side.
    pub fn lost(&mut self) -> Failure {
        match self.other.ended(FAREWELL) {
            Some(how) => gone(&how),
            None => Failure::new(
                Kind::Peer,
                "the link to the other core's process was lost; run it again",
            ),
        }
    }

    /// What it means that something else than the link tells of trouble: the other side is gone, or
    /// `why`.
    pub(crate) fn broken(&mut self, why: &str) -> Failure {
        match self.node.link(self.link).check() {
            Err(_) => self.lost(),
            Ok(()) => match self.other.ended(Duration::ZERO) {
                Some(how) => gone(&how),
                None => Failure::new(Kind::Deadline, why),
            },
        }
    }
}

fn gone(how: &str) -> Failure {
    Failure::new(Kind::Peer, format!("the other core's process {how}"))
}

pub(super) fn silent() -> Failure {
    Failure::new(
        Kind::Deadline,
        "the other core's process did not answer in time; see with 'narrows doctor' what keeps its \
         core busy",
    )
}

pub(super) fn nonsense() -> Failure {
    Failure::new(
        Kind::Peer,
        "the other core's process answered nonsense: start both from one build",
    )
}
