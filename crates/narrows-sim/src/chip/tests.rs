//! What a platform file says, and where it is wrong.

use super::*;
use crate::chip::Call;
use crate::file::{Mistake, Problem};
use crate::time::Time;

/// A file in which everything is as small as can be, for tests to change a line of.
pub(super) const SMALL: &str = r#"about = "two cores"
[[bus]]
name = "bus"
clock = "100MHz"
width = 4
burst = 32
overhead = 1
arbitration = "round_robin"
[[memory]]
name = "ram"
bus = "bus"
size = "64KiB"
width = 4
read = 2
write = "20ns"
beat = 1
cached = true
[[core]]
name = "a"
clock = "100MHz"
home = "ram"
data = { size = "1KiB", line = 32, ways = 2, write_back = true, allocate = true }
burst = 4
hit = 1
copy = { start = 3, word = 1 }
poll = 5
fence = 1
upkeep = 1
timer = { resolution = "1MHz", read = 2, read_user = 3 }
interrupt = { ring = 1, latency = 2, entry = 3, service = 4, code = 64 }
system = { switch = 50, sleep = 10, tick = "1ms", tick_service = "2.5us", calls.send = 372 }
span = { A = { enter = "133.2us" }, driver = { leave = 7, code = 32 } }
[[engine]]
name = "dma"
clock = "100MHz"
cores = ["a"]
setup = 10
descriptor = 5
fetch = 2
descriptor_bytes = 16
burst = 32
completion = 3
[link]
control = "ram"
internal = "ram"
external = "ram"
slots = 4
classes = [{ placement = "internal", size = 256, count = 2 }]
"#;

fn small() -> Chip {
    Chip::parse("small", SMALL).unwrap()
}

#[test]
fn clocks_are_those_that_a_core_can_have() {
    assert!(small().cores[0].clocks.is_empty());
    let named = SMALL.replace("home = \"ram\"", "clocks = [\"50MHz\", \"100MHz\"]\nhome = \"ram\"");
    let chip = Chip::parse("small", &named).unwrap();
    assert_eq!(chip.cores[0].clocks, [Frequency(50_000_000), Frequency(100_000_000)]);
}

#[test]
fn everything_is_read_as_it_is_written() {
    let chip = small();
    assert_eq!((chip.name.as_str(), chip.about.as_str()), ("small", "two cores"));
    let [bus] = &chip.buses[..] else { panic!() };
    assert_eq!((bus.clock, bus.width, bus.burst), (Frequency(100_000_000), 4, 32));
    assert_eq!(bus.arbitration, Arbitration::RoundRobin);
    let [memory] = &chip.memories[..] else { panic!() };
    assert_eq!((memory.bus, memory.size, memory.cached), (0, 65_536, true));
    assert_eq!((memory.read, memory.write), (Cost::Cycles(2), Cost::Time(Time::nanos(20))));
    let [core] = &chip.cores[..] else { panic!() };
    let data = Cache { size: 1024, line: 32, ways: 2, write_back: true, allocate: true };
    assert_eq!((core.instructions, core.data, core.second), (None, Some(data), None));
    assert_eq!(
        core.copy,
        Copying { start: Cost::Cycles(3), word: Cost::Cycles(1), private: false }
    );
    assert_eq!(core.system.tick_service, Cost::Time(Time::nanos(2500)));
    let send = CallCost { takes: Cost::Cycles(372), words: 0 };
    assert_eq!(core.system.calls, [(Call::Send, send)]);
    assert_eq!(core.system.call(Call::Receive), CallCost::NONE);
    assert_eq!(
        core.system.swapping(Call::Send),
        send,
        "where it is not known to be something else"
    );
    let enter = Cost::Time(Time::nanos(133_200));
    assert_eq!(core.span(Span::PhaseA), Some(&SpanCost { enter, ..SpanCost::NONE }));
    let driver = SpanCost { leave: Cost::Cycles(7), code: 32, ..SpanCost::NONE };
    assert_eq!(core.span(Span::Driver), Some(&driver));
    assert_eq!(core.span(Span::PhaseB), None);
    let [engine] = &chip.engines[..] else { panic!() };
    assert_eq!((&engine.cores[..], engine.descriptor_bytes), (&[0][..], 16));
    assert_eq!((chip.link.slots, chip.link.classes.len()), (4, 1));
    assert_eq!((chip.link.channels, chip.link.channel_slots), (0, 16));
    let with = SMALL.replace("slots = 4", "slots = 4\nchannels = 3\nchannel_slots = 2");
    let link = Chip::parse("small", &with).unwrap().link;
    assert_eq!((link.slots, link.channels, link.channel_slots), (4, 3, 2));
}

#[test]
fn streams_functions_and_serving_are_read_where_there_are_any() {
    let chip = small();
    assert!(chip.memories[0].stream.is_empty() && chip.cores[0].functions.is_empty());
    assert_eq!(chip.cores[0].serving(1 << 20, true), Time::ZERO);
    let steps =
        "[{ from = 64, read = 1, write = \"5ns\" }, { from = \"4KiB\", read = 0, write = 0 }]";
    let serve = "[{ from = 0, copied = \"1ns\", in_place = 0 }, \
                  { from = 64, copied = \"2ns\", in_place = \"5ns\" }]";
    let text = SMALL
        .replace("cached = true", &format!("cached = true\nstream = {steps}"))
        .replace("poll = 5", "poll = 5\nfunctions = { echo = 3, \"g711.decode.mu\" = \"7ns\" }")
        .replace("poll = 5", &format!("poll = 5\nserve = {serve}"));
    let chip = Chip::parse("small", &text).unwrap();
    let write = Cost::Time(Time::nanos(5));
    let [near, far] = &chip.memories[0].stream[..] else { panic!() };
    assert_eq!(*near, Stream { from: 64, read: Cost::Cycles(1), write });
    assert_eq!((far.from, far.read, far.write), (4096, Cost::NONE, Cost::NONE));
    assert_eq!(chip.cores[0].function("g711.decode.mu"), Cost::Time(Time::nanos(7)));
    assert_eq!(chip.cores[0].function("echo"), Cost::Cycles(3));
    assert_eq!(chip.cores[0].function("other"), Cost::NONE);
    for (bytes, copied, in_place) in [(0, 0, 0), (3, 1, 0), (64, 16, 0), (65, 18, 5), (128, 48, 80)]
    {
        assert_eq!(chip.cores[0].serving(bytes, false), Time::nanos(copied), "{bytes}");
        assert_eq!(chip.cores[0].serving(bytes, true), Time::nanos(in_place), "{bytes}");
    }
}

#[test]
fn weights_come_in_the_order_of_the_file() {
    let text = SMALL.replace("\"round_robin\"", "{ dma = 3, a = 2 }");
    let chip = Chip::parse("small", &text).unwrap();
    assert_eq!(chip.buses[0].arbitration, Arbitration::Weighted(vec![2, 3]));
}

#[test]
fn caches_and_engines_may_be_missing() {
    let (before, after) = SMALL.split_once("[[engine]]").unwrap();
    let (_, link) = after.split_once("[link]").unwrap();
    let text = format!("{before}[link]{link}");
    let without: String = text
        .lines()
        .filter(|line| !line.starts_with("data") && !line.starts_with("span"))
        .fold(String::new(), |text, line| text + line + "\n");
    let chip = Chip::parse("small", &without).unwrap();
    assert!(chip.engines.is_empty() && chip.cores[0].data.is_none());
    assert!(chip.cores[0].spans.is_empty());
}

#[test]
fn an_empty_file_lacks_everything() {
    let mistake = Chip::parse("x", "").unwrap_err().to_string();
    assert_eq!(mistake, "x:1:1: 0 [[bus]] tables; expected 1 to 32");
    let many = |count| "[[bus]]\nname = 'b'\n".repeat(count);
    let said = |count| Chip::parse("x", &many(count)).unwrap_err().to_string();
    assert!(said(33).contains("33 [[bus]] tables; expected 1 to 32"), "{}", said(33));
    assert!(said(32).contains("0 [[memory]] tables"), "{}", said(32));
}

/// What is said of the small chip without the part of a line of it.
fn without(at: usize, part: &str) -> Mistake {
    let lines = SMALL.lines().enumerate().map(|(number, line)| match number == at {
        true => line.replacen(part, "", 1) + "\n",
        false => line.to_owned() + "\n",
    });
    Chip::parse("small", &lines.collect::<String>()).expect_err(part)
}

#[test]
fn every_key_that_costs_time_is_needed() {
    let (mut table, mut keys, mut inner) = ("", 0, 0);
    for (at, line) in SMALL.lines().enumerate() {
        let Some((key, value)) = line.split_once(" = ") else {
            table = line.trim_matches(['[', ']']);
            continue;
        };
        // Only these may be missing.
        if ["data", "span"].contains(&key) {
            continue;
        }
        let path = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
        let missing = |part: &str| match without(at, part).problem {
            Problem::MissingKey { key, .. } => key,
            other => panic!("{line} without {part}: {other:?}"),
        };
        assert_eq!(missing(line), path);
        keys += 1;
        let Some(pairs) = value.strip_prefix("{ ").and_then(|pairs| pairs.strip_suffix(" }"))
        else {
            continue;
        };
        for (first, pair) in pairs.split(", ").enumerate() {
            let (key, _) = pair.split_once(" = ").expect("a key and its value");
            if key.contains('.') {
                continue;
            }
            let part = if first == 0 { format!("{pair}, ") } else { format!(", {pair}") };
            assert_eq!(missing(&part), format!("{path}.{key}"));
            inner += 1;
        }
    }
    assert_eq!((keys, inner), (41, 14));
}

/// The part of the page from a heading to the next one of its level.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let marks = heading.split(' ').next().unwrap();
    let (_, behind) = page.split_once(&format!("\n{heading}\n")).expect(heading);
    let (section, _) = behind.split_once(&format!("\n{marks} ")).unwrap_or((behind, ""));
    section
}

#[test]
fn every_key_is_described_in_the_section_of_its_table() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/PLATFORMS.md");
    let page = std::fs::read_to_string(page).unwrap();
    let all: [(&str, &[&str]); 27] = [
        ("## The chip", &parse::TOP),
        ("## `[[bus]]`", &parse::BUS),
        ("## `[[memory]]`", &parse::MEMORY),
        ("## `[[memory]]`", &parse::STREAM),
        ("## `[[core]]`", &parse::CORE),
        ("### `serve`", &parse::SERVE),
        ("### `instructions`, `data`, `second`", &parse::CACHE),
        ("### `copy`", &parse::COPY),
        ("### `timer`", &parse::TIMER),
        ("### `interrupt`", &parse::INTERRUPT),
        ("### `system`", &system::KEYS),
        ("### `span`", &parse::SPAN),
        ("## `[[engine]]`", &parse::ENGINE),
        ("## `[link]`", &link::KEYS),
        ("## `[link]`", &link::CLASS),
        ("## `[[port]]`", &port::PORT),
        ("## `[[dma]]`", &port::DMA),
        ("## `[[dma]]`", &port::RATE),
        ("## `[ipc]`", &port::SERVICE),
        ("## `[[route]]`", &route::ROUTE),
        ("## `[noc]`", &cluster::NOC),
        ("## `[[cluster]]`", &cluster::CLUSTER),
        ("## `[block_dma]`", &cluster::BLOCK_DMA),
        ("## `[buffer_manager]`", &cluster::MANAGER),
        ("## `[calls]`", &cluster::CALLS),
        ("## `[[accelerator]]`", &accelerator::ACCELERATOR),
        ("## `[[model]]`", &parse::MODEL),
    ];
    for (heading, keys) in all {
        // Tables of a table have headings of their own.
        let section = format!("{heading}\n{}", section(&page, heading));
        for key in keys {
            let forms = [format!("`{key}`"), format!("`[[{key}]]`"), format!("`[{key}]`")];
            assert!(forms.iter().any(|form| section.contains(form)), "{key} in {heading}");
        }
    }
    for (name, _) in SHIPPED {
        assert!(page.contains(&format!("platforms/{name}.toml")), "{name}");
    }
}
