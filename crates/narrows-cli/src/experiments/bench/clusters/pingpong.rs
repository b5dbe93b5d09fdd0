//! Round trips: packets one way, and then as many back, one and as many as make up 8 KiB.

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
use crate::rig::cluster::{Broken, End, Layout, Line, Mechanism};
use crate::rig::sim;

/// Bytes that go each way in packets: S3's.
pub const TOTAL: u32 = 8 << 10;

/// Packets of one size there and back by one mechanism.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// How packets are moved.
    pub mechanism: &'static str,
    /// Bytes of a packet.
    pub packet_bytes: u32,
    /// Packets each way.
    pub packets: u32,
    /// From the first write to a buffer until the last packet is back.
    pub round_trip_us: f64,
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

/// Measures one row: `count` packets of `packet` bytes each way.
///
/// # Errors
/// The chip has no room for such packets, or they cannot be moved.
pub fn row(
    chip: &Chip,
    monitor: Option<&Monitor>,
    ends: Ends,
    mechanism: Mechanism,
    (packet, count): (u32, u32),
) -> Result<Row, Failure> {
    let (time, network) = trip((chip, monitor), ends, mechanism, (packet, count), |_, _, _| {})?;
    let [send, receive] = mechanism.instructions(chip, ends.cores[0]);
    Ok(Row {
        mechanism: mechanism.name(),
        packet_bytes: packet,
        packets: count,
        round_trip_us: time.micros(),
        network_bytes: network,
        efficiency_percent: f64::from(2 * packet * count) / network as f64 * 100.0,
        send_instructions: send,
        receive_instructions: receive,
        hops: ends.hops(chip),
    })
}

/// How many packets of a size go each way: one, and as many as make up the whole.
pub fn counts(packet: u32) -> BTreeSet<u32> {
    [1, TOTAL / packet].into()
}

/// Sends packets there and then as many back. How long it takes, and the bytes on the network.
/// `seen` is called behind each packet, at the CPU that receives it.
fn trip(
    (chip, monitor): (&Chip, Option<&Monitor>),
    ends: Ends,
    mechanism: Mechanism,
    (packet, count): (u32, u32),
    seen: impl Fn(&Cpu, Layout, u32),
) -> Result<(Time, u64), Failure> {
    let layout = layout(chip, packet)?;
    let [here, there] = ends.cores;
    let lines = [line(chip, layout, [here, there])?, line(chip, layout, [there, here])?];
    let packets = Packets { layout, bytes: packet, count };
    let took = Cell::new(Time::ZERO);
    let caller = |cpu: &Cpu| {
        let (mut out, mut back) = open(cpu, mechanism, lines)?;
        let begun = cpu.time();
        packets.send(cpu, &mut out)?;
        packets.receive(cpu, &mut back, &seen)?;
        took.set(cpu.time().since(begun));
        out.settle()
    };
    let callee = |cpu: &Cpu| {
        let (mut out, mut back) = open(cpu, mechanism, [lines[1], lines[0]])?;
        packets.receive(cpu, &mut back, &seen)?;
        packets.send(cpu, &mut out)?;
        out.settle()
    };
    let network = ends.run(chip, monitor, caller, callee)?;
    Ok((took.get(), network))
}

/// Both connections of a CPU with one of another cluster: that over which it sends, and that over
/// which it receives. What they keep in memory lies at the same places, side by side.
fn open(cpu: &Cpu, mechanism: Mechanism, lines: [Line; 2]) -> Result<(End<'_>, End<'_>), Broken> {
    let end = |line| End::new(cpu, mechanism, line).ok_or(Broken::Over);
    let [out, back] = lines;
    let (out, back) = (end(out)?, end(back)?);
    back.open_receiver()?;
    out.open_sender()?;
    Ok((out, back))
}

/// The most that the buffer manager saves of a round trip, in percent, and of which row.
pub fn most_saved(rows: &[Row]) -> Option<(f64, &Row)> {
    let of = |name: &'static str| rows.iter().filter(move |row| row.mechanism == name);
    let saved = of(Mechanism::Bmm.name()).filter_map(|own| {
        let alike = |row: &&Row| (row.packet_bytes, row.packets) == (own.packet_bytes, own.packets);
        let without = of(Mechanism::Dma.name()).find(alike)?;
        Some(((1.0 - own.round_trip_us / without.round_trip_us) * 100.0, own))
    });
    saved.max_by(|one, other| one.0.total_cmp(&other.0))
}

/// Measures and prints.
pub(super) fn run(asked: &Asked<'_>, chip: &Chip, ends: Ends) -> Result<(), Failure> {
    let sizes = super::asked_sizes(asked, TOTAL)?;
    let trials: Vec<(u32, u32)> = sizes
        .iter()
        .flat_map(|size| counts(*size).into_iter().map(|count| (*size, count)))
        .collect();
    let rows =
        super::rows(asked, &trials, |one, trial| row(chip, asked.monitor(), ends, one, trial))?;
    let mut report = Report::new("bench pingpong", sim::machine(chip), rows);
    report.notes = notes(&report.results);
    report.notes.extend(super::in_words(chip, ends));
    let legend = "One packet, or 8 KiB in packets, one way and then as much back: from the first \
                  write to a buffer until the last packet is back. Efficiency: bytes of packets by \
                  all bytes on the network, with headers, pointers, credit and set-up.";
    super::show(asked, &report, (&table(&report.results), legend), || page::pingpong(&report))
}

fn notes(rows: &[Row]) -> Vec<String> {
    let saved = most_saved(rows).map(|(saved, row)| {
        let Row { packet_bytes, packets, .. } = row;
        let trip = match packets {
            1 => format!("of one packet of {packet_bytes} bytes"),
            _ => format!("of {packets} packets of {packet_bytes} bytes"),
        };
        format!("the buffer manager saves at most {saved:.1} % of a round trip: {trip}")
    });
    saved.into_iter().collect()
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        ("mechanism", Align::Left),
        ("packet", Align::Right),
        ("packets", Align::Right),
        ("µs", Align::Right),
        ("efficiency", Align::Right),
    ]);
    for row in rows {
        table.row(vec![
            row.mechanism.to_owned(),
            row.packet_bytes.to_string(),
            row.packets.to_string(),
            format!("{:.2}", row.round_trip_us),
            format!("{:.1} %", row.efficiency_percent),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::ends::contents;
    use super::*;
    use crate::base::options::Cores;
    use crate::formats::platform;

    fn chip() -> Chip {
        platform::load_any("bmm-clusters").unwrap()
    }

    fn between(chip: &Chip, caller: usize, callee: usize) -> Ends {
        Ends::of(chip, Some(Cores { caller, callee })).unwrap()
    }

    #[test]
    fn every_packet_comes_whole_and_in_order_there_and_back() {
        let mut small = chip();
        if let Some(clusters) = &mut small.clusters {
            (clusters.manager.words, clusters.manager.credits) = (75, 75);
        }
        for chip in [chip(), small] {
            let ends = between(&chip, 0, 7);
            for mechanism in Mechanism::ALL {
                for (packet, count) in [(4, 100), (52, 40), (192, 1)] {
                    let seen = Cell::new(0);
                    let check = |cpu: &Cpu, layout: Layout, number: u32| {
                        let (own, _) = chip.cluster_of(cpu.core()).unwrap();
                        let memory = chip.clusters.as_ref().unwrap().all[own].memory;
                        let mut bytes = vec![0; packet as usize];
                        cpu.load_bytes(memory, layout.target, &mut bytes);
                        assert_eq!(bytes, contents(number, packet), "{mechanism:?} {number}");
                        seen.set(seen.get() + 1);
                    };
                    trip((&chip, None), ends, mechanism, (packet, count), check).unwrap();
                    assert_eq!(seen.get(), 2 * count);
                }
            }
        }
    }

    #[test]
    fn more_links_take_longer_and_the_buffer_manager_is_the_faster() {
        let chip = chip();
        let [near, far] = [between(&chip, 0, 2), between(&chip, 0, 6)];
        for packet in [4, 8192] {
            let trips = [near, far].map(|ends| {
                Mechanism::ALL.map(|one| row(&chip, None, ends, one, (packet, 1)).unwrap())
            });
            let [[dma, bmm], [dma_far, bmm_far]] = &trips;
            // A word by the DMA comes while the call that receives it still runs.
            let hidden = packet == 4 && dma.round_trip_us == dma_far.round_trip_us;
            assert!(hidden || dma.round_trip_us < dma_far.round_trip_us, "{dma:?} {dma_far:?}");
            assert!(bmm.round_trip_us < bmm_far.round_trip_us, "{bmm:?} {bmm_far:?}");
            assert!(bmm.round_trip_us < dma.round_trip_us, "{bmm:?} {dma:?}");
            assert_eq!([dma.hops, dma_far.hops], [1, 2]);
            assert!(trips.iter().flatten().all(|row| row.efficiency_percent < 100.0));
        }
    }

    #[test]
    fn the_way_back_takes_as_long_as_the_way_there() {
        let chip = chip();
        for mechanism in Mechanism::ALL {
            let [there, back] = [(0, 6), (6, 0)].map(|(one, other)| {
                row(&chip, None, between(&chip, one, other), mechanism, (64, 1))
            });
            assert_eq!(there.unwrap().round_trip_us, back.unwrap().round_trip_us);
        }
    }

    #[test]
    fn a_packet_of_the_whole_is_measured_once_and_the_most_is_of_the_pair_that_differs_most() {
        assert_eq!(Vec::from_iter(counts(8192)), [1]);
        assert_eq!(Vec::from_iter(counts(256)), [1, 32]);
        let row = |mechanism, packets, round_trip_us| Row {
            mechanism,
            packet_bytes: 4,
            packets,
            round_trip_us,
            network_bytes: 1,
            efficiency_percent: 1.0,
            send_instructions: 1,
            receive_instructions: 1,
            hops: 1,
        };
        let rows =
            [row("dma", 1, 10.0), row("dma", 9, 100.0), row("bmm", 1, 5.0), row("bmm", 9, 20.0)];
        let (saved, of) = most_saved(&rows).unwrap();
        assert_eq!((saved, of.packets), (80.0, 9));
        assert_eq!(most_saved(&rows[..2]), None);
    }
}
