//! `bench limit`: everything that the other benches are divided by, on its own.

use narrows::strategy::Placement;

use crate::base::failure::{Failure, Kind as Failed};
use crate::base::report::BenchRow;
use crate::experiments::bench::task::{Asked, Measure, Needs, Section, Task, begin, make, rounds};
use crate::rig::limit::{Kind, Pace, SLOT_PAYLOAD};
use crate::rig::pair::Pair;
use crate::rig::place::Place;
use crate::rig::series::{NS, Series};

/// Rings of slots by hand.
const SLOTS: [Kind; 2] = [Kind::SlotRate, Kind::SlotRateFenced];
const BYTES: [usize; 4] = [64, 1024, 4096, 65536];
const ROUNDS: u16 = 31;
/// What an eventfd stands in for.
const DOORBELL: &str = "doorbell";

/// Measures every floor.
///
/// # Errors
/// The other side is gone.
pub(super) fn run(asked: &Asked<'_>) -> Result<Vec<Section>, Failure> {
    let host = asked.chip.is_none();
    let lines = [
        Kind::LineEachWay,
        Kind::LineReadOnly,
        Kind::LineThinking,
        Kind::ThinkingReadOnly,
        Kind::SharedLine,
    ];
    let mut floors: Vec<Floor> = lines
        .into_iter()
        .filter(|kind| host || !kind.is_of_hosts())
        .map(|kind| Floor { kind, bytes: 0, placement: Placement::External })
        .collect();
    // A machine has one kind of memory. A chip's may differ, and then the rows say which.
    let placements = match &asked.chip {
        None => vec![Placement::External],
        Some(_) => vec![Placement::Internal, Placement::External],
    };
    let copies = [Kind::Copy, Kind::CopyBothWays, Kind::CopyRate, Kind::CopyRateReadOnly];
    for kind in copies.into_iter().filter(|kind| host || !kind.is_of_hosts()) {
        for placement in &placements {
            let sizes = asked.sizes(*placement, &BYTES)?;
            let fits = sizes.into_iter().filter(|bytes| *bytes <= asked.longest(*placement));
            floors.extend(fits.map(|bytes| Floor { kind, bytes, placement: *placement }));
        }
    }
    let most = placements.iter().map(|placement| asked.longest(*placement)).max().unwrap_or(0);
    if let Some(bytes) = asked.args.bytes.iter().find(|bytes| **bytes > most) {
        let text = format!("no memory carries {bytes} bytes here, but up to {most}: name fewer");
        return Err(Failure::new(Failed::Usage, text));
    }
    let bells = [Kind::Eventfd, Kind::EventfdWatched, Kind::EventfdTicking];
    let last = SLOTS.into_iter().chain(bells);
    let last = last.filter(|kind| host || !kind.is_of_hosts());
    floors.extend(last.map(|kind| Floor { kind, bytes: 0, placement: Placement::External }));
    let longest = floors.iter().map(|floor| floor.bytes).max().unwrap_or(0);
    let needs = Needs { trials: &[], longest, steps: floors.len() + 1 };
    if asked.chip.is_some() {
        return make(asked, &needs, Floors { floors });
    }
    let mut task = begin(asked.global, asked.args, &needs)?;
    let unpaused = unpaused(&mut task.pair, usize::from(rounds(asked.args, ROUNDS)))?;
    task.step();
    let mut sections = Floors { floors }.measure(&mut task)?;
    if let Some(section) = sections.first_mut() {
        section.rows.splice(1..1, unpaused);
    }
    Ok(sections)
}

/// One floor.
#[derive(Clone, Copy)]
struct Floor {
    kind: Kind,
    bytes: usize,
    placement: Placement,
}

struct Floors {
    floors: Vec<Floor>,
}

impl Measure for Floors {
    fn measure<P: Place>(self, task: &mut Task<'_, P>) -> Result<Vec<Section>, Failure> {
        let chip = task.args.place.platform().is_some();
        // The other side leaves when its link ends that it has seen, and no limit needs it.
        task.pair.peer.cpu_time()?;
        let mut rows = Vec::new();
        for Floor { kind, bytes, placement } in self.floors {
            let name = match kind {
                Kind::Eventfd if chip => DOORBELL.to_owned(),
                _ if chip && kind.has_payload() => format!("{}, {placement}", kind.name()),
                _ => kind.name().to_owned(),
            };
            task.say(&name);
            let mut series = Series::default();
            for _ in 0..task.rounds(ROUNDS) {
                series.push_alone(task.pair.allowed(kind, bytes, placement)?);
            }
            let bytes = if SLOTS.contains(&kind) { SLOT_PAYLOAD } else { bytes };
            rows.extend(series.row(name, bytes, NS));
            task.step();
        }
        Ok(vec![Section { rows, ..Section::default() }])
    }
}

/// Two looks of a processor may have a pause between them or none; what is between those of a chip
/// is its platform's to say.
fn unpaused(pair: &mut Pair, rounds: usize) -> Result<Option<BenchRow>, Failure> {
    let mut series = Series::default();
    for _ in 0..rounds {
        series.push_alone(pair.floor_at(Pace::default(), Kind::LineEachWay, 0)?);
    }
    Ok(series.row(format!("{}, no pause", Kind::LineEachWay.name()), 0, NS))
}
