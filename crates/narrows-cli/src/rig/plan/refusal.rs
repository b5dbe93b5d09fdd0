//! Why there is no plan, as a sentence.

use super::terms::{NoPlan, Subject};
use crate::base::failure::{Failure, Kind};
use narrows_tune::model::picos;

/// Picoseconds of a millisecond.
const MS: f64 = 1e9;

/// What cannot be planned, and by how much.
pub(crate) fn refused(subjects: &[Subject], why: &NoPlan) -> Failure {
    let name = |flow: &usize| subjects.get(*flow).map_or("", |subject| subject.name.as_str());
    let text = match why {
        NoPlan::Impossible(flow, why) => format!("flow {} cannot be planned: {why}", name(flow)),
        NoPlan::Late { flow, least, beside } => {
            let deadline = subjects.get(*flow).and_then(|subject| subject.flow.deadline);
            let deadline = deadline.map_or(0, picos);
            format!(
                "flow {} cannot keep its deadline: {:.3} ms at least, {:.3} ms of them behind \
                 other flows, are {:.3} ms more than the {:.3} ms that it has",
                name(flow),
                *least as f64 / MS,
                *beside as f64 / MS,
                least.saturating_sub(deadline) as f64 / MS,
                deadline as f64 / MS
            )
        }
        NoPlan::Behind { flow, least, most } => format!(
            "flow {} falls behind: a call takes {:.3} ms at most at best, and {:.3} ms pass until as \
             many are due as may be under way; give it a longer period or a greater depth",
            name(flow),
            *least as f64 / MS,
            *most as f64 / MS
        ),
        NoPlan::Blocks => "the platform has enough memory, but its blocks are too few or too \
             short for all flows; give its [link] other classes"
            .to_owned(),
        NoPlan::Together(why) => {
            let names: Vec<&str> = subjects.iter().map(|one| one.name.as_str()).collect();
            format!(
                "flows {} cannot be planned together: {why}",
                crate::base::table::listed(&names)
            )
        }
    };
    Failure::new(Kind::Workload, text)
}
