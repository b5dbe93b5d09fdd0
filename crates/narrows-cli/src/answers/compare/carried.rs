//! What traffic two runs carried by each strategy, and what they refused.

use super::read::plain;
use crate::base::report::RunRow;
use crate::base::table::counted;
use serde::Serialize;

/// A flow of a run by a strategy.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flow {
    pub name: String,
    pub strategy: String,
    /// Why it could not run.
    refused: Option<String>,
    /// How often it came and was not carried.
    sessions: u64,
    /// Why not, the first time.
    why: Option<String>,
}

/// What was refused of a flow by a strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Refused {
    /// Flow and strategy.
    pub name: String,
    /// What and why in the first report; none if all of it was carried there, or it is not there.
    pub before: Option<String>,
    /// The same of the second.
    pub after: Option<String>,
}

impl Flow {
    pub fn new(row: &RunRow) -> Flow {
        Flow {
            name: plain(&row.flow),
            strategy: plain(&row.strategy),
            refused: row.refused.as_deref().map(plain),
            sessions: row.refusals,
            why: row.first_refusal.as_deref().map(plain),
        }
    }

    fn is_of(&self, other: &Flow) -> bool {
        (&self.name, &self.strategy) == (&other.name, &other.strategy)
    }

    /// Whether as much of it was carried.
    fn is_like(&self, other: &Flow) -> bool {
        (self.refused.is_some(), self.sessions) == (other.refused.is_some(), other.sessions)
    }

    /// What was refused of it, and why; none if all of it was carried.
    fn said(&self) -> Option<String> {
        let because = |why: &Option<String>| why.clone().unwrap_or_else(|| "no reason said".into());
        match (&self.refused, self.sessions) {
            (Some(why), _) => Some(why.clone()),
            (None, 0) => None,
            (None, sessions) => {
                let sessions = counted(sessions as usize, "session", "sessions");
                Some(format!("{sessions}, the first because {}", because(&self.why)))
            }
        }
    }

    /// The same, with the name of the report's file.
    fn told(flow: Option<&Flow>, file: &str) -> String {
        match flow.map(Flow::said) {
            None => format!("is not in {file}"),
            Some(None) => format!("was carried in {file}"),
            Some(Some(what)) => format!("was refused in {file} ({what})"),
        }
    }
}

/// The flows of two reports, one beside the other.
pub(super) struct Carried<'a>(Vec<[Option<&'a Flow>; 2]>);

impl<'a> Carried<'a> {
    pub fn new(before: &'a [Flow], after: &'a [Flow]) -> Carried<'a> {
        let other = |one: &Flow, all: &'a [Flow]| all.iter().find(|flow| flow.is_of(one));
        let first = before.iter().map(|flow| [Some(flow), other(flow, after)]);
        let added = after.iter().filter(|flow| other(flow, before).is_none());
        Carried(first.chain(added.map(|flow| [None, Some(flow)])).collect())
    }

    /// Flows of which not as much was carried.
    fn unlike(&self) -> impl Iterator<Item = (&'a Flow, [Option<&'a Flow>; 2])> {
        let like = |pair: &&[Option<&Flow>; 2]| match pair {
            [Some(one), Some(other)] => one.is_like(other),
            _ => false,
        };
        let unlike = self.0.iter().filter(move |pair| !like(pair));
        unlike.filter_map(|pair| Some((pair[0].or(pair[1])?, *pair)))
    }

    /// Whether by a strategy both runs carried the same. Flows share cores, so what one takes is a
    /// matter of all.
    pub fn is_same(&self, strategy: &str) -> bool {
        self.unlike().all(|(flow, _)| flow.strategy != strategy)
    }

    /// What was refused, in either.
    pub fn refused(&self) -> Vec<Refused> {
        let row = |pair: &[Option<&Flow>; 2]| {
            let flow = pair[0].or(pair[1])?;
            let [before, after] = pair.map(|flow| flow.and_then(Flow::said));
            let name = format!("{} {}", flow.name, flow.strategy);
            (before.is_some() || after.is_some()).then_some(Refused { name, before, after })
        };
        self.0.iter().filter_map(row).collect()
    }

    /// A sentence for each strategy by which the runs carried other traffic.
    pub fn notes(&self, files: &[String; 2]) -> Vec<String> {
        let mut all: Vec<(&str, Vec<String>)> = Vec::new();
        for (flow, pair) in self.unlike() {
            let [before, after] = [0, 1].map(|side| Flow::told(pair[side], &files[side]));
            let said = format!("{} {before} and {after}", flow.name);
            match all.iter_mut().find(|(strategy, _)| *strategy == flow.strategy) {
                Some((_, flows)) => flows.push(said),
                None => all.push((&flow.strategy, vec![said])),
            }
        }
        let note = |(strategy, flows): (&str, Vec<String>)| {
            let flows = super::text::shortened(&flows);
            format!(
                "by {strategy} other traffic was carried, so nothing of it is compared: {flows}"
            )
        };
        all.into_iter().map(note).collect()
    }
}
