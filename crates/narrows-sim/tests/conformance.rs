//! The suite that every driver passes, in the simulator, unchanged.

mod common;

use common::rig::Simulated;
use narrows::conformance;
use narrows::strategy::{Notification, Placement};
use narrows_sim::chip::{Chip, SHIPPED};

#[test]
fn every_driver_passes_on_a_chip_without_coherent_caches() {
    let rig = Simulated::from(common::chip());
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
        let mut chip = Chip::shipped(name).expect("a possible chip");
        chip.link.channels = 2;
        let rig = Simulated::from(chip);
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
