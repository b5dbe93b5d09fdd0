//! Random chips of clusters and random programs on them, in the fast engine and in the reference
//! engine: the same end, the same stores at the same moments, the same words, the same faults.
//! `NARROWS_CASES` says how many there are.

use super::accelerators::{FIFO, attach};
use super::{
    Access, COPY, Fault, Kind, Mode, RECEIVE, RECEIVER, SEND, SENDER, WORD, Way, ask, bytes, chip,
    dma, entry, in_cluster, of, port,
};
use crate::common::dice::Dice;
use narrows_sim::chip::{Chip, Partitioning};
use narrows_sim::cpu::Cpu;
use narrows_sim::cpu::cluster::{Signalled, shared};
use narrows_sim::engine::{Outcome, Settings, Simulation};
use narrows_sim::time::{Cost, Frequency, Time};
use std::cell::RefCell;

/// Cases where nothing is said.
const CASES: u64 = 60;

fn drawn(dice: &Dice) -> Chip {
    let mut chip = chip();
    for bus in &mut chip.buses {
        bus.burst = dice.pick(&[16, 64, 256]);
        bus.overhead = Cost::Cycles(dice.roll(3));
    }
    let clusters = chip.clusters.as_mut().expect("it has clusters");
    let noc = &mut clusters.noc;
    noc.clock = dice.pick(&[Frequency(500_000_000), Frequency(333_333_333)]);
    (noc.columns, noc.rows) = dice.pick(&[(2, 2), (3, 2), (2, 5)]);
    noc.flit = dice.pick(&[1, 4, 16]);
    noc.header = 1 + dice.roll(2) as u32;
    noc.packet = dice.pick(&[8, 64, 256]);
    noc.router = dice.roll(5) as u32;
    noc.link = 1 + dice.roll(2) as u32;
    noc.interface = dice.roll(4) as u32;
    noc.queue = 1 + dice.roll(4) as u32;
    clusters.dma.burst = dice.pick(&[8, 64, 256]);
    clusters.dma.start = Cost::Cycles(dice.roll(5));
    clusters.dma.wake = Cost::Cycles(dice.roll(5));
    clusters.manager.burst = dice.pick(&[4, 64, 256]);
    clusters.manager.lookup = Cost::Cycles(dice.roll(4));
    clusters.manager.requests = 1 + dice.roll(4) as u32;
    clusters.manager.hardware = dice.one_in(3);
    clusters.manager.partitioning = dice.pick(&Partitioning::ALL);
    let function = &mut clusters.accelerators[0];
    function.block = 4 * (1 + dice.roll(20) as u32);
    function.result = 4 * (1 + dice.roll(20) as u32);
    function.latency = Cost::Cycles(dice.roll(40));
    function.rate = 1 + dice.roll(8) as u32;
    chip
}

/// What a core saw: a status or a word, and when.
type Seen = Vec<(Time, u64)>;

/// A program of a core: requests of all kinds, without waiting for what may never come.
fn program(cpu: &Cpu, dice: &Dice, seen: &RefCell<Seen>) {
    let (own, number) = cpu.chip().cluster_of(cpu.core()).expect("it is in a cluster");
    let note = |what: u64| seen.borrow_mut().push((cpu.time(), what));
    let status = |result: Result<(), Fault>| result.err().map_or(0, |fault| 1 + fault as u64);
    let peer = (own + 1) % 4;
    if number == 0 {
        // Port 0 sends to port 1 of the next cluster.
        let words = 8 + dice.roll(60) as u32;
        let sizes = (32768, words, 0);
        let to = entry(cpu.chip(), Way::Write, port(peer as u16, 1), sizes);
        note(status(ask(cpu, of(SENDER, 0), &to)));
        let before = (own + 3) % 4;
        let sizes = (32768, 70, dice.roll(8) as u32);
        let from = entry(cpu.chip(), Way::Read, port(before as u16, 0), sizes);
        note(status(ask(cpu, of(RECEIVER, 1), &from)));
        note(status(function(cpu, dice, own)));
    }
    for _ in 0..40 {
        let offset = |dice: &Dice| dice.roll(500) as u32 * 4;
        let any = dice.roll(4) as usize;
        let len = 4 * (1 + dice.roll(30) as u32);
        let what = match dice.roll(13) {
            0 => status(cpu.bus_store(shared(any, offset(dice)), dice.roll(1 << 32) as u32)),
            1 => match cpu.bus_load(shared(any, offset(dice))) {
                Ok(word) => u64::from(word.unwrap_or(0)),
                Err(fault) => fault as u64,
            },
            2 => status(ask(cpu, of(SEND, 0), &[shared(own, offset(dice)), len])),
            3 => status(ask(cpu, of(WORD, 0), &[dice.roll(1 << 32) as u32])),
            4 => status(ask(cpu, of(RECEIVE, 1), &[shared(own, 16384), len])),
            5 => {
                let [from, to] = [own, any].map(|one| shared(one, offset(dice)));
                status(ask(cpu, of(COPY, 9), &[from, to, len - dice.roll(4) as u32]))
            }
            6 => {
                let [from, to] = [any, own].map(|one| shared(one, offset(dice)));
                status(dma(cpu, from, to, len, 8 + number as u32))
            }
            7 => {
                let access = Access {
                    way: Way::Read,
                    kind: dice.pick(&Kind::ALL),
                    end: true,
                    port: dice.roll(3) as u8,
                    cpu: number as u8,
                };
                match cpu.bus_load(in_cluster(own, access.address())) {
                    Ok(word) => u64::from(word.unwrap_or(1)),
                    Err(fault) => fault as u64,
                }
            }
            8 => status(cpu.bus_store(in_cluster(own, dice.roll(1 << 22) as u32), 3)),
            9 => status(ask(cpu, of(SEND, 6), &[shared(own, offset(dice)), len])),
            10 => status(ask(cpu, of(RECEIVE, 7), &[shared(own, 20480), len])),
            11 if number == 0 => {
                // Its own, which does end: two do not wait with one mask.
                let done = dma(cpu, shared(own, 0), shared(any, 4096), len, 30);
                if done.is_ok() {
                    cpu.wait_transfer(30).expect("it is in a cluster");
                }
                status(done)
            }
            _ => {
                cpu.compute(Time::nanos(1 + dice.roll(900)));
                0
            }
        };
        note(what);
    }
    cpu.compute(Time::nanos(20_000));
    let all = bytes(cpu, own, 0, 4096);
    note(all.iter().fold(7, |sum: u64, byte| sum.wrapping_mul(31) ^ u64::from(*byte)));
}

/// What the cores of each cluster set up of a way through the function in cluster 3: from port 6 of
/// cluster 2 to port 7 of cluster 1. At times its result has no port.
fn function(cpu: &Cpu, dice: &Dice, own: usize) -> Result<(), Fault> {
    let chip = cpu.chip();
    let sizes = (FIFO, 30 + dice.roll(30) as u32, 0);
    match own {
        1 => ask(cpu, of(RECEIVER, 7), &entry(chip, Way::Read, port(3, 5), sizes)),
        2 => ask(cpu, of(SENDER, 6), &entry(chip, Way::Write, port(3, 4), (FIFO, 40, 0))),
        3 => {
            attach(cpu, RECEIVER, 4, &entry(chip, Way::Read, port(2, 6), (FIFO, 40, 4)))?;
            match dice.one_in(4) {
                true => Ok(()),
                false => {
                    let gives = entry(chip, Way::Write, port(1, 7), (FIFO, 30, 0));
                    attach(cpu, SENDER, 5, &gives)
                }
            }
        }
        _ => Ok(()),
    }
}

fn run(number: u64, mode: Mode) -> (Outcome, Vec<Seen>, Vec<Signalled>) {
    let dice = Dice::new(number);
    let chip = drawn(&dice);
    let seen: Vec<RefCell<Seen>> = chip.cores.iter().map(|_| RefCell::default()).collect();
    let signalled = RefCell::new(Vec::new());
    let settings = Settings { mode, until: Time::nanos(50_000_000), ..Settings::default() };
    let mut simulation = Simulation::new(&chip, settings);
    for (core, seen) in seen.iter().enumerate() {
        let (dice, signalled) = (dice.split(), &signalled);
        simulation.process(core, "program", 1, move |cpu| {
            program(&cpu, &dice, seen);
            signalled.borrow_mut().extend(cpu.take_signalled());
        });
    }
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("case {number}: {stuck}"));
    (outcome, seen.into_iter().map(RefCell::into_inner).collect(), signalled.into_inner())
}

#[test]
fn both_engines_agree() {
    let cases = std::env::var("NARROWS_CASES").ok().and_then(|cases| cases.parse().ok());
    let (mut stores, mut signalled) = (0, 0);
    for number in 0..cases.unwrap_or(CASES) {
        let [fast, reference] = [Mode::Fast, Mode::Reference].map(|mode| run(number, mode));
        assert_eq!(fast.0.end, reference.0.end, "case {number}");
        assert_eq!(fast.1, reference.1, "case {number}");
        assert_eq!(fast.2, reference.2, "case {number}");
        assert_eq!(fast.0.hash, reference.0.hash, "case {number}");
        assert_eq!(fast.0.unfinished, reference.0.unfinished, "case {number}");
        stores += fast.0.counts.stores;
        signalled += fast.2.len();
    }
    assert!(stores > 1000 && signalled > 100, "{stores} stores, {signalled} signalled");
}
