//! What goes wrong in the blocks of clusters, as programs see it.

use super::STACK;
use super::row::{Ran, rows};
use crate::base::documented::{assert_same, documented, keys, without};
use crate::rig::mcapi::calls::Calls;
use crate::rig::mcapi::home;
use narrows_capi::mcapi::Status;
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::cpu::cluster::{
    Access, Fault, Kind, Mechanism, Noted, Signalled, Way, in_cluster, shared,
};
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

const SUCCESS: u32 = Status::Success as u32;
const TRANSMISSION: u32 = Status::Transmission as u32;
/// The FIFO that somebody else sets up, and what is behind the regions of links.
const ELSEWHERE: u32 = (4 << 20) - 4096;

/// What somebody else does, on CPU 1 of a cluster.
type Wrong = fn(&Cpu) -> Result<(), Fault>;

/// An access of a CPU of a cluster.
fn at(cluster: usize, cpu: u8, (way, kind): (Way, Kind), port: u8, end: bool) -> u32 {
    in_cluster(cluster, Access { way, kind, end, port, cpu }.address())
}

/// Makes all accesses of a request.
fn ask(
    cpu: &Cpu,
    (cluster, number): (usize, u8),
    what: (Way, Kind),
    port: u8,
    words: &[u32],
) -> Result<(), Fault> {
    for (place, word) in words.iter().enumerate() {
        cpu.bus_store(at(cluster, number, what, port, place + 1 == words.len()), *word)?;
    }
    Ok(())
}

/// A node of cluster 0 sends messages to one of cluster 1, first alone and then once somebody did
/// something wrong on a core: what came of its calls before and after, and what blocks signalled.
fn between(
    chip: &Chip,
    mechanism: Mechanism,
    (core, wrong): (usize, Wrong),
) -> ([u32; 2], Vec<Fault>) {
    let chip = home::linked(chip).expect("there is a layout");
    let calls = Calls::SIMULATED;
    let (ends, signalled) = (Cell::new([SUCCESS; 2]), RefCell::new(Vec::new()));
    let (ready, done, over) = (Cell::new(false), Cell::new(false), Cell::new(false));
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.carry_by(mechanism);
    simulation.foreign(0, "sender", 1, STACK, |cpu| {
        home::within(&cpu, false, || {
            let talk = |to: Result<u32, _>, own| {
                for _ in 0..20 {
                    calls.send_message(own, to?, &[1; 40])?;
                    cpu.pause(Time::nanos(20_000));
                    cpu.carry();
                }
                Ok(())
            };
            let status = |ended: Result<(), crate::rig::mcapi::calls::Refused>| {
                ended.map_or_else(|refused| refused.status(), |()| SUCCESS)
            };
            calls.initialize(1, 0).expect("it begins");
            let own = calls.create(1).expect("a port");
            let to = calls.get(2, 1);
            let before = status(talk(to, own));
            ready.set(true);
            while !done.get() {
                cpu.pause(Time::nanos(1000));
            }
            ends.set([before, status(talk(to, own))]);
            over.set(true);
            calls.finalize().expect("it ends");
            signalled.replace(cpu.take_signalled());
        });
    });
    simulation.foreign(2, "receiver", 1, STACK, |cpu| {
        home::within(&cpu, false, || {
            calls.initialize(2, 0).expect("it begins");
            let own = calls.create(1).expect("a port");
            while !over.get() {
                cpu.pause(Time::nanos(1000));
                calls.messages(own).expect("it is there");
            }
        });
    });
    simulation.foreign(core, "other", 1, STACK, |cpu| {
        while !ready.get() {
            cpu.pause(Time::nanos(1000));
        }
        // It is signalled, and this CPU is told.
        let _ = wrong(&cpu);
        done.set(true);
    });
    let ran = simulation.run();
    home::forget();
    ran.unwrap_or_else(|stuck| panic!("{stuck}"));
    let faults = signalled.into_inner().iter().map(|one| one.noted.fault).collect();
    (ends.get(), faults)
}

fn chip() -> Chip {
    Chip::shipped("bmm-clusters").expect("it is shipped")
}

/// Nothing is wrong.
const NOTHING: Wrong = |_| Ok(());

#[test]
fn without_anything_wrong_nothing_is_signalled() {
    for mechanism in Mechanism::ALL {
        assert_eq!(between(&chip(), mechanism, (3, NOTHING)), ([SUCCESS; 2], vec![]));
    }
}

#[test]
fn a_port_that_is_not_in_the_table_is_a_transmission_error() {
    let mut few = chip();
    few.clusters.as_mut().expect("it has clusters").manager.ports = 1;
    let (ends, faults) = between(&few, Mechanism::Bmm, (3, NOTHING));
    assert_eq!((ends, faults.first()), ([TRANSMISSION; 2], Some(&Fault::NoPort)));
}

/// The sender's port in cluster 0 is 0, which is connected to port 0 of cluster 1.
#[test]
fn what_somebody_else_does_to_a_link_is_a_transmission_error_and_is_signalled() {
    let cases: [(&str, usize, Wrong, Fault); 3] = [
        (
            "two CPUs read one port",
            3,
            |cpu| ask(cpu, (1, 1), (Way::Read, Kind::Indirect), 0, &[shared(1, ELSEWHERE), 4096]),
            Fault::Race,
        ),
        (
            "a request of the sender's CPU has no end",
            1,
            |cpu| cpu.bus_store(at(0, 0, (Way::Write, Kind::Indirect), 0, false), 0),
            Fault::NoEnd,
        ),
        (
            "a frame is longer than its FIFO",
            1,
            |cpu| ask(cpu, (0, 1), (Way::Write, Kind::Direct), 0, &[u32::MAX]),
            Fault::TooLong,
        ),
    ];
    for (what, core, wrong, fault) in cases {
        let (ends, faults) = between(&chip(), Mechanism::Bmm, (core, wrong));
        assert_eq!(ends, [SUCCESS, TRANSMISSION], "{what}: {faults:?}");
        assert!(faults.contains(&fault), "{what}: {faults:?}");
    }
}

#[test]
fn what_is_no_links_business_is_signalled_and_disturbs_no_program() {
    let cases: [(&str, Wrong, Fault); 4] = [
        (
            "credit for a port that nobody has",
            |cpu| {
                let (here, there) = ((1, 1), (0, 30));
                let from = |cluster: u32, port: u32| cluster << 16 | port;
                let entry = [from(there.0, there.1), ELSEWHERE, 64];
                ask(cpu, here, (Way::Read, Kind::Setup), 9, &entry)?;
                ask(cpu, here, (Way::Write, Kind::Setup), 10, &[from(1, 9), 64])?;
                ask(cpu, here, (Way::Write, Kind::Direct), 10, &[7])?;
                while cpu.bus_load(at(1, 1, (Way::Read, Kind::Direct), 9, true))?.is_none() {
                    cpu.compute(Time::nanos(100));
                }
                cpu.pause(Time::nanos(10_000));
                Ok(())
            },
            Fault::CreditForNobody,
        ),
        (
            "a read of a port that is not connected",
            |cpu| cpu.bus_load(at(1, 1, (Way::Read, Kind::Direct), 20, true)).map(|_| ()),
            Fault::Unconnected,
        ),
        (
            "a request of more than the FIFO has room for",
            |cpu| ask(cpu, (1, 1), (Way::Read, Kind::Indirect), 0, &[shared(1, 0), 1 << 20]),
            Fault::TooLong,
        ),
        (
            "a request that says its end too early",
            |cpu| cpu.bus_store(at(1, 1, (Way::Read, Kind::Indirect), 0, true), 0),
            Fault::EarlyEnd,
        ),
    ];
    for (what, wrong, fault) in cases {
        let (ends, faults) = between(&chip(), Mechanism::Bmm, (3, wrong));
        assert_eq!((ends, faults), ([SUCCESS; 2], vec![fault]), "{what}");
    }
}

#[test]
fn what_is_signalled_is_a_row_as_the_description_says() {
    let noted = Noted { fault: Fault::TooLong, cpu: Some(1), port: None };
    let signalled = vec![Signalled { at: Time::nanos(1), cluster: 0, noted }];
    let mechanism = Some(Mechanism::Bmm);
    let ran = Ran { mechanism, programs: Vec::new(), network_bytes: 64, signalled };
    let table = "A row of `mcapi` > `at_us`";
    let documented = documented(table);
    let network = BTreeSet::from(["network_bytes".to_owned()]);
    let mut expected = [network, without(&documented, &["network_bytes"])];
    for row in &mut expected {
        row.insert("mechanism".to_owned());
    }
    let rows: Vec<_> = rows(&ran).map(|row| serde_json::to_value(row).unwrap()).collect();
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.iter().zip(&expected) {
        assert_same(table, &keys(row), expected);
    }
}
