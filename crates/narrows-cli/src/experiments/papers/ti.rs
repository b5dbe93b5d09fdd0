//! TI: what Texas Instruments publishes of IPC on the AM64x and of the mailbox on the AM62P. The
//! chips are `platforms/am64x.toml` and `platforms/am62p.toml`.

use super::row::Found;
use super::s0::Run;
use crate::base::failure::{Failure, Kind};
use crate::base::options::{Cores, Global};
use crate::formats::platform;
use crate::formats::strategy::literal;
use crate::rig::sim;
use narrows_sim::chip::Chip;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;
use std::cell::RefCell;

/// The experiments, by their names.
pub const EXPERIMENTS: [(&str, Run); 4] = [
    ("TI.am64x.notify", notify),
    ("TI.am64x.rpmsg", messages),
    ("TI.am62p.interrupt", |_| mailbox(by_interrupt)),
    ("TI.am62p.poll", |_| mailbox(by_polling)),
];

/// The core that sends in the tables of the AM64x, and to which cores.
const SENDER: &str = "r5f0_0";
const RECEIVERS: [&str; 4] = ["m4f", "r5f0_1", "r5f1_0", "r5f1_1"];
/// Bytes of a message, and to which cores.
const MESSAGES: [(&str, usize); 10] = [
    ("r5f0_1", 4),
    ("r5f1_0", 4),
    ("r5f1_1", 4),
    ("m4f", 4),
    ("r5f0_1", 32),
    ("r5f0_1", 64),
    ("r5f0_1", 112),
    ("m4f", 32),
    ("m4f", 64),
    ("m4f", 112),
];
/// The cores of the tables of the AM62P: those that send, and those that receive.
const PAIRS: [(&str, &str); 6] = [
    ("a53", "r5f_mcu"),
    ("a53", "r5f_wkup"),
    ("r5f_mcu", "a53"),
    ("r5f_mcu", "r5f_wkup"),
    ("r5f_wkup", "a53"),
    ("r5f_wkup", "r5f_mcu"),
];
/// Messages whose mean counts.
const COUNT: u64 = 32;

/// The chip of most figures.
///
/// # Errors
/// As [`platform::load`].
pub fn chip() -> Result<Chip, Failure> {
    platform::load("am64x")
}

fn defect(what: &str) -> Failure {
    Failure::new(Kind::Internal, format!("{what}: report this defect"))
}

/// A core, by its name.
fn core(chip: &Chip, name: &str) -> Result<usize, Failure> {
    let found = chip.cores.iter().position(|core| core.name == name);
    found.ok_or_else(|| defect("a chip has no core of a published figure"))
}

/// What a notification takes, there and back, half of it, in microseconds.
fn notify(chip: &Chip) -> Result<Found, Failure> {
    let of = |name: &str| {
        let (one, other) = (core(chip, SENDER)?, core(chip, name)?);
        let both = by_interrupt(chip, one, other)? + by_interrupt(chip, other, one)?;
        Ok((name.to_owned(), both / 2e3))
    };
    RECEIVERS.into_iter().map(of).collect()
}

/// What a message of the endpoint takes, there and back, half of it, in microseconds.
fn messages(chip: &Chip) -> Result<Found, Failure> {
    let of = |(name, bytes): (&str, usize)| {
        let cores = Some(Cores { caller: core(chip, SENDER)?, callee: core(chip, name)? });
        let global = Global { cores, ..Global::default() };
        let needs = sim::Needs { longest: bytes, ..sim::Needs::default() };
        let strategy = literal("copy/interrupt/internal");
        let trip =
            sim::pair(&global, chip, &needs, |mut pair| pair.messages(strategy, bytes, COUNT));
        Ok((format!("{name}.{bytes}"), trip? / 2e3))
    };
    MESSAGES.into_iter().map(of).collect()
}

/// A word from one core to another, in nanoseconds.
type Word = fn(&Chip, usize, usize) -> Result<f64, Failure>;

/// What a word takes in each direction, in nanoseconds.
fn mailbox(word: Word) -> Result<Found, Failure> {
    let chip = platform::load("am62p")?;
    let of = |(from, to): (&str, &str)| {
        let ns = word(&chip, core(&chip, from)?, core(&chip, to)?)?;
        Ok((format!("{from}.{to}"), ns))
    };
    PAIRS.into_iter().map(of).collect()
}

/// The mean of what each of several words took, once all have come.
fn mean_of(
    simulation: Simulation<'_>,
    sent: &RefCell<Vec<Time>>,
    known: &RefCell<Vec<Time>>,
) -> Result<f64, Failure> {
    simulation.run().map_err(|stuck| Failure::new(Kind::Stuck, stuck.to_string()))?;
    let (sent, known) = (sent.borrow(), known.borrow());
    if sent.len() != known.len() || sent.is_empty() {
        return Err(defect("a word did not come"));
    }
    let each = sent.iter().zip(&*known).map(|(sent, known)| known.since(*sent).0 as f64 / 1e3);
    Ok(each.sum::<f64>() / sent.len() as f64)
}

/// Told by interrupt: from before the bell is rung until the service routine is through.
fn by_interrupt(chip: &Chip, from: usize, to: usize) -> Result<f64, Failure> {
    let (sent, known) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let mut simulation = Simulation::new(chip, Settings::default());
    let facts = &chip.cores[to];
    let service = facts.interrupt.service.at(facts.clock);
    let interrupt = simulation.interrupt(to, "receives", 0, |os| {
        os.cpu().compute(service);
        known.borrow_mut().push(os.cpu().time());
    });
    simulation.process(from, "sends", 1, |cpu| {
        for number in 0..COUNT {
            cpu.compute(Time::nanos(10_000 + 37 * number));
            sent.borrow_mut().push(cpu.time());
            cpu.os().raise(interrupt);
        }
        cpu.compute(Time::nanos(10_000));
    });
    mean_of(simulation, &sent, &known)
}

/// Looked for: from before the word is written until the receiver, which looks again and again, has
/// read it.
fn by_polling(chip: &Chip, from: usize, to: usize) -> Result<f64, Failure> {
    let found = chip.memories.iter().position(|memory| memory.name == "mailbox");
    let mailbox = found.ok_or_else(|| defect("a chip has no mailbox"))?;
    let (sent, known) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let mut simulation = Simulation::new(chip, Settings::default());
    simulation.process(to, "receives", 1, |cpu| {
        for number in 0..COUNT as u32 {
            let _ = cpu.spin(mailbox, 0, number, Time::NEVER);
            let _ = cpu.load(mailbox, 0);
            known.borrow_mut().push(cpu.time());
        }
    });
    simulation.process(from, "sends", 1, |cpu| {
        for number in 0..COUNT {
            cpu.compute(Time::nanos(10_000 + 37 * number));
            sent.borrow_mut().push(cpu.time());
            cpu.store(mailbox, 0, number as u32 + 1);
        }
    });
    mean_of(simulation, &sent, &known)
}
