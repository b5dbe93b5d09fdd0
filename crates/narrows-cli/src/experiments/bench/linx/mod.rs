//! `bench t0` to `t6`: S4's test cases, with its definitions (sections 3.5 and 3.7.1.1), on a
//! simulated chip or on this machine: those of two cores between two processes, the others between
//! threads.

mod account;
mod at_once;
mod cases;
mod core;
pub mod flags;
mod handing;
pub mod host;
mod linked;
mod out;
mod page;
mod placement;
mod processes;
mod spread;

pub(crate) use measure::{Case, Row, Single, Trial, carry_out};

mod measure;

use narrows_sim::chip::Chip;

use crate::base::failure::{Failure, Kind};
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::table::{Align, Table, wrap};
use crate::experiments::bench::task::Asked;
use crate::formats::linx::{Counter, DriverName, Stack};
use flags::Linx;
use out::Out;

/// Bytes of the shortest frame that can be asked for.
const SHORTEST_FRAME: usize = 64;

/// Bytes of signals on a chip: their number, and what their connections take.
const SIGNALS: std::ops::RangeInclusive<usize> = 4..=core::LONGEST as usize;

/// Carries out what is asked for and prints it.
///
/// # Errors
/// It cannot be done on that chip, or the simulation gets stuck.
pub(super) fn run(asked: &Asked<'_>, name: &str, case: Case, args: &Linx) -> Result<(), Failure> {
    let drivers =
        if args.driver.is_empty() { DriverName::ALL.to_vec() } else { args.driver.clone() };
    let stacks =
        if args.stack.is_empty() { vec![Stack::Layered, Stack::Flat] } else { args.stack.clone() };
    let sizes = if asked.args.bytes.is_empty() { case.sizes() } else { asked.args.bytes.clone() };
    args.sensible(&stacks)?;
    let out = args.out.as_deref().map(Out::new).transpose()?;
    let Some(chip) = &asked.chip else {
        let rows = host::run(asked, args, case, &stacks, &sizes)?;
        return print(asked, name, case, &rows, out);
    };
    no_chip_has(args, &stacks, &sizes)?;
    caches(chip, case, args)?;
    let mut trials = Vec::new();
    for stack in &stacks {
        for driver in &drivers {
            for mtu in args.frames(Some(*driver)) {
                trials.extend(sizes.iter().map(|bytes| Trial {
                    case,
                    driver: *driver,
                    stack: *stack,
                    counter: args.counter,
                    bytes: *bytes,
                    mtu,
                    cached: args.cached,
                    stopped: args.handler_stopped,
                    rounds: asked.args.rounds.map(u32::from),
                    log: None,
                }));
            }
        }
    }
    let progress = Progress::new(trials.len() as u64, asked.global.json);
    let mut rows = Vec::new();
    for (done, trial) in trials.iter().enumerate() {
        progress.reach(done as u64);
        let of = format!("{} {}", trial.stack.name(), trial.driver.name());
        progress.say(&of);
        asked.global.monitor.of(of);
        rows.extend(carry_out(chip, trial, asked.monitor())?.rows(trial));
    }
    drop(progress);
    print(asked, name, case, &rows, out)
}

/// Refuses what no chip has.
fn no_chip_has(args: &Linx, stacks: &[Stack], sizes: &[usize]) -> Result<(), Failure> {
    let waits = args.counter.filter(|counter| *counter != Counter::Window);
    let text = if args.nodes.is_some() {
        "--nodes is for this machine: a chip has the cores that it has".to_owned()
    } else if let Some(counter) = waits.filter(|_| stacks.contains(&Stack::Flat)) {
        let name = counter.name();
        format!("--counter {name} is for --stack layered: flat, no frame waits for a receiver")
    } else if args.mtu.iter().any(|mtu| *mtu < SHORTEST_FRAME) {
        format!("--mtu is {SHORTEST_FRAME} bytes at least")
    } else if let Some(wrong) = sizes.iter().find(|size| !SIGNALS.contains(size)) {
        let (least, most) = (SIGNALS.start(), SIGNALS.end());
        format!(
            "a signal on a chip has {least} to {most} bytes, not {wrong}: choose another --bytes"
        )
    } else {
        return Ok(());
    };
    Err(Failure::new(Kind::Usage, text))
}

/// Refuses buffers between cores that are to be cached where no cache would keep them.
fn caches(chip: &Chip, case: Case, args: &Linx) -> Result<(), Failure> {
    if !args.cached {
        return Ok(());
    }
    let memory = chip.cores.first().and_then(|core| chip.memories.get(core.home));
    let flows = case.flows(chip.cores.len());
    let cores = flows.iter().map(|(from, to)| from.max(to) + 1).max().unwrap_or(0);
    let why = if memory.is_none_or(|memory| !memory.cached) {
        "the memory between its cores is not cached"
    } else if !chip.cores.iter().take(cores).any(|core| core.data.is_some()) {
        "its cores have no data cache"
    } else {
        return Ok(());
    };
    let text = format!("--cached does nothing on {}: {why}; leave it out", chip.name);
    Err(Failure::new(Kind::Usage, text))
}

fn print(
    asked: &Asked<'_>,
    name: &str,
    case: Case,
    rows: &[Row],
    out: Option<Out>,
) -> Result<(), Failure> {
    if let Some(out) = out {
        out.write(rows)?;
    }
    let machine = asked.machine();
    let (clock, round_trips) = match &asked.chip {
        Some(_) => ("Cycles of the core".to_owned(), String::new()),
        None => {
            let nanos = narrows_host::Host::nanos_per_tick();
            (format!("Cycles of the time-stamp counter, {nanos:.3} ns each"), round_trips(rows))
        }
    };
    let report = Report::new(&format!("bench {name}"), machine.clone(), rows.to_vec());
    asked.print(&report, || {
        let heading = machine.elsewhere().map(|on| on + "\n\n").unwrap_or_default();
        heading + &text(rows, &clock) + &round_trips
    })?;
    asked.page.write(|| page::page(name, case, &machine, rows, &clock))
}

fn text(rows: &[Row], clock: &str) -> String {
    let mut text = String::new();
    let mut frames: Vec<Option<usize>> = Vec::new();
    for row in rows {
        if !frames.contains(&row.mtu) {
            frames.push(row.mtu);
        }
    }
    // Rows of several need a table each: one more column has no room.
    let several = frames.iter().flatten().count() > 1;
    for stack in Stack::ALL.map(Stack::name) {
        let own: Vec<&Row> = rows.iter().filter(|row| row.stack == stack).collect();
        if !several && !own.is_empty() {
            text += &format!("{stack}\n\n{}\n", table(&own));
        }
        for mtu in frames.iter().filter(|_| several) {
            let own: Vec<&Row> = own.iter().copied().filter(|row| row.mtu == *mtu).collect();
            let frames = mtu.map_or("no mtu".to_owned(), |mtu| format!("mtu {mtu}"));
            if !own.is_empty() {
                text += &format!("{stack}, {frames}\n\n{}\n", table(&own));
            }
        }
    }
    text += &wrap(
        "",
        &format!(
            "{clock}: medians, and the worst latency; what the sending and the receiving core were \
             busy until the signal was received."
        ),
    );
    let totals: Vec<String> = rows
        .iter()
        .map(|row| {
            let mtu = row.mtu.filter(|_| several).map(|mtu| format!(", mtu {mtu}"));
            let line = format!(
                "{} {} {} {}>{} {} B{}: {:.0} cycles, {:.3} Mbit/s",
                row.driver,
                row.stack,
                row.signal,
                row.from,
                row.to,
                row.bytes,
                mtu.unwrap_or_default(),
                row.total_cycles,
                row.throughput_mbit_s
            );
            wrap("  ", &line)
        })
        .collect();
    text + "\nFrom the first send to the last receive:\n" + &totals.concat()
}

/// Round trips at once, beside those of the endpoint below; nothing where none were measured.
fn round_trips(rows: &[Row]) -> String {
    let measured: Vec<_> =
        rows.iter().filter_map(|row| Some((row, row.at_once.as_ref()?))).collect();
    if measured.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("round trips at once", Align::Left),
        ("bytes", Align::Right),
        ("ns", Align::Right),
        ("endpoint", Align::Right),
        ("ratio", Align::Right),
        ("bound", Align::Right),
        ("met", Align::Left),
    ]);
    for (row, at_once) in &measured {
        table.row(vec![
            row.stack.to_owned(),
            row.bytes.to_string(),
            format!("{:.0}", at_once.round_trip_ns),
            format!("{:.0}", at_once.endpoint_ns),
            format!("{:.2}", at_once.ratio),
            at_once.bound.map(|bound| format!("{bound:.2}")).unwrap_or_default(),
            at_once.met.map(|met| if met { "yes" } else { "no" }.to_owned()).unwrap_or_default(),
        ]);
    }
    let bounds = measured.iter().filter_map(|(_, at_once)| at_once.met);
    let (met, all) = (bounds.clone().filter(|met| *met).count(), bounds.count());
    let reading = match all {
        0 => String::new(),
        _ => format!("{met} of {all} bounds are met.\n"),
    };
    format!("\n{}{reading}", table.render())
}

fn table(rows: &[&Row]) -> String {
    let mut table = Table::new(&[
        ("driver", Align::Left),
        ("flow", Align::Left),
        ("bytes", Align::Right),
        ("latency", Align::Right),
        ("worst", Align::Right),
        ("blocks", Align::Right),
        ("sender", Align::Right),
        ("receiver", Align::Right),
    ]);
    for row in rows {
        table.row(vec![
            row.driver.to_owned(),
            format!("{} {}>{}", row.signal, row.from, row.to),
            row.bytes.to_string(),
            cycles(row.latency_cycles.median),
            cycles(row.latency_cycles.max),
            cycles(row.blocking_cycles.median),
            cycles(row.cpu_cycles.sender),
            cycles(row.cpu_cycles.receiver),
        ]);
    }
    table.render()
}

/// In at most six places.
fn cycles(value: f64) -> String {
    if value < 999_999.5 { format!("{value:.0}") } else { format!("{:.2}M", value / 1e6) }
}
