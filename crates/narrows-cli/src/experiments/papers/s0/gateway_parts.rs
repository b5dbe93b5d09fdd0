//! The gateway's frames of video cut into parts that fit into internal memory, by the model alone:
//! what the strategies `parts=P` and `parts=P:W` do.
//!
//! S1 lets a task have several granularities (section 4), and has a task with long blocks divided
//! until they fit, in two buffers that take turns (section 5.1). It says of none of its gateway's
//! figures that they are of that, so this is what would come of it.

use super::gateway::{Gateway, SAMPLES, failed, percent};
use crate::base::failure::Failure;
use crate::rig::plan::Subject;
use narrows::strategy::{Notification, Parts, Placement, Strategy};
use narrows_tune::model::{Estimate, WHOLE, estimate};
use narrows_tune::optimise::{Blocks, Choice, Deadlines, Dsp, Group, Problem};
use narrows_tune::rooms::SearchRooms;

/// Nodes of a search.
const NODES: u32 = 1_000_000;

/// How the parts of a frame follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// One when the one before has come back: a buffer.
    InTurn,
    /// While the one before is under way: two buffers or, polled, as many as come between two
    /// looks.
    Pipelined,
}

/// A session whose frames are cut.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub parts: u32,
    /// Bytes of a part.
    pub bytes: u32,
    pub order: Order,
    pub estimate: Estimate,
}

/// Parts that come between two looks.
fn looked(how: Notification, whole: &Subject, parts: u32) -> u16 {
    let period = whole.flow.period.unwrap_or_default().as_nanos().max(1);
    let looks = (how.pause().as_nanos() * u128::from(parts)).div_ceil(period);
    u16::try_from(looks).unwrap_or(u16::MAX)
}

/// Every way to cut a session's frames that the gateway's memory allows. No part is shorter than a
/// frame of audio.
fn cuts(gateway: &Gateway, whole: &Subject) -> Result<Vec<Cut>, Failure> {
    let mut cuts = Vec::new();
    let internal = whole.strategies.iter().filter(|one| one.placement == Placement::Internal);
    for strategy in internal {
        for parts in 2..=whole.flow.request / SAMPLES {
            for (order, at_once) in [(Order::InTurn, 1), (Order::Pipelined, 2)] {
                let at_once = match strategy.notification {
                    Notification::Interrupt => at_once,
                    // Looks are so far apart that parts in turn would take longer than a frame.
                    _ if order == Order::InTurn => continue,
                    how => looked(how, whole, parts).max(at_once),
                };
                let parts = Parts { count: parts as u16, at_once };
                let strategy = Strategy { parts, ..*strategy };
                let estimate = estimate(&gateway.machine.costs, &whole.flow, &strategy)
                    .map_err(|why| failed(&format!("{why:?}")))?;
                let bytes = parts.longest(whole.flow.request as usize) as u32;
                if estimate.memory <= gateway.machine.memory {
                    cuts.push(Cut { parts: parts.count.into(), bytes, order, estimate });
                }
            }
        }
    }
    Ok(cuts)
}

/// The cut that takes least of the ARM, of those in an order.
pub(super) fn best(gateway: &Gateway, order: Order) -> Result<Option<Cut>, Failure> {
    let video = gateway.sessions(0, 1)?;
    let cuts = cuts(gateway, &video[0])?.into_iter().filter(|cut| cut.order == order);
    Ok(cuts.min_by_key(|cut| cut.estimate.load))
}

/// The least load of sessions in percent, where the tuner may cut frames and where it may not.
pub(super) fn load(
    gateway: &Gateway,
    audio: usize,
    video: usize,
    cutting: bool,
) -> Result<f64, Failure> {
    let mut choices = Vec::new();
    let mut groups = Vec::new();
    let kinds = [(gateway.sessions(1, 0)?, audio), (gateway.sessions(0, 1)?, video)];
    for (number, (kind, flows)) in kinds.iter().enumerate() {
        let (subject, first) = (&kind[0], choices.len());
        let whole = subject.strategies.iter().map(|strategy| {
            let estimate = estimate(&gateway.machine.costs, &subject.flow, strategy);
            estimate.map_err(|why| failed(&format!("{why:?}")))
        });
        let mut estimates = whole.collect::<Result<Vec<_>, _>>()?;
        if cutting && number == 1 {
            estimates.extend(cuts(gateway, subject)?.iter().map(|cut| cut.estimate));
        }
        choices.extend(estimates.iter().map(|made| Choice {
            cost: made.load,
            memory: made.memory,
            work: made.work,
            load: made.load,
        }));
        let count = (choices.len() - first) as u16;
        let flows = *flows as u16;
        groups.push(Group { first: first as u32, choices: count, flows, dsp: None });
    }
    let problem = Problem {
        groups: &groups,
        choices: &choices,
        dsps: &[Dsp { memory: gateway.machine.memory, work: WHOLE }],
        load: gateway.machine.load,
        blocks: Blocks::default(),
        deadlines: Deadlines::default(),
    };
    let mut rooms = SearchRooms::default();
    rooms.fit(&problem);
    let found = rooms.solve(&problem, NODES).map_err(|why| failed(&format!("{why:?}")))?;
    Ok(percent(found.cost))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::papers::s0::gateway::{READING, Static};

    #[test]
    fn without_cuts_it_is_the_plan_of_the_rows_and_with_them_never_more() {
        for memory in [1 << 10, 16 << 10, 32 << 10, u32::MAX] {
            let gateway = Gateway::new(READING, memory).unwrap();
            for (audio, video) in [(1, 1), (2, 2), (3, 3)] {
                let cell = format!("{memory} {audio}A+{video}V");
                let (_, dynamic) = gateway.loads(Static::Cheapest, audio, video).unwrap();
                let whole = load(&gateway, audio, video, false).unwrap();
                assert!((whole - dynamic).abs() < 1e-9, "{cell}: {whole} {dynamic}");
                let cut = load(&gateway, audio, video, true).unwrap();
                assert!(cut <= whole, "{cell}: {cut} {whole}");
            }
        }
    }

    #[test]
    fn parts_fit_and_are_as_few_as_do() {
        for memory in [1 << 10, 16 << 10] {
            let gateway = Gateway::new(READING, memory).unwrap();
            for (order, buffers) in [(Order::InTurn, 1), (Order::Pipelined, 2)] {
                let cut = best(&gateway, order).unwrap().unwrap();
                assert_eq!(cut.estimate.memory, buffers * cut.bytes, "{memory} {order:?}");
                let longer = READING.frame.div_ceil(cut.parts - 1);
                let fits = cut.estimate.memory <= memory;
                assert!(fits && buffers * longer > memory, "{memory} {order:?}: {}", cut.parts);
            }
        }
    }
}
