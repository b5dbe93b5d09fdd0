//! Platform files: each is refused with its place, or has what the simulator relies on.

use narrows::memory::Layout;
use narrows_sim::chip::{Arbitration, Cache, Chip};
use narrows_sim::time::{Cost, Frequency, Time};

/// The bytes are the file.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Chip::parse("fuzzed", text) {
        Ok(chip) => relied_on(&chip),
        Err(mistake) => {
            assert!((1..=text.matches('\n').count() + 1).contains(&mistake.line), "{mistake}");
            let line = text.split('\n').nth(mistake.line - 1).unwrap_or_default();
            assert!((1..=line.chars().count() + 1).contains(&mistake.column), "{mistake}");
            assert!(!mistake.to_string().contains('\n'), "{mistake}");
        }
    }
}

fn relied_on(chip: &Chip) {
    let (buses, memories, cores) = (chip.buses.len(), chip.memories.len(), chip.cores.len());
    assert!(buses > 0 && memories > 0 && cores > 0);
    for bus in &chip.buses {
        assert!(bus.width.is_power_of_two() && bus.burst.is_power_of_two() && bus.burst <= 256);
        if let Arbitration::Weighted(weights) = &bus.arbitration {
            assert_eq!(weights.len(), cores + chip.engines.len());
            assert!(weights.iter().all(|weight| *weight > 0));
        }
        moves(bus.clock);
    }
    for memory in &chip.memories {
        let bus = &chip.buses[memory.bus];
        assert!(memory.width.is_power_of_two() && memory.width <= bus.width);
        assert!(memory.beat.at(bus.clock) > Time::ZERO);
        bounded(memory.read, bus.clock);
    }
    for core in &chip.cores {
        assert!(core.home < memories && core.burst.is_power_of_two() && core.burst <= 256);
        assert!(core.poll.at(core.clock) > Time::ZERO);
        moves(core.clock);
        moves(core.timer.resolution);
        bounded(core.system.tick, core.clock);
        for cache in [core.instructions, core.data, core.second].into_iter().flatten() {
            let Cache { size, line, ways, .. } = cache;
            assert!(line.is_power_of_two() && (4..=64).contains(&line) && ways > 0);
            assert_eq!(size % (line * ways), 0);
            assert!((size / (line * ways)).is_power_of_two());
        }
        for (at, (span, _)) in core.spans.iter().enumerate() {
            assert!(core.spans[..at].iter().all(|(other, _)| other != span));
        }
    }
    for engine in &chip.engines {
        assert!(!engine.cores.is_empty() && engine.cores.iter().all(|core| *core < cores));
        assert!(engine.burst.is_power_of_two() && engine.burst <= 256);
        moves(engine.clock);
    }
    let link = &chip.link;
    assert!([link.control, link.internal, link.external].iter().all(|at| *at < memories));
    let layout = Layout::new(64, link.slots, &link.classes).expect("a layout that was checked");
    let room: u64 = chip.memories.iter().map(|memory| u64::from(memory.size)).sum();
    assert!(u64::from(layout.size()) < room + 4096);
}

fn moves(clock: Frequency) {
    assert!(clock.cycles(1) > Time::ZERO, "a cycle takes time");
}

fn bounded(cost: Cost, clock: Frequency) {
    assert!(cost.at(clock) < Time::NEVER);
}
