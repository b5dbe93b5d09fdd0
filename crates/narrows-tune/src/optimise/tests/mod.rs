//! The search against trying everything, on problems that are small enough for it.

mod deadlines;

use super::*;
use fastrand::Rng;

/// Storage of any size.
#[derive(Default)]
struct Rooms {
    groups: Vec<GroupState>,
    kept: Vec<KeptChoice>,
    steps: Vec<HullStep>,
    frames: Vec<SearchFrame>,
    trial: Vec<Pick>,
}

impl Rooms {
    fn new(needs: Needs) -> Rooms {
        let mut rooms = Rooms::default();
        rooms.groups.resize(needs.groups, GroupState::default());
        rooms.kept.resize(needs.choices, KeptChoice::default());
        rooms.steps.resize(needs.choices, HullStep::default());
        rooms.frames.resize(needs.flows, SearchFrame::default());
        rooms.trial.resize(needs.flows, Pick::default());
        rooms
    }

    fn storage(&mut self) -> Storage<'_> {
        Storage {
            groups: &mut self.groups,
            kept: &mut self.kept,
            steps: &mut self.steps,
            frames: &mut self.frames,
            trial: &mut self.trial,
        }
    }
}

fn solve(problem: &Problem<'_>, limit: u32) -> Result<(Found, Vec<Pick>), Unsolved> {
    let mut picks = vec![Pick::default(); problem.flows()];
    let mut rooms = Rooms::new(Needs::of(problem));
    let found = optimise(problem, &mut rooms.storage(), &mut picks, limit)?;
    Ok((found, picks))
}

/// What picks cost; none if they do not fit.
fn cost(problem: &Problem<'_>, picks: &[Pick]) -> Option<u64> {
    let mut dsps = problem.dsps.to_vec();
    let (mut cost, mut load, mut picks) = (0, 0, picks.iter());
    for group in problem.groups {
        let choices = &problem.choices[group.first as usize..][..group.choices.into()];
        for _ in 0..group.flows {
            let pick = picks.next()?;
            let choice = choices.get(usize::from(pick.choice))?;
            let dsp = dsps.get_mut(usize::from(pick.dsp))?;
            dsp.memory = dsp.memory.checked_sub(choice.memory)?;
            dsp.work = dsp.work.checked_sub(choice.work)?;
            cost += u64::from(choice.cost);
            load += u64::from(choice.load);
        }
    }
    (picks.next().is_none() && load <= problem.load).then_some(cost)
}

/// The least cost, by trying every choice of every flow on every DSP.
fn by_trying(problem: &Problem<'_>) -> Option<u64> {
    let mut best = None;
    tried(problem, |picks| best = cost(problem, picks).into_iter().chain(best).min());
    best
}

/// Every choice of every flow on every DSP.
fn tried(problem: &Problem<'_>, mut each: impl FnMut(&[Pick])) {
    let of = problem.groups.iter();
    let of = of.flat_map(|group| std::iter::repeat_n(group, group.flows.into()));
    let ways: Vec<u64> =
        of.map(|group| u64::from(group.choices) * problem.dsps.len() as u64).collect();
    for mut number in 0..ways.iter().product() {
        let picks: Vec<Pick> = ways
            .iter()
            .map(|ways| {
                let way = number % ways;
                number /= ways;
                let dsps = problem.dsps.len() as u64;
                Pick { choice: (way / dsps) as u16, dsp: (way % dsps) as u8 }
            })
            .collect();
        each(&picks);
    }
}

/// A problem of a few flows.
struct Drawn {
    groups: Vec<Group>,
    choices: Vec<Choice>,
    dsps: Vec<Dsp>,
    load: u64,
}

impl Drawn {
    fn new(random: &mut Rng, dsps: usize) -> Drawn {
        let (mut groups, mut choices) = (Vec::new(), Vec::new());
        let mut ways = 1.0;
        loop {
            let count = random.u16(1..=5);
            let flows = random.u16(1..=2);
            ways *= (f64::from(count) * dsps as f64).powi(flows.into());
            if ways > 20_000.0 {
                break;
            }
            groups.push(Group { first: choices.len() as u32, choices: count, flows, dsp: None });
            // Few different figures, so that some are equal.
            choices.extend((0..count).map(|_| Choice {
                cost: random.u32(0..12) * random.u32(1..4),
                memory: random.u32(0..6) * random.u32(0..200),
                work: random.u32(0..5) * 50_000,
                load: random.u32(0..5) * 40_000,
            }));
        }
        let dsps = (0..dsps)
            .map(|_| Dsp { memory: random.u32(0..5) * 250, work: random.u32(4..21) * 50_000 })
            .collect();
        let load = if random.bool() { u64::MAX } else { random.u64(2..20) * 40_000 };
        Drawn { groups, choices, dsps, load }
    }

    fn problem(&self) -> Problem<'_> {
        Problem {
            groups: &self.groups,
            choices: &self.choices,
            dsps: &self.dsps,
            load: self.load,
            deadlines: Deadlines::default(),
            blocks: Blocks::default(),
        }
    }
}

#[test]
fn nothing_is_cheaper_than_what_is_found() {
    let mut random = Rng::with_seed(1);
    let (mut solved, mut unsolved) = (0, 0);
    for round in 0..400 {
        let drawn = Drawn::new(&mut random, 1 + round % 4);
        let problem = drawn.problem();
        let best = by_trying(&problem);
        match solve(&problem, u32::MAX) {
            Ok((found, picks)) => {
                assert_eq!(Some(found.cost), best, "round {round}: {problem:?}");
                assert_eq!(cost(&problem, &picks), best, "round {round}: {problem:?} {picks:?}");
                assert!(found.proven() && found.gap() == 0);
                solved += 1;
            }
            Err(error) => {
                assert_eq!(best, None, "round {round}: {error} {problem:?}");
                unsolved += 1;
            }
        }
    }
    assert!(solved > 200 && unsolved > 50, "{solved} {unsolved}");
}

#[test]
fn a_search_that_is_cut_off_says_what_it_cannot_rule_out() {
    let mut random = Rng::with_seed(2);
    let mut cut = 0;
    for round in 0..300 {
        let drawn = Drawn::new(&mut random, 1 + round % 4);
        let problem = drawn.problem();
        for limit in [1, 2, 5] {
            let best = by_trying(&problem);
            let (found, picks) = match solve(&problem, limit) {
                Ok(made) => made,
                // Whether there is a solution is not known by then.
                Err(Unsolved::Limit) => continue,
                Err(error) => {
                    assert_eq!(best, None, "round {round}, {limit} nodes: {error}");
                    continue;
                }
            };
            assert_eq!(cost(&problem, &picks), Some(found.cost));
            let best = best.unwrap();
            assert!(found.bound <= best && best <= found.cost, "{found:?} {best}");
            assert!(found.nodes <= limit);
            cut += usize::from(!found.proven());
        }
    }
    assert!(cut > 30, "{cut}");
}

#[test]
fn what_is_missing_is_said() {
    let choice = |memory, work, load| Choice { cost: 1, memory, work, load };
    let dsp = Dsp { memory: 1000, work: 1_000_000 };
    let solve = |choices: &[Choice], flows, dsps: &[Dsp], load| {
        let groups = [Group { first: 0, choices: choices.len() as u16, flows, dsp: None }];
        let deadlines = Deadlines::default();
        solve(
            &Problem { groups: &groups, choices, dsps, load, deadlines, blocks: Blocks::default() },
            1000,
        )
        .map(|_| ())
    };
    let none = u64::MAX;
    assert_eq!(solve(&[choice(600, 0, 0)], 2, &[dsp], none), Err(Unsolved::Memory(200)));
    assert_eq!(solve(&[choice(1600, 0, 0)], 1, &[dsp], none), Err(Unsolved::Memory(600)));
    assert_eq!(solve(&[choice(0, 600_000, 0)], 2, &[dsp], none), Err(Unsolved::Work(200_000)));
    assert_eq!(solve(&[choice(0, 1_200_000, 0)], 1, &[dsp], none), Err(Unsolved::Work(200_000)));
    assert_eq!(solve(&[choice(0, 0, 70)], 2, &[dsp], 100), Err(Unsolved::Load(40)));
    // Three times 600 are less than two memories, but no memory has room for two.
    assert_eq!(solve(&[choice(600, 0, 0)], 3, &[dsp; 2], none), Err(Unsolved::Division));
    assert_eq!(solve(&[], 1, &[dsp], none), Err(Unsolved::Malformed));
    assert_eq!(solve(&[choice(0, 0, 0)], 1, &[], none), Err(Unsolved::Malformed));
    assert_eq!(solve(&[choice(0, 0, 0)], 1, &[dsp; 9], none), Err(Unsolved::Malformed));
    assert_eq!(solve(&[choice(0, 0, 0)], 0, &[dsp], none), Ok(()));
}

#[test]
fn storage_that_is_too_short_is_refused() {
    let choices = [Choice::default(); 3];
    let groups = [Group { first: 0, choices: 3, flows: 2, dsp: None }];
    let (dsps, deadlines) = ([Dsp { memory: 1, work: 1 }], Deadlines::default());
    let (load, choices) = (u64::MAX, choices.as_slice());
    let problem = Problem {
        groups: &groups,
        choices,
        dsps: &dsps,
        load,
        deadlines,
        blocks: Blocks::default(),
    };
    let needs = Needs::of(&problem);
    assert_eq!(needs, Needs { groups: 1, choices: 3, flows: 2 });
    let tries =
        [Needs { groups: 0, ..needs }, Needs { choices: 2, ..needs }, Needs { flows: 1, ..needs }];
    for short in tries {
        let mut rooms = Rooms::new(short);
        let mut picks = [Pick::default(); 2];
        let made = optimise(&problem, &mut rooms.storage(), &mut picks, 10);
        assert_eq!(made, Err(Unsolved::Storage));
    }
    let mut rooms = Rooms::new(needs);
    let made = optimise(&problem, &mut rooms.storage(), &mut [Pick::default()], 10);
    assert_eq!(made, Err(Unsolved::Storage));
}

#[test]
fn the_largest_figures_do_not_overflow() {
    let most = Choice { cost: u32::MAX, memory: u32::MAX, work: u32::MAX, load: u32::MAX };
    let choices =
        [most, Choice { cost: 0, ..most }, Choice { memory: 0, ..most }, Choice::default()];
    let groups = [200, 1].map(|flows| Group { first: 0, choices: 4, flows, dsp: None });
    let dsps = [Dsp { memory: u32::MAX, work: u32::MAX }; MAX_DSPS];
    let (choices, load, deadlines) = (choices.as_slice(), u64::MAX, Deadlines::default());
    let problem = Problem {
        groups: &groups,
        choices,
        dsps: &dsps,
        load,
        deadlines,
        blocks: Blocks::default(),
    };
    assert_eq!(solve(&problem, 100).map(|(found, _)| found.cost), Ok(0));
}
