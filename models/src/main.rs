//! Searches the models of what nodes agree on: see docs/RELIABILITY.md. `ci/models` runs it.

mod meeting;

use std::collections::{HashMap, VecDeque};
use std::process::ExitCode;

use meeting::{Broken, Meeting, State, Step};
use stateright::{Checker, Model};

/// What is wrong with a model, if anything, and how many states it has.
fn search(hunts: &[&[usize]], deaths: u8, broken: Broken) -> (usize, Option<String>) {
    let make = || Meeting { hunts: hunts.iter().map(|h| h.to_vec()).collect(), deaths, broken };
    let checker = make().checker().threads(2).spawn_bfs().join();
    let states = checker.unique_state_count();
    if let Some((name, path)) = checker.discoveries().into_iter().next() {
        return (states, Some(format!("not so: {name}: {:?}", path.into_actions())));
    }
    (states, stuck(&make()))
}

/// The first state from which, without another death, nobody gets to where all have met.
fn stuck(model: &Meeting) -> Option<String> {
    let mut places: HashMap<State, usize> = HashMap::new();
    let (mut states, mut before): (Vec<State>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    let mut place = |state: State, states: &mut Vec<State>, before: &mut Vec<Vec<usize>>| {
        *places.entry(state.clone()).or_insert_with(|| {
            states.push(state);
            before.push(Vec::new());
            states.len() - 1
        })
    };
    for state in model.init_states() {
        place(state, &mut states, &mut before);
    }
    let mut at = 0;
    while at < states.len() {
        for (step, next) in model.next_steps(&states[at].clone()) {
            let next = place(next, &mut states, &mut before);
            if !matches!(step, Step::Die(_)) {
                before[next].push(at);
            }
        }
        at += 1;
    }
    let met = |at: &usize| states[*at].processes_live() && states[*at].met(&model.hunts);
    let mut todo: VecDeque<usize> = (0..states.len()).filter(met).collect();
    let mut gets_there = vec![false; states.len()];
    todo.iter().for_each(|&at| gets_there[at] = true);
    while let Some(at) = todo.pop_front() {
        for &from in &before[at] {
            if !std::mem::replace(&mut gets_there[from], true) {
                todo.push_back(from);
            }
        }
    }
    let at = gets_there.iter().position(|there| !there)?;
    Some(format!("never meet from: {:?}", states[at]))
}

fn main() -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let is = |flag: &str| asked.iter().any(|a| a == flag);
    let mut wrong = false;
    let one: &[&[usize]] = &[&[1], &[]];
    let other: &[&[usize]] = &[&[], &[0]];
    let crossing: &[&[usize]] = &[&[1], &[0]];
    let ring: &[&[usize]] = &[&[1], &[2], &[0]];
    if is("--self-test") {
        use Broken::{Death, Early, FailedSend, OldLink, OwnGreeting, PutOff};
        for broken in [OldLink, OwnGreeting, Early, FailedSend, Death, PutOff] {
            let (states, found) = search(crossing, 2, broken);
            println!(
                "without {broken:?}: {states} states, {}",
                found.as_deref().unwrap_or("NOT SEEN")
            );
            wrong |= found.is_none();
        }
        return if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let deaths = if is("--short") { 2 } else { 3 };
    for (name, hunts, deaths) in [
        ("the first hunts", one, deaths),
        ("the second hunts", other, deaths),
        ("both hunt", crossing, deaths),
        ("three in a ring", ring, deaths - 2),
    ] {
        let (states, found) = search(hunts, deaths, Broken::Nothing);
        println!(
            "meeting, {name}, {deaths} deaths: {states} states, {}",
            found.as_deref().unwrap_or("good")
        );
        wrong |= found.is_some();
    }
    if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
