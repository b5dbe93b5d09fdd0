//! `bench limit`: everything that the other benches are divided by, on its own.

use super::limit::{Kind, Pace};
use super::series::{NS, Series};
use super::{Needs, Section, begin, choice};
use crate::failure::Failure;
use crate::flags::{Bench, Global};

const BYTES: [usize; 4] = [64, 1024, 4096, 65536];
const ROUNDS: u16 = 31;

/// Measures every floor.
///
/// # Errors
/// The other process is gone.
pub fn run(global: &Global, args: &Bench) -> Result<Vec<Section>, Failure> {
    let bytes = choice::sizes(&args.bytes, &BYTES)?;
    let mut floors: Vec<(Kind, usize, Option<Pace>)> = vec![
        (Kind::LineEachWay, 0, None),
        (Kind::LineEachWay, 0, Some(Pace::default())),
        (Kind::LineThinking, 0, None),
        (Kind::SharedLine, 0, None),
    ];
    for kind in [Kind::Copy, Kind::CopyBothWays, Kind::CopyRate] {
        floors.extend(bytes.iter().map(|bytes| (kind, *bytes, None)));
    }
    floors.extend([(Kind::SlotRate, 0, None), (Kind::Eventfd, 0, None)]);
    let longest = bytes.iter().copied().max().unwrap_or(0);
    let needs = Needs { trials: &[], longest, steps: floors.len() };
    let mut task = begin(global, args, &needs)?;
    let mut rows = Vec::new();
    for (kind, bytes, pace) in floors {
        let name = match pace {
            None => kind.name().to_owned(),
            Some(_) => format!("{}, no pause", kind.name()),
        };
        task.say(&name);
        let mut series = Series::default();
        for _ in 0..task.rounds(ROUNDS) {
            series.push_alone(match pace {
                None => task.pair.floor(kind, bytes)?,
                Some(pace) => task.pair.floor_at(pace, kind, bytes)?,
            });
        }
        let bytes = if kind == Kind::SlotRate { super::limit::SLOT_PAYLOAD } else { bytes };
        rows.extend(series.row(name, bytes, NS));
        task.step();
    }
    Ok(vec![Section { rows, ..Section::default() }])
}
