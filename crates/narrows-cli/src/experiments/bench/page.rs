//! The page of a bench whose rows are figures beside limits.

use super::task::Section;
use crate::base::machine::Machine;
use crate::base::page::Page;
use crate::base::page::chart::{Cell, Chart, Data, Kind};
use crate::base::page::words::{Best, Contender, best, figure, share};
use crate::base::report::{BenchRow, Bound};
use crate::rig::pair::parts::NAMES;

/// What rows of which strategies are compared in words: a message, a call, or what has no name
/// beside its strategy.
const COMPARED: [&str; 3] = ["message", "", "call"];
/// Sentences of that kind.
const SENTENCES: usize = 8;

/// The page.
pub(super) fn page(bench: &str, machine: &Machine, sections: &[Section]) -> Page {
    let mut page = Page::new(format!("bench {bench}"), machine);
    let rows: Vec<Named<'_>> =
        sections.iter().flat_map(|section| &section.rows).map(Named::of).collect();
    let compared = compared(&rows, machine.r#virtual);
    headline(&mut page, bench, &rows, sections, &compared);
    for (row, best) in compared.iter().skip(1).take(SENTENCES) {
        let show = |value| figure(value, &row.row.unit);
        let said =
            format!("{} with {}{}.", best.first.name, show(best.first.figure), best.beside(show));
        page.find(format!("{}: best", row.what()), said);
    }
    page.find("The limit", nearest(&rows));
    if compared.is_empty() && page.why.is_empty() {
        for row in rows.iter().take(SENTENCES) {
            let spread = figure(row.row.spread, &row.row.unit);
            let value = figure(row.row.value, &row.row.unit);
            page.find(row.with_bytes(), format!("{value}, and rounds differ by {spread}."));
        }
    }
    let stack = stack(&rows);
    page.find("Where the time goes", dominant(&stack));
    // Of bounds the sentence is above.
    let readings = sections.iter().filter(|section| !page.why.contains(&section.reading));
    for section in readings.collect::<Vec<_>>() {
        let about = if section.heading.is_empty() { "In all" } else { &section.heading };
        page.find(about, section.reading.as_str());
    }
    page.notes = sections.iter().flat_map(|section| section.notes.clone()).collect();
    page.notes.push(
        "a figure is the median of its rounds; the limit is measured in each round just before, and \
         the ratio is the median of the rounds' own ratios"
            .into(),
    );
    let by_size = by_size(&rows);
    let mut charts: Vec<Chart> =
        [stack].into_iter().chain(by_size).filter(|one| !one.is_empty()).collect();
    let ratios = sections.iter().map(ratios).filter(|one| !one.is_empty()).collect::<Vec<_>>();
    let mut ratios = ratios;
    let bounded = rows.iter().any(|row| row.row.bound.is_some()) && compared.is_empty();
    page.first = match (charts.is_empty() || bounded, ratios.is_empty()) {
        (true, false) => Some(ratios.remove(0)),
        (_, true) if charts.is_empty() => None,
        _ => Some(charts.remove(0)),
    };
    page.section("By size", "", charts);
    page.section("Beside the limit", "A mark at 1 is as good as the machine itself.", ratios);
    page.section("All figures", "", sections.iter().map(table).collect());
    page
}

/// A row whose name is a strategy and what else there is.
struct Named<'a> {
    row: &'a BenchRow,
    strategy: Option<&'a str>,
    rest: String,
}

impl<'a> Named<'a> {
    fn of(row: &'a BenchRow) -> Named<'a> {
        let (strategies, rest): (Vec<&str>, Vec<&str>) =
            row.name.split(' ').partition(|word| word.matches('/').count() >= 2);
        Named { row, strategy: strategies.first().copied(), rest: rest.join(" ") }
    }

    /// The phase that it is of, if it is of one.
    fn phase(&self) -> Option<usize> {
        let last = self.rest.split(' ').next_back()?;
        NAMES.iter().position(|name| *name == last)
    }

    /// What is measured, without the strategy.
    fn what(&self) -> String {
        match (self.rest.as_str(), self.row.bytes) {
            ("", bytes) => format!("{bytes} bytes"),
            (rest, 0) => rest.to_owned(),
            (rest, bytes) => format!("{rest} of {bytes} bytes"),
        }
    }

    fn with_bytes(&self) -> String {
        match self.row.bytes {
            0 => self.row.name.clone(),
            bytes => format!("{}, {bytes} B", self.row.name),
        }
    }
}

fn more_is_better(unit: &str) -> bool {
    unit.ends_with("/s")
}

/// What several strategies did alike, each with a row of it and the best of them.
fn compared<'a>(rows: &'a [Named<'a>], exact: bool) -> Vec<(&'a Named<'a>, Best<'a>)> {
    let mut all: Vec<(&Named<'_>, Best<'_>)> = Vec::new();
    for rest in COMPARED {
        for row in rows.iter().filter(|row| row.rest == rest && row.strategy.is_some()) {
            // Rates in another unit say the same once more.
            if all.iter().any(|(known, _)| known.rest == rest && known.row.bytes == row.row.bytes) {
                continue;
            }
            let alike = |one: &&Named<'_>| {
                (one.row.bytes, &one.row.unit, &one.rest)
                    == (row.row.bytes, &row.row.unit, &row.rest)
            };
            let contenders = rows.iter().filter(alike).filter_map(|one| {
                Some(Contender {
                    name: one.strategy?,
                    figure: one.row.value,
                    rounds: &one.row.rounds,
                })
            });
            let best = best(contenders, more_is_better(&row.row.unit), exact);
            if let Some(best) = best.filter(|best| best.second.is_some()) {
                all.push((row, best));
            }
        }
    }
    all
}

fn headline(
    page: &mut Page,
    bench: &str,
    rows: &[Named<'_>],
    sections: &[Section],
    compared: &[(&Named<'_>, Best<'_>)],
) {
    let bounds = rows.iter().filter(|row| row.row.bound.is_some()).count();
    let met = rows.iter().filter(|row| row.row.met == Some(true)).count();
    if let Some((row, best)) = compared.first() {
        let show = |value| figure(value, &row.row.unit);
        let (what, value) = (row.what(), show(best.first.figure));
        let word = if more_is_better(&row.row.unit) { "carries most" } else { "is the fastest" };
        page.headline = best.headline(&what, word, show);
        page.why = format!("{what}: {value}{}.", best.beside(show));
        let alike =
            |one: &&Named<'_>| one.strategy == Some(best.first.name) && one.rest == row.rest;
        let own = rows
            .iter()
            .filter(alike)
            .find(|one| one.row.bytes == row.row.bytes && one.row.unit == row.row.unit);
        if let Some((limit, ratio)) = own.and_then(|one| one.row.limit.zip(one.row.ratio)) {
            page.why +=
                &format!(" The machine itself allows {}; the ratio is {ratio:.2}.", show(limit));
        }
    } else if bounds > 0 {
        page.headline = match bounds - met {
            0 => format!("All {bounds} bounds are met"),
            missed => format!("{missed} of {bounds} bounds are not met"),
        };
        let readings = sections.iter().map(|section| section.reading.as_str());
        page.why = readings.filter(|one| !one.is_empty()).collect::<Vec<_>>().join(" ");
    } else if let Some(reading) =
        sections.iter().map(|one| &one.reading).find(|one| !one.is_empty())
    {
        page.headline = first_sentence(reading).to_owned();
    } else {
        let first = rows.iter().find(|row| row.row.ratio.is_some()).or(rows.first());
        page.headline = first.map_or_else(
            || format!("bench {bench} has no figures"),
            |row| format!("{}: {}", row.with_bytes(), figure(row.row.value, &row.row.unit)),
        );
    }
}

fn first_sentence(text: &str) -> &str {
    text.split(". ").next().unwrap_or(text).trim_end_matches('.')
}

/// Which row is nearest to its limit, and which farthest from it.
fn nearest(rows: &[Named<'_>]) -> String {
    // By how much a row is worse than its limit, whichever way that is.
    let worse = |row: &BenchRow| {
        let ratio = row.ratio.filter(|ratio| *ratio > 0.0)?;
        Some(if more_is_better(&row.unit) { 1.0 / ratio } else { ratio })
    };
    // The limit of a phase is a part of that of a call, and no floor.
    let whole = rows.iter().filter(|row| row.phase().is_none());
    let mut limited: Vec<(&Named<'_>, f64)> =
        whole.filter_map(|row| Some((row, worse(row.row)?))).collect();
    limited.sort_by(|one, other| one.1.total_cmp(&other.1));
    let said = |(row, worse): &(&Named<'_>, f64)| {
        format!("{} ({worse:.2} times what the machine itself takes)", row.with_bytes())
    };
    match (limited.first(), limited.last()) {
        (Some(near), Some(far)) if limited.len() > 1 => {
            format!("Nearest to its limit is {}; farthest from it is {}.", said(near), said(far))
        }
        (Some(near), _) => format!("{}.", said(near)),
        _ => String::new(),
    }
}

/// Phases by strategy and size.
fn stack(rows: &[Named<'_>]) -> Chart {
    let mut data = Data::new(&["call", "A", "B", "C", "D", "E"]);
    let mut lines: Vec<(String, [Option<f64>; 5])> = Vec::new();
    for row in rows {
        let (Some(phase), Some(strategy)) = (row.phase(), row.strategy) else { continue };
        let name = format!("{strategy}, {} B", row.row.bytes);
        let at = lines.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            lines.push((name, [None; 5]));
            lines.len() - 1
        });
        if let Some(place) = lines.get_mut(at).and_then(|(_, phases)| phases.get_mut(phase)) {
            *place = Some(row.row.value / 1e3);
        }
    }
    for (name, phases) in lines {
        data.row([Cell::from(name)].into_iter().chain(phases.map(Cell::from)));
    }
    let meanings = [
        "A request into shared memory",
        "B message and bell",
        "C everything on the other core",
        "D response noticed and taken up",
        "E response out of shared memory",
    ];
    Chart {
        title: "Phases of a call by strategy and size, medians in µs".into(),
        says: "Behind each bar is the sum of its phases.".into(),
        kind: Some(Kind::Stack {
            label: "call".into(),
            parts: NAMES.map(str::to_owned).into(),
            meanings: meanings.map(str::to_owned).into(),
            unit: "µs".into(),
        }),
        data,
    }
}

/// Which phase takes most of each bar.
fn dominant(stack: &Chart) -> String {
    let said = stack.data.rows.iter().filter_map(|row| {
        let (Cell::Text(name), phases) = row.split_first()? else { return None };
        let value = |cell: &Cell| if let Cell::Figure(value) = cell { *value } else { 0.0 };
        let all: f64 = phases.iter().map(value).sum();
        let most = phases.iter().zip(NAMES).max_by(|a, b| value(a.0).total_cmp(&value(b.0)))?;
        Some(format!("{name}: {} is {} of A to E.", most.1, share(value(most.0), all)))
    });
    said.take(SENTENCES).collect::<Vec<_>>().join(" ")
}

/// A chart for each unit and thing that was measured at several sizes, beside the limit.
fn by_size(rows: &[Named<'_>]) -> Vec<Chart> {
    let mut kinds: Vec<(String, &str)> = Vec::new();
    let kind = |row: &Named<'_>| {
        let rest = if row.strategy.is_some() { row.rest.clone() } else { String::new() };
        (rest, row.row.unit.clone())
    };
    for row in rows.iter().filter(|row| row.phase().is_none() && row.row.bytes > 0) {
        let (rest, unit) = kind(row);
        if !kinds.iter().any(|(known, of)| *known == rest && *of == unit) {
            kinds.push((rest, &row.row.unit));
        }
    }
    kinds
        .into_iter()
        .map(|(rest, unit)| {
            let mut data = Data::new(&["name", "bytes", "value", "limit"]);
            let own = rows.iter().filter(|row| {
                row.phase().is_none()
                    && row.row.bytes > 0
                    && kind(row) == (rest.clone(), unit.to_owned())
            });
            let own: Vec<&Named<'_>> = own.collect();
            let name = |row: &Named<'_>| row.strategy.unwrap_or(&row.row.name).to_owned();
            for row in &own {
                let sizes =
                    own.iter().filter(|one| name(one) == name(row)).map(|one| one.row.bytes);
                if sizes.collect::<std::collections::BTreeSet<u64>>().len() > 1 {
                    let figures = [Cell::from(row.row.value), row.row.limit.into()];
                    data.row(
                        [Cell::from(name(row)), row.row.bytes.into()].into_iter().chain(figures),
                    );
                }
            }
            let what = if rest.is_empty() { String::new() } else { format!("{rest}: ") };
            let limited = own.iter().any(|row| row.row.limit.is_some());
            Chart {
                title: format!("{what}{unit} by size, beside the limit"),
                says: "Dashed is what the machine itself allows, in the colour of what it limits."
                    .into(),
                kind: Some(Kind::Lines {
                    series: Some("name".into()),
                    x: "bytes".into(),
                    y: "value".into(),
                    limit: limited.then(|| "limit".into()),
                    x_label: "bytes, logarithmic".into(),
                    y_label: format!("{unit}, logarithmic"),
                    log_x: true,
                    log_y: true,
                    step: false,
                }),
                data,
            }
        })
        .filter(|chart| !chart.is_empty())
        .collect()
}

/// The ratios of a section to their limits.
fn ratios(section: &Section) -> Chart {
    let mut data = Data::new(&["name", "ratio", "bound", "kept"]);
    for row in section.rows.iter().filter(|row| row.ratio.is_some()) {
        let bound = row.bound.map(|(Bound::Most(bound) | Bound::Least(bound))| bound);
        let mut name = Named::of(row).with_bytes();
        if data.rows.iter().any(|known| known.first() == Some(&Cell::from(&name))) {
            name += &format!(", {}", row.unit);
        }
        data.row([
            Cell::from(name),
            row.ratio.into(),
            bound.into(),
            (row.met != Some(false)).into(),
        ]);
    }
    let bounded = section.rows.iter().any(|row| row.bound.is_some());
    let heading = if section.heading.is_empty() { "Figures" } else { &section.heading };
    Chart {
        title: format!("{heading}: ratio to the limit"),
        says: String::new(),
        kind: Some(Kind::Interval {
            label: "name".into(),
            value: "ratio".into(),
            low: None,
            high: None,
            bound: bounded.then(|| "bound".into()),
            sure: bounded.then(|| "kept".into()),
            means: if bounded { "within its bound, or without one" } else { "ratio" }.into(),
            otherwise: "bound not met".into(),
            reference: 1.0,
            reference_means: "the limit".into(),
            unit: "value divided by limit, logarithmic".into(),
            log: true,
        }),
        data,
    }
}

fn table(section: &Section) -> Chart {
    let mut data = Data::new(&[
        "name", "bytes", "value", "spread", "limit", "unit", "ratio", "bound", "met", "rounds",
    ]);
    for row in &section.rows {
        let bound = row.bound.map(|bound| match bound {
            Bound::Most(bound) => format!("at most {bound:.2}"),
            Bound::Least(bound) => format!("at least {bound:.2}"),
        });
        data.row([
            Cell::from(&row.name),
            row.bytes.into(),
            row.value.into(),
            row.spread.into(),
            row.limit.into(),
            Cell::from(&row.unit),
            row.ratio.into(),
            bound.into(),
            row.met.into(),
            row.rounds.len().into(),
        ]);
    }
    let heading = if section.heading.is_empty() { "Every row" } else { &section.heading };
    Chart::table(heading, section.reading.as_str(), data)
}
