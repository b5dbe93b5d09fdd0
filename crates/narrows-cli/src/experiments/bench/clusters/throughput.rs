//! Packets one way, as in S3's section V.C.

use std::cell::Cell;
use std::collections::BTreeSet;

use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::time::Time;
use serde::Serialize;

use super::ends::{Ends, Packets, layout, line};
use super::page;
use crate::base::failure::Failure;
use crate::base::report::Report;
use crate::base::table::{Align, Table};
use crate::base::usage::Monitor;
use crate::experiments::bench::task::Asked;
use crate::rig::cluster::{Broken, End, Layout, Mechanism};
use crate::rig::sim;

/// Bytes that are sent, whatever the packet: S3's.
pub const TOTAL: u32 = 16 << 10;

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
    /// What the sender's CPU writes to its cluster's shared memory: no packets go faster.
    pub limit_mbit_s: f64,
    /// All bytes on the network, those of the set-up among them.
    pub network_bytes: u64,
    /// Bytes of packets by these.
    pub efficiency_percent: f64,
    /// Instructions of a send.
    pub send_instructions: u64,
    /// Instructions of a receive.
    pub receive_instructions: u64,
    /// Links of the network between both.
    pub hops: u32,
}

/// Measures one row.
///
/// # Errors
/// The chip has no room for such packets, or they cannot be moved.
pub fn row(
    chip: &Chip,
    monitor: Option<&Monitor>,
    ends: Ends,
    mechanism: Mechanism,
    packet: u32,
) -> Result<Row, Failure> {
    let count = TOTAL / packet;
    let (time, network) = stream((chip, monitor), ends, mechanism, (packet, count), |_, _, _| {})?;
    let bytes = f64::from(packet * count);
    let [send, receive] = mechanism.instructions(chip, ends.cores[0]);
    Ok(Row {
        mechanism: mechanism.name(),
        packet_bytes: packet,
        packets: count,
        time_us: time.micros(),
        throughput_mbit_s: bytes * 8.0 / time.micros(),
        limit_mbit_s: limit(chip, ends)?,
        network_bytes: network,
        efficiency_percent: bytes / network as f64 * 100.0,
        send_instructions: send,
        receive_instructions: receive,
        hops: ends.hops(chip),
    })
}

/// What the sender's CPU writes to its cluster's shared memory, in Mbit/s.
///
/// # Errors
/// The simulation fails.
pub fn limit(chip: &Chip, ends: Ends) -> Result<f64, Failure> {
    let took = Cell::new(Time::ZERO);
    let write = |cpu: &Cpu| {
        let begin = cpu.time();
        cpu.store_bytes(ends.memory(chip), 0, &[0; TOTAL as usize]);
        took.set(cpu.time().since(begin));
        Ok(())
    };
    ends.run(chip, None, write, |_| Ok(()))?;
    Ok(f64::from(TOTAL) * 8.0 / took.get().micros())
}

/// Sends packets from one CPU to the other. How long it takes, and the bytes on the network. `seen`
/// is called behind each packet, at the receiver.
fn stream(
    (chip, monitor): (&Chip, Option<&Monitor>),
    ends: Ends,
    mechanism: Mechanism,
    (packet, count): (u32, u32),
    seen: impl Fn(&Cpu, Layout, u32),
) -> Result<(Time, u64), Failure> {
    let layout = layout(chip, packet)?;
    let (begun, ended) = (Cell::new(Time::ZERO), Cell::new(Time::ZERO));
    let line = line(chip, layout, ends.cores)?;
    let packets = Packets { layout, bytes: packet, count };
    let send = |cpu: &Cpu| {
        let mut end = End::new(cpu, mechanism, line).ok_or(Broken::Over)?;
        end.open_sender()?;
        begun.set(cpu.time());
        packets.send(cpu, &mut end)?;
        end.settle()
    };
    let receive = |cpu: &Cpu| {
        let mut end = End::new(cpu, mechanism, line).ok_or(Broken::Over)?;
        end.open_receiver()?;
        packets.receive(cpu, &mut end, &seen)?;
        ended.set(cpu.time());
        Ok(())
    };
    let network = ends.run(chip, monitor, send, receive)?;
    Ok((ended.get().since(begun.get()), network))
}

/// Measures and prints.
pub(super) fn run(asked: &Asked<'_>, chip: &Chip, ends: Ends) -> Result<(), Failure> {
    let sizes = super::asked_sizes(asked, TOTAL)?;
    let rows = super::rows(asked, &sizes, |one, size| row(chip, asked.monitor(), ends, one, size))?;
    let mut report = Report::new("bench throughput", sim::machine(chip), rows);
    report.notes = notes(&report.results);
    report.notes.extend(super::in_words(chip, ends));
    let legend = "16 KiB in one direction: from the sender's first write to its buffer until the \
                  receiver has the last packet. Efficiency: bytes of packets by all bytes on the \
                  network, with headers, pointers, credit and set-up.";
    super::show(asked, &report, (&table(&report.results), legend), || page::throughput(&report))
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

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        ("mechanism", Align::Left),
        ("packet", Align::Right),
        ("packets", Align::Right),
        ("µs", Align::Right),
        ("Mbit/s", Align::Right),
        ("efficiency", Align::Right),
    ]);
    for row in rows {
        table.row(vec![
            row.mechanism.to_owned(),
            row.packet_bytes.to_string(),
            row.packets.to_string(),
            format!("{:.1}", row.time_us),
            format!("{:.1}", row.throughput_mbit_s),
            format!("{:.1} %", row.efficiency_percent),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::ends::contents;
    use super::*;
    use crate::formats::platform;
    use narrows_sim::chip::Partitioning;

    fn first(chip: &Chip) -> Ends {
        Ends::of(chip, None).unwrap()
    }

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
        let divided = |chip: Chip| {
            Partitioning::ALL.map(|one| {
                let mut chip = chip.clone();
                if let Some(clusters) = &mut chip.clusters {
                    clusters.manager.partitioning = one;
                }
                chip
            })
        };
        for chip in [chip(), small, hardware].into_iter().flat_map(divided) {
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
                    stream((&chip, None), first(&chip), mechanism, (packet, count), check).unwrap();
                    assert_eq!(seen.get(), count);
                }
            }
        }
    }

    #[test]
    fn no_mechanism_is_faster_than_its_cpu_writes_and_the_buffer_manager_is_the_faster() {
        let chip = chip();
        for packet in [4, 256, 8192] {
            let [dma, bmm] =
                Mechanism::ALL.map(|one| row(&chip, None, first(&chip), one, packet).unwrap());
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
            let said = row(&chip, None, first(&chip), mechanism, 128).unwrap_err().to_string();
            assert!(said.ends_with("has no room for packets of 128 bytes"), "{said}");
            assert!(row(&chip, None, first(&chip), mechanism, 64).is_ok());
        }
        if let Some(clusters) = &mut chip.clusters {
            clusters.manager.credits = 8;
        }
        let said = row(&chip, None, first(&chip), Mechanism::Bmm, 64).unwrap_err().to_string();
        assert!(
            said.ends_with("a block signals: the size is above what the FIFO has room for"),
            "{said}"
        );
        if let Some(clusters) = &mut chip.clusters {
            (clusters.manager.credits, clusters.manager.threshold) = (12, 9);
        }
        let said = row(&chip, None, first(&chip), Mechanism::Bmm, 32).unwrap_err().to_string();
        assert!(said.contains("nothing can run any more"), "{said}");
    }
}
