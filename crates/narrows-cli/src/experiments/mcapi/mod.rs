//! Programs written to MCAPI on a simulated chip.
//!
//! Each is the process of a core: its `main` runs on a stack of that process, and what it calls
//! finds the nodes of whichever process runs. The C functions are those of the library, over the
//! simulated platform.

mod counted;
pub mod flags;
mod program;
#[cfg(test)]
mod random;
mod row;
#[cfg(test)]
mod tests;

use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::base::output;
use crate::base::report::Report;
use crate::formats::platform;
use crate::rig::mcapi::home;
use crate::rig::sim;
use flags::{Mcapi, Placed, Taken};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::cpu::cluster::Mechanism;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;
use program::Program;
use row::{Ran, Row};
use std::cell::{Cell, RefCell};

/// How urgent programs are.
const PRIORITY: u32 = 1;
/// Bytes of a program's stack.
pub(crate) const STACK: usize = 8 << 20;

/// Runs programs on a chip, and says how they fared.
///
/// # Errors
/// What is asked for cannot be; [`Kind::Stuck`]; [`Kind::Peer`] if a program returned another
/// number than 0.
pub fn run(global: &Global, args: &Mcapi) -> Result<(), Failure> {
    let chip = platform::load_any(&args.on)?;
    let chip = if is_framed(&chip) { chip } else { platform::linked(chip)? };
    check(&chip, args)?;
    let mechanisms: Vec<Option<Mechanism>> = match (args.mechanism, is_framed(&chip)) {
        (Some(one), _) => vec![Some(one)],
        (None, true) => Mechanism::ALL.map(Some).to_vec(),
        (None, false) => vec![None],
    };
    let mut all = Vec::new();
    for mechanism in mechanisms {
        if let Some(mechanism) = mechanism.filter(|_| !global.json) {
            output::print(format!("Over {}:\n", row::over(mechanism)).as_bytes())?;
        }
        let ran = simulate(&chip, args, (mechanism, global.json))?;
        if mechanism.is_some() && !global.json {
            output::print(b"\n")?;
        }
        all.push(ran);
    }
    let machine = sim::machine(&chip);
    if global.json {
        let rows: Vec<Row> = all.iter().flat_map(row::rows).collect();
        Report::new("mcapi", machine, rows).print()?;
    } else {
        let heading = machine.elsewhere().map(|on| on + "\n\n").unwrap_or_default();
        output::print((heading + &row::text(&all)).as_bytes())?;
    }
    match all.iter().flat_map(|ran| &ran.programs).find(|one| one.returned != 0) {
        None => Ok(()),
        Some(row::Program { program, core, returned, .. }) => {
            let text = format!("the program {program} on core {core} returned {returned}");
            Err(Failure::new(Kind::Peer, text))
        }
    }
}

/// Whether frames carry the links of a chip: it has clusters, and no links of the stack.
fn is_framed(chip: &Chip) -> bool {
    chip.clusters.is_some() && !chip.is_linked()
}

/// Sees whether programs can be placed so.
fn check(chip: &Chip, args: &Mcapi) -> Result<(), Failure> {
    let usage = |text: String| Err(Failure::new(Kind::Usage, text));
    let (count, name) = (chip.cores.len(), &chip.name);
    let mut cores: Vec<usize> = args.programs.iter().map(|placed| placed.core).collect();
    cores.sort_unstable();
    if let Some(core) = cores.iter().find(|core| **core >= count) {
        return usage(format!("there is no core {core}: {name} has {count}, numbered from 0"));
    }
    let twice = cores.iter().zip(cores.iter().skip(1)).find(|(one, next)| one == next);
    match (twice, is_framed(chip)) {
        (Some((core, _)), true) => usage(format!(
            "core {core} has two programs: on the clusters of {name} a core runs one, as its \
             events are one program's"
        )),
        (_, false) if args.mechanism.is_some() => usage(format!(
            "{name} has no clusters, and so no --mechanism: leave it out, or name such a chip"
        )),
        _ => Ok(()),
    }
}

/// Runs programs until all have ended. What they print goes to standard error if `aside`.
fn simulate(
    chip: &Chip,
    Mcapi { programs, cost, .. }: &Mcapi,
    (mechanism, aside): (Option<Mechanism>, bool),
) -> Result<Ran, Failure> {
    let chip = home::linked(chip).ok_or_else(|| defect("links of MCAPI have no layout"))?;
    let copies = tempfile::tempdir()
        .map_err(|error| Failure::new(Kind::Output, format!("cannot copy programs: {error}")))?;
    let mut loaded = Vec::new();
    for (number, placed) in programs.iter().enumerate() {
        let program = Program::load(placed, cost, copies.path(), number)?;
        loaded.push((placed, program, Cell::new(None)));
    }
    let has = |function: &str| {
        loaded
            .iter()
            .any(|(_, program, _)| program.counted.iter().any(|one| one.function == function))
    };
    if let Some(Taken { function, .. }) = cost.iter().find(|one| !has(&one.function)) {
        let text = format!("no program has a function {function}, which --cost names");
        return Err(Failure::new(Kind::Input, text));
    }
    let watched: RefCell<Option<Cpu>> = RefCell::default();
    let mut simulation = Simulation::new(&chip, Settings::default());
    if let Some(mechanism) = mechanism {
        simulation.carry_by(mechanism);
    }
    for (placed, program, ended) in &loaded {
        let on_core = |other: &&Placed| other.core == placed.core;
        let shares = programs.iter().filter(on_core).count() > 1;
        let name = placed.file.display().to_string();
        let watched = &watched;
        simulation.foreign(placed.core, &name, PRIORITY, STACK, move |cpu| {
            let returned = program.run(&cpu, shares);
            ended.set(Some((returned, cpu.time())));
            watched.replace(Some(cpu));
        });
    }
    let ran = program::printing(aside, || simulation.run());
    home::forget();
    ran?.map_err(|stuck| Failure::new(Kind::Stuck, stuck.to_string()))?;
    let row = |(placed, program, ended): &(&Placed, Program, Cell<Option<(i32, Time)>>)| {
        let (returned, time) = ended.get().ok_or_else(|| defect("a program has not ended"))?;
        let functions: Vec<_> = program.counted.iter().map(row::Function::of).collect();
        Ok(row::Program {
            core: placed.core,
            program: placed.file.display().to_string(),
            arguments: placed.arguments.clone(),
            returned,
            ended_ms: time.as_nanos() as f64 / 1e6,
            computed_ms: functions.iter().map(|one| one.computed_ms).sum(),
            functions,
        })
    };
    let cpu = watched.take();
    Ok(Ran {
        mechanism,
        programs: loaded.iter().map(row).collect::<Result<_, _>>()?,
        network_bytes: cpu.as_ref().map_or(0, Cpu::network_bytes),
        signalled: cpu.map(|cpu| cpu.take_signalled()).unwrap_or_default(),
    })
}

fn defect(what: &str) -> Failure {
    Failure::new(Kind::Internal, format!("{what}: report this defect"))
}
