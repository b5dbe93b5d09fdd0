//! The suite that every driver passes, in the simulator, unchanged.

use crate::common::rig::Simulated;
use narrows::conformance;
use narrows::memory::Class;
use narrows::strategy::{Notification, Placement};
use narrows_sim::chip::{Chip, SHIPPED};

#[test]
fn every_driver_passes_on_a_chip_without_coherent_caches() {
    let rig = Simulated::from(crate::common::chip());
    let mut ran = 0;
    for strategy in conformance::strategies() {
        println!("{strategy}");
        conformance::run(&rig, strategy);
        ran += 1;
    }
    assert_eq!(ran, 72);
}

/// Through internal memory as well, which is made as large as the suite's messages need, and is
/// what it was in everything else. So is external memory on chips that have none outside.
#[test]
fn every_driver_passes_on_the_shipped_chips() {
    for (name, _) in SHIPPED {
        let mut chip = Chip::shipped(name).expect("a possible chip");
        if !chip.is_linked() {
            continue;
        }
        chip.link.channels = 2;
        let external = |class: &Class| class.placement == Placement::External;
        let outside = chip.memories[chip.link.external].size >= 8 << 20;
        chip.link.classes.retain(|class| outside && external(class));
        let classes = crate::common::chip().link.classes.into_iter();
        chip.link.classes.extend(classes.filter(|class| !(outside && external(class))));
        for memory in [chip.link.internal, chip.link.external] {
            chip.memories[memory].size = chip.memories[memory].size.max(16 << 20);
        }
        let rig = Simulated::from(chip);
        let mut ran = 0;
        for strategy in conformance::strategies() {
            if strategy.notification == Notification::Interrupt {
                println!("{name}: {strategy}");
                conformance::run(&rig, strategy);
                ran += 1;
            }
        }
        assert_eq!(ran, 12, "{name}");
    }
}
