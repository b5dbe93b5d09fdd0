//! `bench grid`: what `auto` takes beside the best static strategies, over a grid of chips, budgets
//! of internal memory, copy engines and sessions, in the simulator.

mod carry;
mod fixed;
pub mod flags;
mod row;
mod scenes;
mod traffic;

use crate::base::failure::Failure;
use crate::base::options::Global;
use crate::base::page::Page;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::threads;
use crate::experiments::bench::against::simulated;
use crate::experiments::bench::task::Asked;
use crate::experiments::run::Setup;
use crate::formats::platform;
use crate::formats::workload::Workload;
use crate::rig::costs::machine::{Measured, measured};
use crate::rig::plan::Machine;
use crate::rig::{costs, sim};
use fixed::Tries;
use flags::Grid;
use narrows_sim::chip::Chip;
use narrows_tune::model::WHOLE;
use row::GridRow;
use std::time::Duration;
use traffic::Traffic;

/// The chips whose cores share memory and that sessions can be carried on.
pub(super) const CHIPS: [&str; 8] = [
    "davinci",
    "generic-amp",
    "nios2-dual",
    "nios2-quad",
    "am62p",
    "am64x",
    "imxrt1170",
    "stm32h747",
];
/// Budgets of internal memory, beside all that there is.
const BUDGETS: [u32; 3] = [1 << 10, 4 << 10, 16 << 10];
/// Sessions of audio and of video.
const SESSIONS: [[u32; 2]; 11] =
    [[1, 0], [2, 0], [3, 0], [0, 1], [0, 2], [0, 3], [1, 1], [2, 1], [1, 2], [2, 2], [3, 3]];
/// How long a trial of static strategies is, and how long the best of them and `auto` are carried:
/// so long that what is learnt at first takes a small part of it.
const SPANS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(60)];

/// A part of the grid that a minute is enough for.
const SHORT_BUDGETS: [u32; 1] = [1 << 10];
const SHORT_SESSIONS: [[u32; 2]; 4] = [[1, 0], [2, 0], [0, 2], [2, 2]];
const SHORT_SPANS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(20)];

/// Scenes in which a static choice that takes less than `auto` has to be in time.
const SCENES: u64 = 1000;
const SHORT_SCENES: u64 = 100;

/// Carries everything and prints.
///
/// # Errors
/// A chip that cannot be simulated.
pub(super) fn run(asked: &Asked<'_>, args: &Grid) -> Result<(), Failure> {
    let global = asked.global;
    let names = match args.place.platform() {
        Some(name) => vec![name],
        None if args.short => vec![CHIPS[0]],
        None => CHIPS.to_vec(),
    };
    let sessions = if args.short { &SHORT_SESSIONS[..] } else { &SESSIONS };
    let traffics: Vec<Traffic> = sessions
        .iter()
        .flat_map(|sessions| {
            [false, true].map(|staggered| Traffic { sessions: *sessions, staggered })
        })
        // A single session begins with itself.
        .filter(|one| !one.staggered || one.sessions.iter().sum::<u32>() > 1)
        .collect();
    let progress = Progress::new((names.len() * traffics.len()) as u64, global.json);
    let mut rows = Vec::new();
    for (number, name) in names.iter().enumerate() {
        progress.say(&format!("measuring {name}"));
        let chip = platform::load(name)?.with_free_timers();
        global.monitor.of(&chip.name);
        let made = measured(global, Some(&chip), costs::LONG)?;
        let machines = machines(&made, args.short)?;
        if number == 0 {
            progress.expect((names.len() * traffics.len() * machines.len()) as u64);
        }
        for traffic in &traffics {
            rows.extend(cells((global, &chip), &machines, *traffic, (args.short, &progress))?);
        }
    }
    drop(progress);
    let mut report = Report::new("bench grid", simulated::machine(&names), rows);
    report.notes = row::notes(&report.results);
    asked.print(&report, || row::text(&report.results, &report.notes))?;
    asked.page.write(|| Page::of(&report))
}

/// A chip with each budget of internal memory, with its copy engine and without.
fn machines(measured: &Measured, short: bool) -> Result<Vec<Machine>, Failure> {
    let budgets = if short { &SHORT_BUDGETS[..] } else { &BUDGETS };
    let most = measured.machine()?.memory;
    let less = budgets.iter().copied().filter(|budget| *budget < most);
    let engines = [true, false].into_iter().filter(|engine| !engine || measured.engine);
    let all = less.chain([most]).flat_map(|budget| engines.clone().map(move |one| (budget, one)));
    all.map(|(budget, engine)| {
        Ok(Machine { engine, ..measured.within(Some(budget), 1, WHOLE.into())? })
    })
    .collect()
}

/// The same traffic on each machine.
fn cells(
    on: (&Global, &Chip),
    machines: &[Machine],
    traffic: Traffic,
    (short, progress): (bool, &Progress),
) -> Result<Vec<GridRow>, Failure> {
    let (global, chip) = on;
    let (spans, count) = if short { (SHORT_SPANS, SHORT_SCENES) } else { (SPANS, SCENES) };
    let [audio, video] = traffic.sessions;
    progress.say(&format!("{}: {audio} of audio, {video} of video", chip.name));
    let workload = traffic.workload(None, spans[1])?;
    let callee = sim::cores(global, chip)?.callee;
    let autos = threads::each(machines, |machine| {
        let setup = Setup::of(machine, &workload, Some((chip, callee)))?;
        carry::auto(on, &workload, &setup)
    });
    let mut tries = Tries::new(on, traffic, spans)?;
    let mut rows = Vec::new();
    for (machine, auto) in machines.iter().zip(autos) {
        let auto = auto?;
        let of = |tries: &mut Tries<'_>| {
            let best = tries.best(machine)?;
            let row = GridRow::new(&chip.name, machine, traffic, &auto, best.as_ref());
            Ok::<_, Failure>((best.map(|(pair, _)| pair), row))
        };
        let (mut best, mut row) = of(&mut tries)?;
        let carry = |workload: Workload| {
            let setup = Setup::of(machine, &workload, Some((chip, callee)))?;
            carry::auto(on, &workload, &setup)
        };
        // What takes less has to keep the same deadlines wherever `auto` does.
        while let Some(pair) = best.filter(|_| auto.holds() && !row.no_worse) {
            if let Some(mean) = tries.mean(pair, count)? {
                row.in_scenes(scenes::mean(traffic, spans[1], carry)?, mean);
                break;
            }
            (best, row) = of(&mut tries)?;
        }
        (row.tried, row.late_in_scenes) = (tries.tried(), tries.late(machine, auto.load));
        if row.late_in_scenes > 0 && !scenes::keeps(traffic, count, carry)? {
            row.has_failed_in_scenes();
        }
        rows.push(row);
        progress.step();
    }
    Ok(rows)
}
