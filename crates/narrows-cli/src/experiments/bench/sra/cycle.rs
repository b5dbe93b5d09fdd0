//! The send, receive, acknowledge cycle of two tasks, on one processor or on two.

use std::cell::Cell;

use narrows_sim::chip::{Chip, DmaMode, Net};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::rtos::Os;
use narrows_sim::time::Time;

use crate::base::failure::{Failure, Kind};
use crate::base::usage::{self, Monitor};
use crate::rig::ipc::{Service, Task, connect, services};

/// Cycles before the one that is measured.
const BEFORE: usize = 2;
/// Longer than anything that goes on behind a message.
const QUIET: Time = Time::nanos(20_000_000);

/// What is measured: messages of `bytes` bytes, as long both ways, to the processor `hops`
/// transfers away.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// How DMA is driven.
    pub mode: DmaMode,
    /// Bytes of a message and of its acknowledgement.
    pub bytes: usize,
    /// Transfers from task to task; none on one processor.
    pub hops: usize,
    /// What looks at its simulations.
    pub monitor: Option<&'a Monitor>,
}

/// The task that asks.
const FIRST: Task = Task { core: 0, number: 0 };

/// The processors that take part, and the one that is `hops` transfers from the first: by the
/// routes that the board's file has, or where it has none, along the line of its processors. `None`
/// if there is no such processor.
pub fn way(chip: &Chip, hops: usize) -> Option<(Net, usize)> {
    if hops == 0 || chip.ports.routes.is_empty() {
        return (hops < chip.cores.len()).then(|| (Net::line(hops + 1), hops));
    }
    let net = chip.net();
    let last = net.away(0, hops)?;
    Some((net, last))
}

/// The task that answers.
fn last(chip: &Chip, asked: Asked<'_>) -> Result<(Net, Task), Failure> {
    let (net, core) = way(chip, asked.hops).ok_or_else(|| {
        let text = format!("no processor of {} is {} transfers away", chip.name, asked.hops);
        Failure::new(Kind::Internal, text)
    })?;
    Ok((net, Task { core: core as u16, number: 1 }))
}

/// For how long each processor is held by one message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// The sender's.
    pub sender: Time,
    /// The receiver's, its task's receive included.
    pub receiver: Time,
}

/// The time of one cycle.
///
/// # Errors
/// [`Kind::Internal`] if the simulation cannot go on.
pub fn cycle(chip: &Chip, asked: Asked<'_>) -> Result<Time, Failure> {
    counted(chip, asked).map(|(took, _)| took)
}

/// The same, and how many messages each processor has passed on, from the first cycle to the last.
pub(super) fn counted(chip: &Chip, asked: Asked<'_>) -> Result<(Time, Vec<u64>), Failure> {
    let way = last(chip, asked)?;
    let to = way.1;
    let took = Cell::new(Time::ZERO);
    let ask = |service: &Service, os: &Os| {
        for round in 0..=BEFORE + 1 {
            let begin = os.cpu().time();
            let Some(message) = service.alloc(asked.bytes, to) else { return };
            service.send(os, message);
            let Some(answer) = service.receive(os) else { return };
            // The last one ends without the other side's next receive.
            if round == BEFORE {
                took.set(os.cpu().time().since(begin));
            }
            service.free(answer);
        }
    };
    let answer = |service: &Service, os: &Os| {
        for _ in 0..=BEFORE + 1 {
            let Some(mut message) = service.receive(os) else { return };
            message.to = FIRST;
            service.send(os, message);
        }
    };
    let passed = run(chip, asked, way, ask, answer)?;
    Ok((took.get(), passed))
}

/// For how long one message holds the processors, measured while nothing else happens.
///
/// # Errors
/// As [`cycle`].
pub fn held(chip: &Chip, asked: Asked<'_>) -> Result<Held, Failure> {
    let way = last(chip, asked)?;
    let to = way.1;
    let (sender, receiver) = (Cell::default(), Cell::default());
    let measured = |cpu: &Cpu, switches: u64, to: &Cell<Time>, what: &mut dyn FnMut()| {
        let begin = cpu.busy();
        what();
        cpu.pause(QUIET);
        let core = &chip.cores[cpu.core()];
        // Switching to a task that waited is not the message's.
        to.set(cpu.busy().since(begin) - core.system.switch.at(core.clock) * switches);
    };
    let send = |service: &Service, os: &Os| {
        measured(os.cpu(), 1, &sender, &mut || {
            if let Some(message) = service.alloc(asked.bytes, to) {
                service.send(os, message);
            }
        });
    };
    let receive = |service: &Service, os: &Os| {
        measured(os.cpu(), 2, &receiver, &mut || {
            let _ = service.receive(os);
        });
    };
    run(chip, asked, way, send, receive)?;
    Ok(Held { sender: sender.get(), receiver: receiver.get() })
}

/// What the calls alone take, where the receiver comes when the message is there.
///
/// # Errors
/// As [`cycle`].
pub fn calls(chip: &Chip, asked: Asked<'_>) -> Result<Held, Failure> {
    let way = last(chip, asked)?;
    let to = way.1;
    let (sender, receiver) = (Cell::default(), Cell::default());
    let send = |service: &Service, os: &Os| {
        let Some(message) = service.alloc(asked.bytes, to) else { return };
        let begin = os.cpu().time();
        service.send(os, message);
        sender.set(os.cpu().time().since(begin));
    };
    let receive = |service: &Service, os: &Os| {
        os.cpu().pause(QUIET);
        let begin = os.cpu().time();
        let received = service.receive(os);
        receiver.set(os.cpu().time().since(begin));
        if let Some(message) = received {
            service.free(message);
        }
    };
    run(chip, asked, way, send, receive)?;
    Ok(Held { sender: sender.get(), receiver: receiver.get() })
}

/// Runs a task on the first processor and another on the processor of `to`. Returns how many
/// messages each processor has passed on.
fn run(
    chip: &Chip,
    asked: Asked<'_>,
    (net, to): (Net, Task),
    first: impl Fn(&Service, &Os),
    last: impl Fn(&Service, &Os),
) -> Result<Vec<u64>, Failure> {
    let internal = |text: String| Failure::new(Kind::Internal, text);
    let Asked { mode, bytes, monitor, .. } = asked;
    let services = services(chip, &net, bytes);
    let services = services.ok_or_else(|| internal("messages do not fit into memory".into()))?;
    let mut simulation = Simulation::new(chip, Settings::default());
    connect(&mut simulation, chip, mode, &services, &net)
        .ok_or_else(|| internal("the ports are not as they have to be".into()))?;
    let core = usize::from(to.core);
    let [one, other] = [&services[0], &services[core]];
    let a = simulation.process(0, "A", 10, |cpu| {
        one.serve(&cpu);
        first(one, &cpu.os());
    });
    let b = simulation.process(core, "B", 10, |cpu| {
        other.serve(&cpu);
        last(other, &cpu.os());
    });
    one.has(FIRST.number, a);
    other.has(to.number, b);
    usage::run(monitor, simulation).map_err(|stuck| internal(stuck.to_string()))?;
    Ok(services.iter().map(|service| service.passed()).collect())
}
