//! Clusters on a network on chip: what loads and stores of global addresses do and take, DMA and
//! events, the buffer manager, what is signalled, and that both engines agree.

mod accelerators;
mod faults;
mod random;

use narrows_sim::chip::{Chip, Clusters, Partitioning};
use narrows_sim::cpu::Cpu;
use narrows_sim::cpu::cluster::{
    Access, DmaRegister, Endpoint, EventRegister, Fault, Kind, Way, in_cluster, shared,
};
use narrows_sim::engine::{Mode, Outcome, Settings, Simulation, Stuck};
use narrows_sim::time::{Cost, Time};
use std::cell::{Cell, RefCell};

pub(crate) fn chip() -> Chip {
    Chip::shipped("bmm-clusters").expect("a possible chip")
}

fn clusters(chip: &Chip) -> &Clusters {
    chip.clusters.as_ref().expect("it has clusters")
}

/// Makes a request of the buffer manager of this core's cluster.
pub(crate) fn ask(
    cpu: &Cpu,
    (way, kind, port): (Way, Kind, u8),
    words: &[u32],
) -> Result<(), Fault> {
    let (own, number) = cpu.chip().cluster_of(cpu.core()).expect("it is in a cluster");
    for (at, word) in words.iter().enumerate() {
        let access = Access { way, kind, end: at + 1 == words.len(), port, cpu: number as u8 };
        cpu.bus_store(in_cluster(own, access.address()), *word)?;
    }
    Ok(())
}

pub(crate) fn port(cluster: u16, port: u8) -> u32 {
    Endpoint { cluster, cpu: 0, port }.word()
}

/// A word of cluster 0 that says that a receiver is ready.
const READY: u32 = shared(0, 65532);
pub(crate) const SEND: (Way, Kind) = (Way::Write, Kind::Indirect);
pub(crate) const WORD: (Way, Kind) = (Way::Write, Kind::Direct);
pub(crate) const COPY: (Way, Kind) = (Way::Write, Kind::Address);
pub(crate) const RECEIVE: (Way, Kind) = (Way::Read, Kind::Indirect);
pub(crate) const SENDER: (Way, Kind) = (Way::Write, Kind::Setup);
pub(crate) const RECEIVER: (Way, Kind) = (Way::Read, Kind::Setup);

pub(crate) fn of((way, kind): (Way, Kind), port: u8) -> (Way, Kind, u8) {
    (way, kind, port)
}

/// The words of a set-up: the other end, where the FIFO begins, its words and the threshold.
pub(crate) fn entry(
    chip: &Chip,
    way: Way,
    other: u32,
    (base, words, threshold): (u32, u32, u32),
) -> Vec<u32> {
    match (way, clusters(chip).manager.partitioning) {
        (Way::Write, Partitioning::AtReceiver) | (Way::Read, Partitioning::AtSender) => {
            vec![other, words]
        }
        (Way::Write, Partitioning::Apart) => vec![other, base, words | words << 16],
        (Way::Write, Partitioning::AtSender) => vec![other, base, words],
        (Way::Read, _) => vec![other, base, words | threshold << 16],
    }
}

/// The address of a word at a time from port of this core's cluster.
fn next_word(cpu: &Cpu, port: u8) -> u32 {
    let (own, number) = cpu.chip().cluster_of(cpu.core()).expect("it is in a cluster");
    let access = Access { way: Way::Read, kind: Kind::Direct, end: true, port, cpu: number as u8 };
    in_cluster(own, access.address())
}

fn run<'a>(chip: &Chip, add: impl FnOnce(&mut Simulation<'a>)) -> Result<Outcome, Stuck> {
    let mut simulation = Simulation::new(chip, Settings::default());
    add(&mut simulation);
    simulation.run()
}

/// One process of core 0.
fn alone(chip: &Chip, body: impl FnOnce(Cpu)) -> Outcome {
    let outcome = run(chip, |simulation| {
        simulation.process(0, "alone", 1, body);
    });
    outcome.unwrap_or_else(|stuck| panic!("{stuck}"))
}

fn took(cpu: &Cpu, what: impl FnOnce()) -> Time {
    let start = cpu.time();
    what();
    cpu.time().since(start)
}

#[test]
fn a_store_to_another_cluster_is_posted_and_a_load_waits_for_the_answer() {
    let chip = chip();
    let cycle = chip.cores[0].clock.cycles(1);
    alone(&chip, |cpu| {
        let store = |to, offset| {
            took(&cpu, || cpu.bus_store(shared(to, offset), 7).expect("there is memory"))
        };
        let load = |from, offset| {
            let mut word = None;
            let time = took(&cpu, || {
                word = cpu.bus_load(shared(from, offset)).expect("there is memory");
            });
            (time, word)
        };
        assert_eq!(store(0, 0), cycle * 2, "two cycles at the bus");
        assert_eq!(load(0, 0), (cycle * 2, Some(7)));
        assert_eq!(store(1, 4), cycle * 2, "the interface has taken it");
        let (near, word) = load(1, 4);
        assert_eq!(word, Some(7), "what was posted before has come before");
        assert!(near > cycle * 2 * 5, "{near}");
        store(3, 8);
        cpu.compute(Time::nanos(1000));
        let (far, word) = load(3, 8);
        assert_eq!(word, Some(7));
        // Three routers instead of two, there and back, and the edges of the other clock.
        let noc = clusters(cpu.chip()).noc;
        let hop = noc.clock.cycles(u64::from(noc.router + noc.link));
        let more = far.since(near);
        assert!(more + cycle * 2 >= hop * 2 && more <= hop * 2 + cycle * 2, "{more} for two hops");
        assert!(cpu.take_signalled().is_empty());
    });
}

/// By the facts: the bus, the interface's edge, the network, and the bus of the other cluster.
#[test]
fn a_posted_word_is_there_after_what_the_arithmetic_says() {
    let chip = chip();
    let (noc, arrived) = (clusters(&chip).noc, Cell::new(Time::ZERO));
    run(&chip, |simulation| {
        simulation.process(0, "writes", 1, |cpu| {
            cpu.bus_store(shared(3, 64), 9).expect("there is memory");
        });
        let arrived = &arrived;
        simulation.process(6, "sees", 1, move |cpu| {
            let memory = cpu.chip().clusters.as_ref().expect("it has").all[3].memory;
            // It looks without the bus: other than the word's, nothing is on it.
            while cpu.bus_load(shared(3, 64)) == Ok(Some(0)) {
                cpu.compute(Time::nanos(5));
            }
            arrived.set(cpu.time());
            assert_eq!(cpu.load(memory, 64), 9);
        });
    })
    .expect("both end");
    let [header, data] = [u64::from(noc.header), 2];
    let (links, flits) = (2, header + data);
    let [link, router, interface] = [noc.link, noc.router, noc.interface].map(u64::from);
    let cycles = 2 * interface + (links + 1) * router + (links + 2) * link + (flits - 1) * link;
    let stored = Time::nanos(10);
    let there = stored + noc.clock.cycles(cycles) + Time::nanos(10);
    let seen = arrived.get();
    // Two looks of 15 ns each lie between at most, and one may hold up the store.
    assert!(seen >= there && seen <= there + Time::nanos(50), "{there}, seen at {seen}");
}

/// Bytes of a cluster's shared memory, as its core reads them.
pub(crate) fn bytes(cpu: &Cpu, cluster: usize, offset: u32, len: usize) -> Vec<u8> {
    let memory = clusters(cpu.chip()).all[cluster].memory;
    let mut bytes = vec![0; len];
    cpu.load_bytes(memory, offset, &mut bytes);
    bytes
}

/// Fills bytes of this core's cluster's shared memory.
pub(crate) fn fill(cpu: &Cpu, cluster: usize, offset: u32, bytes: &[u8]) {
    let memory = clusters(cpu.chip()).all[cluster].memory;
    cpu.store_bytes(memory, offset, bytes);
}

fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

fn dma(cpu: &Cpu, from: u32, to: u32, len: u32, id: u32) -> Result<(), Fault> {
    let (own, number) = cpu.chip().cluster_of(cpu.core()).expect("it is in a cluster");
    for (register, value) in DmaRegister::ALL.into_iter().zip([from, to, len, id]) {
        cpu.bus_store(in_cluster(own, register.address(number as u8)), value)?;
    }
    Ok(())
}

#[test]
fn a_core_waits_for_an_interface_that_is_full() {
    let mut chip = chip();
    if let Some(clusters) = &mut chip.clusters {
        (clusters.noc.link, clusters.noc.queue) = (50, 1);
    }
    let noc = clusters(&chip).noc;
    let packet = noc.clock.cycles(u64::from(noc.link * (noc.header + 2)));
    alone(&chip, |cpu| {
        let store = || took(&cpu, || cpu.bus_store(shared(1, 0), 1).expect("there is memory"));
        let first = store();
        assert!(first < packet, "{first}");
        let all = first + store() + store();
        assert!(all >= packet * 2, "{all}: two packets of {packet} have gone before the third");
    });
}

#[test]
fn beginning_a_transfer_takes_what_the_file_says() {
    let time = |start| {
        let mut chip = chip();
        if let Some(clusters) = &mut chip.clusters {
            clusters.dma.start = Cost::Cycles(start);
        }
        let time = Cell::new(Time::ZERO);
        alone(&chip, |cpu| {
            time.set(took(&cpu, || {
                dma(&cpu, shared(0, 0), shared(0, 64), 64, 1).expect("it is free");
                cpu.wait_transfer(1).expect("it is in a cluster");
            }));
        });
        time.get()
    };
    assert_eq!(time(500), time(100) + Time::nanos(400 * 5));
}

#[test]
fn the_dma_moves_bytes_either_way_and_the_synchroniser_tells_when() {
    alone(&chip(), |cpu| {
        let sent = pattern(1001, 3);
        fill(&cpu, 0, 0, &sent);
        dma(&cpu, shared(0, 0), shared(2, 400), 1001, 200).expect("it is free");
        dma(&cpu, shared(0, 0), shared(0, 4096), 1001, 7).expect("it holds several");
        cpu.wait_transfer(200).expect("it is in a cluster");
        cpu.wait_transfer(7).expect("it is in a cluster");
        assert_eq!(bytes(&cpu, 0, 4096, 1001), sent);
        // What was posted before comes before.
        dma(&cpu, shared(2, 400), shared(0, 8192), 1001, 1).expect("it is free");
        cpu.wait_transfer(1).expect("it is in a cluster");
        assert_eq!(bytes(&cpu, 0, 8192, 1001), sent);
        let cleared = EventRegister { cpu: 0, number: 0, mask: false };
        assert_eq!(cpu.bus_load(in_cluster(0, cleared.address())), Ok(Some(0)));
        assert!(cpu.take_signalled().is_empty());
    });
}

#[test]
fn a_wait_does_not_end_with_what_an_earlier_one_waited_for() {
    alone(&chip(), |cpu| {
        let sent = pattern(1001, 3);
        fill(&cpu, 0, 0, &sent);
        let short = || {
            dma(&cpu, shared(0, 0), shared(0, 2048), 8, 7).expect("it holds several");
        };
        short();
        cpu.wait_transfer(7).expect("it is in a cluster");
        // The events of the two are in different registers.
        short();
        dma(&cpu, shared(0, 0), shared(0, 4096), 1001, 200).expect("it holds several");
        cpu.wait_transfer(200).expect("it is in a cluster");
        assert_eq!(bytes(&cpu, 0, 4096, 1001), sent);
        cpu.wait_transfer(7).expect("it is in a cluster");
    });
}

/// A sender in cluster 0 and a receiver in cluster 3, port 1 to port 2, with FIFOs of `words`.
fn connected(
    chip: &Chip,
    (words, threshold): (u32, u32),
    send: impl FnOnce(&Cpu),
    receive: impl FnOnce(&Cpu),
) -> Outcome {
    run(chip, |simulation| {
        simulation.process(0, "sends", 1, move |cpu| {
            let entry = entry(cpu.chip(), Way::Write, port(3, 2), (32768, words, 0));
            ask(&cpu, of(SENDER, 1), &entry).expect("it can be");
            // The receiver says when it is ready.
            while cpu.bus_load(READY) == Ok(Some(0)) {
                cpu.compute(Time::nanos(50));
            }
            send(&cpu);
        });
        simulation.process(6, "receives", 1, move |cpu| {
            let entry = entry(cpu.chip(), Way::Read, port(0, 1), (32768, words, threshold));
            ask(&cpu, of(RECEIVER, 2), &entry).expect("it can be");
            cpu.bus_store(READY, 1).expect("there is memory");
            receive(&cpu);
            assert_eq!(cpu.take_signalled(), []);
        });
    })
    .unwrap_or_else(|stuck| panic!("{stuck}"))
}

#[test]
fn buffers_and_words_come_whole_and_in_order_through_a_fifo_that_they_do_not_fit_at_once() {
    let thresholds = |hardware| [0, 1, 20].map(|threshold| (hardware, threshold));
    for partitioning in Partitioning::ALL {
        for (hardware, threshold) in [false, true].into_iter().flat_map(thresholds) {
            let mut chip = chip();
            if let Some(clusters) = &mut chip.clusters {
                clusters.manager.partitioning = partitioning;
                clusters.manager.hardware = hardware;
                clusters.manager.words = 16384;
            }
            let all = pattern(4 * 44 * 9, 5);
            let sent = &all;
            connected(
                &chip,
                (64, threshold),
                |cpu| {
                    for (at, part) in sent.chunks(4 * 44).enumerate() {
                        fill(cpu, 0, 0, &part[4..]);
                        let word = u32::from_le_bytes(*part.first_chunk().expect("a word"));
                        ask(cpu, of(WORD, 1), &[word]).expect("the queue has room");
                        cpu.wait_transfer(1).expect("it is in a cluster");
                        ask(cpu, of(SEND, 1), &[shared(0, 0), 4 * 43]).expect("it fits");
                        cpu.wait_transfer(1).unwrap_or_else(|_| panic!("part {at}"));
                    }
                },
                |cpu| {
                    for part in sent.chunks(4 * 44) {
                        let word = loop {
                            match cpu.bus_load(next_word(cpu, 2)).expect("it is connected") {
                                Some(word) => break word,
                                None => cpu.compute(Time::nanos(50)),
                            }
                        };
                        assert_eq!(word.to_le_bytes(), part[..4]);
                        ask(cpu, of(RECEIVE, 2), &[shared(3, 128), 4 * 43]).expect("it fits");
                        cpu.wait_transfer(2).expect("it is in a cluster");
                        assert_eq!(bytes(cpu, 3, 128, 4 * 43), part[4..]);
                    }
                },
            );
        }
    }
}

/// How long a message takes, and the bytes on the network for it and for the set-up.
fn message(partitioning: Partitioning, bytes: u32) -> (Time, u64) {
    let mut chip = chip();
    if let Some(clusters) = &mut chip.clusters {
        clusters.manager.partitioning = partitioning;
    }
    let (begun, done, network) = (Cell::new(Time::ZERO), Cell::new(Time::ZERO), Cell::new(0));
    let (told, all) = (&done, &network);
    connected(
        &chip,
        (2048, 0),
        |cpu| {
            begun.set(cpu.time());
            ask(cpu, of(SEND, 1), &[shared(0, 0), bytes]).expect("it fits");
        },
        |cpu| {
            ask(cpu, of(RECEIVE, 2), &[shared(3, 128), bytes]).expect("it fits");
            cpu.wait_transfer(2).expect("it is in a cluster");
            told.set(cpu.time());
            cpu.compute(Time::nanos(2000));
            all.set(cpu.network_bytes());
        },
    );
    (done.get().since(begun.get()), network.get())
}

/// S3, section III: what it says of the partitionings that it did not choose.
#[test]
fn pointers_cost_traffic_and_remote_reads_cost_time() {
    for bytes in [4, 256, 8192] {
        let [first, apart, at_sender] = Partitioning::ALL.map(|one| message(one, bytes));
        assert!(apart.1 > first.1, "{bytes}: {apart:?} {first:?}");
        assert!(at_sender.0 > first.0, "{bytes}: {at_sender:?} {first:?}");
    }
}

#[test]
fn an_address_based_request_is_a_copy() {
    alone(&chip(), |cpu| {
        let sent = pattern(500, 9);
        fill(&cpu, 0, 0, &sent);
        ask(&cpu, of(COPY, 40), &[shared(0, 0), shared(0, 1000), 500]).expect("it is free");
        cpu.wait_transfer(40).expect("it is in a cluster");
        assert_eq!(bytes(&cpu, 0, 1000, 500), sent);
    });
}

#[test]
fn fifos_in_hardware_leave_the_bus_alone_and_are_faster() {
    let end = |hardware| {
        let mut chip = chip();
        if let Some(clusters) = &mut chip.clusters {
            clusters.manager.hardware = hardware;
            clusters.manager.words = 16384;
        }
        let done = Cell::new(Time::ZERO);
        let told = &done;
        connected(
            &chip,
            (2048, 0),
            |cpu| ask(cpu, of(SEND, 1), &[shared(0, 0), 8192]).expect("it fits"),
            |cpu| {
                ask(cpu, of(RECEIVE, 2), &[shared(3, 128), 8192]).expect("it fits");
                cpu.wait_transfer(2).expect("it is in a cluster");
                told.set(cpu.time());
            },
        );
        done.get()
    };
    assert!(end(true) < end(false));
}
