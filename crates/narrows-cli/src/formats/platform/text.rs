//! A chip in lines of text.

use super::drawing::{Drawing, Part, bytes};
use crate::base::table::{WIDTH, shorten, wrap};
use narrows_sim::chip::Chip;

/// Boxes side by side.
const ACROSS: usize = 4;
/// Columns inside a box.
const INSIDE: usize = 15;
/// Columns from a box to the next.
const STEP: usize = INSIDE + 5;

/// What a file describes, in a sentence or two.
pub fn summary(chip: &Chip) -> String {
    let count = |number: usize, one: &str, many: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    };
    let memories: Vec<String> = chip
        .memories
        .iter()
        .map(|memory| format!("{} {}", memory.name, bytes(memory.size)))
        .collect();
    let words = format!(
        "{}, {}, {} ({}), {}: a possible platform.",
        count(chip.cores.len(), "core", "cores"),
        count(chip.buses.len(), "bus", "buses"),
        count(chip.memories.len(), "memory", "memories"),
        memories.join(", "),
        count(chip.engines.len(), "copy engine", "copy engines"),
    );
    wrap(&format!("{}: ", chip.name), &chip.about) + &wrap("", &words)
}

/// Cores and engines on top; a line from them down the left side, at which the buses are, with
/// their memories.
pub fn draw(drawing: &Drawing) -> String {
    let mut lines = vec![wrap("", &drawing.heading)];
    let rows: Vec<&[Part]> = drawing.masters.chunks(ACROSS).collect();
    for (at, row) in rows.iter().enumerate() {
        let (beside, joint) = if at == 0 { (' ', '┌') } else { ('│', '├') };
        let height = row.iter().map(|part| part.facts.len()).max().unwrap_or(0);
        lines.push(boxes(beside, row, |part| {
            let name = shorten(&part.name, INSIDE);
            format!("┌ {name} {}┐", "─".repeat(INSIDE - name.chars().count()))
        }));
        for line in 0..height {
            lines.push(boxes(beside, row, |part| {
                let fact = part.facts.get(line).map_or("", String::as_str);
                format!("│ {:<INSIDE$} │", shorten(fact, INSIDE))
            }));
        }
        let half = INSIDE / 2 + 1;
        let (before, after) = ("─".repeat(half), "─".repeat(INSIDE + 1 - half));
        lines.push(boxes(beside, row, |_| format!("└{before}┬{after}┘")));
        lines.push(collector(joint, row.len(), half));
    }
    for (at, (bus, memories)) in drawing.buses.iter().enumerate() {
        let (joint, beside) =
            if at + 1 == drawing.buses.len() { ('╘', ' ') } else { ('╞', '│') };
        let words = format!("{joint}═ {} ═ {} ", bus.name, bus.facts.join(" ═ "));
        let rest = WIDTH.saturating_sub(words.chars().count());
        lines.push(format!("{}\n", shorten(&(words + &"═".repeat(rest)), WIDTH)));
        for (at, memory) in memories.iter().enumerate() {
            let (hook, below) =
                if at + 1 == memories.len() { ('└', ' ') } else { ('├', '│') };
            let facts: Vec<&str> = memory.facts.iter().map(|fact| fact.trim_start()).collect();
            let facts = format!("{}: {}", memory.name, facts.join(", "));
            for (at, line) in textwrap::wrap(&facts, WIDTH - 7).iter().enumerate() {
                let lead = if at == 0 { format!("{hook}─ ") } else { format!("{below}    ") };
                lines.push(format!("{beside}  {lead}{line}\n"));
            }
        }
    }
    lines.push(wrap("links: ", &drawing.link));
    lines.concat()
}

fn boxes(beside: char, row: &[Part], one: impl Fn(&Part) -> String) -> String {
    let all: Vec<String> = row.iter().map(one).collect();
    format!("{beside}{}\n", all.join(" "))
}

/// The line below boxes, from the middle of each to the left side.
fn collector(joint: char, boxes: usize, half: usize) -> String {
    let last = (boxes.saturating_sub(1)) * STEP + half + 2;
    let line = (0..=last).map(|column| match column {
        0 => joint,
        _ if column == last => '┘',
        _ if column % STEP == (half + 2) % STEP => '┴',
        _ => '─',
    });
    line.chain(['\n']).collect()
}
