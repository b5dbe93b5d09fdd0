//! Batches of everything that is measured, in turns, each between two looks at how quick the
//! machine is just then.
//!
//! Virtual cores come and go between the cores of their machine, and a line takes several times as
//! long from one core to another as between two threads of one. A batch counts if both looks beside
//! it say that the machine was as it was for most of the time.

use crate::base::failure::{self, Failure};
use crate::base::statistics::{median, percentile, spread};
use crate::formats::functions;
use crate::rig::callee::streamed;
use crate::rig::limit::{Clock, Kind, Pace, Timer};
use crate::rig::pair::Pair;
use narrows::endpoint::{Failure as CallFailure, Sink, Source};
use narrows::memory::Layout;
use narrows::platform::Platform;
use narrows::strategy::{Placement, Strategy};
use narrows_host::{Host, stamp_cost};
use std::hint::black_box;

/// How the stack looks at words on a host, and publishes them.
const PACE: Pace = Pace { pauses: 2, fence: true };
/// How long a batch takes, about and at least, in nanoseconds.
const BATCH: f64 = 5e5;
/// How often each block has its turn in a batch: the first time it comes from further away.
const TURNS: u64 = 4;
/// Two speeds of the machine are told apart if one is this many times the other.
const APART: f64 = 1.7;
/// Bytes of the longest messages that are measured, at which copying in is told from copying out,
/// and of the requests of functions: with the response more than a first-level cache mostly has, as
/// is what the copy driver has a function work on.
pub(super) const LONG: usize = 60 << 10;
/// Requests of a batch.
const REQUESTS: usize = 32;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Item {
    /// What the machine does without the stack, with this many bytes.
    Limit(Kind, usize),
    /// Round trips of messages.
    Messages(Strategy, usize),
    /// Round trips of calls.
    Calls(Strategy, usize),
    /// A function of the library that answers in pieces, on four bytes in memory of this core's
    /// own.
    Function(&'static str),
    /// A look at the clock.
    Stamp,
}

/// A batch: its figure in nanoseconds, and what a line took before and after it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Batch {
    figure: f64,
    lines: [f64; 2],
}

/// The batches of every item.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    batches: Vec<(Item, Vec<Batch>)>,
}

/// What counts of an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    /// The median, in nanoseconds.
    pub ns: f64,
    /// The 90th percentile less the 10th.
    pub spread: f64,
    /// Of this many batches.
    pub batches: usize,
}

impl Samples {
    /// No batches of these items.
    pub fn new(items: impl IntoIterator<Item = Item>) -> Samples {
        Samples { batches: items.into_iter().map(|item| (item, Vec::new())).collect() }
    }

    /// Adds a batch of each.
    ///
    /// # Errors
    /// The other process is gone.
    pub fn round(&mut self, pair: &mut Pair) -> Result<(), Failure> {
        let line = |pair: &mut Pair| pair.floor_at(PACE, Kind::LineEachWay, 0);
        let mut before = line(pair)?;
        for (item, batches) in &mut self.batches {
            let figure = match *item {
                Item::Limit(kind, bytes) => pair.floor_at(PACE, kind, bytes)?,
                Item::Messages(strategy, bytes) => pair.messages(strategy, bytes, count(bytes))?,
                Item::Calls(strategy, bytes) => pair.calls(strategy, bytes, count(bytes))?,
                Item::Function(name) => function(name)?,
                Item::Stamp => stamp_cost(),
            };
            let after = line(pair)?;
            batches.push(Batch { figure, lines: [before, after] });
            before = after;
        }
        Ok(())
    }

    /// Leaves out the batches between which the machine was quicker or slower than mostly. How many
    /// there were of each kind: kept, and left out.
    pub fn settle(&mut self) -> (usize, usize) {
        let all = self.batches.iter().flat_map(|(_, batches)| batches);
        let mut lines: Vec<f64> = all.flat_map(|batch| batch.lines).collect();
        lines.sort_by(f64::total_cmp);
        let total = lines.len() / 2;
        let ends = percentile(&lines, 5).zip(percentile(&lines, 95));
        let Some((low, high)) = ends.filter(|(low, high)| *high > APART * low) else {
            return (total, 0);
        };
        let middle = (low * high).sqrt();
        let quick = lines.iter().filter(|line| **line < middle).count();
        let mostly_quick = 2 * quick > lines.len();
        for (_, batches) in &mut self.batches {
            let as_mostly =
                |batch: &Batch| batch.lines.iter().all(|line| (*line < middle) == mostly_quick);
            // A platform needs a figure of each; where the machine never held still, of whatever it
            // was.
            if batches.iter().any(as_mostly) {
                batches.retain(as_mostly);
            }
        }
        let kept = self.batches.iter().map(|(_, batches)| batches.len()).sum();
        (kept, total - kept)
    }

    /// What was measured of an item; none if there is no batch.
    pub fn figure(&self, item: Item) -> Option<Figure> {
        let (_, batches) = self.batches.iter().find(|(one, _)| *one == item)?;
        let mut all: Vec<f64> = batches.iter().map(|batch| batch.figure).collect();
        Some(Figure { ns: median(&mut all)?, spread: spread(&mut all)?, batches: all.len() })
    }
}

/// Round trips of a batch.
fn count(bytes: usize) -> u64 {
    let standard = Layout::standard(Host::LINE).ok();
    let blocks = standard.as_ref().and_then(|layout| {
        let all = layout.classes().iter().filter(|one| one.placement == Placement::External);
        let fits = all.filter(|one| one.size as usize >= bytes).min_by_key(|one| one.size);
        fits.map(|class| u64::from(class.count))
    });
    let long = (BATCH / (1000.0 + bytes as f64 / 2.0)) as u64;
    long.max(TURNS * blocks.unwrap_or_default()).max(1)
}

/// Runs a function on requests in memory of this core's own: nanoseconds for four bytes.
fn function(name: &str) -> Result<f64, Failure> {
    let refused = || {
        let text = format!("{name} cannot be measured: report this defect");
        Failure::new(failure::Kind::Internal, text)
    };
    let answer = functions::find(name).and_then(|entry| entry.stream).ok_or_else(refused)?;
    let request = Request((0..LONG).map(|at| (at * 7) as u8).collect());
    let mut room = Room(vec![0; 2 * LONG]);
    let timer = Clock::get();
    let mut times = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let start = timer.moment();
        let made = streamed(answer, black_box(&request), &mut room);
        times.push(timer.nanos(start, timer.moment()));
        black_box(&mut room);
        made.map_err(|_| refused())?;
    }
    Ok(median(&mut times).unwrap_or_default() * 4.0 / LONG as f64)
}

/// What a function is asked.
struct Request(Vec<u8>);

impl Source for Request {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn read(&self, at: usize, to: &mut [u8]) -> Result<(), CallFailure> {
        self.0.read(at, to)
    }
}

/// Where a function's response goes.
struct Room(Vec<u8>);

impl Sink for Room {
    fn capacity(&self) -> usize {
        self.0.len()
    }
    fn write(&mut self, at: usize, from: &[u8]) -> Result<(), CallFailure> {
        let room = at.checked_add(from.len()).and_then(|end| self.0.get_mut(at..end));
        room.ok_or(CallFailure::TooLong)?.copy_from_slice(from);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: Item = Item::Limit(Kind::Copy, 64);

    fn samples(batches: &[(f64, f64, f64)]) -> Samples {
        let batch =
            |&(figure, before, after): &(f64, f64, f64)| Batch { figure, lines: [before, after] };
        Samples { batches: vec![(ITEM, batches.iter().map(batch).collect())] }
    }

    #[test]
    fn batches_count_in_which_the_machine_was_as_it_mostly_is() {
        let mut all = vec![(10.0, 100.0, 110.0); 8];
        all.extend([(99.0, 100.0, 300.0), (99.0, 310.0, 300.0), (99.0, 300.0, 100.0)]);
        let mut some = samples(&all);
        assert_eq!(some.settle(), (8, 3));
        assert_eq!(some.figure(ITEM), Some(Figure { ns: 10.0, spread: 0.0, batches: 8 }));
        assert_eq!(some.figure(Item::Limit(Kind::Copy, 65)), None);
    }

    #[test]
    fn all_count_where_there_is_one_speed() {
        let mut some = samples(&[(10.0, 100.0, 110.0), (20.0, 120.0, 130.0), (30.0, 140.0, 150.0)]);
        assert_eq!(some.settle(), (3, 0));
        assert_eq!(some.figure(ITEM).map(|figure| figure.ns), Some(20.0));
        assert_eq!(Samples::new([ITEM]).settle(), (0, 0));
        assert_eq!(Samples::new([ITEM]).figure(ITEM), None);
    }

    #[test]
    fn an_item_without_a_batch_of_the_usual_speed_keeps_what_it_has() {
        let usual = |_| Batch { figure: 1.0, lines: [100.0, 100.0] };
        let mut some = Samples {
            batches: vec![
                (ITEM, (0..8).map(usual).collect()),
                (Item::Stamp, vec![Batch { figure: 9.0, lines: [300.0, 100.0] }]),
            ],
        };
        assert_eq!(some.settle(), (9, 0));
        assert_eq!(some.figure(Item::Stamp).map(|figure| figure.ns), Some(9.0));
    }

    #[test]
    fn batches_are_long_enough_for_every_block_to_come_again() {
        assert!(count(64) >= TURNS * 256 && count(1024) >= TURNS * 256);
        assert!(count(65536) >= TURNS * 40 && count(1 << 20) > 0);
    }
}
