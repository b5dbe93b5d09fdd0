//! Searches the models of what nodes agree on: see docs/RELIABILITY.md. `ci/models` runs it.

mod graph;
mod meeting;
mod relay;
mod switching;

use std::fmt::Debug;
use std::hash::Hash;
use std::process::ExitCode;

use graph::{Graph, Wrong};
use meeting::{Broken, Meeting, Step};
use relay::Relaying;
use stateright::{Checker, Model};
use switching::Switching;

/// What is wrong with a model, if anything, and how many states it has. By steps that are none of
/// `fate`'s, from every state one that is `good` has to be within reach, and a fair run has to come
/// to one.
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
    let model = make();
    let graph = Graph::of(&model, fate);
    let wrong = match graph.wrong(|state| good(&model, state)) {
        None => None,
        Some(Wrong::Stuck(state)) => Some(format!("no way on from: {state:?}")),
        Some(Wrong::Round(state)) => Some(format!("round and round for ever by: {state:?}")),
    };
    (states, wrong)
}

fn meeting(
    hunts: &[&[usize]],
    (deaths, refusals): (u8, u8),
    broken: Broken,
) -> (usize, Option<String>) {
    search(
        || Meeting { hunts: hunts.iter().map(|h| h.to_vec()).collect(), deaths, refusals, broken },
        |model, state| state.processes_live() && state.met(&model.hunts),
        |step| matches!(step, Step::Die(_) | Step::Refuse(_)),
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

fn relaying(make: impl Fn() -> Relaying) -> (usize, Option<String>) {
    search(make, |model, state| model.is_done(state), |step| matches!(step, relay::Step::Cut(_)))
}

/// Nodes from 1 on in a ring that all send `each` messages to the node `far` further on, all the
/// same way round.
fn around(count: u8, far: u8, each: usize, broken: relay::Broken) -> Relaying {
    let next = |n: u8, far| (n - 1 + far) % count + 1;
    Relaying {
        adjacent: (1..=count).map(|n| (n, next(n, 1))).collect(),
        around: true,
        sends: (1..=count).map(|n| vec![next(n, far); each]).collect(),
        hops: far,
        quota: 1,
        cuts: 0,
        broken,
    }
}

/// Nodes that are adjacent as said, and what each sends, while links are cut so often.
fn across(adjacent: &[(u8, u8)], sends: &[&[u8]], cuts: u8, broken: relay::Broken) -> Relaying {
    Relaying {
        adjacent: adjacent.to_vec(),
        around: false,
        sends: sends.iter().map(|to| to.to_vec()).collect(),
        hops: 3,
        quota: 1,
        cuts,
        broken,
    }
}

/// Node 1 sends by way of node 2 to the three behind that.
fn star(to: &[u8], broken: relay::Broken) -> Relaying {
    let star = across(&[(1, 2), (2, 3), (2, 4), (2, 5)], &[to, &[], &[], &[], &[]], 0, broken);
    Relaying { hops: 2, quota: 3, ..star }
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
        use Broken::{Death, Early, FailedSend, FirstName, OldLink, OwnGreeting, PutOff};
        for broken in [OldLink, OwnGreeting, Early, FailedSend, Death, PutOff, FirstName] {
            let (states, found) = meeting(crossing, (2, 0), broken);
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
        use relay::Broken::{Classes, Orphan, Owes, Seen, Soon};
        for (broken, make) in [
            (Classes, (|b| around(3, 2, 2, b)) as fn(relay::Broken) -> Relaying),
            (Owes, |b| across(&[(1, 2), (2, 3)], &[&[3, 3], &[], &[]], 0, b)),
            (Soon, |b| star(&[3, 4, 5, 3], b)),
            (Seen, |b| across(&[(1, 2), (2, 3), (3, 1)], &[&[2], &[], &[]], 1, b)),
            (Orphan, |b| across(&[(1, 2), (2, 3), (3, 1)], &[&[2], &[], &[]], 1, b)),
        ] {
            let (states, found) = relaying(|| make(broken));
            println!(
                "without {broken:?}: {states} states, {}",
                found.as_deref().unwrap_or("NOT SEEN")
            );
            wrong |= found.is_none();
        }
        return if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let (deaths, calls) = if is("--short") { (2, 2) } else { (3, 3) };
    for (name, hunts, deaths, refusals) in [
        ("the first hunts", one, deaths, 0),
        ("the second hunts", other, deaths, 0),
        ("both hunt", crossing, deaths, 0),
        ("both hunt", crossing, deaths - 1, deaths),
        ("three in a ring", ring, deaths - 2, 0),
    ] {
        let (states, found) = meeting(hunts, (deaths, refusals), Broken::Nothing);
        println!(
            "meeting, {name}, {deaths} deaths, {refusals} refusals: {states} states, {}",
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
    let whole = relay::Broken::Nothing;
    let (line, ring): (&[_], &[_]) = (&[(1, 2), (2, 3)], &[(1, 2), (2, 3), (3, 1)]);
    type Relays = Vec<(&'static str, Box<dyn Fn() -> Relaying>)>;
    let mut relays: Relays = vec![
        ("a line, both ways", Box::new(move || across(line, &[&[3, 3], &[], &[1, 1]], 0, whole))),
        ("a ring of three", Box::new(move || around(3, 2, 1, whole))),
        ("a star", Box::new(move || star(&[3, 4, 5, 3], whole))),
        ("a line that is cut", Box::new(move || across(line, &[&[3], &[], &[1]], 1, whole))),
        ("a ring that is cut", Box::new(move || across(ring, &[&[2], &[3], &[]], 1, whole))),
    ];
    if !is("--short") {
        relays.push(("a ring of four", Box::new(move || around(4, 2, 1, whole))));
    }
    for (name, make) in relays {
        let (states, found) = relaying(make);
        println!("relaying, {name}: {states} states, {}", found.as_deref().unwrap_or("good"));
        wrong |= found.is_some();
    }
    if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
