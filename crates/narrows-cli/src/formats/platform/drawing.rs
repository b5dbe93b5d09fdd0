//! What there is to draw of a chip, in words.

use super::clusters;
use crate::base::table::listed;
use narrows_sim::chip::{Arbitration, Bus, Cache, Chip, Core, Engine, Memory};
use narrows_sim::time::{Cost, Frequency};

/// A chip in words.
pub struct Drawing {
    /// Its name and what it is.
    pub heading: String,
    /// What uses buses: cores, then engines.
    pub masters: Vec<Part>,
    /// Buses, each with its memories.
    pub buses: Vec<(Part, Vec<Part>)>,
    /// What links are made of.
    pub link: String,
}

/// A part of a chip: a heading and facts, none of them long.
pub struct Part {
    /// Its name.
    pub name: String,
    /// Facts, each for a line of its own.
    pub facts: Vec<String>,
}

/// What there is to draw of a chip.
pub fn of(chip: &Chip) -> Drawing {
    let cores = chip.cores.iter().enumerate().map(|(at, one)| core(chip, at, one));
    let engines = chip.engines.iter().map(|one| engine(chip, one));
    let buses = chip.buses.iter().enumerate().map(|(at, one)| {
        let memories = chip.memories.iter().enumerate().filter(|(_, memory)| memory.bus == at);
        (bus(one), memories.map(|(at, one)| memory(chip, at, one)).collect())
    });
    Drawing {
        heading: format!("{}: {}", chip.name, chip.about),
        masters: cores.chain(engines).collect(),
        buses: buses.collect(),
        link: link(chip),
    }
}

fn core(chip: &Chip, at: usize, core: &Core) -> Part {
    let mut facts = vec![frequency(core.clock)];
    for bridge in chip.bridges.iter().filter(|bridge| bridge.cores.contains(&at)) {
        facts.push(format!("{} to", bridge.name));
        facts.push(format!("  {}", chip.buses[bridge.bus].name));
    }
    let caches = [("I", core.instructions), ("D", core.data), ("L2", core.second)];
    for (name, cache) in caches {
        let Some(Cache { size, line, ways, write_back, .. }) = cache else { continue };
        let ways = if ways == 1 { "direct".to_owned() } else { format!("{ways}-way") };
        facts.push(format!("{name} {}", bytes(size)));
        facts.push(format!("  {ways}, {}", bytes(line)));
        if name != "I" {
            facts.push(if write_back { "  write-back" } else { "  write-through" }.to_owned());
        }
    }
    Part { name: core.name.clone(), facts }
}

fn engine(chip: &Chip, engine: &Engine) -> Part {
    let mut facts = vec!["copy engine".to_owned(), frequency(engine.clock)];
    let cores = engine.cores.iter().filter_map(|core| chip.cores.get(*core));
    facts.extend(cores.map(|core| format!("for {}", core.name)));
    facts.push(format!("{} at once", bytes(engine.burst)));
    Part { name: engine.name.clone(), facts }
}

fn bus(bus: &Bus) -> Part {
    let turns = match &bus.arbitration {
        Arbitration::RoundRobin => "in turn".to_owned(),
        Arbitration::Weighted(weights) => {
            let weights: Vec<String> = weights.iter().map(u32::to_string).collect();
            format!("weights {}", weights.join(":"))
        }
    };
    let facts = vec![
        frequency(bus.clock),
        format!("{} wide", bytes(bus.width)),
        format!("up to {} at once", bytes(bus.burst)),
        turns,
    ];
    Part { name: bus.name.clone(), facts }
}

fn memory(chip: &Chip, at: usize, memory: &Memory) -> Part {
    let mut facts = vec![
        bytes(memory.size),
        format!("{} wide", bytes(memory.width)),
        format!("read {}", cost(memory.read)),
        format!("write {}", cost(memory.write)),
        format!("beat {}", cost(memory.beat)),
        if memory.cached { "cached" } else { "not cached" }.to_owned(),
    ];
    if let Some(cores) = &memory.cores {
        let cores = cores.iter().filter_map(|core| chip.cores.get(*core));
        let names: Vec<&str> = cores.map(|core| core.name.as_str()).collect();
        facts.push(format!("of {} alone", listed(&names)));
    }
    for step in &memory.stream {
        facts.push(format!("from {} on", bytes(step.from)));
        facts.push(format!("  read {}", cost(step.read)));
        facts.push(format!("  write {}", cost(step.write)));
    }
    let homes: Vec<&str> =
        chip.cores.iter().filter(|core| core.home == at).map(|core| core.name.as_str()).collect();
    if !chip.is_linked() {
        let dmas = chip.ports.dmas.iter().filter(|dma| dma.messages == at);
        let cores = dmas.filter_map(|dma| chip.cores.get(dma.core));
        facts.extend(cores.map(|core| format!("messages of {}", core.name)));
        facts.extend(clusters::role(chip, at));
        return Part { name: memory.name.clone(), facts };
    }
    let link = &chip.link;
    let blocks = [(link.internal, "internal blocks"), (link.external, "external blocks")];
    let roles = [(link.control, "rings")].into_iter().chain(blocks);
    facts.extend(roles.filter(|(of, _)| *of == at).map(|(_, role)| role.to_owned()));
    if homes.len() == chip.cores.len() {
        facts.push("code of all cores".to_owned());
    } else if !homes.is_empty() {
        facts.push(format!("code of {}", listed(&homes)));
    }
    Part { name: memory.name.clone(), facts }
}

fn link(chip: &Chip) -> String {
    if !chip.is_linked() {
        if let Some(all) = &chip.clusters {
            return clusters::words(chip, all);
        }
        let ports = chip.ports.ports.iter().map(|port| {
            let [one, other] = port.between.map(|core| chip.cores[core].name.as_str());
            format!("{} between {one} and {other}", port.name)
        });
        let ports: Vec<String> = ports.collect();
        return format!("ports: {}", ports.join(", "));
    }
    let mut words = format!("{} slots", chip.link.slots);
    for (at, memory) in chip.memories.iter().enumerate() {
        let classes = chip.link.classes.iter();
        let blocks: Vec<String> = classes
            .filter(|class| chip.link.memory(class.placement) == at)
            .map(|class| format!("{} of {}", class.count, bytes(class.size)))
            .collect();
        if !blocks.is_empty() {
            words.push_str(&format!("; blocks in {}: {}", memory.name, blocks.join(", ")));
        }
    }
    words
}

/// Bytes in the largest unit that leaves a whole number.
pub fn bytes(bytes: u32) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{bytes} B"), |(unit, name)| format!("{} {name}", bytes / unit))
}

/// A frequency in the largest unit that it fills.
pub fn frequency(clock: Frequency) -> String {
    let units = [(1_000_000_000, "GHz"), (1_000_000, "MHz"), (1000, "kHz")];
    let unit = units.into_iter().find(|(unit, _)| clock.0 >= *unit);
    let (unit, name) = unit.unwrap_or((1, "Hz"));
    format!("{} {name}", clock.0 as f64 / unit as f64)
}

/// A cost as the file has it.
pub fn cost(cost: Cost) -> String {
    match cost {
        Cost::Cycles(1) => "1 cycle".to_owned(),
        Cost::Cycles(cycles) => format!("{cycles} cycles"),
        Cost::Time(time) => time.to_string(),
    }
}
