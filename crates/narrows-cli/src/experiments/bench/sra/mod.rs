//! `bench sra`: S2's send, receive, acknowledge cycle between two tasks of processors without
//! shared memory, on a simulated board, or of processors of this machine. IPC time is half of what
//! the cycle takes more than on one processor (section 4).

pub mod cycle;
pub mod flags;
mod host;
mod table;

use crate::base::failure::{Failure, Kind};
use crate::base::options::HOST;
use crate::base::page::Page;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::table::wrap;
use crate::experiments::bench::task::Asked as Bench;
use crate::formats::platform;
use crate::rig::sim;
use cycle::{Asked, Held, cycle, held};
use flags::{Sra, Variant};
use narrows_sim::carrier::mtu;
use narrows_sim::chip::{Chip, DmaMode};
use serde::Serialize;
use table::Line;

/// Sizes of messages where nothing is said: S2's.
const SIZES: [usize; 3] = [24, 1024, 4092];
/// Frames of a transfer that can have several.
const FRAMES: u32 = 32;
/// The shortest message, in bytes: the task that it is for.
const HEAD: usize = 4;

/// One size of messages by one way to drive DMA.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// How DMA is driven.
    pub mode: &'static str,
    /// Bytes of the message and of its acknowledgement.
    pub bytes: usize,
    /// Transfers from task to task.
    pub hops: usize,
    /// One cycle.
    pub sra_us: f64,
    /// One cycle of two tasks of one processor.
    pub one_processor_us: f64,
    /// Half of what the one takes more than the other.
    pub ipc_us: f64,
    /// Bytes by IPC time.
    pub rate_mbyte_s: f64,
    /// For how long one message holds its sender.
    pub sender_held_us: f64,
    /// For how long it holds its receiver, whose receive call is in it.
    pub receiver_held_us: f64,
}

/// Measures one row.
///
/// # Errors
/// As [`cycle`].
pub fn row(chip: &Chip, asked: Asked<'_>) -> Result<Row, Failure> {
    let Asked { mode, bytes, hops, .. } = asked;
    let sra = cycle(chip, asked)?.micros();
    let one = cycle(chip, Asked { hops: 0, ..asked })?.micros();
    let Held { sender, receiver } = held(chip, asked)?;
    let ipc = (sra - one) / 2.0;
    Ok(Row {
        mode: mode.name(),
        bytes,
        hops,
        sra_us: sra,
        one_processor_us: one,
        ipc_us: ipc,
        rate_mbyte_s: bytes as f64 / ipc,
        sender_held_us: sender.micros(),
        receiver_held_us: receiver.micros(),
    })
}

/// The board with what it might have beside what it has.
pub fn with(mut chip: Chip, variant: Variant) -> Chip {
    let own: Vec<u32> = (0..chip.cores.len()).map(|core| chip.ports_of(core)).collect();
    let homes: Vec<usize> = chip.cores.iter().map(|core| core.home).collect();
    for dma in &mut chip.ports.dmas {
        match variant {
            Variant::Dedicated => dma.controllers = 2 * own[dma.core],
            Variant::OnChip => dma.messages = homes[dma.core],
            Variant::Frames => dma.frames = FRAMES,
            Variant::Interrupts => dma.interrupts = 2 * own[dma.core],
        }
    }
    chip
}

/// Measures and prints.
///
/// # Errors
/// The board has no ports, or not what is asked for.
pub(super) fn run(bench: &Bench<'_>, args: &Sra) -> Result<(), Failure> {
    let usage = |text: String| Failure::new(Kind::Usage, text);
    if args.on == HOST {
        return host::run(bench, args);
    }
    for (given, flag) in [
        (!args.shape.is_empty(), "--shape"),
        (args.rounds.rounds.is_some(), "--rounds"),
        (args.routes.is_some(), "--routes"),
    ] {
        if given {
            let why = match flag {
                "--rounds" => "virtual time is the same in each round",
                "--routes" => "a board's file has its own [[route]] tables",
                _ => "a board's file has its own ports",
            };
            return Err(usage(format!("{flag} is for --on host: {why}")));
        }
    }
    let chip = platform::load_any(&args.on)?;
    if chip.ports.ports.is_empty() {
        let text = format!("--on {}: it has no ports: name quatro67 or pci44", args.on);
        return Err(usage(text));
    }
    if args.hops >= chip.cores.len() {
        let most = chip.cores.len() - 1;
        return Err(usage(format!("--hops {}: {} has at most {most}", args.hops, args.on)));
    }
    let Some((net, last)) = cycle::way(&chip, args.hops) else {
        let text = format!(
            "--hops {}: by the routes of {} no processor is so many transfers from the first",
            args.hops, args.on
        );
        return Err(usage(text));
    };
    let way = net.way(0, last).unwrap_or_default();
    let way: Vec<String> = way.iter().map(|core| chip.cores[*core].name.clone()).collect();
    let chip = args.with.iter().fold(chip, |chip, variant| with(chip, *variant));
    let there: Vec<DmaMode> = chip.ports.service.iter().map(|(mode, _)| *mode).collect();
    let wanted: Vec<DmaMode> = args.mode.iter().map(|mode| mode.mode()).collect();
    if let Some(mode) = wanted.iter().find(|mode| !there.contains(mode)) {
        let text = format!("--mode {}: {} has no DMA that is driven so", mode.name(), args.on);
        return Err(usage(text));
    }
    let modes = if wanted.is_empty() { there } else { wanted };
    let sizes = &bench.args.bytes;
    let mut trials = Vec::new();
    for mode in modes {
        let most = mtu(&chip, 0, 0, mode);
        match sizes.iter().find(|bytes| **bytes > most || **bytes < HEAD) {
            Some(bytes) => {
                let name = mode.name();
                let text =
                    format!("--bytes {bytes}: --mode {name} has messages of {HEAD} to {most}");
                return Err(usage(text));
            }
            None if sizes.is_empty() => {
                trials.extend(SIZES.into_iter().filter(|one| *one <= most).map(|one| (mode, one)));
            }
            None => trials.extend(sizes.iter().map(|bytes| (mode, *bytes))),
        }
    }
    let progress = Progress::new(trials.len() as u64, bench.global.json);
    let mut rows = Vec::new();
    for (done, (mode, bytes)) in (0..).zip(trials) {
        progress.reach(done);
        bench.global.monitor.of(mode.name());
        let monitor = bench.monitor();
        rows.push(row(&chip, Asked { mode, bytes, hops: args.hops, monitor })?);
    }
    drop(progress);
    let mut report = Report::new("bench sra", sim::machine(&chip), rows);
    let with: Vec<String> = args.with.iter().map(|variant| variant.name()).collect();
    if !with.is_empty() {
        report.notes.push(format!("the board has also: {}", with.join(", ")));
    }
    if !chip.ports.routes.is_empty() {
        let first = &chip.cores[0].name;
        report.notes.push(format!("by the file's routes {first} sends over {}", way.join(", ")));
    }
    bench.print(&report, || text(&report))?;
    bench.page.write(|| page(&report))
}

fn page(report: &Report<Row>) -> Page {
    let fastest = report.results.iter().max_by(|a, b| a.rate_mbyte_s.total_cmp(&b.rate_mbyte_s));
    let headline = fastest.map_or_else(String::new, |row| {
        let Row { mode, bytes, rate_mbyte_s, .. } = row;
        format!("{mode} carries messages of {bytes} bytes at {rate_mbyte_s:.1} MB/s")
    });
    Page { headline, why: report.notes.join(". "), notes: Vec::new(), ..Page::of(report) }
}

fn text(report: &Report<Row>) -> String {
    let lines = report.results.iter().map(|row| Line {
        mode: row.mode,
        shape: None,
        bytes: row.bytes,
        hops: row.hops,
        sra_us: row.sra_us,
        spread_us: None,
        one_processor_us: row.one_processor_us,
        ipc_us: row.ipc_us,
        rate_mbyte_s: Some(row.rate_mbyte_s),
        sender_held_us: row.sender_held_us,
        receiver_held_us: row.receiver_held_us,
    });
    let table = table::render(&lines.collect::<Vec<_>>());
    let heading = report.machine.elsewhere().map(|on| on + "\n\n").unwrap_or_default();
    let legend = "µs: a cycle of send, receive and acknowledge, the same on one processor, and half \
                  of what the first takes more; for how long one message holds its sender and its \
                  receiver.";
    let notes: String = report.notes.iter().map(|note| wrap("", note)).collect();
    format!("{heading}{table}\n{}{notes}", wrap("", legend))
}

#[cfg(test)]
mod tests;
