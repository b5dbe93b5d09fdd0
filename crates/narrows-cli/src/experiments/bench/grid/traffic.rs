//! The traffic of a cell: sessions of the gateway that are always there.

use crate::base::failure::Failure;
use crate::formats::workload::{self, Flow, Presence, Workload};
use std::path::Path;
use std::time::Duration;

/// The workload whose audio and video the sessions are, and the names of their first ones there.
const FILE: &str = include_str!("../../../../shipped/workloads/gateway.toml");
const KINDS: [&str; 2] = ["audio-1", "video-1"];

/// Sessions that are carried together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traffic {
    /// Sessions of audio and of video.
    pub sessions: [u32; 2],
    /// Whether they begin spread over a period, and not together.
    pub staggered: bool,
}

impl Traffic {
    /// The workload of these sessions, or of those of one kind alone.
    ///
    /// # Errors
    /// [`Kind::Workload`](crate::base::failure::Kind) if the file that comes along has other flows.
    pub fn workload(self, alone: Option<usize>, duration: Duration) -> Result<Workload, Failure> {
        let mut made = workload::parse(Path::new("workloads/gateway.toml"), FILE)?;
        let kinds = KINDS.map(|name| made.flows.iter().find(|flow| flow.name == name).cloned());
        made.flows.clear();
        for (kind, flow) in kinds.iter().enumerate() {
            let Some(flow) = flow.as_ref().filter(|_| alone.is_none_or(|one| one == kind)) else {
                continue;
            };
            let sessions = self.sessions[kind];
            made.flows.extend((0..sessions).map(|at| Flow {
                name: format!("{}{at}", ["audio", "video"][kind]),
                presence: self.presence(flow, kind, at),
                ..flow.clone()
            }));
        }
        made.duration = duration;
        made.memory = None;
        Ok(made)
    }

    /// Sessions of video begin half a step later than those of audio, so that nothing coincides.
    fn presence(self, flow: &Flow, kind: usize, at: u32) -> Presence {
        if !self.staggered {
            return Presence::Always;
        }
        let period = flow.period().unwrap_or_default();
        let part = period * (2 * at + kind as u32) / (2 * self.sessions[kind]);
        Presence::Once { arrives: Some(part).filter(|part| !part.is_zero()), leaves: None }
    }

    /// The kinds of which there are sessions.
    pub fn kinds(self) -> impl Iterator<Item = usize> {
        (0..2).filter(move |kind| self.sessions[*kind] > 0)
    }
}

/// Which kind a flow of such a workload is of.
pub(super) fn kind(flow: &Flow) -> usize {
    usize::from(flow.name.starts_with("video"))
}
