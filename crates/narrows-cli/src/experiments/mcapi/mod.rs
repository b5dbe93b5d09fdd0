//! Programs written to MCAPI on a simulated chip.
//!
//! Each is the process of a core: its `main` runs on a stack of that process, and what it calls
//! finds the nodes of whichever process runs. The C functions are those of the library, over the
//! simulated platform.

pub mod flags;
mod program;

use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::base::output;
use crate::base::report::Report;
use crate::base::table::{Align, Table, number, wrap};
use crate::formats::platform;
use crate::rig::mcapi::home;
use crate::rig::sim;
use flags::{Mcapi, Placed};
use narrows_sim::chip::Chip;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;
use program::Program;
use serde::Serialize;
use std::cell::Cell;

/// How urgent programs are.
const PRIORITY: u32 = 1;
/// Bytes of a program's stack.
pub(crate) const STACK: usize = 8 << 20;

/// How a program fared.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    core: usize,
    program: String,
    arguments: Vec<String>,
    returned: i32,
    ended_ms: f64,
}

/// Runs programs on a chip, and says how they fared.
///
/// # Errors
/// What is asked for cannot be; [`Kind::Stuck`]; [`Kind::Peer`] if a program returned another
/// number than 0.
pub fn run(global: &Global, args: &Mcapi) -> Result<(), Failure> {
    let chip = platform::load(&args.on)?;
    let rows = simulate(&chip, &args.programs, global.json)?;
    let machine = sim::machine(&chip);
    if global.json {
        Report::new("mcapi", machine, rows.clone()).print()?;
    } else {
        let heading = machine.elsewhere().map(|on| on + "\n\n").unwrap_or_default();
        output::print((heading + &text(&rows)).as_bytes())?;
    }
    match rows.iter().find(|row| row.returned != 0) {
        None => Ok(()),
        Some(Row { program, core, returned, .. }) => {
            let text = format!("the program {program} on core {core} returned {returned}");
            Err(Failure::new(Kind::Peer, text))
        }
    }
}

/// Runs programs until all have ended. What they print goes to standard error if `aside`.
fn simulate(chip: &Chip, programs: &[Placed], aside: bool) -> Result<Vec<Row>, Failure> {
    let count = chip.cores.len();
    if let Some(placed) = programs.iter().find(|placed| placed.core >= count) {
        let (core, name) = (placed.core, &chip.name);
        let text = format!("there is no core {core}: {name} has {count}, numbered from 0");
        return Err(Failure::new(Kind::Usage, text));
    }
    let chip = home::linked(chip).ok_or_else(|| defect("links of MCAPI have no layout"))?;
    let copies = tempfile::tempdir()
        .map_err(|error| Failure::new(Kind::Output, format!("cannot copy programs: {error}")))?;
    let mut loaded = Vec::new();
    for (number, placed) in programs.iter().enumerate() {
        loaded.push((placed, Program::load(placed, copies.path(), number)?, Cell::new(None)));
    }
    let mut simulation = Simulation::new(&chip, Settings::default());
    for (placed, program, ended) in &loaded {
        let on_core = |other: &&Placed| other.core == placed.core;
        let shares = programs.iter().filter(on_core).count() > 1;
        let name = placed.file.display().to_string();
        simulation.foreign(placed.core, &name, PRIORITY, STACK, move |cpu| {
            let returned = program.run(&cpu, shares);
            ended.set(Some((returned, cpu.time())));
        });
    }
    let ran = program::printing(aside, || simulation.run());
    home::forget();
    ran?.map_err(|stuck| Failure::new(Kind::Stuck, stuck.to_string()))?;
    let row = |(placed, _, ended): &(&Placed, Program, Cell<Option<(i32, Time)>>)| {
        let (returned, time) = ended.get().ok_or_else(|| defect("a program has not ended"))?;
        Ok(Row {
            core: placed.core,
            program: placed.file.display().to_string(),
            arguments: placed.arguments.clone(),
            returned,
            ended_ms: time.as_nanos() as f64 / 1e6,
        })
    };
    loaded.iter().map(row).collect()
}

fn text(rows: &[Row]) -> String {
    let last = rows.iter().map(|row| row.ended_ms).fold(0.0, f64::max);
    let well = rows.iter().filter(|row| row.returned == 0).count();
    let summary = format!("{well} of {} programs ended well, after {last:.3} ms.", rows.len());
    let columns = [
        ("program", Align::Left),
        ("core", Align::Right),
        ("returned", Align::Right),
        ("ended at ms", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for row in rows {
        let words = [&row.program].into_iter().chain(&row.arguments).cloned();
        let words = words.collect::<Vec<_>>().join(" ");
        let (core, returned) = (row.core.to_string(), row.returned.to_string());
        table.row(vec![words, core, returned, number(row.ended_ms)]);
    }
    wrap("", &summary) + "\n" + &table.render()
}

fn defect(what: &str) -> Failure {
    Failure::new(Kind::Internal, format!("{what}: report this defect"))
}
