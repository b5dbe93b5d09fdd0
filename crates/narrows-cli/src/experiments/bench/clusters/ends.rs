//! The two CPUs that exchange packets, and a simulation of what both do.

use std::cell::Cell;

use narrows_sim::chip::{Chip, Cluster};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;

use crate::base::failure::{Failure, Kind};
use crate::base::options::{Cores, Global};
use crate::base::usage::{self, Monitor};
use crate::rig::cluster::{Broken, End, Layout, Line};
use crate::rig::sim;

/// Two CPUs of different clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The CPUs, by their places in the chip: the one that begins, and the one that answers.
    pub cores: [usize; 2],
    /// Their clusters.
    pub clusters: [usize; 2],
}

impl Ends {
    /// Those that the command line names, or else the usual ones.
    ///
    /// # Errors
    /// As [`Ends::of`], or the chip has no such cores.
    pub fn asked(global: &Global, chip: &Chip) -> Result<Ends, Failure> {
        Ends::of(chip, global.cores.map(|_| sim::cores(global, chip)).transpose()?)
    }

    /// The first CPUs of the first two clusters, unless others are named.
    ///
    /// # Errors
    /// The chip has no two clusters, or those that are named are in one.
    pub fn of(chip: &Chip, cores: Option<Cores>) -> Result<Ends, Failure> {
        let all = clusters(chip);
        let cores = match (cores, all) {
            (Some(Cores { caller, callee }), _) => [caller, callee],
            (None, [one, other, ..]) => match (one.cores.first(), other.cores.first()) {
                (Some(one), Some(other)) => [*one, *other],
                _ => return Err(cannot(chip, "a cluster has no core")),
            },
            (None, _) => return Err(cannot(chip, "it has no two clusters")),
        };
        let [Some(from), Some(to)] = cores.map(|core| chip.cluster_of(core)) else {
            return Err(cannot(chip, "a core is in no cluster"));
        };
        if from.0 == to.0 {
            let [one, other] = cores;
            let text = format!(
                "--cores {one},{other} are both in {}: packets go over the network, so name cores \
                 of two clusters",
                all[from.0].name
            );
            return Err(Failure::new(Kind::Usage, text));
        }
        Ok(Ends { cores, clusters: [from.0, to.0] })
    }

    /// The memory that the cluster of the CPU that begins shares.
    pub(super) fn memory(self, chip: &Chip) -> usize {
        clusters(chip)[self.clusters[0]].memory
    }

    /// Links of the network between their clusters.
    pub fn hops(self, chip: &Chip) -> u32 {
        let [one, other] = self.clusters.map(|cluster| clusters(chip)[cluster].at);
        one.0.abs_diff(other.0) + one.1.abs_diff(other.1)
    }

    /// Runs what each CPU does; the bytes that were on the network.
    ///
    /// # Errors
    /// One of them cannot go on.
    pub(super) fn run<A, B>(
        self,
        chip: &Chip,
        monitor: Option<&Monitor>,
        one: A,
        other: B,
    ) -> Result<u64, Failure>
    where
        A: FnOnce(&Cpu) -> Result<(), Broken>,
        B: FnOnce(&Cpu) -> Result<(), Broken>,
    {
        let (network, broken) = (Cell::new(0), Cell::new(None));
        let mut simulation = Simulation::new(chip, Settings::default());
        let end = |cpu: &Cpu, result: Result<(), Broken>| {
            if let Err(why) = result {
                broken.set(broken.get().or(Some(why)));
            }
            // What still goes back to a sender counts.
            cpu.compute(Time::nanos(10_000));
            network.set(network.get().max(cpu.network_bytes()));
        };
        let [from, to] = self.cores;
        simulation.process(from, "sender", 1, |cpu| end(&cpu, one(&cpu)));
        simulation.process(to, "receiver", 1, |cpu| end(&cpu, other(&cpu)));
        let run = usage::run(monitor, simulation);
        // Where one end has stopped, the other waits for ever: what stopped it says more.
        match (broken.get(), run) {
            (Some(Broken::Signalled(fault)), _) => {
                Err(cannot(chip, &format!("a block signals: {fault}")))
            }
            (_, Err(stuck)) => Err(cannot(chip, &stuck.to_string())),
            (None, Ok(_)) => Ok(network.get()),
            (Some(Broken::Over), Ok(_)) => {
                let text = "packets were lost: report this defect".to_owned();
                Err(Failure::new(Kind::Internal, text))
            }
        }
    }
}

fn clusters(chip: &Chip) -> &[Cluster] {
    chip.clusters.as_ref().map_or(&[], |clusters| &clusters.all)
}

/// `count` packets of `bytes` bytes, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Packets {
    pub layout: Layout,
    pub bytes: u32,
    pub count: u32,
}

impl Packets {
    /// Writes each to a buffer and sends it.
    pub fn send(self, cpu: &Cpu, out: &mut End<'_>) -> Result<(), Broken> {
        for number in 0..self.count {
            let buffer = self.layout.buffers[number as usize % 2];
            cpu.store_bytes(out.memory, buffer, &contents(number, self.bytes));
            out.send(buffer, self.bytes)?;
        }
        Ok(())
    }

    /// Receives each; `seen` is called behind it.
    pub fn receive(
        self,
        cpu: &Cpu,
        back: &mut End<'_>,
        seen: impl Fn(&Cpu, Layout, u32),
    ) -> Result<(), Broken> {
        for number in 0..self.count {
            back.receive(self.layout.target, self.bytes)?;
            seen(cpu, self.layout, number);
        }
        Ok(())
    }
}

/// Where things are in the shared memories.
///
/// # Errors
/// There is no room for packets of `packet` bytes.
pub(super) fn layout(chip: &Chip, packet: u32) -> Result<Layout, Failure> {
    Layout::new(chip, packet).ok_or_else(|| {
        let why = format!("a FIFO or a shared memory has no room for packets of {packet} bytes");
        cannot(chip, &why)
    })
}

/// The connection from one CPU to another.
///
/// # Errors
/// One of them is in no cluster.
pub(super) fn line(chip: &Chip, layout: Layout, cores: [usize; 2]) -> Result<Line, Failure> {
    layout.line(chip, cores).ok_or_else(|| cannot(chip, "a core is in no cluster"))
}

fn cannot(chip: &Chip, why: &str) -> Failure {
    Failure::new(Kind::Workload, format!("{}: {why}", chip.name))
}

/// The bytes of a packet.
pub(super) fn contents(number: u32, len: u32) -> Vec<u8> {
    (0..len).map(|at| (number.wrapping_mul(7) ^ at.wrapping_mul(31)) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::platform;

    fn ends(caller: usize, callee: usize) -> Result<Ends, Failure> {
        let chip = platform::load_any("bmm-clusters").unwrap();
        Ends::of(&chip, Some(Cores { caller, callee }))
    }

    #[test]
    fn the_usual_ends_are_neighbours_and_others_are_as_many_links_apart_as_their_clusters() {
        let chip = platform::load_any("bmm-clusters").unwrap();
        let usual = Ends::of(&chip, None).unwrap();
        assert_eq!((usual.cores, usual.clusters, usual.hops(&chip)), ([0, 2], [0, 1], 1));
        assert_eq!(ends(7, 0).unwrap().hops(&chip), 2);
        assert_eq!(ends(7, 5).unwrap(), Ends { cores: [7, 5], clusters: [3, 2] });
    }

    #[test]
    fn cores_of_one_cluster_and_chips_without_two_are_refused_in_a_sentence() {
        let said = ends(6, 7).unwrap_err().to_string();
        assert!(said.contains("--cores 6,7 are both in cluster3"), "{said}");
        let mut chip = platform::load_any("bmm-clusters").unwrap();
        if let Some(clusters) = &mut chip.clusters {
            clusters.all.truncate(1);
        }
        let said = Ends::of(&chip, None).unwrap_err().to_string();
        assert!(said.ends_with("it has no two clusters"), "{said}");
    }
}
