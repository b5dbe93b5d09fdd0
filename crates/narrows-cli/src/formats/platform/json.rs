//! A chip as a row of JSON: all its facts, each cost in nanoseconds.
//!
//! Every part is taken to pieces without `..`: a fact that is new in the simulator and not yet in
//! the row is a mistake that the compiler finds.

use super::clusters;
use narrows::strategy::Placement;
use narrows_sim::chip::{
    Arbitration, Bridge, Bus, Cache, CallCost, Chip, Copying, Core, Dma, DmaMode, Engine,
    Interrupt, Link, Memory, Port, PortKind, Ports, Rate, Route, Serve, Service, SpanCost, Stream,
    System, Timer, Within,
};
use narrows_sim::rtos::Call;
use narrows_sim::time::{Cost, Frequency};
use serde_json::{Map, Value, json};

/// The row of a chip.
pub fn row(chip: &Chip) -> Value {
    let Chip {
        name,
        about,
        buses,
        memories,
        bridges,
        cores,
        engines,
        link,
        ports,
        clusters: joined,
        model,
    } = chip;
    let memory = |at: usize| memories[at].name.as_str();
    let Ports { ports, dmas, service, routes } = ports;
    // What the service takes is in cycles of the core that does it: the first one's are shown.
    let clock = cores.first().map_or(Frequency(1), |core| core.clock);
    let service = service.iter().map(|(mode, one)| service_row(*mode, *one, clock));
    json!({
        "platform": name,
        "about": about,
        "buses": buses.iter().map(bus_row).collect::<Vec<_>>(),
        "memories": memories.iter().map(|one| memory_row(chip, one)).collect::<Vec<_>>(),
        "bridges": bridges.iter().map(|one| bridge_row(chip, one)).collect::<Vec<_>>(),
        "cores": cores.iter().map(|one| core_row(one, memory(one.home))).collect::<Vec<_>>(),
        "engines": engines.iter().map(|one| engine_row(chip, one)).collect::<Vec<_>>(),
        "link": chip.is_linked().then(|| link_row(link, memory)),
        "ports": ports.iter().map(|one| port_row(chip, one)).collect::<Vec<_>>(),
        "dmas": dmas.iter().map(|one| dma_row(chip, one)).collect::<Vec<_>>(),
        "ipc": service.collect::<Vec<_>>(),
        "routes": routes.iter().map(|one| route_row(chip, one)).collect::<Vec<_>>(),
        "clusters": joined.as_ref().map(|one| clusters::row(chip, one)),
        "model": model.iter().map(within_row).collect::<Vec<_>>(),
    })
}

fn route_row(chip: &Chip, route: &Route) -> Value {
    let Route { at, to, over } = route;
    json!({ "at": chip.cores[*at].name, "to": names(chip, to), "over": names(chip, over) })
}

fn bridge_row(chip: &Chip, bridge: &Bridge) -> Value {
    let Bridge { name, cores, bus, read, write } = bridge;
    let bus = &chip.buses[*bus];
    let [read, write] = [read, write].map(|cost| ns(*cost, bus.clock));
    json!({
        "name": name,
        "cores": names(chip, cores),
        "bus": bus.name,
        "read_ns": read,
        "write_ns": write,
    })
}

/// Cores by their names.
fn names<'a>(chip: &'a Chip, cores: &[usize]) -> Vec<&'a str> {
    cores.iter().filter_map(|core| chip.cores.get(*core)).map(|core| core.name.as_str()).collect()
}

fn within_row(within: &Within) -> Value {
    let Within { notification, load, p99 } = within;
    json!({ "notification": notification, "load_percent": load, "p99_percent": p99 })
}

fn bus_row(bus: &Bus) -> Value {
    let Bus { name, clock, width, burst, overhead, arbitration } = bus;
    json!({
        "name": name,
        "clock_hz": clock.0,
        "width": width,
        "burst": burst,
        "overhead_ns": ns(*overhead, *clock),
        "weights": match arbitration {
            Arbitration::RoundRobin => Value::Null,
            Arbitration::Weighted(weights) => json!(weights),
        },
    })
}

fn link_row<'a>(link: &Link, memory: impl Fn(usize) -> &'a str) -> Value {
    let Link { control, internal, external, slots, channels, channel_slots, classes } = link;
    let classes = classes.iter().map(|narrows::memory::Class { placement, size, count }| {
        let placement = if *placement == Placement::Internal { "internal" } else { "external" };
        json!({ "placement": placement, "size": size, "count": count })
    });
    json!({
        "control": memory(*control),
        "internal": memory(*internal),
        "external": memory(*external),
        "slots": slots,
        "channels": channels,
        "channel_slots": channel_slots,
        "classes": classes.collect::<Vec<_>>(),
    })
}

fn port_row(chip: &Chip, port: &Port) -> Value {
    let Port { name, kind, between, words, access } = port;
    let cores = between.map(|core| &chip.cores[core]);
    let (kind, word, turn) = match kind {
        PortKind::Fifo => ("fifo", None, None),
        PortKind::Comm { word, turn } => ("comm", Some(*word), Some(*turn)),
    };
    json!({
        "name": name,
        "kind": kind,
        "between": cores.map(|core| core.name.as_str()),
        "words": words,
        "access_ns": cores.map(|core| ns(*access, core.clock)),
        "word_ns": word.map(|cost| ns(cost, cores[0].clock)),
        "turn_ns": turn.map(|cost| ns(cost, cores[0].clock)),
    })
}

fn dma_row(chip: &Chip, dma: &Dma) -> Value {
    let Dma { core, controllers, interrupts, frames, event, edge, messages, rates } = dma;
    let core = &chip.cores[*core];
    let memory = |at: usize| chip.memories[at].name.as_str();
    let rates = rates.iter().map(|Rate { memory: of, read, write }| {
        let [read, write] = [read, write].map(|cost| ns(*cost, core.clock));
        json!({ "memory": memory(*of), "read_ns": read, "write_ns": write })
    });
    json!({
        "core": core.name,
        "controllers": controllers,
        "interrupts": interrupts,
        "frames": frames,
        "event_ns": ns(*event, core.clock),
        "trigger": if *edge { "edge" } else { "level" },
        "messages": memory(*messages),
        "rates": rates.collect::<Vec<_>>(),
    })
}

fn service_row(mode: DmaMode, service: Service, clock: Frequency) -> Value {
    let Service { request, accept, start, packet, arrive, finish, deliver } = service;
    let ns = |cost: Cost| ns(cost, clock);
    json!({
        "mode": mode.name(),
        "request_ns": ns(request),
        "accept_ns": ns(accept),
        "start_ns": ns(start),
        "packet_ns": ns(packet),
        "arrive_ns": ns(arrive),
        "finish_ns": ns(finish),
        "deliver_ns": ns(deliver),
    })
}

pub(super) fn ns(cost: Cost, clock: Frequency) -> f64 {
    cost.at(clock).0 as f64 / 1000.0
}

fn memory_row(chip: &Chip, memory: &Memory) -> Value {
    let Memory { name, bus, size, width, read, write, beat, cached, cores, stream } = memory;
    let bus = &chip.buses[*bus];
    let ns = |cost: &Cost| ns(*cost, bus.clock);
    let stream = stream.iter().map(|Stream { from, read, write }| {
        json!({ "from": from, "read_ns": ns(read), "write_ns": ns(write) })
    });
    json!({
        "name": name,
        "bus": bus.name,
        "size": size,
        "width": width,
        "read_ns": ns(read),
        "write_ns": ns(write),
        "beat_ns": ns(beat),
        "cached": cached,
        "cores": cores.as_ref().map(|cores| names(chip, cores)),
        "stream": stream.collect::<Vec<_>>(),
    })
}

fn cache(cache: &Option<Cache>, written: bool) -> Value {
    match cache {
        None => Value::Null,
        // Nothing is written to it.
        Some(Cache { size, line, ways, write_back: _, allocate: _ }) if !written => {
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

fn core_row(core: &Core, home_name: &str) -> Value {
    let Core {
        name,
        clock,
        clocks,
        home: _,
        instructions,
        data,
        second,
        burst,
        hit,
        second_hit,
        copy: Copying { start, word, private },
        poll,
        fence,
        upkeep,
        timer: Timer { resolution, read, read_user },
        interrupt: Interrupt { ring, latency, entry, service, code },
        system,
        spans,
        functions,
        serve,
    } = core;
    let ns = |cost: &Cost| ns(*cost, *clock);
    let spans = spans.iter().map(|(span, SpanCost { enter, leave, code, again, words })| {
        let value = json!({
            "enter_ns": ns(enter),
            "leave_ns": ns(leave),
            "code": code,
            "again": again,
            "words": words,
        });
        (span.name().to_owned(), value)
    });
    let functions =
        functions.iter().map(|(name, cost)| (name.clone(), json!({ "word_ns": ns(cost) })));
    let serve = serve.iter().map(|Serve { from, copied, in_place }| {
        json!({ "from": from, "copied_ns": ns(copied), "in_place_ns": ns(in_place) })
    });
    json!({
        "name": name,
        "clock_hz": clock.0,
        "clocks_hz": clocks.iter().map(|clock| clock.0).collect::<Vec<u64>>(),
        "home": home_name,
        "instructions": cache(instructions, false),
        "data": cache(data, true),
        "second": cache(second, true),
        "burst": burst,
        "hit_ns": ns(hit),
        "second_hit_ns": second.map(|_| ns(second_hit)),
        "copy": { "start_ns": ns(start), "word_ns": ns(word), "private": private },
        "poll_ns": ns(poll),
        "fence_ns": ns(fence),
        "upkeep_ns": ns(upkeep),
        "timer": {
            "resolution_hz": resolution.0,
            "read_ns": ns(read),
            "read_user_ns": ns(read_user),
        },
        "interrupt": {
            "ring_ns": ns(ring),
            "latency_ns": ns(latency),
            "entry_ns": ns(entry),
            "service_ns": ns(service),
            "code": code,
        },
        "system": system_row(system, *clock),
        "span": spans.collect::<Map<String, Value>>(),
        "functions": functions.collect::<Map<String, Value>>(),
        "serve": serve.collect::<Vec<_>>(),
    })
}

fn system_row(system: &System, clock: Frequency) -> Value {
    let System {
        switch,
        switch_words,
        entry_words,
        code,
        sleep,
        tick,
        tick_service,
        calls,
        swapping,
    } = system;
    let ns = |cost: &Cost| ns(*cost, clock);
    let costs = |calls: &[(Call, CallCost)]| {
        let row = |(call, CallCost { takes, words }): &(Call, CallCost)| {
            (call.name().to_owned(), json!({ "takes_ns": ns(takes), "words": words }))
        };
        calls.iter().map(row).collect::<Map<String, Value>>()
    };
    json!({
        "switch_ns": ns(switch),
        "switch_words": switch_words,
        "entry_words": entry_words,
        "code": code,
        "sleep_ns": ns(sleep),
        "tick_ns": ns(tick),
        "tick_service_ns": ns(tick_service),
        "calls": costs(calls),
        "swapping": costs(swapping),
    })
}

fn engine_row(chip: &Chip, engine: &Engine) -> Value {
    let Engine {
        name,
        clock,
        cores,
        setup,
        descriptor,
        fetch,
        descriptor_bytes,
        burst,
        completion,
        refill,
    } = engine;
    // What a core does for it is in that core's cycles; of several, the first one's are shown.
    let first = cores.first().and_then(|core| chip.cores.get(*core));
    let of_core = first.map_or(*clock, |core| core.clock);
    json!({
        "name": name,
        "clock_hz": clock.0,
        "cores": names(chip, cores),
        "setup_ns": ns(*setup, of_core),
        "descriptor_ns": ns(*descriptor, of_core),
        "refill_ns": ns(*refill, of_core),
        "fetch_ns": ns(*fetch, *clock),
        "descriptor_bytes": descriptor_bytes,
        "burst": burst,
        "completion_ns": ns(*completion, *clock),
    })
}
