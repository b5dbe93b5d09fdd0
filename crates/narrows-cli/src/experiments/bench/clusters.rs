//! `bench throughput` on a chip of clusters: packets of one CPU to one of another cluster, by the
//! DMA with FIFOs in software and by the buffer manager, as S3 measured them (section V.C).

use std::cell::Cell;
use std::collections::BTreeSet;

use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;
use serde::Serialize;

use super::task::Asked;
use crate::base::failure::{Failure, Kind};
use crate::base::options::Place;
use crate::base::output;
use crate::base::page::Page;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::table::{Align, Table, wrap};
use crate::formats::platform;
use crate::rig::cluster::{Broken, End, Layout, Mechanism};
use crate::rig::sim;

/// Bytes that are sent, whatever the packet: S3's.
pub const TOTAL: u32 = 16 << 10;
/// Bytes of the smallest and of the largest packet where nothing is said: S3's.
pub const PACKETS: [u32; 2] = [4, 8 << 10];

/// Packets of one size by one mechanism.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// How packets are moved.
    pub mechanism: &'static str,
    /// Bytes of a packet.
    pub packet_bytes: u32,
    /// Packets.
    pub packets: u32,
    /// From the sender's first write to its buffer until the receiver has the last packet.
    pub time_us: f64,
    /// Bytes of packets by that time.
    pub throughput_mbit_s: f64,
    /// All bytes on the network, those of the set-up among them.
    pub network_bytes: u64,
    /// Bytes of packets by these.
    pub efficiency_percent: f64,
}

/// The chip that was named, if it has clusters and no links of the stack.
///
/// # Errors
/// As [`platform::load_any`].
pub(super) fn named(place: &Place) -> Result<Option<Chip>, Failure> {
    let Some(name) = place.platform() else { return Ok(None) };
    let chip = platform::load_any(name)?;
    Ok(Some(chip).filter(|chip| chip.clusters.is_some() && !chip.is_linked()))
}

/// Measures one row.
///
/// # Errors
/// The chip has no two clusters, or no room for such packets, or they cannot be moved.
pub fn row(chip: &Chip, mechanism: Mechanism, packet: u32) -> Result<Row, Failure> {
    let count = TOTAL / packet;
    let (time, network) = stream(chip, mechanism, (packet, count), |_, _, _| {})?;
    let bytes = f64::from(packet * count);
    Ok(Row {
        mechanism: mechanism.name(),
        packet_bytes: packet,
        packets: count,
        time_us: time.micros(),
        throughput_mbit_s: bytes * 8.0 / time.micros(),
        network_bytes: network,
        efficiency_percent: bytes / network as f64 * 100.0,
    })
}

/// The bytes of a packet.
fn contents(number: u32, len: u32) -> Vec<u8> {
    (0..len).map(|at| (number.wrapping_mul(7) ^ at.wrapping_mul(31)) as u8).collect()
}

/// Sends packets from the first CPU of the first cluster to the first CPU of the second. How long
/// it takes, and the bytes on the network. `seen` is called behind each packet, at the receiver.
fn stream(
    chip: &Chip,
    mechanism: Mechanism,
    (packet, count): (u32, u32),
    seen: impl Fn(&Cpu, Layout, u32),
) -> Result<(Time, u64), Failure> {
    let cannot = |why: &str| Failure::new(Kind::Workload, format!("{}: {why}", chip.name));
    let clusters = chip.clusters.as_ref().map_or(&[][..], |clusters| &clusters.all);
    let [one, other, ..] = clusters else { return Err(cannot("it has no two clusters")) };
    let [Some(from), Some(to)] = [one, other].map(|cluster| cluster.cores.first().copied()) else {
        return Err(cannot("a cluster has no core"));
    };
    let layout = Layout::new(chip, packet).ok_or_else(|| {
        cannot(&format!("a FIFO or a shared memory has no room for packets of {packet} bytes"))
    })?;
    let line = layout.line(0, 1);
    let (begun, ended) = (Cell::new(Time::ZERO), Cell::new(None));
    let (network, broken) = (Cell::new(0), Cell::new(None));
    let mut simulation = Simulation::new(chip, Settings::default());
    let note = |result: Result<(), Broken>| {
        if let Err(why) = result {
            broken.set(broken.get().or(Some(why)));
        }
    };
    simulation.process(from, "sender", 1, |cpu| {
        let end = End::new(&cpu, mechanism, line).ok_or(Broken::Over);
        let sent = end.and_then(|mut end| {
            end.open_sender()?;
            begun.set(cpu.time());
            for number in 0..count {
                let buffer = layout.buffers[number as usize % 2];
                cpu.store_bytes(one.memory, buffer, &contents(number, packet));
                end.send(buffer, packet)?;
            }
            end.settle()
        });
        note(sent);
    });
    simulation.process(to, "receiver", 1, |cpu| {
        let end = End::new(&cpu, mechanism, line).ok_or(Broken::Over);
        let received = end.and_then(|mut end| {
            end.open_receiver()?;
            for number in 0..count {
                end.receive(layout.target, packet)?;
                seen(&cpu, layout, number);
            }
            ended.set(Some(cpu.time()));
            Ok(())
        });
        note(received);
        // What still goes back to the sender counts.
        cpu.compute(Time::nanos(10_000));
        network.set(cpu.network_bytes());
    });
    let run = simulation.run();
    // Where one end has stopped, the other waits for ever: what stopped it says more.
    match (broken.get(), run, ended.get()) {
        (Some(Broken::Signalled(fault)), ..) => Err(cannot(&format!("a block signals: {fault}"))),
        (_, Err(stuck), _) => Err(cannot(&stuck.to_string())),
        (None, Ok(_), Some(ended)) => Ok((ended.since(begun.get()), network.get())),
        _ => Err(Failure::new(Kind::Internal, "packets were lost: report this defect".to_owned())),
    }
}

/// Measures and prints.
///
/// # Errors
/// What is asked for cannot be, or as [`row`].
pub(super) fn run(asked: &Asked<'_>, chip: &Chip) -> Result<(), Failure> {
    let usage = |text: String| Failure::new(Kind::Usage, text);
    let axes = &asked.args.axes;
    for (given, flag) in [
        (!axes.transfer.is_empty(), "--transfer"),
        (!axes.notify.is_empty(), "--notify"),
        (!axes.placement.is_empty(), "--placement"),
        (asked.args.rounds.is_some(), "--rounds"),
    ] {
        if given {
            let why = "is for links of the stack, and clusters have none: leave it out";
            return Err(usage(format!("{flag} {why}")));
        }
    }
    let [least, most] = PACKETS;
    let all = std::iter::successors(Some(least), |size| Some(size * 2));
    let usual: Vec<u32> = all.take_while(|size| *size <= most).collect();
    let sizes: Result<Vec<u32>, Failure> =
        asked.args.bytes.iter().map(|bytes| whole(*bytes)).collect();
    let sizes = Some(sizes?).filter(|sizes| !sizes.is_empty()).unwrap_or(usual);
    let trials: Vec<(Mechanism, u32)> =
        Mechanism::ALL.iter().flat_map(|one| sizes.iter().map(|size| (*one, *size))).collect();
    let progress = Progress::new(trials.len() as u64, asked.global.json);
    let mut rows = Vec::new();
    for (done, (mechanism, packet)) in (0..).zip(trials) {
        progress.reach(done);
        rows.push(row(chip, mechanism, packet)?);
    }
    drop(progress);
    let mut report = Report::new("bench throughput", sim::machine(chip), rows);
    report.notes = notes(&report.results);
    if asked.global.json {
        report.print()?;
    } else {
        output::print(text(&report).as_bytes())?;
    }
    asked.page.write(|| Page { why: report.notes.join(". "), ..Page::of(&report) })
}

/// A size of packets that divides all that is sent into whole words.
fn whole(bytes: usize) -> Result<u32, Failure> {
    let size = u32::try_from(bytes).ok().filter(|size| *size > 0 && TOTAL.is_multiple_of(*size));
    size.filter(|size| size.is_multiple_of(4)).ok_or_else(|| {
        let text =
            format!("--bytes {bytes}: packets are of 4, 8, 16 and so on up to {TOTAL} bytes");
        Failure::new(Kind::Usage, text)
    })
}

/// How much more the buffer manager carries, of the smallest packets and of the largest.
fn notes(rows: &[Row]) -> Vec<String> {
    let rate = |mechanism: Mechanism, packet: u32| {
        let own =
            rows.iter().find(|row| row.mechanism == mechanism.name() && row.packet_bytes == packet);
        own.map(|row| row.throughput_mbit_s)
    };
    let sizes = || rows.iter().map(|row| row.packet_bytes);
    let ends: BTreeSet<u32> = sizes().min().into_iter().chain(sizes().max()).collect();
    let gains = ends.into_iter().filter_map(|packet| {
        let gain = rate(Mechanism::Bmm, packet)? / rate(Mechanism::Dma, packet)?;
        Some(format!("{gain:.2} times as much in packets of {packet} bytes"))
    });
    let gains: Vec<String> = gains.collect();
    vec![format!("the buffer manager carries {}", gains.join(" and "))]
}

fn text(report: &Report<Row>) -> String {
    let mut table = Table::new(&[
        ("mechanism", Align::Left),
        ("packet", Align::Right),
        ("packets", Align::Right),
        ("µs", Align::Right),
        ("Mbit/s", Align::Right),
        ("efficiency", Align::Right),
    ]);
    for row in &report.results {
        table.row(vec![
            row.mechanism.to_owned(),
            row.packet_bytes.to_string(),
            row.packets.to_string(),
            format!("{:.1}", row.time_us),
            format!("{:.1}", row.throughput_mbit_s),
            format!("{:.1} %", row.efficiency_percent),
        ]);
    }
    let heading = report.machine.elsewhere().map(|on| on + "\n\n").unwrap_or_default();
    let legend = "16 KiB in one direction: from the sender's first write to its buffer until the \
                  receiver has the last packet. Efficiency: bytes of packets by all bytes on the \
                  network, with headers, pointers, credit and set-up.";
    let notes: String = report.notes.iter().map(|note| wrap("", note)).collect();
    format!("{heading}{}\n{}{notes}", table.render(), wrap("", legend))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chip() -> Chip {
        platform::load_any("bmm-clusters").unwrap()
    }

    #[test]
    fn every_packet_comes_whole_and_in_order_by_each_mechanism() {
        let mut small = chip();
        if let Some(clusters) = &mut small.clusters {
            (clusters.manager.words, clusters.manager.credits) = (75, 75);
        }
        let mut hardware = small.clone();
        if let Some(clusters) = &mut hardware.clusters {
            clusters.manager.hardware = true;
        }
        for chip in [chip(), small, hardware] {
            let memory = chip.clusters.as_ref().unwrap().all[1].memory;
            for mechanism in Mechanism::ALL {
                for (packet, count) in [(4, 100), (52, 40), (192, 9)] {
                    let seen = Cell::new(0);
                    let check = |cpu: &Cpu, layout: Layout, number: u32| {
                        let mut bytes = vec![0; packet as usize];
                        cpu.load_bytes(memory, layout.target, &mut bytes);
                        assert_eq!(bytes, contents(number, packet), "{mechanism:?} {number}");
                        seen.set(seen.get() + 1);
                    };
                    stream(&chip, mechanism, (packet, count), check).unwrap();
                    assert_eq!(seen.get(), count);
                }
            }
        }
    }

    #[test]
    fn no_mechanism_is_faster_than_its_cpu_writes_and_the_buffer_manager_is_the_faster() {
        let chip = chip();
        for packet in [4, 256, 8192] {
            let [dma, bmm] = Mechanism::ALL.map(|one| row(&chip, one, packet).unwrap());
            assert!(dma.throughput_mbit_s < bmm.throughput_mbit_s, "{dma:?} {bmm:?}");
            assert!(bmm.throughput_mbit_s < 3200.0, "{bmm:?}");
            assert!(dma.efficiency_percent < bmm.efficiency_percent, "{dma:?} {bmm:?}");
            assert!(bmm.efficiency_percent < 100.0);
            assert_eq!(bmm.packets * packet, TOTAL);
        }
    }

    #[test]
    fn packets_that_do_not_fit_are_refused_in_a_sentence() {
        let mut chip = chip();
        if let Some(clusters) = &mut chip.clusters {
            (clusters.manager.words, clusters.manager.credits) = (16, 16);
        }
        for mechanism in Mechanism::ALL {
            let said = row(&chip, mechanism, 128).unwrap_err().to_string();
            assert!(said.ends_with("has no room for packets of 128 bytes"), "{said}");
            assert!(row(&chip, mechanism, 64).is_ok());
        }
        if let Some(clusters) = &mut chip.clusters {
            clusters.manager.credits = 8;
        }
        let said = row(&chip, Mechanism::Bmm, 64).unwrap_err().to_string();
        assert!(
            said.ends_with("a block signals: the size is above what the FIFO has room for"),
            "{said}"
        );
        if let Some(clusters) = &mut chip.clusters {
            (clusters.manager.credits, clusters.manager.threshold) = (12, 9);
        }
        let said = row(&chip, Mechanism::Bmm, 32).unwrap_err().to_string();
        assert!(said.contains("nothing can run any more"), "{said}");
    }

    #[test]
    fn other_sizes_of_packets_are_refused() {
        for bytes in [0, 2, 6, 12, 32768] {
            let said = whole(bytes).unwrap_err().to_string();
            assert!(said.contains(&format!("--bytes {bytes}: packets are of 4, 8, 16")), "{said}");
        }
        assert_eq!(whole(16384).unwrap(), 16384);
    }
}
