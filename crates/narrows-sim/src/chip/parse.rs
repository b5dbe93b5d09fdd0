//! From the text of a platform file to a chip, table by table.

use super::{
    Arbitration, Bus, Cache, Chip, Copying, Core, Engine, FUNCTIONS, Interrupt, Link, Memory,
    Serve, SpanCost, Stream, System, Timer, Within, bridge, check, cluster, link, port, system,
};
use crate::file::{Mistake, Table, Text, Value, listed};
use crate::time::{Cost, Frequency};
use narrows::span::Span;

/// The longest transfer, in bytes.
pub(super) const MOST_BURST: u32 = 256;
/// The longest cache line, in bytes: that of the stack's slots.
const MOST_LINE: u32 = 64;
const MOST_CODE: u32 = 1 << 20;
/// Cores of a chip.
const MOST_CORES: usize = 16;
/// Clusters of a chip: each has a core.
pub(super) const MOST_CLUSTERS: usize = MOST_CORES;
/// Memories and buses of a chip: each core's own, and one that each cluster shares.
const MOST_MEMORIES: usize = MOST_CORES + MOST_CLUSTERS;
/// Bridges of a chip: each core with one to each of several buses.
const MOST_BRIDGES: usize = 64;

pub(super) const TOP: [&str; 18] = [
    "about",
    "bus",
    "memory",
    "bridge",
    "core",
    "engine",
    "link",
    "port",
    "dma",
    "ipc",
    "route",
    "noc",
    "cluster",
    "block_dma",
    "buffer_manager",
    "calls",
    "accelerator",
    "model",
];
pub(super) const BUS: [&str; 6] = ["name", "clock", "width", "burst", "overhead", "arbitration"];
pub(super) const MEMORY: [&str; 10] =
    ["name", "bus", "size", "width", "read", "write", "beat", "cached", "cores", "stream"];
pub(super) const STREAM: [&str; 3] = ["from", "read", "write"];
pub(super) const SERVE: [&str; 3] = ["from", "copied", "in_place"];
pub(super) const CORE: [&str; 20] = [
    "name",
    "clock",
    "clocks",
    "home",
    "instructions",
    "data",
    "second",
    "burst",
    "hit",
    "second_hit",
    "copy",
    "poll",
    "fence",
    "upkeep",
    "timer",
    "interrupt",
    "system",
    "span",
    "functions",
    "serve",
];
pub(super) const ENGINE: [&str; 10] = [
    "name",
    "clock",
    "cores",
    "setup",
    "descriptor",
    "fetch",
    "descriptor_bytes",
    "burst",
    "completion",
    "refill",
];
pub(super) const COPY: [&str; 3] = ["start", "word", "private"];
pub(super) const TIMER: [&str; 3] = ["resolution", "read", "read_user"];
pub(super) const INTERRUPT: [&str; 5] = ["ring", "latency", "entry", "service", "code"];
pub(super) const SPAN: [&str; 5] = ["enter", "leave", "code", "again", "words"];
const INSTRUCTION_CACHE: [&str; 3] = ["size", "line", "ways"];
pub(super) const CACHE: [&str; 5] = ["size", "line", "ways", "write_back", "allocate"];
const AN_ARBITRATION: &str = "\"round_robin\", or a table with a weight for each core and engine";
pub(super) const MODEL: [&str; 3] = ["notification", "load", "p99"];
/// As the names of notifications, without their times, and flows of several together.
const NOTIFICATIONS: [&str; 6] = ["interrupt", "spin", "poll", "hybrid", "coalesced", "mixed"];

/// Reads a platform file.
pub(super) fn chip(source: Text<'_>) -> Result<Chip, Mistake> {
    let document = source.parse()?;
    let top = document.top(&TOP)?;
    let buses = top.some_tables("bus", MOST_MEMORIES, &BUS)?;
    let memories = top.some_tables("memory", MOST_MEMORIES, &MEMORY)?;
    let core_tables = top.some_tables("core", MOST_CORES, &CORE)?;
    let bridges = top.tables("bridge", MOST_BRIDGES, &bridge::BRIDGE)?;
    names(&bridges, &[])?;
    let engines = top.tables("engine", 16, &ENGINE)?;
    let bus_names = names(&buses, &[])?;
    let memory_names = names(&memories, &[])?;
    let core_names = names(&core_tables, &[])?;
    let engine_names = names(&engines, &core_names)?;
    let masters: Vec<String> = core_names.iter().chain(&engine_names).cloned().collect();

    let buses =
        buses.iter().map(|table| bus(table, &masters)).collect::<Result<Vec<_>, Mistake>>()?;
    let memories = memories.iter().map(|table| memory(table, &bus_names, &buses, &core_names));
    let bridges = bridges.iter().map(|table| bridge::read(table, &core_names, &bus_names));
    let cores = core_tables.iter().map(|table| core(table, &memory_names));
    let engines = engines.iter().map(|table| engine(table, &core_names));
    let ports = port::read(&top, &core_names, &memory_names)?;
    let clusters = cluster::read(&top, &core_names, &memory_names)?;
    let link_table = match top.find("link") {
        None if !ports.ports.is_empty() || clusters.is_some() => None,
        _ => Some(top.subtable("link", &link::KEYS)?),
    };
    let chip = Chip {
        name: source.path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        about: about(&top)?,
        memories: memories.collect::<Result<_, _>>()?,
        bridges: bridges.collect::<Result<_, _>>()?,
        cores: cores.collect::<Result<_, _>>()?,
        engines: engines.collect::<Result<_, _>>()?,
        link: link_table
            .as_ref()
            .map_or(Ok(Link::NONE), |table| link::read(table, &memory_names))?,
        ports,
        clusters,
        model: top
            .tables("model", NOTIFICATIONS.len(), &MODEL)?
            .iter()
            .map(within)
            .collect::<Result<_, _>>()?,
        buses,
    };
    bridge::check(&chip, &core_tables, link_table.as_ref())?;
    link_table.map_or(Ok(()), |table| check::link(&chip, &table))?;
    cluster::check(&chip, &top)?;
    Ok(chip)
}

fn about(top: &Table<'_>) -> Result<String, Mistake> {
    let expected = "a line of at most 200 characters about the chip";
    let value = top.get("about", expected)?;
    let text = value.string(expected)?;
    if text.chars().count() > 200 || text.chars().any(char::is_control) {
        return Err(value.wrong(expected));
    }
    Ok(text.to_owned())
}

/// The names of tables, none of which is one of `others`.
pub(super) fn names(tables: &[Table<'_>], others: &[String]) -> Result<Vec<String>, Mistake> {
    let mut all: Vec<String> = Vec::new();
    for table in tables {
        let name = table.name()?;
        if all.contains(&name) || others.contains(&name) {
            let value = table.get("name", "a name")?;
            return Err(value.wrong("a name that nothing else of its kind has"));
        }
        all.push(name);
    }
    Ok(all)
}

fn bus(table: &Table<'_>, masters: &[String]) -> Result<Bus, Mistake> {
    let width = table.power("width", 1..=64)?;
    Ok(Bus {
        name: table.name()?,
        clock: table.frequency("clock")?,
        width,
        burst: table.power("burst", width.max(4)..=MOST_BURST)?,
        overhead: table.cost("overhead")?,
        arbitration: arbitration(table, masters)?,
    })
}

fn arbitration(table: &Table<'_>, masters: &[String]) -> Result<Arbitration, Mistake> {
    let value = table.get("arbitration", AN_ARBITRATION)?;
    match value.string(AN_ARBITRATION) {
        Ok("round_robin") => return Ok(Arbitration::RoundRobin),
        Ok(_) => return Err(value.wrong(AN_ARBITRATION)),
        Err(_) => {}
    }
    let table = value.table_of("core or engine", masters)?;
    let weight = |master: &String| {
        table.get(master, "its weight: turns running, from 1 to 1000")?.number(1..=1000)
    };
    Ok(Arbitration::Weighted(masters.iter().map(weight).collect::<Result<_, _>>()?))
}

fn memory(
    table: &Table<'_>,
    names: &[String],
    buses: &[Bus],
    cores: &[String],
) -> Result<Memory, Mistake> {
    let bus = table.place("bus", "bus", names)?;
    let most = buses.get(bus).map_or(64, |bus| bus.width);
    Ok(Memory {
        name: table.name()?,
        bus,
        size: table.bytes("size", 4096..=1 << 30)?,
        width: table.power("width", 1..=most)?,
        read: table.cost("read")?,
        write: table.cost("write")?,
        beat: table.some_cost("beat")?,
        cached: table.flag("cached")?,
        cores: table.find("cores").map(|_| places(table, cores)).transpose()?,
        stream: streams(table)?,
    })
}

fn streams(memory: &Table<'_>) -> Result<Vec<Stream>, Mistake> {
    let expected = "a list of { from = \"4KiB\", read = 1, write = 1 }, from rising";
    memory.steps("stream", expected, &STREAM, 1..=MOST_CODE, |from, table| {
        Ok(Stream { from, read: table.cost("read")?, write: table.cost("write")? })
    })
}

fn serving(core: &Table<'_>) -> Result<Vec<Serve>, Mistake> {
    let expected = "a list of { from = \"4KiB\", copied = 1, in_place = 1 }, from rising";
    core.steps("serve", expected, &SERVE, 0..=MOST_CODE, |from, table| {
        Ok(Serve { from, copied: table.cost("copied")?, in_place: table.cost("in_place")? })
    })
}

fn core(table: &Table<'_>, memories: &[String]) -> Result<Core, Mistake> {
    let instructions = match table.find("instructions") {
        Some(value) => Some(cache(&value.table(&INSTRUCTION_CACHE)?, 4, false)?),
        None => None,
    };
    let data = match table.find("data") {
        Some(value) => Some(cache(&value.table(&CACHE)?, 4, true)?),
        None => None,
    };
    let second = match table.find("second") {
        None => None,
        Some(value) => {
            let lines = [instructions, data].into_iter().flatten().map(|cache| cache.line);
            let Some(least) = lines.max() else {
                return Err(value.wrong("none without instructions or data before it"));
            };
            Some(cache(&value.table(&CACHE)?, least, true)?)
        }
    };
    let second_hit = table.find("second_hit");
    let second_hit = match (second, second_hit) {
        (Some(_), _) => table.cost("second_hit")?,
        (None, Some(value)) => return Err(value.wrong("none without second")),
        (None, None) => Cost::NONE,
    };
    let copy = table.subtable("copy", &COPY)?;
    let timer = table.subtable("timer", &TIMER)?;
    let interrupt = table.subtable("interrupt", &INTERRUPT)?;
    Ok(Core {
        name: table.name()?,
        clock: table.frequency("clock")?,
        clocks: clocks(table)?,
        instructions,
        data,
        second,
        home: table.place("home", "memory", memories)?,
        burst: table.power("burst", 4..=MOST_BURST)?,
        hit: table.cost("hit")?,
        second_hit,
        copy: Copying {
            start: copy.cost("start")?,
            word: copy.cost("word")?,
            private: copy.find("private").map_or(Ok(false), |value| value.flag())?,
        },
        poll: table.some_cost("poll")?,
        fence: table.cost("fence")?,
        upkeep: table.cost("upkeep")?,
        timer: Timer {
            resolution: timer.frequency("resolution")?,
            read: timer.cost("read")?,
            read_user: timer.cost("read_user")?,
        },
        interrupt: Interrupt {
            ring: interrupt.cost("ring")?,
            latency: interrupt.cost("latency")?,
            entry: interrupt.cost("entry")?,
            service: interrupt.cost("service")?,
            code: interrupt.bytes("code", 0..=MOST_CODE)?,
        },
        system: System::read(&table.subtable("system", &system::KEYS)?)?,
        spans: spans(table)?,
        functions: functions(table)?,
        serve: serving(table)?,
    })
}

/// A cache whose lines have at least `least` bytes. What is never written has no rules for writing.
fn cache(table: &Table<'_>, least: u32, written: bool) -> Result<Cache, Mistake> {
    let line = table.power("line", least..=MOST_LINE)?;
    let ways = table.get("ways", "lines that an address can be in, from 1 to 64")?;
    let ways = ways.number(1..=64)?;
    let size = table.bytes("size", 1..=16 << 20)?;
    let set = line * ways;
    if !size.is_multiple_of(set) || !(size / set).is_power_of_two() {
        let value = table.get("size", "bytes")?;
        let expected = format!(
            "a power of two of sets, each of {ways} ways of {line} bytes: {set}, {}, {} and so on",
            set * 2,
            set * 4
        );
        return Err(value.wrong(&expected));
    }
    let rule = |key| if written { table.flag(key) } else { Ok(false) };
    Ok(Cache { size, line, ways, write_back: rule("write_back")?, allocate: rule("allocate")? })
}

fn within(table: &Table<'_>) -> Result<Within, Mistake> {
    let expected = listed(NOTIFICATIONS);
    let value = table.get("notification", &expected)?;
    let name = value.string(&expected)?;
    if !NOTIFICATIONS.contains(&name) {
        return Err(value.wrong(&expected));
    }
    let percent = |key| table.get(key, "percent")?.number(0..=1000);
    Ok(Within { notification: name.to_owned(), load: percent("load")?, p99: percent("p99")? })
}

fn spans(core: &Table<'_>) -> Result<Vec<(Span, SpanCost)>, Mistake> {
    let Some(value) = core.find("span") else { return Ok(Vec::new()) };
    let table = value.table(&Span::ALL.map(Span::name))?;
    let mut all = Vec::new();
    for (name, _, value) in table.entries() {
        let Some(span) = Span::ALL.into_iter().find(|span| span.name() == name) else { continue };
        let table = value.table(&SPAN)?;
        let code = table.find("code").map_or(Ok(0), |value| value.bytes(0..=MOST_CODE))?;
        let (enter, leave) = (table.cost_or_none("enter")?, table.cost_or_none("leave")?);
        let again = table.find("again").map_or(Ok(0), |value| value.bytes(0..=code))?;
        let words = system::words(&table, "words")?;
        all.push((span, SpanCost { enter, leave, code, again, words }));
    }
    Ok(all)
}

fn functions(core: &Table<'_>) -> Result<Vec<(String, Cost)>, Mistake> {
    let Some(value) = core.find("functions") else { return Ok(Vec::new()) };
    let all = value.table(&FUNCTIONS)?;
    all.entries().map(|(name, _, value)| Ok((name.to_owned(), value.cost()?))).collect()
}

/// The cores of a key `cores`, each once.
pub(super) fn places(table: &Table<'_>, cores: &[String]) -> Result<Vec<usize>, Mistake> {
    let expected = format!("a list of cores: {}", listed(cores.iter().map(String::as_str)));
    let value = table.get("cores", &expected)?;
    let mut all = Vec::new();
    for one in value.array(&expected)? {
        let core = one.place("core", cores)?;
        if all.contains(&core) {
            return Err(one.wrong("each core once"));
        }
        all.push(core);
    }
    if all.is_empty() {
        return Err(value.wrong(&expected));
    }
    Ok(all)
}

fn engine(table: &Table<'_>, cores: &[String]) -> Result<Engine, Mistake> {
    let bytes = table.get("descriptor_bytes", "bytes of a descriptor in memory, or 0")?;
    let descriptor_bytes = bytes.number(0..=MOST_BURST)?;
    if !descriptor_bytes.is_multiple_of(4) {
        return Err(bytes.wrong("a multiple of 4"));
    }
    Ok(Engine {
        name: table.name()?,
        clock: table.frequency("clock")?,
        cores: places(table, cores)?,
        setup: table.cost("setup")?,
        descriptor: table.cost("descriptor")?,
        fetch: table.cost("fetch")?,
        descriptor_bytes,
        burst: table.power("burst", 4..=MOST_BURST)?,
        completion: table.cost("completion")?,
        refill: table.cost_or_none("refill")?,
    })
}

/// The clocks that a core can have.
fn clocks(table: &Table<'_>) -> Result<Vec<Frequency>, Mistake> {
    let Some(value) = table.find("clocks") else { return Ok(Vec::new()) };
    let own = table.frequency("clock")?;
    let expected = "a rising list of frequencies with the core's clock among them";
    let found: Result<Vec<Frequency>, Mistake> =
        value.array(expected)?.iter().map(Value::frequency).collect();
    let found = found?;
    let rise = found.is_sorted_by(|one, next| one.0 < next.0);
    if rise && found.contains(&own) { Ok(found) } else { Err(value.wrong(expected)) }
}
