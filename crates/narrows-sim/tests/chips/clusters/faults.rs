//! What is signalled where something is wrong: to whom, in which order, and what goes on.

use super::*;

/// Bytes of a shared memory: less than its part of the addresses, so that there are some behind it.
const SHARED: u32 = 256 << 10;

/// What a core is told and what the trace says are the same, in order.
#[test]
fn what_goes_wrong_is_a_status_and_a_trace_event() {
    let mut small = chip();
    for memory in small.memories.iter_mut().filter(|one| one.name.starts_with("shared")) {
        memory.size = SHARED;
    }
    alone(&small, |cpu| {
        let mut seen = Vec::new();
        let mut expect = |fault, result: Result<(), Fault>| {
            assert_eq!(result, Err(fault));
            seen.push(fault);
        };
        let nothing = |loaded: Result<Option<u32>, Fault>| loaded.map(|_| ());
        expect(Fault::Unconnected, ask(&cpu, of(RECEIVE, 5), &[shared(0, 0), 4]));
        expect(Fault::Unconnected, nothing(cpu.bus_load(next_word(&cpu, 5))));
        expect(Fault::NoPort, ask(&cpu, of(WORD, 32), &[1]));
        expect(Fault::Setup, ask(&cpu, of(SENDER, 1), &[port(1, 1), 0]));
        ask(&cpu, of(SENDER, 1), &[port(1, 1), 8]).expect("it can be");
        expect(Fault::TooLong, ask(&cpu, of(SEND, 1), &[shared(0, 0), 36]));
        expect(Fault::Size, ask(&cpu, of(SEND, 1), &[shared(0, 0), 3]));
        let open = Access { way: SEND.0, kind: SEND.1, end: false, port: 1, cpu: 0 };
        cpu.bus_store(in_cluster(0, open.address()), 0).expect("more is to come");
        expect(Fault::NoEnd, cpu.bus_store(in_cluster(0, open.address()), 4));
        expect(Fault::Size, dma(&cpu, shared(0, 0), shared(0, 4), 0, 1));
        let start = DmaRegister::Start.address(0);
        expect(Fault::EarlyEnd, cpu.bus_store(in_cluster(0, start), 1));
        expect(Fault::NotARequest, cpu.bus_store(in_cluster(0, 0x10_0001), 1));
        expect(Fault::NotARequest, nothing(cpu.bus_load(in_cluster(0, start))));
        // Outside memory, of no cluster, not at a word, of nothing, and another cluster's block.
        for address in [shared(0, SHARED), shared(9, 0), shared(0, 2), 0] {
            expect(Fault::Address, cpu.bus_store(address, 1));
            expect(Fault::Address, nothing(cpu.bus_load(address)));
        }
        expect(Fault::Address, cpu.bus_store(in_cluster(1, open.address()), 1));
        // A block finds out later.
        ask(&cpu, of(SEND, 1), &[shared(0, SHARED - 4), 8]).expect("it is queued");
        cpu.wait_transfer(1).expect("it is in a cluster");
        seen.push(Fault::Address);
        dma(&cpu, shared(0, 0), shared(1, SHARED - 4), 8, 3).expect("it is queued");
        cpu.wait_transfer(3).expect("it is in a cluster");
        seen.push(Fault::Address);
        let noted: Vec<Fault> = cpu.take_signalled().iter().map(|one| one.noted.fault).collect();
        assert_eq!(noted, seen);
        assert!(cpu.take_signalled().is_empty());
    });
}

#[test]
fn of_two_cores_that_race_for_a_port_one_is_told_so_and_both_messages_may_come() {
    let (told, come) = (Cell::new(0), RefCell::new(Vec::new()));
    run(&chip(), |simulation| {
        let told = &told;
        simulation.process(2, "receives", 1, |cpu| {
            ask(&cpu, of(RECEIVER, 0), &[port(0, 0), 0, 16]).expect("it can be");
            cpu.bus_store(READY, 1).expect("there is memory");
            while come.borrow().len() < 2 {
                match cpu.bus_load(next_word(&cpu, 0)).expect("it is connected") {
                    Some(word) => come.borrow_mut().push(word),
                    None => cpu.compute(Time::nanos(50)),
                }
            }
            let raced: Vec<_> = cpu.take_signalled();
            assert!(raced.iter().all(|one| one.noted.fault == Fault::Race && one.cluster == 0));
            told.set(raced.len() - told.get());
        });
        for core in [0, 1] {
            simulation.process(core, "sends", 1, move |cpu| {
                if core == 0 {
                    ask(&cpu, of(SENDER, 0), &[port(1, 0), 16]).expect("it can be");
                }
                while cpu.bus_load(READY) == Ok(Some(0)) {}
                loop {
                    match ask(&cpu, of(WORD, 0), &[core as u32]) {
                        Ok(()) => return,
                        Err(fault) => assert_eq!(fault, Fault::Race),
                    }
                    told.set(told.get() + 1);
                }
            });
        }
    })
    .unwrap_or_else(|stuck| panic!("{stuck}"));
    come.borrow_mut().sort_unstable();
    assert_eq!((told.get(), &come.borrow()[..]), (0, &[0, 1][..]), "each race is noted once");
}

/// What another cluster sends without a connection is dropped where it comes.
#[test]
fn data_and_credit_that_nobody_expects_are_signalled_by_the_cluster_that_gets_them() {
    run(&chip(), |simulation| {
        simulation.process(0, "sends", 1, |cpu| {
            ask(&cpu, of(SENDER, 0), &[port(1, 9), 16]).expect("it can be");
            ask(&cpu, of(WORD, 0), &[1]).expect("there is credit");
            // A receiver whose sender there is none of: reading gives it credit.
            ask(&cpu, of(RECEIVER, 1), &[port(2, 200), 0, 16]).expect("it can be");
            // To a cluster that there is none of.
            ask(&cpu, of(SENDER, 2), &[port(77, 0), 16]).expect("it can be");
            ask(&cpu, of(WORD, 2), &[1]).expect("there is credit");
            cpu.compute(Time::nanos(2000));
            let noted: Vec<_> =
                cpu.take_signalled().iter().map(|one| (one.cluster, one.noted.fault)).collect();
            assert_eq!(noted, [(1, Fault::DataForNobody), (0, Fault::Address)]);
        });
        simulation.process(2, "sends to it", 1, |cpu| {
            cpu.compute(Time::nanos(5000));
            ask(&cpu, of(SENDER, 0), &[port(0, 1), 16]).expect("it can be");
            ask(&cpu, of(WORD, 0), &[8]).expect("there is credit");
        });
        simulation.process(1, "reads", 1, |cpu| {
            cpu.compute(Time::nanos(8000));
            assert_eq!(cpu.bus_load(next_word(&cpu, 1)), Ok(Some(8)));
            cpu.compute(Time::nanos(1000));
            let noted: Vec<_> =
                cpu.take_signalled().iter().map(|one| (one.cluster, one.noted.fault)).collect();
            assert_eq!(noted, [(2, Fault::CreditForNobody)]);
        });
    })
    .unwrap_or_else(|stuck| panic!("{stuck}"));
}

/// Writer and reader apart: a sender whose entry names places that are in no memory, or more words
/// than its receiver has. With the FIFO at the sender: a receiver of words that nobody has.
#[test]
fn ends_that_do_not_agree_are_signalled_where_it_shows_and_nobody_waits_for_ever() {
    let on = |partitioning, hardware, sender: [u32; 3], receiver: &[u32]| {
        let mut chip = chip();
        if let Some(clusters) = &mut chip.clusters {
            clusters.manager.partitioning = partitioning;
            clusters.manager.hardware = hardware;
        }
        let noted = RefCell::new(Vec::new());
        run(&chip, |simulation| {
            simulation.process(0, "sends", 1, |cpu| {
                ask(&cpu, of(SENDER, 0), &sender).expect("it can be");
                cpu.compute(Time::nanos(5000));
                ask(&cpu, of(SEND, 0), &[shared(0, 0), 32]).expect("there is credit");
                cpu.compute(Time::nanos(50_000));
                let all = cpu.take_signalled();
                noted.borrow_mut().extend(all.iter().map(|one| (one.cluster, one.noted.fault)));
            });
            simulation.process(2, "receives", 1, |cpu| {
                ask(&cpu, of(RECEIVER, 1), receiver).expect("it can be");
                ask(&cpu, of(RECEIVE, 1), &[shared(1, 0), 8]).expect("it fits");
            });
        })
        .unwrap_or_else(|stuck| panic!("{stuck}"));
        noted.into_inner()
    };
    let outside = [port(1, 1), 0x7fff_0000, 8 | 8 << 16];
    for hardware in [false, true] {
        let noted = on(Partitioning::Apart, hardware, outside, &[port(0, 0), 0, 8]);
        assert_eq!(noted, [(1, Fault::Address)], "{hardware}");
    }
    let more = [port(1, 1), 0, 8 | 8 << 16];
    let noted = on(Partitioning::Apart, false, more, &[port(0, 0), 0, 4]);
    assert_eq!(noted, [(1, Fault::Overrun)]);
    // It has another port's words told to it.
    let noted = on(Partitioning::AtSender, false, [port(1, 1), 0, 8], &[port(0, 5), 8]);
    assert_eq!(noted, [(0, Fault::NoWords)]);
    let noted = on(Partitioning::AtSender, false, [port(1, 1), 0, 8], &[port(9, 0), 8]);
    assert_eq!(noted, [(1, Fault::Address)]);
}

#[test]
fn who_waits_for_an_event_that_never_comes_is_named() {
    let stuck = run(&chip(), |simulation| {
        simulation.process(0, "waits", 1, |cpu| {
            cpu.wait_transfer(3).expect("it is in a cluster");
        });
    })
    .expect_err("nothing is moved");
    let said = stuck.to_string();
    assert!(said.ends_with("waits waits for an event of its cluster"), "{said}");
}

#[test]
fn a_core_without_a_cluster_has_nothing_at_these_addresses() {
    let chip = Chip::shipped("generic-amp").expect("a possible chip");
    alone(&chip, |cpu| {
        assert_eq!(cpu.bus_store(shared(0, 0), 1), Err(Fault::Address));
        assert_eq!(cpu.bus_load(shared(0, 0)), Err(Fault::Address));
        assert_eq!(cpu.wait_transfer(0), Err(Fault::Address));
        assert_eq!((cpu.network_bytes(), cpu.take_signalled()), (0, Vec::new()));
    });
}
