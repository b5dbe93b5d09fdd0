//! Measuring the stack beside what the machine itself allows.
//!
//! Two processes, each pinned to its core, do everything: a *round* is a batch of the
//! [limit](crate::rig::limit) and a batch of each thing measured, in turns, so that what disturbs
//! one disturbs the other. A row is the median of all rounds, and its ratio the median of the
//! rounds' own ratios.
//!
//! On a simulated chip both sides are processes of one simulation, and a batch of the limit is one
//! of its own.

pub mod advise;
pub mod against;
pub mod args;
mod bounds;
pub mod choice;
mod clients;
pub mod clusters;
pub mod flags;
mod floors;
pub mod grid;
mod idle;
pub(crate) mod linx;
pub mod mcapi;
mod page;
mod phases;
mod pingpong;
mod scaling;
mod simulator;
mod sizes;
mod soak;
mod spans;
pub(crate) mod sra;
mod storm;
pub mod susan;
mod task;
mod throughput;
pub mod traffic;
mod tune;

use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::base::page::PageOut;
use crate::base::report::{Report, bench_text};
use crate::base::trace::{traced, traced_here};
use flags::{Bench, Which};
use linx::Case;
use task::{Asked, Section};

/// Measures what is asked for and prints it.
///
/// # Errors
/// What is asked for cannot be, the machine refuses it, or the other process is gone.
pub fn run(global: &Global, args: &Bench) -> Result<(), Failure> {
    if args.details && global.json {
        let text = "--details says nothing to --json, which has all: leave one out";
        return Err(Failure::new(Kind::Usage, text));
    }
    if args.which.is_here() {
        traced_here(&args.trace)?;
        return measure(global, args);
    }
    traced(global, &args.trace, |global| measure(global, args))
}

fn measure(global: &Global, args: &Bench) -> Result<(), Failure> {
    let Bench { which, page, details, .. } = args;
    let details = *details;
    let common = which.common();
    if let Some(chip) = clusters::named(which, &common.place)? {
        let page = PageOut::new(page)?;
        let asked = Asked { global, args: &common, chip: None, page, details };
        return clusters::run(&asked, which, &chip);
    }
    let chip = match which {
        Which::Tune(_) | Which::Advise(_) | Which::Grid(_) | Which::Susan(_) => None,
        _ => common.place.chip()?,
    };
    let asked = Asked { global, args: &common, chip, page: PageOut::new(page)?, details };
    let sections = match which {
        Which::Limit(_) => floors::run(&asked)?,
        Which::Bounds(_) => bounds::run(&asked)?,
        Which::Pingpong(_) => pingpong::run(&asked)?,
        Which::Throughput(_) => throughput::run(&asked)?,
        Which::Phases(_) => phases::run(&asked)?,
        Which::Sizes(_) => sizes::run(&asked)?,
        Which::Storm(args) => return storm::run(&asked, args),
        Which::Soak(args) => return soak::run(&asked, args),
        Which::Sim(args) => return simulator::run(&asked, args.systemc.as_deref()),
        Which::Scaling(_) => scaling::run(&asked)?,
        Which::Clients(args) => clients::run(&asked, args)?,
        Which::Mcapi(_) => mcapi::run(&asked)?,
        Which::Tune(args) => {
            against::sensible(&asked, &args.against)?;
            match args.against.against {
                Some(_) => return against::run(&asked, &args.against),
                None => tune::run(&asked)?,
            }
        }
        Which::Advise(args) => return advise::run(&asked, args),
        Which::Grid(args) => return grid::run(&asked, args),
        Which::Sra(args) => return sra::run(&asked, args),
        Which::Susan(args) => return susan::run(&asked, args),
        Which::T0(args) => return linx::run(&asked, which.name(), Case::Latency, args),
        Which::T1(args) => return linx::run(&asked, which.name(), Case::Interference, args),
        Which::T2(args) => return linx::run(&asked, which.name(), Case::Burst, &args.linx()),
        Which::T3(args) => return linx::run(&asked, which.name(), Case::Throughput, args),
        Which::T4(args) => return linx::run(&asked, which.name(), Case::Pairs, &args.linx()),
        Which::T5(args) => return linx::run(&asked, which.name(), Case::OneAsks, &args.linx()),
        Which::T6(args) => return linx::run(&asked, which.name(), Case::AllAsk, &args.linx()),
    };
    let machine = asked.machine();
    let notes = sections.iter().flat_map(|section| section.notes.clone()).collect();
    let rows = sections.iter().flat_map(|section| section.rows.clone()).collect();
    let report = Report::new(&format!("bench {}", which.name()), machine.clone(), rows);
    asked.print(&Report { notes, ..report }, || {
        let heading = machine.elsewhere().map(|on| on + "\n\n").unwrap_or_default();
        heading + &text(&sections)
    })?;
    asked.page.write(|| page::page(which.name(), &machine, &sections))
}

/// What the figures say, each under its heading, and then the tables they are taken from.
fn text(sections: &[Section]) -> String {
    let wrapped = |indent: &str, text: &str| crate::base::table::wrap(indent, text);
    let readings = sections.iter().filter(|section| !section.reading.is_empty()).map(|section| {
        let said = [&section.reading].into_iter().chain(&section.notes);
        said.fold(wrapped("", &section.heading), |text, said| text + &wrapped("  ", said))
    });
    let readings: String = readings.collect();
    let tables = sections.iter().map(|section| {
        let heading = match section.heading.as_str() {
            "" => String::new(),
            heading => wrapped("", heading),
        };
        heading + &bench_text(&section.rows)
    });
    Some(readings)
        .filter(|r| !r.is_empty())
        .into_iter()
        .chain(tables)
        .collect::<Vec<_>>()
        .join("\n")
}
