//! `bench tune`: what choosing takes.

use std::time::Instant;

use narrows_tune::optimise::{Blocks, Choice, Deadlines, Dsp, Group, Problem};
use narrows_tune::rooms::SearchRooms;

use crate::base::failure::{Failure, Kind};
use crate::base::progress::Progress;
use crate::base::report::Bound;
use crate::experiments::bench::task::{Asked, Section, rounds};
use crate::rig::series::Series;

/// Problems of a row, if no other number is asked for.
const ROUNDS: u16 = 101;
/// Time of a problem that is too short to be timed alone is that of this many solutions.
const TIMES: u32 = 8;

/// Problems of one size.
struct Size {
    flows: u16,
    choices: u16,
    /// Flows of a kind.
    alike: u16,
    dsps: usize,
    /// Nodes that a search may visit.
    limit: u32,
    /// What the median time may be at most, in microseconds.
    most: Option<f64>,
}

const SIZES: [Size; 6] = [
    Size { flows: 6, choices: 16, alike: 1, dsps: 1, limit: u32::MAX, most: Some(20.0) },
    Size { flows: 16, choices: 28, alike: 1, dsps: 1, limit: u32::MAX, most: Some(500.0) },
    Size { flows: 8, choices: 16, alike: 1, dsps: 2, limit: 1_000_000, most: None },
    Size { flows: 16, choices: 16, alike: 1, dsps: 2, limit: 1_000_000, most: None },
    Size { flows: 1000, choices: 16, alike: 50, dsps: 1, limit: 1000, most: Some(20_000.0) },
    Size { flows: 1000, choices: 16, alike: 1, dsps: 1, limit: 100, most: Some(20_000.0) },
];
/// What may be left of a search that ends at its limit, in percent of what it found.
const GAP: f64 = 1.0;

/// Choices as the model makes them: what takes more memory costs less, mostly.
pub(super) struct Drawn {
    groups: Vec<Group>,
    choices: Vec<Choice>,
    dsps: Vec<Dsp>,
}

impl Drawn {
    fn new(size: &Size, seed: u64) -> Drawn {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut groups, mut choices) = (Vec::new(), Vec::new());
        let (mut memory, mut work) = (0, 0);
        for _ in 0..size.flows / size.alike {
            let first = choices.len() as u32;
            let group = Group { first, choices: size.choices, flows: size.alike, dsp: None };
            groups.push(group);
            let (most, bytes) = (random.u32(2_000..60_000), random.u32(200..20_000));
            let takes = random.u32(100..1_000_000 / u32::from(size.flows));
            for _ in 0..size.choices {
                let memory = if random.u8(..4) == 0 { 0 } else { random.u32(1..bytes) };
                let saved = u64::from(most) * u64::from(memory) / u64::from(2 * bytes);
                let cost = most - saved as u32 + random.u32(..most / 2);
                choices.push(Choice { cost, memory, work: takes, load: cost });
            }
            memory += u64::from(bytes) * u64::from(size.alike);
            work += takes * u32::from(size.alike);
        }
        let each = size.dsps as u64;
        let memory = memory * random.u64(10..60) / 100 / each;
        let memory = u32::try_from(memory).unwrap_or(u32::MAX);
        let dsp = Dsp { memory, work: (u64::from(work) * 3 / 2 / each) as u32 };
        Drawn { groups, choices, dsps: vec![dsp; size.dsps] }
    }

    fn problem(&self) -> Problem<'_> {
        let Drawn { groups, choices, dsps } = self;
        let (blocks, deadlines) = (Blocks::default(), Deadlines::default());
        Problem { groups, choices, dsps, load: u64::MAX, blocks, deadlines }
    }
}

/// Solves problems of each size.
///
/// # Errors
/// [`Kind::Internal`] if the optimiser refuses one of them.
pub(super) fn run(asked: &Asked<'_>) -> Result<Vec<Section>, Failure> {
    let rounds = rounds(asked.args, ROUNDS);
    let progress = Progress::new(SIZES.len() as u64 * u64::from(rounds), asked.global.json);
    let (mut rows, mut done) = (Vec::new(), 0);
    for size in &SIZES {
        let mut times = Series::bound(size.most.map(Bound::Most));
        let limited = size.limit < u32::MAX;
        let mut gaps = Series::bound(Bound::Most(GAP));
        for round in 0..rounds {
            let (micros, gap) = time(size, u64::from(round))?;
            times.push_alone(micros);
            gaps.push_alone(gap);
            done += 1;
            progress.reach(done);
        }
        let kinds = match size.alike {
            1 => String::new(),
            alike => format!(", {} kinds", size.flows / alike),
        };
        let dsps = if size.dsps > 1 { format!(", {} DSPs", size.dsps) } else { String::new() };
        let name = format!("{} x {}{kinds}{dsps}", size.flows, size.choices);
        rows.extend(times.row(name.clone(), 0, "us"));
        rows.extend(limited.then(|| gaps.row(format!("{name}: gap"), 0, "%")).flatten());
    }
    let notes = vec![
        "So many flows by so many choices of each; a gap is by how much something could \
         be cheaper at most where the search ended at its limit."
            .to_owned(),
    ];
    Ok(vec![Section { rows, notes, ..Section::default() }.judged()])
}

/// Solves one: microseconds, and the gap in percent.
fn time(size: &Size, seed: u64) -> Result<(f64, f64), Failure> {
    let drawn = Drawn::new(size, seed);
    let problem = drawn.problem();
    let mut rooms = SearchRooms::default();
    rooms.fit(&problem);
    let refused = |why| {
        let text = format!("the optimiser refuses problem {seed}: {why}: report this defect");
        Failure::new(Kind::Internal, text)
    };
    let mut found = rooms.solve(&problem, size.limit).map_err(refused)?;
    let start = Instant::now();
    for _ in 0..TIMES {
        found = std::hint::black_box(rooms.solve(&problem, size.limit)).map_err(refused)?;
    }
    let micros = start.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES);
    Ok((micros, found.gap() as f64 / 1e4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_solutions_that_keep_to_the_gap() {
        for size in &SIZES {
            let size = Size { limit: size.limit.min(20_000), ..*size };
            let drawn = Drawn::new(&size, 1);
            let mut rooms = SearchRooms::default();
            rooms.fit(&drawn.problem());
            let found = rooms.solve(&drawn.problem(), size.limit).unwrap();
            assert!(found.gap() <= 10_000, "{} flows: {found:?}", size.flows);
            assert_eq!(rooms.picks.len(), usize::from(size.flows));
        }
    }
}
