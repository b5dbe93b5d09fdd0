//! The optimiser against HiGHS: equal on random problems, for 1 to 4 DSPs.
//!
//! To build HiGHS takes minutes, so what it found of the first thousand is in `oracle.txt`, a
//! problem a line. `ci/oracle` has it solve them anew, and as many more as `NARROWS_ORACLE` says;
//! what is on file must be what it finds. Each problem has a number, which is in the message of
//! what fails and draws the same one again.

use fastrand::Rng;
use narrows_tune::optimise::{
    Choice, Dsp, Found, Group, GroupState, HullStep, KeptChoice, Needs, Pick, Problem, SearchFrame,
    Storage, Unsolved, optimise,
};

/// The least cost that HiGHS found of each problem; `none` where it found that there is no
/// solution.
const ON_FILE: &str = include_str!("oracle.txt");
/// Nodes of a search that is to find its end.
const NODES: u32 = 1_000_000_000;
/// Nodes of one that is cut off.
const FEW: u32 = 3;

struct Drawn {
    groups: Vec<Group>,
    choices: Vec<Choice>,
    dsps: Vec<Dsp>,
    load: u64,
}

/// Flows as the model makes them: cheaper choices take more memory, mostly.
fn draw(number: u64) -> Drawn {
    let mut random = Rng::with_seed(number);
    let dsps = 1 + (number % 4) as usize;
    let (mut groups, mut choices) = (Vec::new(), Vec::<Choice>::new());
    let (mut memory, mut work) = (0, 0);
    let flows = random.u16(4..=10);
    let mut left = flows;
    while left > 0 {
        let flows = random.u16(1..=3).min(left);
        left -= flows;
        let count = random.u16(2..=16);
        let first = choices.len() as u32;
        groups.push(Group { first, choices: count, flows });
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
    Drawn { groups, choices, dsps, load }
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

/// What picks cost, if they fit.
fn cost(problem: &Problem<'_>, picks: &[Pick]) -> Option<u64> {
    let mut dsps = problem.dsps.to_vec();
    let (mut cost, mut load, mut picks) = (0, 0, picks.iter());
    for group in problem.groups {
        for _ in 0..group.flows {
            let pick = picks.next()?;
            let number = group.first as usize + usize::from(pick.choice);
            let choice = problem.choices.get(number)?;
            let dsp = dsps.get_mut(usize::from(pick.dsp))?;
            dsp.memory = dsp.memory.checked_sub(choice.memory)?;
            dsp.work = dsp.work.checked_sub(choice.work)?;
            cost += u64::from(choice.cost);
            load += u64::from(choice.load);
        }
    }
    (load <= problem.load).then_some(cost)
}

/// The least cost by the file, if it has the problem.
fn on_file(number: u64) -> Option<Option<u64>> {
    let line = ON_FILE.lines().nth(usize::try_from(number).ok()?)?;
    Some((line != "none").then(|| line.parse().expect("oracle.txt has a cost or `none` a line")))
}

/// The least cost of a problem, by HiGHS.
#[cfg(feature = "solver")]
fn least(number: u64, problem: &Problem<'_>) -> Option<u64> {
    let found = narrows_tune::solver::solve(problem);
    let least = found.map(|(least, picks)| {
        assert_eq!(cost(problem, &picks), Some(least), "problem {number}: HiGHS' own picks");
        least
    });
    if std::env::var_os("NARROWS_ORACLE_RECORD").is_some() {
        println!("on file: {}", least.map_or("none".into(), |least| least.to_string()));
    } else if let Some(recorded) = on_file(number) {
        assert_eq!(recorded, least, "problem {number}: the file has another cost");
    }
    least
}

#[cfg(not(feature = "solver"))]
fn least(number: u64, _: &Problem<'_>) -> Option<u64> {
    on_file(number).expect("more problems than are on file need HiGHS: run ci/oracle")
}

#[test]
fn highs_finds_nothing_cheaper() {
    let asked = std::env::var("NARROWS_ORACLE").ok();
    let problems = asked.map_or(ON_FILE.lines().count() as u64, |text| {
        text.parse().expect("NARROWS_ORACLE is a number")
    });
    assert!(problems >= 1000, "{problems} problems are too few to tell");
    let mut solved = [0; 4];
    let (mut cut, mut unsolved, mut most) = (0, 0, 0);
    for number in 0..problems {
        let drawn = draw(number);
        let problem = Problem {
            groups: &drawn.groups,
            choices: &drawn.choices,
            dsps: &drawn.dsps,
            load: drawn.load,
        };
        let theirs = least(number, &problem);
        let (found, picks) = match search(&problem, NODES) {
            Ok(made) => made,
            Err(error) => {
                assert!(theirs.is_none(), "problem {number}: HiGHS has {theirs:?}, we {error}");
                unsolved += 1;
                continue;
            }
        };
        let least = theirs.unwrap_or_else(|| panic!("problem {number}: HiGHS has none"));
        assert!(found.proven(), "problem {number} was cut off");
        assert_eq!(found.cost, least, "problem {number}");
        assert_eq!(cost(&problem, &picks), Some(least), "problem {number}: our own picks");
        solved[drawn.dsps.len() - 1] += 1;
        most = most.max(found.nodes);
        // Cut off, what was found and its bound have the optimum between them.
        match search(&problem, FEW) {
            Ok((found, picks)) => {
                assert!(found.bound <= least && least <= found.cost, "problem {number}: {found:?}");
                assert_eq!(cost(&problem, &picks), Some(found.cost), "problem {number}, cut off");
                cut += usize::from(found.gap() > 0);
            }
            Err(error) => assert_eq!(error, Unsolved::Limit, "problem {number}, cut off"),
        }
    }
    println!(
        "{problems} problems: equal on {solved:?} with 1 to 4 DSPs, {unsolved} without a solution; \
         {cut} cut off with a gap; at most {most} nodes"
    );
    let enough = problems / 8;
    assert!(solved.iter().all(|count| *count >= enough), "{solved:?}");
    assert!(cut as u64 >= problems / 20, "{cut} were cut off");
}
