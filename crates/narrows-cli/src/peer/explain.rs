//! Errors of the stack as sentences.

use super::{FAREWELL, Peer, process};
use crate::failure::{Failure, Kind};
use narrows::endpoint::{CallError, FlowError, SendError};
use narrows::strategy::Strategy;
use std::time::Duration;

impl Peer {
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
        match process::ended(&mut self.child, Duration::ZERO) {
            Some(_) => self.lost(),
            None => silent(),
        }
    }

    /// What became of the other process.
    pub fn lost(&mut self) -> Failure {
        let told = process::ended(&mut self.child, FAREWELL);
        Failure::new(
            Kind::Peer,
            match told {
                Some(how) => format!("the other core's process {how}"),
                None => "the link to the other core's process was lost; run it again".into(),
            },
        )
    }
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
