//! The send, receive, acknowledge cycle of two tasks, on one processor or on two.

use std::cell::Cell;

use narrows_sim::chip::{Chip, DmaMode};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::rtos::Os;
use narrows_sim::time::Time;

use crate::base::failure::{Failure, Kind};
use crate::rig::ipc::{Service, Task, connect, services};

/// Cycles before the one that is measured.
const BEFORE: usize = 2;
/// Longer than anything that goes on behind a message.
const QUIET: Time = Time::nanos(20_000_000);

/// What is measured: messages of so many bytes, as long both ways, to the processor so many
/// transfers away.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// How DMA is driven.
    pub mode: DmaMode,
    /// Bytes of a message and of its acknowledgement.
    pub bytes: usize,
    /// Transfers from task to task; none on one processor.
    pub hops: usize,
}

/// The task that asks.
const FIRST: Task = Task { core: 0, number: 0 };

impl Asked {
    /// The task that answers.
    fn last(self) -> Task {
        Task { core: self.hops as u16, number: 1 }
    }
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
pub fn cycle(chip: &Chip, asked: Asked) -> Result<Time, Failure> {
    let took = Cell::new(Time::ZERO);
    let ask = |service: &Service, os: &Os| {
        for round in 0..=BEFORE + 1 {
            let begin = os.cpu().time();
            let Some(message) = service.alloc(asked.bytes, asked.last()) else { return };
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
    run(chip, asked, ask, answer)?;
    Ok(took.get())
}

/// For how long one message holds the processors, measured while nothing else happens.
///
/// # Errors
/// As [`cycle`].
pub fn held(chip: &Chip, asked: Asked) -> Result<Held, Failure> {
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
            if let Some(message) = service.alloc(asked.bytes, asked.last()) {
                service.send(os, message);
            }
        });
    };
    let receive = |service: &Service, os: &Os| {
        measured(os.cpu(), 2, &receiver, &mut || {
            let _ = service.receive(os);
        });
    };
    run(chip, asked, send, receive)?;
    Ok(Held { sender: sender.get(), receiver: receiver.get() })
}

/// What the calls alone take, where the receiver comes when the message is there.
///
/// # Errors
/// As [`cycle`].
pub fn calls(chip: &Chip, asked: Asked) -> Result<Held, Failure> {
    let (sender, receiver) = (Cell::default(), Cell::default());
    let send = |service: &Service, os: &Os| {
        let Some(message) = service.alloc(asked.bytes, asked.last()) else { return };
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
    run(chip, asked, send, receive)?;
    Ok(Held { sender: sender.get(), receiver: receiver.get() })
}

/// Runs a task on the first processor and another so many transfers away.
fn run(
    chip: &Chip,
    asked: Asked,
    first: impl Fn(&Service, &Os),
    last: impl Fn(&Service, &Os),
) -> Result<(), Failure> {
    let internal = |text: String| Failure::new(Kind::Internal, text);
    let Asked { mode, bytes, hops } = asked;
    let services = services(chip, hops + 1, bytes);
    let services = services.ok_or_else(|| internal("messages do not fit into memory".into()))?;
    let mut simulation = Simulation::new(chip, Settings::default());
    connect(&mut simulation, chip, mode, &services)
        .ok_or_else(|| internal("the ports are not as they have to be".into()))?;
    let [one, other] = [&services[0], &services[hops]];
    let a = simulation.process(0, "A", 10, |cpu| {
        one.serve(&cpu);
        first(one, &cpu.os());
    });
    let b = simulation.process(hops, "B", 10, |cpu| {
        other.serve(&cpu);
        last(other, &cpu.os());
    });
    one.has(FIRST.number, a);
    other.has(asked.last().number, b);
    simulation.run().map_err(|stuck| internal(stuck.to_string()))?;
    Ok(())
}
