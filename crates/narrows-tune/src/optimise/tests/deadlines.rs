//! Deadlines: the search against trying everything, and more of anything against less.

use super::*;
use crate::optimise::late::{Meeting, Placed};

/// A problem of a few flows that delay each other, on DSPs that wait as the quickest of their flows
/// wants it: in the first of two ways or in the second, and where flows of both meet in a third.
struct Late {
    drawn: Drawn,
    joined: Vec<u16>,
    own: Vec<u16>,
    timings: Vec<Timing>,
    there: Vec<u32>,
    needs: Vec<u32>,
}

const WAYS: usize = 3;

fn join(one: u16, other: u16) -> u16 {
    if one == other { one } else { 2 }
}

fn delay(random: &mut Rng) -> Delay {
    let lasting = random.u64(0..20);
    Delay { most: lasting + random.u64(0..10), lasting, rate: random.u64(0..200_000) }
}

impl Late {
    fn new(random: &mut Rng, dsps: usize) -> Late {
        let mut drawn = Drawn::new(random, dsps);
        // Some flows are served by one DSP, come what may: all of a problem, or one group of it.
        match random.u8(..4) {
            0 => {
                let all = drawn.groups.iter_mut();
                all.for_each(|group| group.dsp = Some(random.usize(..dsps) as u8));
            }
            1 => {
                let first = drawn.groups.first_mut();
                first.into_iter().for_each(|group| group.dsp = Some(random.usize(..dsps) as u8));
            }
            _ => {}
        }
        let all = (0..WAYS as u16).flat_map(|one| (0..WAYS as u16).map(move |other| (one, other)));
        let joined = all.map(|(one, other)| join(one, other)).collect();
        let own = drawn.choices.iter().map(|_| random.u16(..2)).collect();
        let mut timings = Vec::new();
        for group in &drawn.groups {
            let deadline = if random.bool() { random.u64(40..240) } else { u64::MAX };
            let pace = if random.bool() { random.u64(40..240) } else { u64::MAX };
            let behind = random.bool().then(|| [random.u64(20..100), random.u64(..10)]);
            let behind = behind.filter(|_| deadline < u64::MAX);
            for _ in 0..usize::from(group.choices) * WAYS {
                let alone = random.u64(0..60);
                let bound = alone + random.u64(0..20);
                let beside = if random.u8(..4) == 0 { delay(random) } else { Delay::default() };
                let slack = Slack { bound, alone, deadline, pace, behind, beside };
                let here = delay(random);
                let elsewhere = here.times(1).least_of(delay(random));
                timings.push(Timing { here, elsewhere, slack });
            }
        }
        let kinds = random.usize(..3);
        let there = (0..kinds).map(|_| random.u32(2..12)).collect();
        let needs = (0..drawn.choices.len() * kinds).map(|_| random.u32(..4)).collect();
        Late { drawn, joined, own, timings, there, needs }
    }

    fn problem(&self) -> Problem<'_> {
        let Late { joined, own, timings, there, needs, .. } = self;
        let deadlines = Deadlines { ways: WAYS, joined, own, timings };
        Problem { deadlines, blocks: Blocks { there, needs }, ..self.drawn.problem() }
    }
}

impl Delay {
    fn least_of(self, other: Delay) -> Delay {
        Delay {
            most: self.most.min(other.most),
            lasting: self.lasting.min(other.lasting),
            rate: self.rate.min(other.rate),
        }
    }
}

/// Whether there are blocks for all, and all deadlines hold, flow by flow.
fn held(problem: &Problem<'_>, picks: &[Pick]) -> bool {
    let flows =
        problem.groups.iter().flat_map(|group| std::iter::repeat_n(group, group.flows.into()));
    let flows: Vec<(&Group, &Pick)> = flows.zip(picks).collect();
    if flows.iter().any(|(group, pick)| group.dsp.is_some_and(|dsp| dsp != pick.dsp)) {
        return false;
    }
    let number = |(group, pick): &(&Group, &Pick)| group.first as usize + usize::from(pick.choice);
    let kinds = problem.blocks.there.len();
    let enough = |dsp: usize, kind: usize| {
        let here = flows.iter().filter(|(_, pick)| usize::from(pick.dsp) == dsp);
        let needed: u32 = here.map(|one| problem.blocks.needs[number(one) * kinds + kind]).sum();
        needed <= problem.blocks.there[kind]
    };
    if (0..problem.dsps.len()).any(|dsp| (0..kinds).any(|kind| !enough(dsp, kind))) {
        return false;
    }
    let timing = |one: &(&Group, &Pick)| {
        let here = flows.iter().filter(|(_, pick)| pick.dsp == one.1.dsp);
        let waits = here.map(|one| problem.deadlines.own[number(one)]);
        let wait = waits.reduce(join).unwrap();
        problem.deadlines.timings[number(one) * WAYS + usize::from(wait)]
    };
    (0..flows.len()).all(|own| {
        let others = flows.iter().enumerate().filter(|(other, _)| *other != own);
        let delays = others.map(|(_, one)| {
            let Timing { here, elsewhere, .. } = timing(one);
            if one.1.dsp == flows[own].1.dsp { here } else { elsewhere }
        });
        timing(&flows[own]).slack.bears(delays.fold(Delay::default(), Delay::and))
    })
}

/// The least cost by which all deadlines hold, by trying every choice of every flow on every DSP.
fn by_trying_all(problem: &Problem<'_>) -> Option<u64> {
    let mut best = None;
    tried(problem, |picks| {
        if let Some(cost) = cost(problem, picks).filter(|_| held(problem, picks)) {
            best = Some(best.map_or(cost, |best: u64| best.min(cost)));
        }
    });
    best
}

#[test]
fn nothing_that_keeps_deadlines_is_cheaper_than_what_is_found() {
    let mut random = Rng::with_seed(3);
    let (mut solved, mut unsolved, mut bound) = (0, 0, 0);
    for round in 0..300 {
        let drawn = Late::new(&mut random, 1 + round % 3);
        let problem = drawn.problem();
        let best = by_trying_all(&problem);
        match solve(&problem, u32::MAX) {
            Ok((found, picks)) => {
                assert_eq!(Some(found.cost), best, "round {round}: {problem:?}");
                assert_eq!(cost(&problem, &picks), best, "round {round}: {picks:?}");
                assert!(held(&problem, &picks), "round {round}: {picks:?}");
                assert!(found.proven());
                let (deadlines, blocks) = (Deadlines::default(), Blocks::default());
                let free = Problem { deadlines, blocks, ..problem };
                bound += usize::from(solve(&free, u32::MAX).unwrap().0.cost < found.cost);
                solved += 1;
            }
            Err(error) => {
                assert_eq!(best, None, "round {round}: {error} {problem:?}");
                unsolved += 1;
            }
        }
    }
    assert!(solved > 80 && unsolved > 80 && bound > 8, "{solved} {unsolved} {bound}");
}

#[test]
fn a_search_that_deadlines_cut_off_says_what_it_cannot_rule_out() {
    let mut random = Rng::with_seed(4);
    let mut cut = 0;
    for round in 0..200 {
        let drawn = Late::new(&mut random, 1 + round % 3);
        let problem = drawn.problem();
        let Some(best) = by_trying_all(&problem) else { continue };
        for limit in [1, 2, 5] {
            match solve(&problem, limit) {
                Ok((found, picks)) => {
                    assert!(held(&problem, &picks) && found.nodes <= limit);
                    assert!(found.bound <= best && best <= found.cost, "{found:?} {best}");
                    cut += usize::from(!found.proven());
                }
                Err(error) => assert_eq!(error, Unsolved::Limit, "round {round}"),
            }
        }
    }
    assert!(cut > 10, "{cut}");
}

/// More memory, more blocks, more time of any core, a longer deadline: nothing that more is had of
/// makes anything dearer, or impossible.
#[test]
fn more_of_anything_never_costs_more() {
    let mut random = Rng::with_seed(5);
    let (mut less, mut became) = (0, 0);
    for round in 0..1500 {
        let drawn = Late::new(&mut random, 1 + round % 3);
        let problem = drawn.problem();
        let mut dsps = problem.dsps.to_vec();
        let mut timings = problem.deadlines.timings.to_vec();
        let mut there = problem.blocks.there.to_vec();
        let mut load = problem.load;
        match round % 6 {
            0 => dsps[0].memory += random.u32(1..400),
            1 => dsps.iter_mut().for_each(|dsp| dsp.work += random.u32(1..200_000)),
            2 => load = load.saturating_add(random.u64(1..200_000)),
            3 => there.iter_mut().for_each(|kind| *kind += 2),
            4 => timings.iter_mut().for_each(|one| {
                one.slack.deadline = one.slack.deadline.saturating_add(30);
            }),
            _ => dsps.push(Dsp { memory: random.u32(0..400), work: random.u32(..500_000) }),
        }
        let deadlines = Deadlines { timings: &timings, ..problem.deadlines };
        let blocks = Blocks { there: &there, ..problem.blocks };
        let more = Problem { dsps: &dsps, load, deadlines, blocks, ..problem };
        match (solve(&problem, u32::MAX), solve(&more, u32::MAX)) {
            (Ok((found, _)), Ok((more, _))) => {
                assert!(more.cost <= found.cost, "round {round}: {found:?} {more:?}");
                less += usize::from(more.cost < found.cost);
            }
            (Ok(found), Err(error)) => panic!("round {round}: {found:?}, with more {error}"),
            (Err(_), Ok(_)) => became += 1,
            (Err(_), Err(_)) => {}
        }
    }
    assert!(less > 25 && became > 15, "{less} {became}");
}

#[test]
fn a_flow_that_is_late_whatever_others_do_is_named() {
    let choice = Choice { cost: 1, ..Choice::default() };
    let groups = [0, 1].map(|first| Group { first, choices: 1, flows: 1, dsp: None });
    let timing = |here, deadline| {
        let here = Delay { most: here, lasting: here, rate: 0 };
        let slack = Slack { bound: 5, alone: 5, deadline, ..Slack::default() };
        Timing { here, elsewhere: Delay::default(), slack }
    };
    let solve = |deadline, dsps: usize| {
        let timings = [timing(3, u64::MAX), timing(0, deadline)];
        let deadlines = Deadlines { ways: 1, joined: &[0], own: &[], timings: &timings };
        let dsps = vec![Dsp { memory: 0, work: 1_000_000 }; dsps];
        let choices = &[choice; 2];
        let problem = Problem {
            groups: &groups,
            choices,
            dsps: &dsps,
            load: 9,
            deadlines,
            blocks: Blocks::default(),
        };
        solve(&problem, 100).map(|(found, _)| found.cost)
    };
    assert_eq!(solve(8, 1), Ok(2));
    let beside = Delay { most: 3, lasting: 3, rate: 0 };
    assert_eq!(solve(7, 1), Err(Unsolved::Late { group: 1, beside }));
    assert_eq!(solve(7, 2), Ok(2), "each has a DSP");
    assert_eq!(solve(4, 2), Err(Unsolved::Late { group: 1, beside: Delay::default() }));
}

#[test]
fn deadlines_of_other_choices_are_refused() {
    let (choices, dsps) = ([Choice::default(); 2], [Dsp { memory: 1, work: 1 }]);
    let groups = [Group { first: 0, choices: 2, flows: 1, dsp: None }];
    let solve = |deadlines, groups| {
        let problem = Problem {
            groups,
            choices: &choices,
            dsps: &dsps,
            load: 1,
            deadlines,
            blocks: Blocks::default(),
        };
        solve(&problem, 10).map(|_| ())
    };
    let timings = [Timing::default(); 4];
    let (joined, own) = (&[0, 1, 1, 1], &[0, 1]);
    let whole = Deadlines { ways: 2, joined, own, timings: &timings };
    assert_eq!(solve(whole, &groups), Ok(()));
    for wrong in [
        Deadlines { ways: 1, ..whole },
        Deadlines { timings: &timings[1..], ..whole },
        Deadlines { own: &[0, 2], ..whole },
        Deadlines { own: &[], ..whole },
        Deadlines { joined: &[0, 1, 2, 1], ..whole },
    ] {
        assert_eq!(solve(wrong, &groups), Err(Unsolved::Malformed), "{wrong:?}");
    }
    let elsewhere = [Group { dsp: Some(1), ..groups[0] }];
    assert_eq!(solve(whole, &elsewhere), Err(Unsolved::Malformed));
}

/// What may come is never better than what was hoped for.
#[test]
fn what_is_hoped_for_is_no_worse_than_what_comes() {
    let mut random = Rng::with_seed(6);
    let mut held = 0;
    for round in 0..2000 {
        let drawn = Late::new(&mut random, 1);
        let problem = drawn.problem();
        let flows =
            problem.groups.iter().flat_map(|group| std::iter::repeat_n(group, group.flows.into()));
        let placed: Vec<Placed> = flows
            .map(|group| {
                let choice = group.first as usize + random.usize(..usize::from(group.choices));
                Placed { choice, dsp: 0 }
            })
            .collect();
        if Meeting::of(&problem, placed.iter().copied(), None).is_some() {
            held += 1;
            for count in 0..=placed.len() {
                let some = placed.iter().copied().take(count);
                let some = Meeting::of(&problem, some, Some(&[]));
                assert!(some.is_some(), "round {round}, {count} flows");
            }
        }
    }
    assert!(held > 100, "{held}");
}
