//! The optimiser against HiGHS: equal on random problems, for 1 to 4 DSPs: without deadlines, with
//! them, and of flows whose requests may be cut into parts.
//!
//! To build HiGHS takes minutes, so what it found of the first thousand is in `plain.txt`,
//! `deadlines.txt` and `parts.txt`, a problem a line. `ci/oracle` has it solve them anew, and as
//! many more as `NARROWS_ORACLE` says; what is on file must be what it finds. Each problem has a
//! number, which is in the message of what fails and draws the same one again.

mod cut;

use std::ops::RangeInclusive;

use fastrand::Rng;
use narrows_tune::optimise::{
    Blocks, Choice, Deadlines, Delay, Dsp, Found, Group, GroupState, HullStep, KeptChoice, Needs,
    Pick, Problem, SearchFrame, Slack, Storage, Timing, Unsolved, optimise,
};

/// The least cost that HiGHS found of each problem; `none` where it found that there is no
/// solution.
const ON_FILE: &str = include_str!("plain.txt");
/// The same of those with deadlines.
const WITH_DEADLINES: &str = include_str!("deadlines.txt");
/// The same of those with requests in parts.
const IN_PARTS: &str = include_str!("parts.txt");
/// Nodes of a search that is to find its end.
const NODES: u32 = 1_000_000_000;
/// Nodes of one that is cut off.
const FEW: u32 = 3;

#[derive(Default)]
struct Drawn {
    groups: Vec<Group>,
    choices: Vec<Choice>,
    dsps: Vec<Dsp>,
    load: u64,
    /// In how many ways DSPs may wait, the quickest first: one waits as the quickest of its flows.
    ways: u16,
    joined: Vec<u16>,
    own: Vec<u16>,
    /// Which choices cut requests into parts, if any.
    cut: Vec<bool>,
    timings: Vec<Timing>,
    there: Vec<u32>,
    needs: Vec<u32>,
}

impl Drawn {
    fn problem(&self) -> Problem<'_> {
        let Drawn { groups, choices, dsps, load, .. } = self;
        let (joined, own, timings) = (&self.joined, &self.own, &self.timings);
        let deadlines = Deadlines { ways: self.ways.into(), joined, own, timings };
        let blocks = Blocks { there: &self.there, needs: &self.needs };
        Problem { groups, choices, dsps, load: *load, blocks, deadlines }
    }
}

/// Flows as the model makes them: cheaper choices take more memory, mostly.
fn draw(number: u64) -> Drawn {
    sized(number, 4..=10, 16)
}

/// A number of flows out of `flows`, with up to `most` choices each.
fn sized(number: u64, flows: RangeInclusive<u16>, most: u16) -> Drawn {
    let mut random = Rng::with_seed(number);
    let dsps = 1 + (number % 4) as usize;
    let (mut groups, mut choices) = (Vec::new(), Vec::<Choice>::new());
    let (mut memory, mut work) = (0, 0);
    let flows = random.u16(flows);
    let mut left = flows;
    while left > 0 {
        let flows = random.u16(1..=3).min(left);
        left -= flows;
        let count = random.u16(2..=most);
        let first = choices.len() as u32;
        groups.push(Group { first, choices: count, flows, dsp: None });
        let (most, takes) = (random.u32(2_000..60_000), random.u32(5_000..200_000));
        for _ in 0..count {
            let bytes = if random.u8(..4) == 0 { 0 } else { random.u32(..20_000) };
            let saved = u64::from(most) * u64::from(bytes) / 40_000;
            let cost = most - saved as u32 + random.u32(..most);
            let work = takes + random.u32(..5_000);
            choices.push(Choice { cost, memory: bytes, work, load: cost / 2 });
        }
        let own = &choices[first as usize..];
        memory += own.iter().map(|one| one.memory).max().unwrap_or(0) * u32::from(flows);
        work += own.iter().map(|one| one.work).max().unwrap_or(0) * u32::from(flows);
    }
    let share = |random: &mut Rng, of: u32, low: u32, high: u32| {
        (u64::from(of) * u64::from(random.u32(low..high)) / 100 / dsps as u64) as u32
    };
    let all = (0..dsps).map(|_| Dsp {
        memory: share(&mut random, memory, 5, 90),
        work: share(&mut random, work, 80, 250),
    });
    let dsps: Vec<Dsp> = all.collect();
    let load = if random.u8(..4) == 0 { random.u64(20_000..400_000) } else { u64::MAX };
    Drawn { groups, choices, dsps, load, ..Drawn::default() }
}

/// The same flows with deadlines: what is looked for more seldom costs less and takes longer, and
/// what a DSP is told of at once keeps it longer. Some have few blocks as well, and in some
/// each flow has its DSP.
fn draw_late(number: u64) -> Drawn {
    // That flows are in each other's way makes problems hard, for HiGHS above all.
    let mut drawn = sized(number, 3..=7, 8);
    let mut random = Rng::with_seed(u64::MAX - number);
    drawn.ways = random.u16(1..=3);
    let ways = drawn.ways;
    drawn.joined = (0..ways).flat_map(|one| (0..ways).map(move |other| one.min(other))).collect();
    drawn.own = drawn.choices.iter().map(|_| random.u16(..ways)).collect();
    let flows: u64 = drawn.groups.iter().map(|group| u64::from(group.flows)).sum();
    if random.u8(..4) == 0 {
        let dsps = drawn.dsps.len();
        for group in &mut drawn.groups {
            group.dsp = Some(random.usize(..dsps) as u8);
        }
    }
    for group in &drawn.groups {
        let (each, share) = (random.u64(10..60), flows * 30 / drawn.dsps.len() as u64);
        let deadline = random.u64(each + share / 2..3 * each + 3 * share);
        let deadline = if random.u8(..3) > 0 { deadline } else { u64::MAX };
        let pace = random.u64(each + share / 2..3 * each + 3 * share);
        let pace = if random.u8(..3) == 0 { pace } else { u64::MAX };
        let from = group.first as usize;
        for at in from..from + usize::from(group.choices) {
            let dear = u64::from(drawn.choices[at].cost) / 2_000;
            for way in 0..ways {
                let alone = each + random.u64(..each) + u64::from(way) * random.u64(..each)
                    - dear.min(each / 2);
                let bound = alone + random.u64(..10);
                let lasting = random.u64(5..30) + u64::from(ways - way) * random.u64(..5);
                let here = Delay { most: lasting + random.u64(..8), lasting, rate: 0 };
                let part = random.u64(1..=4);
                let elsewhere =
                    Delay { most: here.most / part, lasting: here.lasting / part, rate: 0 };
                let slack = Slack { bound, alone, deadline, pace, ..Slack::default() };
                drawn.timings.push(Timing { here, elsewhere, slack });
            }
        }
    }
    let kinds = random.usize(..3);
    drawn.there = (0..kinds).map(|_| random.u32(4..24)).collect();
    drawn.needs = (0..drawn.choices.len() * kinds).map(|_| random.u32(..4)).collect();
    drawn
}

fn search(problem: &Problem<'_>, limit: u32) -> Result<(Found, Vec<Pick>), Unsolved> {
    let needs = Needs::of(problem);
    let mut groups = vec![GroupState::default(); needs.groups];
    let mut kept = vec![KeptChoice::default(); needs.choices];
    let mut steps = vec![HullStep::default(); needs.choices];
    let mut frames = vec![SearchFrame::default(); needs.flows];
    let mut trial = vec![Pick::default(); needs.flows];
    let mut picks = vec![Pick::default(); needs.flows];
    let mut storage = Storage {
        groups: &mut groups,
        kept: &mut kept,
        steps: &mut steps,
        frames: &mut frames,
        trial: &mut trial,
    };
    let found = optimise(problem, &mut storage, &mut picks, limit)?;
    Ok((found, picks))
}

/// What picks cost, if they fit and keep all deadlines.
fn cost(problem: &Problem<'_>, picks: &[Pick]) -> Option<u64> {
    let mut dsps = problem.dsps.to_vec();
    let kinds = problem.blocks.there.len();
    let mut blocks = vec![problem.blocks.there.to_vec(); dsps.len()];
    let flows = problem.groups.iter();
    let flows = flows.flat_map(|group| std::iter::repeat_n(group, group.flows.into()));
    let (mut cost, mut load) = (0, 0);
    let mut placed = Vec::new();
    for (group, pick) in flows.clone().zip(picks) {
        let number = group.first as usize + usize::from(pick.choice);
        let choice = problem.choices.get(number)?;
        if group.dsp.is_some_and(|dsp| dsp != pick.dsp) {
            return None;
        }
        let dsp = dsps.get_mut(usize::from(pick.dsp))?;
        dsp.memory = dsp.memory.checked_sub(choice.memory)?;
        dsp.work = dsp.work.checked_sub(choice.work)?;
        for (kind, left) in blocks.get_mut(usize::from(pick.dsp))?.iter_mut().enumerate() {
            *left = left.checked_sub(problem.blocks.needs[number * kinds + kind])?;
        }
        cost += u64::from(choice.cost);
        load += u64::from(choice.load);
        placed.push((number, pick.dsp));
    }
    let whole = placed.len() == flows.count();
    (whole && load <= problem.load && held(&problem.deadlines, &placed)).then_some(cost)
}

/// Whether flows that have these choices on these DSPs keep all deadlines.
fn held(deadlines: &Deadlines<'_>, placed: &[(usize, u8)]) -> bool {
    if deadlines.ways == 0 {
        return true;
    }
    let timing = |(number, dsp): (usize, u8)| {
        let here = placed.iter().filter(|(_, other)| *other == dsp);
        let way = here.map(|(number, _)| deadlines.own[*number]).min().unwrap();
        deadlines.timings[number * deadlines.ways + usize::from(way)]
    };
    (0..placed.len()).all(|own| {
        let others = placed.iter().enumerate().filter(|(other, _)| *other != own);
        let delays = others.map(|(_, one)| {
            let Timing { here, elsewhere, .. } = timing(*one);
            if one.1 == placed[own].1 { here } else { elsewhere }
        });
        let Slack { bound, alone, deadline, pace, .. } = timing(placed[own]).slack;
        let delay = delays.fold(Delay::default(), Delay::and);
        bound + delay.most <= deadline && alone + delay.lasting <= pace
    })
}

/// The least cost by the file, if it has the problem.
fn on_file(file: &str, number: u64) -> Option<Option<u64>> {
    let line = file.lines().nth(usize::try_from(number).ok()?)?;
    Some((line != "none").then(|| line.parse().expect("the file has a cost or `none` a line")))
}

/// The least cost of a problem, by HiGHS.
#[cfg(feature = "solver")]
fn least(of: &Of, number: u64, problem: &Problem<'_>) -> Option<u64> {
    let found = narrows_tune::solver::solve(problem);
    let least = found.map(|(least, picks)| {
        assert_eq!(cost(problem, &picks), Some(least), "problem {number}: HiGHS' own picks");
        least
    });
    if std::env::var_os("NARROWS_ORACLE_RECORD").is_some() {
        println!("{}: {}", of.name, least.map_or("none".into(), |least| least.to_string()));
    } else if let Some(recorded) = on_file(of.file, number) {
        assert_eq!(recorded, least, "problem {number}: the file has another cost");
    }
    least
}

#[cfg(not(feature = "solver"))]
fn least(of: &Of, number: u64, _: &Problem<'_>) -> Option<u64> {
    on_file(of.file, number).expect("more problems than are on file need HiGHS: run ci/oracle")
}

/// Problems of a kind.
struct Of {
    /// Its file in this folder, without what that ends with.
    name: &'static str,
    file: &'static str,
    draw: fn(u64) -> Drawn,
}

/// How many were solved with 1 to 4 DSPs, how many have no solution, how many were cut off with a
/// gap, and of how many the best plan has requests in parts.
#[derive(Default)]
struct Told {
    solved: [u64; 4],
    unsolved: u64,
    gap: u64,
    parts: u64,
}

/// Whether any flow has a choice that cuts its requests.
fn in_parts(drawn: &Drawn, picks: &[Pick]) -> bool {
    let flows = drawn.groups.iter();
    let flows = flows.flat_map(|group| std::iter::repeat_n(group.first, group.flows.into()));
    let numbers = flows.zip(picks).map(|(first, pick)| first as usize + usize::from(pick.choice));
    numbers.into_iter().any(|number| drawn.cut.get(number) == Some(&true))
}

fn compare(of: &Of) -> (u64, Told) {
    let asked = std::env::var("NARROWS_ORACLE").ok();
    let problems = asked.map_or(of.file.lines().count() as u64, |text| {
        text.parse().expect("NARROWS_ORACLE is a number")
    });
    assert!(problems >= 1000, "{problems} problems are too few to tell");
    let mut told = Told::default();
    let mut most = 0;
    for number in 0..problems {
        let drawn = (of.draw)(number);
        let problem = drawn.problem();
        let theirs = least(of, number, &problem);
        let (found, picks) = match search(&problem, NODES) {
            Ok(made) => made,
            Err(error) => {
                assert!(theirs.is_none(), "problem {number}: HiGHS has {theirs:?}, we {error}");
                told.unsolved += 1;
                continue;
            }
        };
        let least = theirs.unwrap_or_else(|| panic!("problem {number}: HiGHS has none"));
        assert!(found.proven(), "problem {number} was cut off");
        assert_eq!(found.cost, least, "problem {number}");
        assert_eq!(cost(&problem, &picks), Some(least), "problem {number}: our own picks");
        told.solved[drawn.dsps.len() - 1] += 1;
        told.parts += u64::from(in_parts(&drawn, &picks));
        most = most.max(found.nodes);
        // Cut off, what was found and its bound have the optimum between them.
        match search(&problem, FEW) {
            Ok((found, picks)) => {
                assert!(found.bound <= least && least <= found.cost, "problem {number}: {found:?}");
                assert_eq!(cost(&problem, &picks), Some(found.cost), "problem {number}, cut off");
                told.gap += u64::from(found.gap() > 0);
            }
            Err(error) => assert_eq!(error, Unsolved::Limit, "problem {number}, cut off"),
        }
    }
    let Told { solved, unsolved, gap, parts } = &told;
    println!(
        "{}, {problems} problems: equal on {solved:?} with 1 to 4 DSPs, {unsolved} without a \
         solution; {gap} cut off with a gap; {parts} with requests in parts; at most {most} nodes",
        of.name
    );
    (problems, told)
}

#[test]
fn highs_finds_nothing_cheaper() {
    let (problems, told) = compare(&Of { name: "plain", file: ON_FILE, draw });
    assert!(told.solved.iter().all(|count| *count >= problems / 8), "{:?}", told.solved);
    assert!(told.gap >= problems / 20, "{} were cut off", told.gap);
}

#[test]
fn highs_finds_nothing_cheaper_that_keeps_deadlines() {
    let of = Of { name: "deadlines", file: WITH_DEADLINES, draw: draw_late };
    let (problems, told) = compare(&of);
    assert!(told.solved.iter().all(|count| *count >= problems / 12), "{:?}", told.solved);
    assert!(told.unsolved >= problems / 20, "{} have no solution", told.unsolved);
    assert!(told.gap >= problems / 20, "{} were cut off", told.gap);
    // Deadlines and blocks make many of them dearer.
    let dearer = (0..1000).filter(|number| {
        let drawn = draw_late(*number);
        let (deadlines, blocks) = (Deadlines::default(), Blocks::default());
        let free = Problem { deadlines, blocks, ..drawn.problem() };
        let cost = |problem: &Problem<'_>| search(problem, NODES).map(|(found, _)| found.cost);
        match (cost(&drawn.problem()), cost(&free)) {
            (Ok(cost), Ok(free)) => free < cost,
            _ => false,
        }
    });
    let dearer = dearer.count();
    assert!(dearer >= 150, "{dearer} are dearer for their deadlines");
}

#[test]
fn highs_finds_nothing_cheaper_with_requests_in_parts() {
    let of = Of { name: "parts", file: IN_PARTS, draw: cut::draw };
    let (problems, told) = compare(&of);
    assert!(told.solved.iter().all(|count| *count >= problems / 12), "{:?}", told.solved);
    assert!(told.unsolved >= problems / 20, "{} have no solution", told.unsolved);
    assert!(told.parts >= problems / 5, "{} have requests in parts", told.parts);
}
