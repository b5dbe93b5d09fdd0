//! The best static strategies of a cell: one for all sessions, or one for each kind.

use super::carry::{self, Carried, Pair};
use super::scenes;
use super::traffic::{Traffic, kind};
use crate::base::failure::Failure;
use crate::base::options::Global;
use crate::base::threads;
use crate::formats::strategy::append;
use crate::rig::plan::Machine;
use crate::rig::plan::subjects::subjects;
use narrows::strategy::{Notification, Placement, Strategy, Transfer};
use narrows_sim::chip::Chip;
use narrows_tune::model::{Flow, estimate};
use std::collections::HashMap;
use std::time::Duration;

/// Of those that take least in a short run, this many are carried for as long as `auto` is.
const NEAR: usize = 4;
/// Times that one kind is varied and then the other.
const ROUNDS: usize = 3;

/// What a trial is of: of all sessions, or of one kind alone.
type Key = (Option<usize>, Pair);

/// Trials of a cell's traffic, each made once: neither budget nor engine changes what a strategy
/// takes, but only whether it is allowed.
pub(super) struct Tries<'a> {
    on: (&'a Global, &'a Chip),
    traffic: Traffic,
    /// How long trials are, and how long those are that are compared with `auto`.
    spans: [Duration; 2],
    /// Every strategy that makes sense for either kind: looks may be as far apart as those of the
    /// other one are.
    strategies: Vec<Strategy>,
    /// A session of each kind.
    flows: [Flow; 2],
    made: HashMap<Key, Carried>,
    whole: HashMap<Pair, Carried>,
    /// What it takes in the mean of [scenes]; none if it is late in one.
    means: HashMap<Pair, Option<f64>>,
}

impl<'a> Tries<'a> {
    pub fn new(
        on: (&'a Global, &'a Chip),
        traffic: Traffic,
        spans: [Duration; 2],
    ) -> Result<Tries<'a>, Failure> {
        let both = Traffic { sessions: [1, 1], ..traffic }.workload(None, spans[0])?;
        let (mut strategies, mut flows) = (Vec::new(), [Flow::default(); 2]);
        for (flow, subject) in both.flows.iter().zip(subjects(&both, None, &[], false)?) {
            append(&mut strategies, subject.strategies);
            flows[kind(flow)] = subject.flow;
        }
        let (made, whole) = (HashMap::new(), HashMap::new());
        let means = HashMap::new();
        Ok(Tries { on, traffic, spans, strategies, flows, made, whole, means })
    }

    /// How many combinations of strategies were carried.
    pub fn tried(&self) -> usize {
        self.made.keys().filter(|(alone, _)| alone.is_none()).count()
    }

    /// The best that a machine allows and that carries everything in time, as far as is known in
    /// other [scenes] too; none if nothing does.
    pub fn best(&mut self, machine: &Machine) -> Result<Option<(Pair, Carried)>, Failure> {
        let kinds: Vec<usize> = self.traffic.kinds().collect();
        let mut pairs: Vec<Pair> = self.strategies.iter().map(|one| [*one; 2]).collect();
        if kinds.len() == 2 {
            let [audio, video] = [self.kept(machine, 0)?, self.kept(machine, 1)?];
            pairs.extend(audio.iter().flat_map(|one| video.iter().map(|other| [*one, *other])));
        }
        let mut order = self.order(machine, None, &pairs)?;
        for _ in 0..ROUNDS {
            let Some(best) = order.first().copied().filter(|_| kinds.len() == 2) else { break };
            let beside = |kind: usize, by: &Strategy| {
                let mut pair = best;
                pair[kind] = *by;
                pair
            };
            let all = kinds.iter().flat_map(|kind| {
                self.strategies.iter().map(move |by| beside(*kind, by)).collect::<Vec<_>>()
            });
            append(&mut pairs, all.collect::<Vec<_>>());
            order = self.order(machine, None, &pairs)?;
            if order.first() == Some(&best) {
                break;
            }
        }
        order.retain(|by| self.means.get(by).is_none_or(Option::is_some));
        // What turns out to be late makes room for the next.
        loop {
            let late = |by: &Pair| self.whole.get(by).is_some_and(|one| !one.holds());
            let near = order.iter().filter(|by| !late(by)).take(NEAR);
            let new: Vec<Pair> =
                near.filter(|one| !self.whole.contains_key(*one)).copied().collect();
            if new.is_empty() {
                break;
            }
            let made = threads::each(&new, |by| {
                carry::fixed(self.on, self.traffic.workload(None, self.spans[1])?, *by)
            });
            for (by, carried) in new.iter().zip(made) {
                self.whole.insert(*by, carried?);
            }
        }
        let near = order.iter().filter_map(|by| Some((*by, self.whole.get(by)?.clone())));
        let holding = near.filter(|(_, carried)| carried.holds());
        Ok(holding.min_by(|(_, a), (_, b)| a.load.total_cmp(&b.load)))
    }

    /// What a pair takes in the mean of scenes that have all sessions. None if it is late in one of
    /// those, or in one of `count` scenes in which some sessions are not there.
    pub fn mean(&mut self, by: Pair, count: u64) -> Result<Option<f64>, Failure> {
        if let Some(mean) = self.means.get(&by) {
            return Ok(*mean);
        }
        let (mut mean, carry) = (None, |workload| carry::fixed(self.on, workload, by));
        if scenes::keeps(self.traffic, count, carry)? {
            mean = scenes::mean(self.traffic, self.spans[1], carry)?;
        }
        self.means.insert(by, mean);
        Ok(mean)
    }

    /// How many pairs that a machine allows took less than this and were late in some scene, of
    /// those that were asked about.
    pub fn late(&self, machine: &Machine, load: f64) -> usize {
        let late = self.means.iter().filter(|(_, mean)| mean.is_none()).map(|(by, _)| by);
        let less = |by: &&Pair| self.whole.get(*by).is_some_and(|whole| whole.load < load);
        late.filter(less).filter(|by| self.allows(machine, None, by)).count()
    }

    /// Strategies of a kind that are combined with those of the other: for each way of learning of
    /// responses, and each memory, the one that takes least if there are no others.
    fn kept(&mut self, machine: &Machine, kind: usize) -> Result<Vec<Strategy>, Failure> {
        let all: Vec<Pair> = self.strategies.iter().map(|one| [*one; 2]).collect();
        let mut kept: Vec<(Notification, Placement)> = Vec::new();
        let order = self.order(machine, Some(kind), &all)?;
        let best = order.into_iter().map(|pair| pair[kind]).filter(|by| {
            let class = (by.notification, by.placement);
            let new = !kept.contains(&class);
            kept.push(class);
            new
        });
        Ok(best.collect())
    }

    /// Those that are allowed and carry everything in time, that which takes least first.
    fn order(
        &mut self,
        machine: &Machine,
        alone: Option<usize>,
        pairs: &[Pair],
    ) -> Result<Vec<Pair>, Failure> {
        let allowed = |pair: &&Pair| self.allows(machine, alone, pair);
        let mut all: Vec<Pair> = Vec::new();
        append(&mut all, pairs.iter().filter(allowed).map(|pair| self.plain(*pair)));
        let new: Vec<Pair> =
            all.iter().filter(|one| !self.made.contains_key(&(alone, **one))).copied().collect();
        let made = threads::each(&new, |by| {
            carry::fixed(self.on, self.traffic.workload(alone, self.spans[0])?, *by)
        });
        for (by, carried) in new.iter().zip(made) {
            self.made.insert((alone, *by), carried?);
        }
        let load = |by: &Pair| self.made.get(&(alone, *by)).map_or(f64::MAX, |one| one.load);
        all.retain(|by| self.made.get(&(alone, *by)).is_some_and(Carried::holds));
        all.sort_by(|a, b| load(a).total_cmp(&load(b)));
        Ok(all)
    }

    /// A pair whose strategy for a kind of which there are no sessions says nothing.
    fn plain(&self, pair: Pair) -> Pair {
        match self.traffic.sessions {
            [0, _] => [pair[1]; 2],
            [_, 0] => [pair[0]; 2],
            _ => pair,
        }
    }

    /// Whether a machine has the engine and the memory.
    fn allows(&self, machine: &Machine, alone: Option<usize>, pair: &Pair) -> bool {
        let kinds = self.traffic.kinds().filter(|kind| alone.is_none_or(|one| one == *kind));
        let mut memory = 0;
        for kind in kinds {
            let by = &pair[kind];
            if by.transfer == Transfer::CopyEngine && !machine.engine {
                return false;
            }
            let Ok(made) = estimate(&machine.costs, &self.flows[kind], by) else { return false };
            memory += u64::from(made.memory) * u64::from(self.traffic.sessions[kind]);
        }
        memory <= u64::from(machine.memory)
    }
}
