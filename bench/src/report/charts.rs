//! One chart for each comparison: medians by size, on a light card of its own so that it can be
//! read on a dark page too.

use std::io;
use std::path::Path;

use plotters::coord::combinators::LogCoord;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Report, text};
use crate::contender::{Contender, Group, Kind, Measure, Mode, failed};

const SIZE: (u32, u32) = (960, 560);
/// Room for the names at the right.
const NAMES: u32 = 215;
/// Pixels from one name to the next.
const APART: i32 = 16;
const CARD: RGBColor = RGBColor(0xfa, 0xfa, 0xf8);
const INK: RGBColor = RGBColor(0x26, 0x26, 0x2b);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xd8);
const FLOOR: RGBColor = RGBColor(0x80, 0x80, 0x80);
const OURS: [RGBColor; 5] = [
    RGBColor(0x0b, 0x4f, 0xc4),
    RGBColor(0x3b, 0x82, 0xf6),
    RGBColor(0x0e, 0x8a, 0xa8),
    RGBColor(0x31, 0x2e, 0x81),
    RGBColor(0x67, 0x5a, 0xd6),
];
const PEERS: [RGBColor; 10] = [
    RGBColor(0xc2, 0x25, 0x1c),
    RGBColor(0xe0, 0x6a, 0x4a),
    RGBColor(0x0f, 0x7b, 0x3f),
    RGBColor(0xc7, 0x7d, 0x0a),
    RGBColor(0xa8, 0x3a, 0x9a),
    RGBColor(0x7a, 0x4b, 0x1f),
    RGBColor(0x6f, 0x9a, 0x1d),
    RGBColor(0xd0, 0x4f, 0x86),
    RGBColor(0x4d, 0x63, 0x70),
    RGBColor(0x1a, 0x1a, 0x1a),
];

type Plane<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, LogCoord<f64>>>;

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The name of a chart's file.
pub fn file(group: Group, (measure, mode): (Measure, Mode)) -> String {
    let over = match group {
        Group::Machine => "",
        Group::Sockets => "sockets-",
    };
    let what = match measure {
        Measure::RoundTrip => "round-trip",
        Measure::OneWay => "one-way",
    };
    format!("{over}{what}-{}.svg", text::mode(mode))
}

/// A contender's points, and how they are drawn.
struct Line {
    name: String,
    kind: Kind,
    color: RGBColor,
    points: Vec<(f64, f64)>,
}

/// Draws a chart.
///
/// # Errors
/// The file cannot be written.
pub fn draw(report: &Report, group: Group, topic: (Measure, Mode), file: &Path) -> io::Result<()> {
    let lines = lines(report, group, topic);
    let values = lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let (low, high) =
        values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    if low >= high {
        return Ok(());
    }
    let sizes = &report.settings.sizes;
    let mut svg = String::new();
    plot(&mut svg, &text::heading(group, topic), topic, &lines, (low / 1.4, high * 1.4), sizes)
        .map_err(|error| failed("draw a chart", error))?;
    std::fs::write(file, svg)
        .map_err(|error| failed(&format!("cannot write {}", file.display()), error))
}

fn lines(report: &Report, group: Group, topic: (Measure, Mode)) -> Vec<Line> {
    let color = |kind: Kind, at: usize| match kind {
        Kind::Narrows => OURS[at % OURS.len()],
        Kind::Peer => PEERS[at % PEERS.len()],
        Kind::Floor => FLOOR,
    };
    let mut lines = Vec::new();
    for kind in [Kind::Floor, Kind::Peer, Kind::Narrows] {
        for (at, contender) in report.of(group, kind).enumerate() {
            let points = points(report, contender, topic);
            if !points.is_empty() {
                let name = text::named(contender.name(), contender.sides());
                lines.push(Line { name, kind, color: color(kind, at), points });
            }
        }
    }
    lines
}

fn points(report: &Report, contender: &dyn Contender, topic: (Measure, Mode)) -> Vec<(f64, f64)> {
    let sizes = report.settings.sizes.iter().enumerate();
    let points = sizes.filter_map(|(at, bytes)| {
        let median = report.figures(contender.name(), topic, *bytes)?.median;
        Some((at as f64, if topic.0 == Measure::OneWay { 1e9 / median } else { median }))
    });
    points.collect()
}

type Drawn<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn plot(
    svg: &mut String,
    heading: &str,
    topic: (Measure, Mode),
    lines: &[Line],
    (low, high): (f64, f64),
    sizes: &[usize],
) -> Drawn {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&CARD)?;
    let unit = match topic.0 {
        Measure::RoundTrip => "median time there and back; lower is better",
        Measure::OneWay => "median messages a second; higher is better",
    };
    let title = format!("{heading}: {unit}");
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 18, &INK))
        .margin(14)
        .margin_right(NAMES)
        .x_label_area_size(34)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..(sizes.len().max(2) - 1) as f64, (low..high).log_scale())?;
    let size = |at: &f64| {
        let size = sizes.get(at.round() as usize).map(|bytes| text::bytes(*bytes));
        size.unwrap_or_default()
    };
    // A value that is drawn is a time or already a rate.
    let value = |value: &f64| match topic.0 {
        Measure::RoundTrip => text::figure(topic.0, *value),
        Measure::OneWay => text::figure(topic.0, 1e9 / value),
    };
    chart
        .configure_mesh()
        .x_labels(sizes.len())
        .y_labels(14)
        .x_label_formatter(&size)
        .y_label_formatter(&value)
        .label_style(("sans-serif", 14, &INK))
        .bold_line_style(GRID)
        .light_line_style(CARD)
        .axis_style(INK)
        .draw()?;
    for line in lines {
        let width = if line.kind == Kind::Narrows { 3 } else { 2 };
        let style = line.color.stroke_width(width);
        let points = line.points.iter().copied();
        if line.kind == Kind::Floor {
            chart.draw_series(DashedLineSeries::new(points.clone(), 5, 4, style))?;
        } else {
            chart.draw_series(LineSeries::new(points.clone(), style))?;
        }
        let dots = points.map(|point| Circle::new(point, width + 1, line.color.filled()));
        chart.draw_series(dots)?;
    }
    names(&root, &chart, lines, (sizes.len().max(2) - 1) as f64)?;
    root.present()?;
    drop(chart);
    drop(root);
    Ok(())
}

/// Names at the right, each as near to its line's end as the others let it; those of lines that end
/// before the last size stand where these end.
fn names(root: &Area<'_>, chart: &Plane<'_>, lines: &[Line], last: f64) -> Drawn {
    let end = |line: &Line| line.points.last().copied().unwrap_or((0.0, 1.0));
    let (early, mut whole): (Vec<&Line>, Vec<&Line>) =
        lines.iter().partition(|line| end(line).0 < last);
    for line in early {
        let (x, y) = chart.backend_coord(&end(line));
        name(root, line, (x + 8, y - 10))?;
    }
    whole.sort_by_key(|line| chart.backend_coord(&end(line)).1);
    let mut free = i32::MIN;
    let mut places = Vec::new();
    for line in &whole {
        let y = chart.backend_coord(&end(line)).1.max(free);
        free = y + APART;
        places.push(y);
    }
    let mut limit = SIZE.1 as i32 - 60;
    for y in places.iter_mut().rev() {
        *y = (*y).min(limit);
        limit = *y - APART;
    }
    let x = (SIZE.0 - NAMES) as i32;
    for (line, y) in whole.into_iter().zip(places) {
        let path = vec![chart.backend_coord(&end(line)), (x + 2, y), (x + 14, y)];
        root.draw(&PathElement::new(path, line.color.mix(0.5)))?;
        name(root, line, (x + 18, y))?;
    }
    Ok(())
}

fn name(root: &Area<'_>, line: &Line, at: (i32, i32)) -> Drawn {
    let weight = match line.kind {
        Kind::Narrows => FontStyle::Bold,
        Kind::Peer | Kind::Floor => FontStyle::Normal,
    };
    let font = ("sans-serif", 13).into_font().style(weight);
    let style = TextStyle::from(font).color(&line.color).pos(Pos::new(HPos::Left, VPos::Center));
    root.draw(&Text::new(line.name.clone(), at, style))?;
    Ok(())
}
