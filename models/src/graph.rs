//! All states of a model and the steps between them, for what stateright's own properties do not
//! say: that something good stays within reach, and that it is not put off for ever.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use stateright::Model;

/// Kinds of steps, each with a bit.
type Kinds = u128;

pub struct Graph<S> {
    states: Vec<S>,
    /// Where each state's steps that are none of fate's lead, and the kind of each.
    steps: Vec<Vec<(u32, usize)>>,
}

/// What is wrong with a graph.
pub enum Wrong<'a, S> {
    /// From here nothing good is within reach.
    Stuck(&'a S),
    /// A fair run may come by here again and again without anything good.
    Round(&'a S),
}

impl<S: Clone + Eq + Hash> Graph<S> {
    /// The states of a model. Steps of `fate` lead to states, and nothing may depend on their
    /// being taken.
    pub fn of<M>(model: &M, fate: impl Fn(&M::Action) -> bool) -> Graph<S>
    where
        M: Model<State = S, Action: Clone + PartialEq>,
    {
        let mut places: HashMap<S, usize> = HashMap::new();
        let mut kinds: Vec<M::Action> = Vec::new();
        let mut graph = Graph { states: Vec::new(), steps: Vec::new() };
        let mut place = |state: S, graph: &mut Graph<S>| {
            *places.entry(state.clone()).or_insert_with(|| {
                graph.states.push(state);
                graph.steps.push(Vec::new());
                graph.states.len() - 1
            })
        };
        for state in model.init_states() {
            place(state, &mut graph);
        }
        let mut at = 0;
        while at < graph.states.len() {
            for (step, next) in model.next_steps(&graph.states[at].clone()) {
                let next = place(next, &mut graph);
                if fate(&step) {
                    continue;
                }
                let kind = kinds.iter().position(|kind| *kind == step).unwrap_or_else(|| {
                    kinds.push(step);
                    kinds.len() - 1
                });
                assert!(kind < Kinds::BITS as usize, "more kinds of steps than bits");
                graph.steps[at].push((kind as u32, next));
            }
            at += 1;
        }
        graph
    }

    /// What is wrong, if from any state nothing good is within reach, or if a fair run from it
    /// comes to nothing good. A run is fair if it takes each step again and again that can be taken
    /// again and again.
    pub fn wrong(&self, good: impl Fn(&S) -> bool) -> Option<Wrong<'_, S>> {
        let good: Vec<bool> = self.states.iter().map(good).collect();
        self.stuck(&good).or_else(|| self.round(&good))
    }

    fn stuck(&self, good: &[bool]) -> Option<Wrong<'_, S>> {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.states.len()];
        for (at, steps) in self.steps.iter().enumerate() {
            steps.iter().for_each(|&(_, next)| before[next].push(at));
        }
        let mut gets_there = good.to_vec();
        let mut todo: VecDeque<usize> = (0..good.len()).filter(|&at| good[at]).collect();
        while let Some(at) = todo.pop_front() {
            for &from in &before[at] {
                if !std::mem::replace(&mut gets_there[from], true) {
                    todo.push_back(from);
                }
            }
        }
        let at = gets_there.iter().position(|there| !there)?;
        Some(Wrong::Stuck(&self.states[at]))
    }

    /// A part of the graph in which a fair run may stay for ever without anything good: every step
    /// that can be taken somewhere inside is taken inside.
    fn round(&self, good: &[bool]) -> Option<Wrong<'_, S>> {
        let mut outside = good.to_vec();
        loop {
            let parts = self.parts(&outside);
            let count = parts.iter().flatten().max().map_or(0, |last| last + 1);
            let (mut can, mut taken): (Vec<Kinds>, Vec<Kinds>) = (vec![0; count], vec![0; count]);
            for (at, part) in parts.iter().enumerate() {
                let Some(part) = *part else { continue };
                for &(kind, next) in &self.steps[at] {
                    can[part] |= 1 << kind;
                    taken[part] |= Kinds::from(parts[next] == Some(part)) << kind;
                }
            }
            let fair = |part: usize| taken[part] != 0 && can[part] == taken[part];
            if let Some(at) = parts.iter().position(|part| part.is_some_and(fair)) {
                return Some(Wrong::Round(&self.states[at]));
            }
            // A fair run that stays in a part comes by no state again and again that has a step
            // which leads out of it.
            let before = outside.iter().filter(|out| **out).count();
            for (at, part) in parts.iter().enumerate() {
                let Some(part) = *part else { continue };
                let leaves = |kind: u32| (can[part] & !taken[part]) >> kind & 1 == 1;
                outside[at] =
                    taken[part] == 0 || self.steps[at].iter().any(|&(kind, _)| leaves(kind));
            }
            if outside.iter().filter(|out| **out).count() == before {
                return None;
            }
        }
    }

    /// To which part each state belongs that is not `outside`: within a part every state is within
    /// reach of every other, by states that are not outside. (Tarjan's search.)
    fn parts(&self, outside: &[bool]) -> Vec<Option<usize>> {
        let n = self.states.len();
        let (mut parts, mut count) = (vec![None; n], 0);
        let (mut number, mut lowest) = (vec![None; n], vec![0; n]);
        let (mut open, mut next_number) = (Vec::new(), 0);
        for root in 0..n {
            if outside[root] || number[root].is_some() {
                continue;
            }
            let mut path = vec![(root, 0)];
            while let Some((at, step)) = path.last_mut() {
                let at = *at;
                if *step == 0 {
                    (number[at], lowest[at]) = (Some(next_number), next_number);
                    next_number += 1;
                    open.push(at);
                }
                let Some(&(_, next)) = self.steps[at].get(*step) else {
                    path.pop();
                    if let Some(&(above, _)) = path.last() {
                        lowest[above] = lowest[above].min(lowest[at]);
                    }
                    if Some(lowest[at]) == number[at] {
                        while let Some(one) = open.pop() {
                            parts[one] = Some(count);
                            if one == at {
                                break;
                            }
                        }
                        count += 1;
                    }
                    continue;
                };
                *step += 1;
                match number[next] {
                    _ if outside[next] || parts[next].is_some() => {}
                    Some(of) => lowest[at] = lowest[at].min(of),
                    None => path.push((next, 0)),
                }
            }
        }
        parts
    }
}
