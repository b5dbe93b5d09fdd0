//! A chip as a picture: the same as the text, in SVG.

use super::drawing::{Drawing, Part};
use std::fmt::Write;

const MARGIN: usize = 24;
const BOX: usize = 200;
/// Characters of a fact that a box is wide enough for.
const FACT: usize = 26;
const GAP: usize = 20;
const ACROSS: usize = 4;
const LINE: usize = 18;
const HEAD: usize = 28;
const BAR: usize = 26;
/// Where the line is that joins everything; boxes begin to the right of it.
const TRUNK: usize = MARGIN + 8;
const LEFT: usize = TRUNK + 24;
const WIDTH: usize = LEFT + ACROSS * BOX + (ACROSS - 1) * GAP + MARGIN;

const STYLE: &str = "\
  text { font: 13px system-ui, sans-serif; fill: #26262b }
  .name { font-weight: 600 }
  .head { font-size: 16px; font-weight: 600 }
  .card { fill: #fafaf8 }
  .core { fill: #dbe7fb; stroke: #0b4fc4 }
  .engine { fill: #f6e3d0; stroke: #b0570c }
  .memory { fill: #dcefe2; stroke: #0f7b3f }
  .bus { fill: #26262b }
  .on-bus { fill: #fafaf8 }
  .wire { stroke: #26262b; stroke-width: 2; fill: none }
";

/// The picture of a chip.
pub fn draw(drawing: &Drawing) -> String {
    let mut body = String::new();
    let mut y = MARGIN;
    for line in textwrap::wrap(&drawing.heading, 90) {
        y += 20;
        text(&mut body, MARGIN, y, "head", &line);
    }
    y += 20;
    let mut first = None;
    for row in drawing.masters.chunks(ACROSS) {
        let height = height(row);
        let below = y + height + GAP / 2;
        for (at, part) in row.iter().enumerate() {
            let x = LEFT + at * (BOX + GAP);
            let engine = part.facts.first().is_some_and(|fact| fact == "copy engine");
            part_box(&mut body, x, y, height, if engine { "engine" } else { "core" }, part);
            wire(&mut body, &[(x + BOX / 2, y + height), (x + BOX / 2, below), (TRUNK, below)]);
        }
        first.get_or_insert(below);
        y = below + GAP;
    }
    let mut last = y;
    for (bus, memories) in &drawing.buses {
        last = y + BAR / 2;
        let _ = writeln!(
            body,
            r#"<rect class="bus" x="{MARGIN}" y="{y}" width="{}" height="{BAR}" rx="4"/>"#,
            WIDTH - 2 * MARGIN
        );
        let words = format!("{}: {}", bus.name, bus.facts.join(", "));
        text(&mut body, LEFT + 12, y + 18, "on-bus", &words);
        y += BAR;
        for row in memories.chunks(ACROSS) {
            let (above, height) = (y, height(row));
            y += GAP;
            for (at, part) in row.iter().enumerate() {
                let x = LEFT + at * (BOX + GAP);
                wire(&mut body, &[(x + BOX / 2, above), (x + BOX / 2, y)]);
                part_box(&mut body, x, y, height, "memory", part);
            }
            y += height;
        }
        y += GAP;
    }
    // Before the rest, so that buses lie on top of it.
    let mut trunk = String::new();
    wire(&mut trunk, &[(TRUNK, first.unwrap_or(last)), (TRUNK, last)]);
    for line in textwrap::wrap(&format!("links: {}", drawing.link), 110) {
        y += LINE;
        text(&mut body, MARGIN, y, "", &line);
    }
    let height = y + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n\
         <rect class=\"card\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n{trunk}{body}</svg>\n",
        escaped(&drawing.heading)
    )
}

fn height(row: &[Part]) -> usize {
    HEAD + LINE * row.iter().map(|part| part.facts.len()).max().unwrap_or(0) + 8
}

fn part_box(body: &mut String, x: usize, y: usize, height: usize, class: &str, part: &Part) {
    let _ = writeln!(
        body,
        r#"<rect class="{class}" x="{x}" y="{y}" width="{BOX}" height="{height}" rx="6"/>"#
    );
    text(body, x + 12, y + 20, "name", &crate::base::table::shorten(&part.name, 24));
    for (at, fact) in part.facts.iter().enumerate() {
        let deeper = if fact.starts_with(' ') { 12 } else { 0 };
        let words = crate::base::table::shorten(fact.trim_start(), FACT);
        text(body, x + 12 + deeper, y + HEAD + LINE * at + 13, "", &words);
    }
}

fn text(body: &mut String, x: usize, y: usize, class: &str, words: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(body, r#"<text{class} x="{x}" y="{y}">{}</text>"#, escaped(words));
}

fn wire(body: &mut String, points: &[(usize, usize)]) {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
    let _ = writeln!(body, r#"<polyline class="wire" points="{}"/>"#, points.join(" "));
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
