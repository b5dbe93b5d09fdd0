//! A chip as a row of JSON: all its facts, each cost in nanoseconds.

use narrows::strategy::Placement;
use narrows_sim::chip::{Arbitration, Cache, Chip, Core, Engine, Memory};
use narrows_sim::time::{Cost, Frequency};
use serde_json::{Map, Value, json};

/// The row of a chip.
pub fn row(chip: &Chip) -> Value {
    let memory = |at: usize| chip.memories[at].name.as_str();
    let buses: Vec<Value> = chip
        .buses
        .iter()
        .map(|bus| {
            json!({
                "name": bus.name,
                "clock_hz": bus.clock.0,
                "width": bus.width,
                "burst": bus.burst,
                "overhead_ns": ns(bus.overhead, bus.clock),
                "weights": match &bus.arbitration {
                    Arbitration::RoundRobin => Value::Null,
                    Arbitration::Weighted(weights) => json!(weights),
                },
            })
        })
        .collect();
    let classes = chip.link.classes.iter().map(|class| {
        let placement =
            if class.placement == Placement::Internal { "internal" } else { "external" };
        json!({ "placement": placement, "size": class.size, "count": class.count })
    });
    json!({
        "platform": chip.name,
        "about": chip.about,
        "buses": buses,
        "memories": chip.memories.iter().map(|one| memory_row(chip, one)).collect::<Vec<_>>(),
        "cores": chip.cores.iter().map(|one| core_row(one, memory(one.home))).collect::<Vec<_>>(),
        "engines": chip.engines.iter().map(|one| engine_row(chip, one)).collect::<Vec<_>>(),
        "link": {
            "control": memory(chip.link.control),
            "internal": memory(chip.link.internal),
            "external": memory(chip.link.external),
            "slots": chip.link.slots,
            "classes": classes.collect::<Vec<_>>(),
        },
    })
}

fn ns(cost: Cost, clock: Frequency) -> f64 {
    cost.at(clock).0 as f64 / 1000.0
}

fn memory_row(chip: &Chip, memory: &Memory) -> Value {
    let bus = &chip.buses[memory.bus];
    json!({
        "name": memory.name,
        "bus": bus.name,
        "size": memory.size,
        "width": memory.width,
        "read_ns": ns(memory.read, bus.clock),
        "write_ns": ns(memory.write, bus.clock),
        "beat_ns": ns(memory.beat, bus.clock),
        "cached": memory.cached,
        "stream": memory
            .stream
            .iter()
            .map(|one| {
                json!({
                    "from": one.from,
                    "read_ns": ns(one.read, bus.clock),
                    "write_ns": ns(one.write, bus.clock),
                })
            })
            .collect::<Vec<_>>(),
    })
}

fn cache(cache: &Option<Cache>, written: bool) -> Value {
    match cache {
        None => Value::Null,
        Some(Cache { size, line, ways, .. }) if !written => {
            json!({ "size": size, "line": line, "ways": ways })
        }
        Some(Cache { size, line, ways, write_back, allocate }) => json!({
            "size": size,
            "line": line,
            "ways": ways,
            "write_back": write_back,
            "allocate": allocate,
        }),
    }
}

fn core_row(core: &Core, home: &str) -> Value {
    let ns = |cost| ns(cost, core.clock);
    let spans: Map<String, Value> = core
        .spans
        .iter()
        .map(|(span, cost)| {
            let (enter, leave) = (ns(cost.enter), ns(cost.leave));
            let value = json!({ "enter_ns": enter, "leave_ns": leave, "code": cost.code });
            (span.name().to_owned(), value)
        })
        .collect();
    json!({
        "name": core.name,
        "clock_hz": core.clock.0,
        "clocks_hz": core.clocks.iter().map(|clock| clock.0).collect::<Vec<u64>>(),
        "home": home,
        "instructions": cache(&core.instructions, false),
        "data": cache(&core.data, true),
        "second": cache(&core.second, true),
        "burst": core.burst,
        "hit_ns": ns(core.hit),
        "second_hit_ns": core.second.map(|_| ns(core.second_hit)),
        "copy": {
            "start_ns": ns(core.copy.start),
            "word_ns": ns(core.copy.word),
            "private": core.copy.private,
        },
        "poll_ns": ns(core.poll),
        "fence_ns": ns(core.fence),
        "upkeep_ns": ns(core.upkeep),
        "timer": {
            "resolution_hz": core.timer.resolution.0,
            "read_ns": ns(core.timer.read),
            "read_user_ns": ns(core.timer.read_user),
        },
        "interrupt": {
            "ring_ns": ns(core.interrupt.ring),
            "latency_ns": ns(core.interrupt.latency),
            "entry_ns": ns(core.interrupt.entry),
            "service_ns": ns(core.interrupt.service),
            "code": core.interrupt.code,
        },
        "system": {
            "switch_ns": ns(core.system.switch),
            "sleep_ns": ns(core.system.sleep),
            "tick_ns": ns(core.system.tick),
            "tick_service_ns": ns(core.system.tick_service),
        },
        "span": spans,
        "functions": core
            .functions
            .iter()
            .map(|(name, cost)| (name.clone(), json!({ "word_ns": ns(*cost) })))
            .collect::<Map<String, Value>>(),
        "serve": core
            .serve
            .iter()
            .map(|one| {
                json!({
                    "from": one.from,
                    "copied_ns": ns(one.copied),
                    "in_place_ns": ns(one.in_place),
                })
            })
            .collect::<Vec<_>>(),
    })
}

fn engine_row(chip: &Chip, engine: &Engine) -> Value {
    let cores = engine.cores.iter().filter_map(|core| chip.cores.get(*core));
    // What a core does for it is in that core's cycles; of several, the first one's are shown.
    let first = engine.cores.first().and_then(|core| chip.cores.get(*core));
    let clock = first.map_or(engine.clock, |core| core.clock);
    json!({
        "name": engine.name,
        "clock_hz": engine.clock.0,
        "cores": cores.map(|core| core.name.as_str()).collect::<Vec<_>>(),
        "setup_ns": ns(engine.setup, clock),
        "descriptor_ns": ns(engine.descriptor, clock),
        "fetch_ns": ns(engine.fetch, engine.clock),
        "descriptor_bytes": engine.descriptor_bytes,
        "burst": engine.burst,
        "completion_ns": ns(engine.completion, engine.clock),
    })
}
