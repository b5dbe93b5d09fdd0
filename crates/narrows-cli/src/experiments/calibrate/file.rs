//! The platform file: what was measured, as a chip of two cores.
//!
//! A host has caches that agree with each other and a kernel, so the chip is simple: words take
//! nothing by themselves, the way from core to core and what the stack does are in spans, and what
//! copying a line takes is in the memory of the blocks.

use super::parts::{Constants, LINE, Parts};
use super::sample::{Figure, LONG};
use crate::base::machine::Machine;
use narrows::memory::Layout;
use narrows::platform::Platform;
use narrows::strategy::Placement;
use narrows_host::Host;
use std::fmt::Write;

/// Columns up to a comment.
const CODE: usize = 31;
const CORES: [&str; 2] = ["caller", "callee"];
const HEAD: &str = "\
# What the keys mean is in docs/PLATFORMS.md. Times are medians of batches; behind each are its 90th
# percentile less its 10th, and how many batches count. Batches took turns.
#
# Sources, by the names that the comments use:
";

/// Lines of a file, each with its comment.
#[derive(Default)]
struct File {
    text: String,
}

impl File {
    fn heading(&mut self, name: &str) {
        let _ = writeln!(self.text, "\n{name}");
    }

    fn line(&mut self, key: &str, value: &str, comment: &str) {
        let code = format!("{key} = {value}");
        let _ = writeln!(self.text, "{code:<CODE$} # {comment}");
    }

    fn cost(&mut self, key: &str, ns: f64, comment: &str) {
        self.line(key, &cost(ns), comment);
    }
}

/// A time, to the picosecond.
fn cost(ns: f64) -> String {
    format!("\"{ns:.3}ns\"")
}

/// What was measured, in words.
fn said(figure: &Figure) -> String {
    format!("{:.2} ns (spread {:.2}, {} batches)", figure.ns, figure.spread, figure.batches)
}

/// The text of the file.
pub(super) fn text(parts: &Parts, of: &Constants, machine: &Machine, layout: &Layout) -> String {
    let mut file = File { text: head(parts, machine) };
    let about: String = plain(&machine.cpu).chars().take(120).collect();
    file.line("about", &format!("\"This machine: two cores of {}\"", about.trim()), "host");
    buses(&mut file);
    memories(&mut file, parts, of);
    for name in CORES {
        core(&mut file, name, parts, of);
    }
    link(&mut file, layout);
    file.text
}

/// A text of the system's without what would end a line or a text of the file.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect()
}

fn head(parts: &Parts, machine: &Machine) -> String {
    let mut text = format!("# Two processes, each on a core of {}.\n", plain(&machine.line()));
    text += HEAD;
    let mut source = |name: &str, what: &str| {
        let _ = writeln!(text, "#   {name:<9} {what}");
    };
    source("slots", &format!("slots of a ring there and back, no stack: {}", said(&parts.slots)));
    source("slot", &format!("messages of 48 bytes there and back: {}", said(&parts.slot)));
    source("messages", "messages in blocks there and back, of so many bytes:");
    for (bytes, trip) in &parts.messages {
        source("", &format!("{bytes}: {}", said(trip)));
    }
    source(
        "rung",
        &format!("those of 120 bytes, each acknowledged by a bell: {}", said(&parts.rung)),
    );
    source("calls", "there and back, of so many bytes:");
    for (bytes, [copied, in_place]) in &parts.calls {
        source("", &format!("{bytes}, copied: {}", said(copied)));
        source("", &format!("{bytes}, in place: {}", said(in_place)));
    }
    let copies = &parts.copies;
    source("copies", &format!("{LONG} bytes in and out, there and back: {}", said(copies)));
    source("", &format!("of these, the caller's in: {}", said(&parts.copy_in)));
    source("eventfd", &format!("there and back, each side asleep: {}", said(&parts.eventfd)));
    source("functions", "of four bytes in memory of one's own; beside each");
    source("stamp", &format!("a look at the clock: {}", said(&parts.stamp)));
    source("host", "how a host's stack is made: it follows from no measurement");
    source("none", "no time of its own: it is in one of the others");
    text += "\n";
    text
}

fn buses(file: &mut File) {
    for (name, what) in [("words", "rings and control words"), ("payload", "blocks")] {
        file.heading("[[bus]]");
        file.line("name", &format!("\"{name}\""), &format!("none: {what}"));
        file.line("clock", "\"1GHz\"", "none: all costs are times");
        file.line("width", &LINE.to_string(), "host: a line");
        file.line("burst", &LINE.to_string(), "host: a line");
        file.line("overhead", "0", "none: in the memory");
        file.line("arbitration", "\"round_robin\"", "none");
    }
}

fn memories(file: &mut File, parts: &Parts, of: &Constants) {
    let memory = |file: &mut File, name: &str, bus: &str, size: &str| {
        file.heading("[[memory]]");
        file.line("name", &format!("\"{name}\""), "none");
        file.line("bus", &format!("\"{bus}\""), "none");
        file.line("size", &format!("\"{size}\""), "host: more than a link takes");
        file.line("width", &LINE.to_string(), "host: a line");
        file.line("beat", "\"1ps\"", "none: the least there is");
        file.line("cached", "false", "host: caches that agree need no upkeep");
    };
    memory(file, "rings", "words", "16MiB");
    file.line("read", "0", "none: in the spans of memory and driver");
    file.line("write", "0", "none: in the spans of memory and driver");
    memory(file, "blocks", "payload", "64MiB");
    let [write, read] = [of.share, 1.0 - of.share];
    let lines = &of.lines;
    let part = format!("by copies {:.0} % in", 100.0 * of.share);
    let least = parts.messages.first().map_or(0, |(bytes, _)| *bytes);
    let first = format!("messages: of {least} bytes and more less slot, half; {part}");
    file.cost("read", read * lines.first, &first);
    file.cost("write", write * lines.first, "messages: as read, the other part");
    let _ = writeln!(file.text, "# messages: what is nearest to all sizes; {part}");
    let _ = writeln!(file.text, "stream = [");
    for (from, ns) in [(LINE, lines.beginning), (LINE * lines.until, lines.rest)] {
        let (read, write) = (cost(read * ns), cost(write * ns));
        let step = format!("    {{ from = {from}, read = {read}, write = {write} }},");
        let _ = writeln!(file.text, "{step:<CODE$} # messages");
    }
    let _ = writeln!(file.text, "]");
}

fn core(file: &mut File, name: &str, parts: &Parts, of: &Constants) {
    let none = "none";
    file.heading("[[core]]");
    file.line("name", &format!("\"{name}\""), none);
    file.line("clock", "\"1GHz\"", "none: all costs are times");
    file.line("home", "\"blocks\"", "none: code is not simulated");
    file.line("burst", &LINE.to_string(), "host: a line");
    file.line("hit", "0", "none: no caches are simulated");
    file.line("poll", "\"1ns\"", "none: in span memory");
    file.line("fence", "0", "none: in span memory");
    file.line("upkeep", "0", none);
    file.line("copy.start", "0", "none: in memory blocks");
    file.line("copy.word", "0", "none: in memory blocks");
    file.line("timer.resolution", "\"1GHz\"", "host: nanoseconds");
    file.cost("timer.read", parts.stamp.ns, "stamp");
    file.cost("timer.read_user", parts.stamp.ns, "stamp");
    file.cost("interrupt.ring", of.ring, "rung less messages of its size, half");
    file.cost("interrupt.latency", of.wake, "eventfd, half, less ring");
    for key in ["entry", "service", "code"] {
        file.line(&format!("interrupt.{key}"), "0", "none: in interrupt.latency");
    }
    for key in ["switch", "sleep"] {
        file.line(&format!("system.{key}"), "0", "none: in interrupt.latency");
    }
    file.line("system.tick", "0", "host: sleeps end at any moment");
    file.line("system.tick_service", "0", "none: it was not measured");
    let half = cost(of.call / 2.0);
    let what = "calls less messages of their size and echo, half";
    file.line("span.C.enter", &half, what);
    file.line("span.D.leave", &half, what);
    file.cost("span.driver.enter", of.message, "slot, half, less memory");
    file.cost("span.memory.enter", of.hop, "slots, half: the way to the other core");
    for (function, word) in &parts.functions {
        let key = format!("functions.\"{function}\"");
        file.cost(&key, word.ns, &format!("functions: {}", said(word)));
    }
    let _ = writeln!(file.text, "# calls: what those of a length take more than messages and echo");
    let _ = writeln!(file.text, "serve = [");
    for (from, word) in &of.serve {
        let [copied, in_place] = word.map(cost);
        let step = format!("    {{ from = {from}, copied = {copied}, in_place = {in_place} }},");
        let _ = writeln!(file.text, "{step:<CODE$} # calls");
    }
    let _ = writeln!(file.text, "]");
}

fn link(file: &mut File, layout: &Layout) {
    file.heading("[link]");
    file.line("control", "\"rings\"", "none");
    file.line("internal", "\"blocks\"", "host: memory of one kind");
    file.line("external", "\"blocks\"", "host: memory of one kind");
    file.line("slots", &layout.slots().to_string(), "host: the standard layout, as all below");
    let _ = writeln!(file.text, "classes = [");
    for class in layout.classes() {
        let placement = match class.placement {
            Placement::Internal => "internal",
            _ => "external",
        };
        let (size, count) = (class.size, class.count);
        let one = format!("{{ placement = \"{placement}\", size = {size}, count = {count} }},");
        let _ = writeln!(file.text, "    {one:<62} # host");
    }
    let _ = writeln!(file.text, "]");
}

/// The layout of a host's links.
pub(super) fn layout() -> Option<Layout> {
    Layout::standard(Host::LINE).ok()
}

#[cfg(test)]
mod tests {
    use super::super::parts::tests::parts;
    use super::*;
    use narrows::span::Span;
    use narrows_sim::chip::Chip;
    use narrows_sim::time::{Cost, Time};

    fn written() -> String {
        let (parts, machine) = (parts(), Machine { cpu: "A \"B\" C".into(), ..Machine::default() });
        text(&parts, &parts.constants(), &machine, &layout().unwrap())
    }

    #[test]
    fn the_file_is_a_platform_with_what_was_measured() {
        let text = written();
        let chip = Chip::parse("here", &text).unwrap_or_else(|mistake| panic!("{mistake}\n{text}"));
        assert_eq!(chip.cores.len(), 2);
        for core in &chip.cores {
            assert_eq!(core.span(Span::Memory).unwrap().enter, Cost::Time(Time::nanos(200)));
            assert_eq!(core.span(Span::Driver).unwrap().enter, Cost::Time(Time::nanos(300)));
            assert_eq!(core.function("echo"), Cost::Time(Time(500)));
            let from: Vec<u32> = core.serve.iter().map(|one| one.from).collect();
            assert_eq!(from, [120, 3072, 12288, 24576]);
            assert_eq!(core.serving(124, false), Time(250));
            assert_eq!(core.serving(124, true), Time(2000));
            assert_eq!(core.interrupt.ring, Cost::Time(Time::nanos(500)));
        }
        let blocks = &chip.memories[chip.link.external];
        let from: Vec<u32> = blocks.stream.iter().map(|one| one.from).collect();
        assert_eq!(from, [64, 64 * 32]);
    }

    #[test]
    fn every_constant_says_what_it_is_from() {
        let text = written();
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("#   "))
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        for line in text.lines().filter(|line| !line.starts_with('#') && line.contains('=')) {
            if line.ends_with('[') {
                continue;
            }
            let comment = line.split_once("# ").unwrap_or_else(|| panic!("{line}")).1;
            let source = comment.split([' ', ':', ',']).next().unwrap();
            assert!(names.contains(&source), "{line}");
        }
    }
}
