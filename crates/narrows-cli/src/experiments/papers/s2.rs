//! S2: message passing between DSPs under MQX. The chips are `platforms/quatro67.toml` and
//! `platforms/pci44.toml`; here is what was run on them.

use super::row::Found;
use super::s0::Run;
use crate::base::failure::Failure;
use crate::experiments::bench::sra::cycle::{Asked, Held, cycle, held};
use crate::experiments::bench::sra::flags::Variant;
use crate::experiments::bench::sra::{Row, row, with};
use crate::formats::platform;
use narrows_sim::chip::{Chip, DmaMode};
use narrows_sim::rtos::Call;
use narrows_sim::time::{Cost, Time};

/// The experiments, by their names.
pub const EXPERIMENTS: [(&str, Run); 6] = [
    ("S2.table1", short),
    ("S2.table2", long),
    ("S2.table3", occupancy),
    ("S2.table4", rates),
    ("S2.burst.1024", kilobyte),
    ("S2.frame.4092", frames),
];

/// What there is to know when reading the figures of frames.
pub const CONTRADICTION: &str = "S2 section 5.4 contradicts itself: 291 µs less 255 µs are 36 µs, \
                                 and it computes with 45. With 36, its estimate of 462 µs for four \
                                 frames would be 498.";

const SHORT: usize = 24;
const KILOBYTE: usize = 1024;
const LONG: usize = 4092;

/// The chip.
///
/// # Errors
/// As [`platform::load_any`].
pub fn chip() -> Result<Chip, Failure> {
    platform::load_any("quatro67")
}

fn measured(chip: &Chip, mode: DmaMode, bytes: usize) -> Result<Row, Failure> {
    row(chip, Asked { mode, bytes, hops: 1 })
}

/// The figures of a row, under the name of what was measured.
fn figures(name: &str, row: &Row) -> [(String, f64); 4] {
    let Row { sra_us, one_processor_us, ipc_us, rate_mbyte_s, .. } = row;
    let all = [("two", sra_us), ("one", one_processor_us), ("ipc", ipc_us), ("rate", rate_mbyte_s)];
    all.map(|(key, value)| (format!("{name}.{key}"), *value))
}

fn table(chip: &Chip, bytes: usize) -> Result<Found, Failure> {
    let c44 = platform::load_any("pci44")?;
    let mut found = Found::new();
    found.extend(figures("c44", &measured(&c44, DmaMode::ReadWrite, bytes)?));
    for mode in [DmaMode::Burst, DmaMode::ReadWrite] {
        found.extend(figures(mode.name(), &measured(chip, mode, bytes)?));
    }
    Ok(found)
}

/// Short messages; a frame is of 1 kB.
fn short(chip: &Chip) -> Result<Found, Failure> {
    let mut found = table(chip, SHORT)?;
    found.extend(figures("frame", &measured(chip, DmaMode::Frame, KILOBYTE)?));
    Ok(found)
}

fn long(chip: &Chip) -> Result<Found, Failure> {
    table(chip, LONG)
}

/// For how long one message holds its sender, and how long a receive call takes.
fn occupancy(chip: &Chip) -> Result<Found, Failure> {
    let core = &chip.cores[0];
    let call = |call| core.system.call(call).takes.at(core.clock).micros();
    let mut found = Found::new();
    found.insert("send.one".into(), call(Call::Send));
    found.insert("receive.one".into(), call(Call::Receive));
    for (key, mode, bytes) in [
        ("short_burst", DmaMode::Burst, SHORT),
        ("short_rw", DmaMode::ReadWrite, SHORT),
        ("short_frame", DmaMode::Frame, SHORT),
        ("long_burst", DmaMode::Burst, LONG),
        ("long_rw", DmaMode::ReadWrite, LONG),
    ] {
        let Held { sender, .. } = held(chip, Asked { mode, bytes, hops: 1 })?;
        found.insert(format!("send.{key}"), sender.micros());
        // A message that is there is taken off its queue, whatever brought it.
        found.insert(format!("receive.{key}"), call(Call::Receive));
    }
    Ok(found)
}

/// The rates of DMA between each memory and a port: what 512 bytes more take in one direction,
/// where words take no time at the other end and in the other direction.
fn rates(chip: &Chip) -> Result<Found, Failure> {
    let nothing = Cost::Time(Time(1));
    let mut found = Found::new();
    for (name, place) in [("on_chip", 0), ("sdram", 1), ("sbsram", 2)] {
        for reads in [true, false] {
            let mut chip = chip.clone();
            for dma in &mut chip.ports.dmas {
                let mut rate = dma.rates[place];
                let timed = dma.core == 0;
                if !(timed && reads) {
                    rate.read = nothing;
                }
                if !timed || reads {
                    rate.write = nothing;
                }
                (dma.messages, dma.rates) = (rate.memory, vec![rate]);
            }
            let sra = |bytes| cycle(&chip, Asked { mode: DmaMode::Burst, bytes, hops: 1 });
            let more = sra(KILOBYTE)?.since(sra(KILOBYTE / 2)?).micros();
            let way = if reads { "read" } else { "write" };
            found.insert(format!("{name}.{way}"), (KILOBYTE / 2) as f64 / more);
        }
    }
    Ok(found)
}

/// A packet of 1 kB in a burst and in a frame.
fn kilobyte(chip: &Chip) -> Result<Found, Failure> {
    let burst = measured(chip, DmaMode::Burst, KILOBYTE)?.sra_us;
    let frame = measured(chip, DmaMode::Frame, KILOBYTE)?.sra_us;
    let all = [("burst", burst), ("frame", frame), ("saves", burst - frame)];
    Ok(all.map(|(key, value)| (key.to_owned(), value)).into())
}

/// Four frames in one transfer, which the board cannot do.
fn frames(chip: &Chip) -> Result<Found, Failure> {
    let chip = with(chip.clone(), Variant::Frames);
    Ok(figures("frame", &measured(&chip, DmaMode::Frame, LONG)?).into())
}
