//! Searches the models of what nodes agree on: see docs/RELIABILITY.md. `ci/models` runs it.

mod meeting;
mod switching;

use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::process::ExitCode;

use meeting::{Broken, Meeting, Step};
use stateright::{Checker, Model};
use switching::Switching;

/// What is wrong with a model, if anything, and how many states it has. From every state one that
/// is `good` has to be within reach by steps that are none of `fate`'s.
fn search<M>(
    make: impl Fn() -> M,
    good: impl Fn(&M, &M::State) -> bool,
    fate: impl Fn(&M::Action) -> bool,
) -> (usize, Option<String>)
where
    M: Model<State: Clone + Debug + Eq + Hash + Send + Sync, Action: Clone + Debug + PartialEq>
        + Send
        + Sync
        + 'static,
{
    let checker = make().checker().threads(2).spawn_bfs().join();
    let states = checker.unique_state_count();
    if let Some((name, path)) = checker.discoveries().into_iter().next() {
        return (states, Some(format!("not so: {name}: {:?}", path.into_actions())));
    }
    (states, stuck(&make(), good, fate))
}

/// The first state from which none that is good is within reach.
fn stuck<M>(
    model: &M,
    good: impl Fn(&M, &M::State) -> bool,
    fate: impl Fn(&M::Action) -> bool,
) -> Option<String>
where
    M: Model<State: Clone + Debug + Eq + Hash>,
{
    let mut places: HashMap<M::State, usize> = HashMap::new();
    let (mut states, mut before): (Vec<M::State>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    let mut place = |state: M::State, states: &mut Vec<M::State>, before: &mut Vec<Vec<usize>>| {
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
            if !fate(&step) {
                before[next].push(at);
            }
        }
        at += 1;
    }
    let mut todo: VecDeque<usize> =
        (0..states.len()).filter(|at| good(model, &states[*at])).collect();
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
    Some(format!("no way on from: {:?}", states[at]))
}

fn meeting(hunts: &[&[usize]], deaths: u8, broken: Broken) -> (usize, Option<String>) {
    search(
        || Meeting { hunts: hunts.iter().map(|h| h.to_vec()).collect(), deaths, broken },
        |model, state| state.processes_live() && state.met(&model.hunts),
        |step| matches!(step, Step::Die(_)),
    )
}

fn switching(slots: usize, calls: u8, broken: switching::Broken) -> (usize, Option<String>) {
    search(
        || Switching { slots, calls, switches: 2, flows: 2, broken },
        |_, state| state.settled(),
        |step| {
            use switching::Step;
            // What only the program does: without it, it goes on as well.
            matches!(step, Step::Die | Step::Late | Step::Close | Step::Switch(_))
        },
    )
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
            let (states, found) = meeting(crossing, 2, broken);
            println!(
                "without {broken:?}: {states} states, {}",
                found.as_deref().unwrap_or("NOT SEEN")
            );
            wrong |= found.is_none();
        }
        use switching::Broken::{Account, Agree, Close, Drain, Question};
        for broken in [Drain, Agree, Question, Close, Account] {
            let (states, found) = switching(2, 2, broken);
            println!(
                "without {broken:?}: {states} states, {}",
                found.as_deref().unwrap_or("NOT SEEN")
            );
            wrong |= found.is_none();
        }
        return if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let (deaths, calls) = if is("--short") { (2, 2) } else { (3, 3) };
    for (name, hunts, deaths) in [
        ("the first hunts", one, deaths),
        ("the second hunts", other, deaths),
        ("both hunt", crossing, deaths),
        ("three in a ring", ring, deaths - 2),
    ] {
        let (states, found) = meeting(hunts, deaths, Broken::Nothing);
        println!(
            "meeting, {name}, {deaths} deaths: {states} states, {}",
            found.as_deref().unwrap_or("good")
        );
        wrong |= found.is_some();
    }
    for (slots, calls) in [(1, 2), (2, calls)] {
        let (states, found) = switching(slots, calls, switching::Broken::Nothing);
        println!(
            "switching, rings of {slots}, {calls} calls: {states} states, {}",
            found.as_deref().unwrap_or("good")
        );
        wrong |= found.is_some();
    }
    if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
