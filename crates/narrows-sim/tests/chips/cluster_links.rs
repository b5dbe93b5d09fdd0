//! Links between nodes of clusters, which frames carry, over FIFOs in software and the DMA and over
//! the buffer manager.

use narrows::conformance::{self, Rig, Side};
use narrows::endpoint::{Address, Limits, LinkError, Node};
use narrows::link::LinkId;
use narrows::memory::Class;
use narrows::platform::{HuntError, Lost};
use narrows::strategy::{Notification, Placement, Strategy, Transfer};
use narrows_sim::chip::{Chip, Link, Partitioning};
use narrows_sim::cpu::Cpu;
use narrows_sim::cpu::cluster::{
    Access, Fault, Kind, Mechanism, Signalled, Way, in_cluster, shared,
};
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;
use std::cell::{Cell, RefCell};
use std::time::Duration;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));
/// Long enough for whatever is on its way.
const A_WHILE: Time = Time::nanos(100_000);

/// The shipped clusters, with links as the suite of all drivers needs them.
fn chip() -> Chip {
    let chip = Chip::shipped("bmm-clusters").expect("a possible chip");
    let class = |size, count| Class { placement: Placement::External, size, count };
    let link = Link {
        slots: 64,
        channels: 2,
        channel_slots: 16,
        classes: vec![class(64, 64), class(1024, 32), class(8192, 8), class(65536, 8)],
        ..chip.link.clone()
    };
    Chip { link, ..chip }
}

fn with(change: impl FnOnce(&mut narrows_sim::chip::Clusters)) -> Chip {
    let mut chip = chip();
    change(chip.clusters.as_mut().expect("it has clusters"));
    chip
}

/// Two linked nodes on two cores.
struct Clusters {
    chip: Chip,
    mechanism: Mechanism,
    cores: [usize; 2],
    ended: Cell<Time>,
    signalled: RefCell<Vec<Signalled>>,
    /// Whether no credit was lost.
    whole: Cell<bool>,
}

impl Clusters {
    fn new(chip: Chip, mechanism: Mechanism, cores: [usize; 2]) -> Clusters {
        let (ended, signalled) = (Cell::new(Time::ZERO), RefCell::default());
        Clusters { chip, mechanism, cores, ended, signalled, whole: Cell::new(true) }
    }

    fn simulation(&self) -> Simulation<'_> {
        let mut simulation = Simulation::new(&self.chip, Settings::default());
        simulation.carry_by(self.mechanism);
        simulation
    }
}

/// A node that sends from port 0 and receives at port 1.
fn opened(cpu: &Cpu, name: &str) -> Node<Cpu> {
    let mut node = named(cpu, name);
    node.open(0).expect("a free port");
    node.open(1).expect("a free port");
    node
}

fn named(cpu: &Cpu, name: &str) -> Node<Cpu> {
    cpu.node(name.parse().expect("a name"), Limits::default()).expect("storage")
}

impl Rig for Clusters {
    type Platform = Cpu;

    fn run(&self, caller: Side<'_, Cpu>, callee: Side<'_, Cpu>) {
        let done = Cell::new(0);
        let end = |node: &mut Node<Cpu>| {
            done.set(done.get() + 1);
            while done.get() < 2 {
                node.wait_any(Some(Duration::from_millis(1)));
            }
        };
        let mut simulation = self.simulation();
        simulation.process(self.cores[0], "caller", 1, |cpu: Cpu| {
            let mut node = named(&cpu, "caller");
            let link = node.hunt(&"callee".parse().expect("a name"), PATIENCE).expect("a link");
            caller(&mut node, link);
            end(&mut node);
            drop(node);
            cpu.pause(A_WHILE);
            self.ended.set(cpu.time());
            let signalled = cpu.take_signalled();
            self.whole.set(self.whole.get() && cpu.is_credit_whole());
            self.signalled.borrow_mut().extend(signalled);
        });
        simulation.process(self.cores[1], "callee", 1, |cpu: Cpu| {
            let mut node = named(&cpu, "callee");
            let link = loop {
                let up = node.links().next();
                if let Some((link, _)) = up {
                    break link;
                }
                node.wait_any(PATIENCE);
                node.poll();
            };
            callee(&mut node, link);
            end(&mut node);
        });
        if let Err(stuck) = simulation.run() {
            panic!("{:?}: {stuck}", self.mechanism);
        }
    }
}

fn strategy(transfer: Transfer, notification: Notification) -> Strategy {
    let mut all = conformance::strategies();
    let fits = |one: &Strategy| {
        (one.transfer, one.notification, one.placement)
            == (transfer, notification, Placement::External)
    };
    all.find(fits).expect("it is among all")
}

#[test]
fn every_driver_passes_between_clusters_and_within_one() {
    let sleeps = Notification::Interrupt;
    for mechanism in Mechanism::ALL {
        for (transfer, notification, cores) in [
            (Transfer::Copy, sleeps, [0, 2]),
            (Transfer::SingleCopy, Notification::Spin, [1, 7]),
            (
                Transfer::InPlace,
                Notification::Hybrid { longest: Duration::from_micros(50) },
                [0, 1],
            ),
        ] {
            let rig = Clusters::new(chip(), mechanism, cores);
            conformance::run(&rig, strategy(transfer, notification));
            assert_eq!(*rig.signalled.borrow(), [], "{mechanism:?} {transfer:?}");
            assert!(rig.whole.get(), "{mechanism:?} {transfer:?}: credit or words are left");
        }
    }
}

#[test]
fn every_kind_of_buffer_manager_carries_links() {
    let kinds = [
        with(|clusters| clusters.manager.partitioning = Partitioning::Apart),
        with(|clusters| clusters.manager.partitioning = Partitioning::AtSender),
        with(|clusters| clusters.manager.hardware = true),
        with(|clusters| clusters.manager.threshold = 1024),
        with(|clusters| (clusters.manager.words, clusters.manager.credits) = (128, 100)),
    ];
    for (number, chip) in kinds.into_iter().enumerate() {
        println!("{number}");
        let rig = Clusters::new(chip, Mechanism::Bmm, [0, 2]);
        conformance::run(&rig, strategy(Transfer::Copy, Notification::Interrupt));
        assert_eq!(*rig.signalled.borrow(), [], "{number}");
        assert!(rig.whole.get(), "{number}");
    }
}

/// Runs a node on each of the two cores: one hunts the other.
fn linked<'a>(
    rig: &'a Clusters,
    simulation: &mut Simulation<'a>,
    hunter: impl FnOnce(&Cpu, &mut Node<Cpu>, LinkId) + 'a,
    found: impl FnOnce(&Cpu, &mut Node<Cpu>) + 'a,
) {
    simulation.process(rig.cores[0], "hunter", 1, |cpu| {
        let mut node = opened(&cpu, "hunter");
        let link = node.hunt(&"found".parse().expect("a name"), PATIENCE).expect("a link");
        hunter(&cpu, &mut node, link);
    });
    simulation.process(rig.cores[1], "found", 1, |cpu| {
        let mut node = opened(&cpu, "found");
        found(&cpu, &mut node);
    });
}

#[test]
fn what_was_sent_before_a_node_ended_or_died_is_received() {
    for (mechanism, dies) in Mechanism::ALL.into_iter().flat_map(|one| [(one, false), (one, true)])
    {
        let rig = Clusters::new(chip(), mechanism, [0, 2]);
        let (came, lost) = (RefCell::new(Vec::new()), Cell::new(None));
        let mut simulation = rig.simulation();
        let hunter = move |_: &Cpu, node: &mut Node<Cpu>, link| {
            for len in [0, 40, 5000, 65536] {
                node.send(0, Address { link, port: 1 }, &vec![7; len][..], None).expect("room");
            }
            if dies {
                node.platform_mut().die();
            }
        };
        linked(&rig, &mut simulation, hunter, |cpu, node| {
            let (link, _) = loop {
                if let Some(up) = { node.links().next() } {
                    break up;
                }
                node.wait_any(PATIENCE);
                node.poll();
            };
            // It computes while they come.
            cpu.compute(Time::nanos(5_000_000));
            let mut buffer = vec![0; 65536];
            let within = Some(Duration::from_millis(100));
            while let Ok(received) = node.receive_into(1, &mut buffer, within) {
                assert!(received.bytes(&buffer).iter().all(|byte| *byte == 7));
                came.borrow_mut().push(received.len);
            }
            lost.set(node.link(link).check().err());
        });
        simulation.run().unwrap_or_else(|stuck| panic!("{mechanism:?} {dies}: {stuck}"));
        assert_eq!(*came.borrow(), [0, 40, 5000, 65536], "{mechanism:?} {dies}");
        let reason = if dies { Lost::Died } else { Lost::Closed };
        assert_eq!(lost.get(), Some(LinkError::Gone(reason)), "{mechanism:?}");
    }
}

#[test]
fn a_run_is_the_same_each_time_and_parts_of_ended_links_are_used_again() {
    for mechanism in Mechanism::ALL {
        let run = || {
            let rig = Clusters::new(chip(), mechanism, [0, 2]);
            let mut simulation = rig.simulation();
            // The shared memories have room for far fewer links.
            let lives = 0..40;
            let found = lives.clone();
            simulation.process(0, "hunter", 1, |cpu| {
                for life in lives {
                    let mut node = opened(&cpu, "hunter");
                    let name = format!("found{life}").parse().expect("a name");
                    let link = node.hunt(&name, PATIENCE).expect("a link");
                    let bytes = vec![life as u8; 3000];
                    node.send(0, Address { link, port: 1 }, &bytes[..], None).expect("room");
                }
                rig.ended.set(cpu.time());
            });
            simulation.process(2, "found", 1, |cpu| {
                for life in found {
                    let mut node = opened(&cpu, &format!("found{life}"));
                    let mut buffer = vec![0; 4000];
                    let received = node.receive_into(1, &mut buffer, PATIENCE).expect("it comes");
                    assert_eq!(received.bytes(&buffer), vec![life as u8; 3000]);
                }
            });
            let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
            (outcome.end, outcome.hash, rig.ended.get())
        };
        assert_eq!(run(), run(), "{mechanism:?}");
    }
}

#[test]
fn a_chip_that_has_no_room_for_a_link_says_so() {
    let hunt = |chip: Chip, mechanism| {
        let rig = Clusters::new(chip, mechanism, [0, 2]);
        let mut simulation = rig.simulation();
        let refused = Cell::new(None);
        simulation.process(0, "hunter", 1, |cpu| {
            let mut node = named(&cpu, "hunter");
            let hunted = node.hunt(&"found".parse().expect("a name"), PATIENCE);
            refused.set(hunted.err());
            rig.signalled.borrow_mut().extend(cpu.take_signalled());
        });
        simulation.process(2, "found", 1, |cpu| {
            let _node = named(&cpu, "found");
            cpu.pause(A_WHILE);
        });
        simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
        let faults: Vec<Fault> = rig.signalled.borrow().iter().map(|one| one.noted.fault).collect();
        (refused.get(), faults)
    };
    let refused = Some(LinkError::Hunt(HuntError::NoRoom));
    assert_eq!(hunt(chip(), Mechanism::Bmm), (None, vec![]));
    let few = || with(|clusters| clusters.manager.ports = 1);
    assert_eq!(hunt(few(), Mechanism::Bmm), (refused, vec![Fault::NoPort]));
    assert_eq!(hunt(few(), Mechanism::Dma), (None, vec![]), "its FIFOs need no port");
    let short = with(|clusters| (clusters.manager.words, clusters.manager.credits) = (32, 32));
    assert_eq!(hunt(short, Mechanism::Bmm), (refused, vec![]), "no frame fits");
    let mut small = chip();
    let memory = small.clusters.as_ref().expect("it has clusters").all[1].memory;
    small.memories[memory].size = 1 << 20;
    assert_eq!(hunt(small, Mechanism::Dma), (refused, vec![]), "no region fits");
}

/// What somebody else does to a link's port from CPU 1 of the cluster of the node that is found.
type Wrong = fn(&Cpu) -> Result<(), Fault>;

fn access(way: Way, kind: Kind, end: bool, port: u8, cpu: u8) -> u32 {
    in_cluster(1, Access { way, kind, end, port, cpu }.address())
}

#[test]
fn what_blocks_signal_ends_the_link_that_it_is_of_on_both_sides() {
    // The hunter sends to port 0 of the other's cluster, and receives from its port 1.
    let cases: [(&str, Wrong, Fault, bool); 4] = [
        (
            "another CPU reads the port",
            |cpu| {
                cpu.bus_store(access(Way::Read, Kind::Indirect, false, 0, 1), shared(1, 0))?;
                cpu.bus_store(access(Way::Read, Kind::Indirect, true, 0, 1), 4096)
            },
            Fault::Race,
            true,
        ),
        (
            "the CPU has begun another request",
            |cpu| cpu.bus_store(access(Way::Write, Kind::Indirect, false, 9, 0), 0),
            Fault::NoEnd,
            true,
        ),
        (
            "a port that nobody has set up is read",
            |cpu| cpu.bus_load(access(Way::Read, Kind::Direct, true, 9, 1)).map(|_| ()),
            Fault::Unconnected,
            false,
        ),
        (
            "a port that there is not is read",
            |cpu| cpu.bus_load(access(Way::Read, Kind::Direct, true, 200, 1)).map(|_| ()),
            Fault::NoPort,
            false,
        ),
    ];
    for (what, wrong, fault, ends) in cases {
        let rig = Clusters::new(chip(), Mechanism::Bmm, [0, 2]);
        let (ready, after) = (Cell::new(false), RefCell::new(Vec::new()));
        let mut simulation = rig.simulation();
        let talk = |node: &mut Node<Cpu>, link| {
            let _ = node.send(0, Address { link, port: 1 }, &[1; 30], None);
            for _ in 0..50 {
                node.wait_any(Some(Duration::from_micros(20)));
                node.poll();
            }
            after.borrow_mut().push(node.link(link).check().err());
            while after.borrow().len() < 2 {
                node.wait_any(Some(Duration::from_micros(20)));
            }
        };
        let hunter = |cpu: &Cpu, node: &mut Node<Cpu>, link| {
            node.send(0, Address { link, port: 1 }, &[1; 30], None).expect("room");
            while !ready.get() {
                cpu.pause(Time::nanos(1000));
            }
            talk(node, link);
        };
        linked(&rig, &mut simulation, hunter, |cpu, node| {
            node.receive_into(1, &mut [0; 64], PATIENCE).expect("it comes");
            let (link, _) = node.links().next().expect("it is up");
            while !ready.get() {
                cpu.compute(Time::nanos(1000));
            }
            talk(node, link);
        });
        simulation.process(3, "other", 1, |cpu| {
            cpu.compute(Time::nanos(200_000));
            let done = wrong(&cpu);
            if !ends {
                assert_eq!(done, Err(fault), "{what}");
            }
            ready.set(true);
            cpu.pause(Time::nanos(3_000_000));
            rig.signalled.borrow_mut().extend(cpu.take_signalled());
        });
        simulation.run().unwrap_or_else(|stuck| panic!("{what}: {stuck}"));
        let signalled = rig.signalled.borrow();
        let noted = signalled.iter().find(|one| one.noted.fault == fault);
        let noted = noted.unwrap_or_else(|| panic!("{what}: {signalled:?}"));
        assert_eq!(noted.cluster, 1, "{what}");
        let gone = LinkError::Gone(Lost::Died);
        let expected = if ends { [Some(gone); 2] } else { [None; 2] };
        assert_eq!(*after.borrow(), expected, "{what}: {signalled:?}");
    }
}
