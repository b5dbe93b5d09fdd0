//! The traffic of a cell: sessions of the gateway that are always there.

use crate::base::failure::Failure;
use crate::formats::workload::{self, Flow, Presence, Workload};
use fastrand::Rng;
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
        from(part)
    }

    /// The same sessions as they may come otherwise: each begins at a moment of its period that is
    /// drawn. Unless `all` are to be there, one in four is not.
    ///
    /// # Errors
    /// As of [`Traffic::workload`].
    pub fn scene(self, seed: u64, all: bool, duration: Duration) -> Result<Workload, Failure> {
        let mut made = self.workload(None, duration)?;
        let mut random = Rng::with_seed(seed);
        let stays = random.usize(..made.flows.len().max(1));
        let mut at = 0;
        made.flows.retain(|_| {
            let there = all || at == stays || random.u8(..4) > 0;
            at += 1;
            there
        });
        for flow in &mut made.flows {
            let arrives = flow.period().unwrap_or_default().mul_f64(random.f64());
            flow.presence = from(arrives);
        }
        Ok(made)
    }

    /// The kinds of which there are sessions.
    pub fn kinds(self) -> impl Iterator<Item = usize> {
        (0..2).filter(move |kind| self.sessions[*kind] > 0)
    }
}

/// There from a moment of the run to its end.
fn from(arrives: Duration) -> Presence {
    Presence::Once { arrives: Some(arrives).filter(|arrives| !arrives.is_zero()), leaves: None }
}

/// Which kind a flow of such a workload is of.
pub(super) fn kind(flow: &Flow) -> usize {
    usize::from(flow.name.starts_with("video"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_begin_anywhere_and_some_lack_sessions() {
        let traffic = Traffic { sessions: [2, 1], staggered: false };
        let mut counts = [0; 4];
        for seed in 0..200 {
            let made = traffic.scene(seed, false, Duration::from_secs(1)).unwrap();
            counts[made.flows.len()] += 1;
            let whole = traffic.scene(seed, true, Duration::from_secs(1)).unwrap();
            assert_eq!(whole.flows.len(), 3);
            for flow in made.flows.iter().chain(&whole.flows) {
                let Presence::Once { arrives, leaves: None } = flow.presence else { panic!() };
                assert!(arrives.unwrap_or_default() < flow.period().unwrap(), "{flow:?}");
            }
        }
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|count| *count > 0), "{counts:?}");
        let moments = |seed| {
            let made = traffic.scene(seed, true, Duration::from_secs(1)).unwrap();
            made.flows.iter().map(|flow| flow.presence).collect::<Vec<_>>()
        };
        assert_eq!(moments(1), moments(1));
        assert_ne!(moments(1), moments(2));
    }
}
