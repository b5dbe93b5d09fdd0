//! Hardware functions at ports: what comes out of them, when, and what they wait for.

use super::*;
use narrows_sim::cpu::cluster::Noted;

/// The number of the function in cluster 3, behind its two cores.
pub(crate) const FUNCTION: u8 = 2;
/// Where FIFOs are, in each cluster.
pub(crate) const FIFO: u32 = 40960;

/// Sets a port of a function up, as a core of its cluster does.
pub(crate) fn attach(
    cpu: &Cpu,
    (way, kind): (Way, Kind),
    port: u8,
    words: &[u32],
) -> Result<(), Fault> {
    let (own, _) = cpu.chip().cluster_of(cpu.core()).expect("it is in a cluster");
    for (at, word) in words.iter().enumerate() {
        let access = Access { way, kind, end: at + 1 == words.len(), port, cpu: FUNCTION };
        cpu.bus_store(in_cluster(own, access.address()), *word)?;
    }
    Ok(())
}

/// A chip whose function takes blocks of `block` and gives results of `result` bytes.
fn with(block: u32, result: u32) -> Chip {
    let mut chip = chip();
    let clusters = chip.clusters.as_mut().expect("it has clusters");
    (clusters.accelerators[0].block, clusters.accelerators[0].result) = (block, result);
    chip
}

/// Block number `at`.
fn block(at: usize, len: u32) -> Vec<u8> {
    pattern(len as usize, at as u8)
}

/// Core 0 sends blocks to port 0 of cluster 3, and core 2 gets results from port 1 there, over
/// FIFOs of `words` and of `more` words. All are set up when core 0 begins.
fn through(
    chip: &Chip,
    [words, more]: [u32; 2],
    send: impl FnOnce(&Cpu),
    receive: impl FnOnce(&Cpu),
) -> Outcome {
    let ways = [Way::Write, Way::Read];
    let [to, from] = ways.map(|way| {
        let other = if way == Way::Write { port(3, 0) } else { port(3, 1) };
        let words = if way == Way::Write { words } else { more };
        entry(chip, way, other, (FIFO, words, 0))
    });
    let [gives, takes] = ways.map(|way| {
        let other = if way == Way::Write { port(1, 0) } else { port(0, 0) };
        let (at, words) = if way == Way::Write { (FIFO, more) } else { (FIFO, words) };
        // Where both FIFOs are in cluster 3, they lie side by side.
        let own = clusters(chip).manager.partitioning == Partitioning::AtSender;
        let at = if own && way == Way::Write { at + 8192 } else { at };
        entry(chip, way, other, (at, words, 0))
    });
    run(chip, |simulation| {
        simulation.process(6, "sets up", 1, move |cpu| {
            attach(&cpu, RECEIVER, 0, &takes).expect("it can be");
            attach(&cpu, SENDER, 1, &gives).expect("it can be");
        });
        simulation.process(0, "sends", 1, move |cpu| {
            ask(&cpu, of(SENDER, 0), &to).expect("it can be");
            cpu.compute(Time::nanos(2000));
            send(&cpu);
        });
        simulation.process(2, "receives", 1, move |cpu| {
            ask(&cpu, of(RECEIVER, 0), &from).expect("it can be");
            receive(&cpu);
            assert_eq!(cpu.take_signalled(), []);
        });
    })
    .unwrap_or_else(|stuck| panic!("{stuck}"))
}

fn send_block(cpu: &Cpu, at: usize, len: u32) {
    fill(cpu, 0, 0, &block(at, len));
    ask(cpu, of(SEND, 0), &[shared(0, 0), len]).expect("it fits");
    cpu.wait_transfer(0).expect("it is in a cluster");
}

fn receive_result(cpu: &Cpu, at: usize, (len, result): (u32, u32)) {
    ask(cpu, of(RECEIVE, 0), &[shared(1, 128), result]).expect("it fits");
    cpu.wait_transfer(0).expect("it is in a cluster");
    let expected: Vec<u8> = block(at, len).into_iter().cycle().take(result as usize).collect();
    assert_eq!(bytes(cpu, 1, 128, result as usize), expected, "result {at}");
}

#[test]
fn results_come_in_order_and_none_is_lost_wherever_the_fifos_are() {
    const COUNT: usize = 30;
    for partitioning in Partitioning::ALL {
        for hardware in [false, true] {
            for (len, result) in [(64, 64), (200, 12), (4, 100)] {
                let mut chip = with(len, result);
                let clusters = chip.clusters.as_mut().expect("it has clusters");
                clusters.manager.partitioning = partitioning;
                clusters.manager.hardware = hardware;
                let send = |cpu: &Cpu| (0..COUNT).for_each(|at| send_block(cpu, at, len));
                through(&chip, [60, 33], send, |cpu| {
                    for at in 0..COUNT {
                        receive_result(cpu, at, (len, result));
                    }
                    assert_eq!(cpu.accelerated(0).blocks, COUNT as u64);
                });
            }
        }
    }
}

/// Two results have gone for which there was credit. One waits for credit and one for that, a block
/// waits for the function and two are in the FIFO: the eighth is not sent.
#[test]
fn a_receiver_that_does_not_read_stops_the_function_and_the_sender_and_nothing_is_lost() {
    const COUNT: usize = 20;
    let (chip, sent) = (with(64, 32), Cell::new(0));
    let send = |cpu: &Cpu| {
        for at in 0..COUNT {
            send_block(cpu, at, 64);
            sent.set(sent.get() + 1);
        }
    };
    through(&chip, [32, 16], send, |cpu| {
        cpu.compute(Time::nanos(1_000_000));
        assert_eq!((cpu.accelerated(0).blocks, sent.get()), (3, 7));
        for at in 0..COUNT {
            receive_result(cpu, at, (64, 32));
        }
        let served = cpu.accelerated(0);
        assert_eq!(served.blocks, COUNT as u64);
        assert!(served.held > Time::nanos(900_000), "{served:?}");
        assert_eq!(served.busy, clusters(cpu.chip()).accelerators[0].takes() * COUNT as u64);
    });
    assert_eq!(sent.get(), COUNT);
}

#[test]
fn credit_ends_at_nothing_and_comes_back_whole() {
    let chip = with(64, 32);
    let credit = |cpu: &Cpu| {
        let access = Access { way: Way::Write, kind: Kind::Setup, end: true, port: 0, cpu: 0 };
        cpu.bus_load(in_cluster(0, access.address()))
    };
    let send = |cpu: &Cpu| {
        assert_eq!(credit(cpu), Ok(Some(40)));
        for at in 0..7 {
            send_block(cpu, at, 64);
        }
        cpu.compute(Time::nanos(100_000));
        assert_eq!(credit(cpu), Ok(Some(8)), "two blocks are in the FIFO");
        cpu.compute(Time::nanos(1_000_000));
        assert_eq!(credit(cpu), Ok(Some(40)));
    };
    through(&chip, [40, 16], send, |cpu| {
        cpu.compute(Time::nanos(500_000));
        (0..7).for_each(|at| receive_result(cpu, at, (64, 32)));
    });
}

/// From a block until its result, by what the function takes.
fn trip(change: impl FnOnce(&mut narrows_sim::chip::Accelerator)) -> Time {
    let mut chip = with(64, 64);
    change(&mut chip.clusters.as_mut().expect("it has clusters").accelerators[0]);
    let (begun, ended) = (Cell::new(Time::ZERO), Cell::new(Time::ZERO));
    let (begin, end) = (&begun, &ended);
    let send = move |cpu: &Cpu| {
        begin.set(cpu.time());
        send_block(cpu, 0, 64);
    };
    through(&chip, [64, 64], send, move |cpu| {
        receive_result(cpu, 0, (64, 64));
        end.set(cpu.time());
    });
    ended.get().since(begun.get())
}

#[test]
fn a_block_takes_the_latency_and_its_bytes_by_the_rate() {
    let cycles = |count| Time::nanos(5) * count;
    // Whole periods of both clocks, so that nothing waits for another edge.
    let usual = trip(|_| {});
    assert_eq!(trip(|one| one.latency = Cost::Cycles(16 + 100)), usual + cycles(100));
    assert_eq!(trip(|one| one.rate = 4), usual.since(cycles(64 - 16)));
    assert_eq!(trip(|one| one.clock.0 /= 2), usual + cycles(16 + 64));
}

#[test]
fn a_result_for_a_port_that_sends_nothing_is_signalled_and_the_function_goes_on() {
    let chip = with(64, 64);
    run(&chip, |simulation| {
        simulation.process(6, "sets up", 1, |cpu| {
            let takes = entry(cpu.chip(), Way::Read, port(0, 0), (FIFO, 64, 0));
            attach(&cpu, RECEIVER, 0, &takes).expect("it can be");
            let short = entry(cpu.chip(), Way::Read, port(0, 1), (0, 15, 0));
            assert_eq!(attach(&cpu, RECEIVER, 2, &short), Err(Fault::Setup));
            assert_eq!(attach(&cpu, SEND, 0, &[shared(3, 0), 4]), Err(Fault::NotARequest));
            cpu.compute(Time::nanos(50_000));
            let seen: Vec<_> = cpu.take_signalled();
            let faults = [Fault::Setup, Fault::NotARequest, Fault::Unconnected, Fault::Unconnected];
            let expected = faults.into_iter().zip([2, 0, 1, 1]).map(|(fault, port)| Noted {
                fault,
                cpu: Some(FUNCTION),
                port: Some(port),
            });
            let noted: Vec<Noted> = seen.iter().map(|one| one.noted).collect();
            assert_eq!(noted, expected.collect::<Vec<_>>());
            assert!(seen.iter().all(|one| one.cluster == 3));
            assert_eq!(cpu.accelerated(0).blocks, 2);
        });
        simulation.process(0, "sends", 1, |cpu| {
            let to = entry(cpu.chip(), Way::Write, port(3, 0), (FIFO, 64, 0));
            ask(&cpu, of(SENDER, 0), &to).expect("it can be");
            cpu.compute(Time::nanos(2000));
            (0..2).for_each(|at| send_block(&cpu, at, 64));
        });
    })
    .unwrap_or_else(|stuck| panic!("{stuck}"));
}
