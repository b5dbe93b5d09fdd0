//! Tasks that work and send messages, on the processors of a simulated board.

use std::cell::Cell;
use std::rc::Rc;

use narrows_sim::chip::{Chip, DmaMode, Net};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;

use crate::base::failure::{Failure, Kind};
use crate::formats::tasks::Traffic;
use crate::rig::ipc::{Task, connect, services};

/// Work is done in parts, one in each of these.
const SLICE: Time = Time::nanos(1_000_000);
/// How urgent work is, and what sends and receives.
const WORK: u32 = 1;
const SENDER: u32 = 10;
const RECEIVER: u32 = 11;
/// Multiples of it are spread evenly over a slice.
const GOLDEN: f64 = 0.618_033_988_749_895;
/// Where in a slice messages come that are to come while there is work.
const EARLY: f64 = 0.2;
/// How soon a sender that found no message free tries again.
const AGAIN: Time = Time::nanos(50_000);

/// What is carried: work on each processor, and messages between processors.
#[derive(Clone, Debug)]
pub(super) struct Carried<'a> {
    /// The share of each processor that work takes.
    pub work: Vec<f64>,
    /// Messages between places in `at`.
    pub traffic: &'a [Traffic],
    /// The processor of each task.
    pub at: &'a [usize],
    /// For how long, in slices.
    pub slices: u64,
    /// Whether messages come at all moments of a slice, or each early in one.
    pub anywhere: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    /// For which share of the time messages held each processor: how much longer it was busy than
    /// with its work alone.
    pub held: Vec<f64>,
    /// Messages that were received.
    pub received: u64,
}

/// Waits. False if the simulation is over.
fn wait(cpu: &Cpu, time: Time) -> bool {
    let before = cpu.time();
    cpu.pause(time);
    cpu.time() > before
}

/// Carries it, and the work alone.
///
/// # Errors
/// [`Kind::Internal`] if the simulation cannot go on.
pub(super) fn carry(
    chip: &Chip,
    net: &Net,
    mode: DmaMode,
    carried: &Carried<'_>,
) -> Result<Seen, Failure> {
    let (busy, received) = busy(chip, net, mode, carried)?;
    let (alone, _) = self::busy(chip, net, mode, &Carried { traffic: &[], ..carried.clone() })?;
    let whole = (SLICE * carried.slices).micros();
    let held = busy.iter().zip(&alone).map(|(busy, alone)| (busy - alone) / whole);
    Ok(Seen { held: held.collect(), received })
}

/// For how many microseconds each processor is busy, and how many messages are received.
fn busy(
    chip: &Chip,
    net: &Net,
    mode: DmaMode,
    carried: &Carried<'_>,
) -> Result<(Vec<f64>, u64), Failure> {
    let internal = |text: &str| Failure::new(Kind::Internal, format!("{text}: report this defect"));
    let longest = carried.traffic.iter().map(|one| one.bytes).max().unwrap_or(0);
    let services = services(chip, net, longest)
        .ok_or_else(|| Failure::new(Kind::Workload, "the messages do not fit into memory"))?;
    let until = SLICE * carried.slices;
    let mut simulation = Simulation::new(chip, Settings { until, ..Settings::default() });
    connect(&mut simulation, chip, mode, &services, net)
        .ok_or_else(|| internal("the ports are not as they have to be"))?;
    for (core, share) in carried.work.iter().enumerate() {
        let part = Time((SLICE.0 as f64 * share) as u64);
        if part > Time::ZERO {
            simulation.process(core, "work", WORK, move |cpu| {
                for slice in 1.. {
                    let before = cpu.time();
                    cpu.compute(part);
                    if cpu.time() == before {
                        return;
                    }
                    let next = SLICE * slice;
                    if cpu.time() < next && !wait(&cpu, next.since(cpu.time())) {
                        return;
                    }
                }
            });
        }
    }
    let received: Rc<Cell<u64>> = Rc::default();
    for (task, core) in carried.at.iter().enumerate() {
        if carried.traffic.iter().all(|one| one.to != task) {
            continue;
        }
        let (service, received) = (Rc::clone(&services[*core]), Rc::clone(&received));
        let number = task as u16;
        let process = simulation.process(*core, "receiver", RECEIVER, move |cpu| {
            service.serve(&cpu);
            let os = cpu.os();
            while let Some(message) = service.receive(&os) {
                received.set(received.get() + 1);
                service.free(message);
            }
        });
        services[*core].has(number, process);
    }
    for (place, one) in carried.traffic.iter().enumerate() {
        let service = Rc::clone(&services[carried.at[one.from]]);
        let to = Task { core: carried.at[one.to] as u16, number: one.to as u16 };
        let period = Time(1_000_000_000_000 / u64::from(one.per_second));
        // They do not all begin at once.
        let begin = Time(period.0 * (2 * place as u64 + 1) / (2 * carried.traffic.len() as u64));
        let anywhere = carried.anywhere;
        let due = move |number: u64| {
            let part = if anywhere {
                (number as f64 * GOLDEN + place as f64 / 7.0).fract()
            } else {
                EARLY
            };
            begin + period * number + Time((SLICE.0 as f64 * part) as u64)
        };
        let bytes = one.bytes;
        simulation.process(carried.at[one.from], "sender", SENDER, move |cpu| {
            service.serve(&cpu);
            let os = cpu.os();
            let (mut number, mut next) = (0, due(0));
            loop {
                if cpu.time() < next && !wait(&cpu, next.since(cpu.time())) {
                    return;
                }
                match service.alloc(bytes, to) {
                    Some(message) => {
                        service.send(&os, message);
                        number += 1;
                        next = due(number);
                    }
                    None if wait(&cpu, AGAIN) => {}
                    None => return,
                }
                if cpu.time() >= until {
                    return;
                }
            }
        });
    }
    let outcome = simulation.run().map_err(|stuck| internal(&stuck.to_string()))?;
    let busy = outcome.cores.iter().take(net.nodes).map(|core| core.busy.micros());
    Ok((busy.collect(), received.get()))
}
