//! The tables of figures, and the one of the contenders.

use super::text::{self, Doc};
use super::verdict::{Outcome, Verdict};
use super::{Report, charts};
use crate::contender::{Contender, Group, Kind, Measure, Mode, Over, has};
use crate::results::Figures;

/// What tells in a cell that a peer is faster than the best of Narrows.
const FASTER: &str = " ▲";
/// What tells in the best of Narrows that a peer is faster.
const SLOWER: &str = " ▼";

/// The section on one comparison.
pub fn topic(
    doc: &mut Doc,
    report: &Report,
    group: Group,
    topic: (Measure, Mode),
    verdicts: &[Verdict],
) {
    let here = |cell: &&Verdict| cell.over.group() == group && cell.topic == topic;
    let verdicts: Vec<&Verdict> = verdicts.iter().filter(here).collect();
    let name = text::heading(group, topic);
    doc.text(&format!("## {name}"));
    let unit = match topic.0 {
        Measure::RoundTrip => "Times there and back: less is better.",
        Measure::OneWay => "Messages a second: more is better.",
    };
    doc.text(&format!("![{name}: medians by size](benchmarks/{})", charts::file(group, topic)));
    let alike = match group {
        Group::Machine => "",
        Group::Sockets => " over a Unix socket and over TCP, each compared with its like",
    };
    doc.text(&format!(
        "{unit} Medians; **bold** is the best of Narrows{alike}, ▼ says that a peer is faster than \
         it, ▲ which. Floors are in *italics*."
    ));
    let sizes = &report.settings.sizes;
    let heads = heads(sizes);
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut rows = Vec::new();
    let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
    for contender in everyone(report, group) {
        let mut row = vec![label(contender), copies(contender, sizes)];
        for bytes in sizes.iter().copied() {
            row.push(match offered(report, contender, topic, bytes) {
                Ok(figures) => {
                    let like =
                        |cell: &&&Verdict| cell.bytes == bytes && cell.over == contender.over();
                    let verdict = verdicts.iter().find(like);
                    cell(contender, text::figure(topic.0, figures.median), verdict.copied())
                }
                Err(why) => {
                    note(&mut notes, why, contender.name());
                    let none = why.starts_with("no such mode");
                    if none { "no such mode".into() } else { "–".into() }
                }
            });
        }
        // Most have no hybrid mode: those are named below the table alone.
        let any = sizes.iter().any(|bytes| offered(report, contender, topic, *bytes).is_ok());
        if any || topic.1 != Mode::Hybrid {
            rows.push(row);
        }
    }
    let ratios = Over::ALL.into_iter().filter(|over| over.group() == group);
    rows.extend(ratios.filter_map(|over| ratio(over, &verdicts, sizes)));
    doc.table(&heads, rows);
    let notes = notes.into_iter().map(|(why, names)| format!("{why} ({})", names.join("; ")));
    let notes: Vec<String> = notes.collect();
    if !notes.is_empty() {
        doc.text(&format!("Cells without a figure: {}.", notes.join("; ")));
    }
    spread(doc, report, group, topic, &heads);
}

/// The ranges behind the medians.
fn spread(doc: &mut Doc, report: &Report, group: Group, topic: (Measure, Mode), heads: &[&str]) {
    let sizes = &report.settings.sizes;
    doc.text(
        "<details><summary>Spread: 10th to 90th percentile, and the 99th behind the \
         semicolon</summary>",
    );
    let mut rows = Vec::new();
    for contender in everyone(report, group) {
        let figures: Vec<Option<Figures>> =
            sizes.iter().map(|bytes| report.figures(contender.name(), topic, *bytes)).collect();
        if figures.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![label(contender), copies(contender, sizes)];
        row.extend(figures.into_iter().map(|figures| {
            figures.map_or("–".into(), |Figures { p10, p90, p99, .. }| {
                let [low, high, rare] = [p10, p90, p99].map(|ns| text::figure(topic.0, ns));
                format!("{low} – {high}; {rare}")
            })
        }));
        rows.push(row);
    }
    doc.table(heads, rows);
    doc.text("</details>");
}

fn everyone(report: &Report, group: Group) -> impl Iterator<Item = &'static dyn Contender> + '_ {
    let kinds = [Kind::Narrows, Kind::Peer, Kind::Floor].into_iter();
    kinds.flat_map(move |kind| report.of(group, kind))
}

fn heads(sizes: &[usize]) -> Vec<String> {
    let first = ["".to_owned(), "copies".to_owned()];
    first.into_iter().chain(sizes.iter().map(|bytes| text::bytes(*bytes))).collect()
}

fn label(contender: &dyn Contender) -> String {
    let name = text::named(contender.name(), contender.sides());
    if contender.kind() == Kind::Floor { format!("*{name}*") } else { name }
}

/// How many copies it makes: one number, or one for each range of sizes.
fn copies(contender: &dyn Contender, sizes: &[usize]) -> String {
    let mut said: Vec<(&str, usize)> = Vec::new();
    for bytes in sizes.iter().copied() {
        let text = contender.copies(bytes);
        let number = text.split_once(':').map_or(text, |(number, _)| number);
        if said.last().is_none_or(|(before, _)| *before != number) {
            said.push((number, bytes));
        }
    }
    let said = said.into_iter().enumerate().map(|(at, (number, bytes))| match at {
        0 => number.to_owned(),
        _ => format!("{number} from {}", text::bytes(bytes)),
    });
    said.collect::<Vec<_>>().join(", ")
}

/// The figures of a cell, or why there are none.
fn offered(
    report: &Report,
    contender: &dyn Contender,
    topic: (Measure, Mode),
    bytes: usize,
) -> Result<Figures, &'static str> {
    has(contender, topic.0, topic.1, bytes)?;
    let figures = report.figures(contender.name(), topic, bytes);
    figures.ok_or("not measured, see the end of this page")
}

fn cell(contender: &dyn Contender, figure: String, verdict: Option<&Verdict>) -> String {
    let Some(verdict) = verdict else { return figure };
    let rival = verdict.rivals.iter().find(|rival| rival.name == contender.name());
    let behind = |rival| verdict.against(rival) == Outcome::Behind;
    match rival {
        Some(rival) if behind(rival) => figure + FASTER,
        _ if contender.name() != verdict.best => figure,
        _ if verdict.rivals.iter().any(behind) => format!("**{figure}**{SLOWER}"),
        _ => format!("**{figure}**"),
    }
}

fn note<'a>(notes: &mut Vec<(String, Vec<&'a str>)>, why: &str, name: &'a str) {
    match notes.iter_mut().find(|(known, _)| known == why) {
        Some((_, names)) if names.contains(&name) => {}
        Some((_, names)) => names.push(name),
        None => notes.push((why.to_owned(), vec![name])),
    }
}

/// The best of Narrows against the lowest floor over the same, if there is any.
fn ratio(over: Over, verdicts: &[&Verdict], sizes: &[usize]) -> Option<Vec<String>> {
    let which = match over {
        Over::Machine => String::new(),
        Over::Unix | Over::Tcp => format!(" over {}", text::over(over)),
    };
    let like = |cell: &&&Verdict| cell.over == over;
    verdicts.iter().filter(like).find_map(|cell| cell.floor)?;
    let mut row = vec![format!("best of Narrows ÷ lowest floor{which}"), String::new()];
    row.extend(sizes.iter().map(|bytes| {
        let cell = verdicts.iter().filter(like).find(|cell| cell.bytes == *bytes);
        let floor = cell.and_then(|cell| Some((cell.ours, cell.floor?.1)));
        floor.map_or("–".into(), |(ours, floor)| format!("{:.2} ×", ours / floor))
    }));
    Some(row)
}

/// Everyone, with what is to be known of them.
pub fn contenders(doc: &mut Doc, report: &Report) {
    let mut rows = Vec::new();
    for contender in Group::ALL.into_iter().flat_map(|group| everyone(report, group)) {
        let sizes = &report.settings.sizes;
        let mut copies: Vec<&str> = sizes.iter().map(|bytes| contender.copies(*bytes)).collect();
        copies.dedup();
        let waits = Mode::ALL.into_iter().filter_map(|mode| {
            Some(format!("{}: {}", text::mode(mode), contender.waits(mode).ok()?))
        });
        rows.push(vec![
            label(contender),
            contender.version(),
            copies.join("; or "),
            waits.collect::<Vec<_>>().join("; "),
        ]);
    }
    let mut table = String::from("| | version | copies | how its ends wait |\n|---|---|---|---|");
    for row in rows {
        table += &format!("\n| {} |", row.join(" | "));
    }
    doc.text(&table);
}
