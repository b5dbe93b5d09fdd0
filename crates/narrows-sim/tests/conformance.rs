//! The suite that every driver passes, in the simulator, unchanged.

mod common;

use narrows::conformance::{self, Rig, Side};
use narrows::endpoint::Limits;
use narrows::strategy::{Notification, Placement};
use narrows_sim::chip::{Chip, SHIPPED};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use std::time::Duration;

struct Simulated(Chip);

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

impl Rig for Simulated {
    type Platform = Cpu;

    fn run(&self, caller: Side<'_, Cpu>, callee: Side<'_, Cpu>) {
        let done = std::cell::Cell::new(0);
        let end = |node: &mut narrows::endpoint::Node<Cpu>| {
            done.set(done.get() + 1);
            while done.get() < 2 {
                node.wait_any(Some(Duration::from_millis(1)));
            }
        };
        let mut simulation = Simulation::new(&self.0, Settings::default());
        simulation.process(0, "caller", 1, |cpu: Cpu| {
            let name = "caller".parse().expect("a name");
            let mut node = cpu.node(name, Limits::default()).expect("storage");
            let link = node.hunt(&"callee".parse().expect("a name"), PATIENCE).expect("a link");
            caller(&mut node, link);
            end(&mut node);
        });
        simulation.process(1, "callee", 1, |cpu: Cpu| {
            let name = "callee".parse().expect("a name");
            let mut node = cpu.node(name, Limits::default()).expect("storage");
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
            panic!("{stuck}");
        }
    }
}

#[test]
fn every_driver_passes_on_a_chip_without_coherent_caches() {
    let rig = Simulated(common::chip());
    let mut ran = 0;
    for strategy in conformance::strategies() {
        println!("{strategy}");
        conformance::run(&rig, strategy);
        ran += 1;
    }
    assert_eq!(ran, 60);
}

/// Their internal memories are too small for all that the suite sends.
#[test]
fn every_driver_passes_on_the_shipped_chips_through_external_memory() {
    for (name, _) in SHIPPED {
        let rig = Simulated(Chip::shipped(name).expect("a possible chip"));
        let mut ran = 0;
        for strategy in conformance::strategies() {
            let bell = strategy.notification == Notification::Interrupt;
            if bell && strategy.placement == Placement::External {
                println!("{name}: {strategy}");
                conformance::run(&rig, strategy);
                ran += 1;
            }
        }
        assert_eq!(ran, 6, "{name}");
    }
}
