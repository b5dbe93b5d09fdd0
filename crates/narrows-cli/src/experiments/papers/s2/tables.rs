//! The tables of S2.

use super::{LONG, PACKET, SHORT, measured, missing};
use crate::base::failure::Failure;
use crate::experiments::bench::sra::Row;
use crate::experiments::bench::sra::cycle::{Asked, calls, held};
use crate::experiments::papers::row::Found;
use crate::formats::platform;
use narrows_sim::carrier::raw::{Way, burst};
use narrows_sim::chip::{Chip, DmaMode};

/// The memories of the first core that table 4 has, as the source and as the platform calls them.
const MEMORIES: [(&str, &str); 3] =
    [("on_chip", "ram0"), ("sdram", "sdram0"), ("sbsram", "sbsram0")];

fn put(found: &mut Found, name: &str, row: &Row) {
    let Row { one_processor_us, sra_us, ipc_us, rate_mbyte_s, .. } = row;
    let all = [("one", one_processor_us), ("two", sra_us), ("ipc", ipc_us), ("rate", rate_mbyte_s)];
    found.extend(all.map(|(key, value)| (format!("{name}.{key}"), *value)));
}

fn cycles(chip: &Chip, bytes: usize) -> Result<Found, Failure> {
    let c44 = platform::load_any("pci44")?;
    let mut found = Found::new();
    put(&mut found, "c44", &measured(&c44, DmaMode::ReadWrite, bytes)?);
    put(&mut found, "burst", &measured(chip, DmaMode::Burst, bytes)?);
    put(&mut found, "rw", &measured(chip, DmaMode::ReadWrite, bytes)?);
    Ok(found)
}

/// Cycles of short messages. A frame is of 1 kB, as in the source.
pub(super) fn short(chip: &Chip) -> Result<Found, Failure> {
    let mut found = cycles(chip, SHORT)?;
    put(&mut found, "frame", &measured(chip, DmaMode::Frame, PACKET)?);
    Ok(found)
}

/// Cycles of long messages.
pub(super) fn long(chip: &Chip) -> Result<Found, Failure> {
    cycles(chip, LONG)
}

/// For how long one message holds its sender, and how long a receive takes whose message is there.
pub(super) fn occupancy(chip: &Chip) -> Result<Found, Failure> {
    let mut found = Found::new();
    let one = calls(chip, Asked { mode: DmaMode::Burst, bytes: SHORT, hops: 0, monitor: None })?;
    found.insert("send.one".into(), one.sender.micros());
    found.insert("receive.one".into(), one.receiver.micros());
    for (key, mode, bytes) in [
        ("short_burst", DmaMode::Burst, SHORT),
        ("short_rw", DmaMode::ReadWrite, SHORT),
        ("short_frame", DmaMode::Frame, PACKET),
        ("long_burst", DmaMode::Burst, LONG),
        ("long_rw", DmaMode::ReadWrite, LONG),
    ] {
        let asked = Asked { mode, bytes, hops: 1, monitor: None };
        found.insert(format!("send.{key}"), held(chip, asked)?.sender.micros());
        found.insert(format!("receive.{key}"), calls(chip, asked)?.receiver.micros());
    }
    Ok(found)
}

/// The rates of a burst of 1 kB between each memory and a port.
pub(super) fn dma(chip: &Chip) -> Result<Found, Failure> {
    let port = chip.ports.ports.iter().position(|port| port.between[0] == 0);
    let port = port.ok_or_else(|| missing("port of its first core"))?;
    let mut found = Found::new();
    for (name, of) in MEMORIES {
        let memory = chip.memories.iter().position(|memory| memory.name == of);
        let memory = memory.ok_or_else(|| missing(of))?;
        for (key, way) in [("read", Way::FromMemory), ("write", Way::ToMemory)] {
            let took = burst(chip, port, memory, PACKET as u32, way);
            let took = took.ok_or_else(|| missing("DMA between its memories and its ports"))?;
            found.insert(format!("{name}.{key}"), PACKET as f64 / took.micros());
        }
    }
    Ok(found)
}
