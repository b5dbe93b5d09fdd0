//! The front of load against memory as a picture, in SVG.

use crate::base::table::number;
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 56.0;
/// Lines across, at round figures.
const LINES: f64 = 5.0;

const STYLE: &str = "\
  text { font: 13px system-ui, sans-serif; fill: #26262b }
  .head { font-size: 16px; font-weight: 600 }
  .card { fill: #fafaf8 }
  .grid { stroke: #d8d8d4; stroke-width: 1 }
  .front { stroke: #0b4fc4; stroke-width: 2; fill: none }
  .point { fill: #0b4fc4 }
  .chosen { fill: #b0570c }
  .budget { stroke: #b0570c; stroke-width: 1.5; stroke-dasharray: 5 4 }
";

/// What is drawn.
pub(super) struct Chart<'a> {
    pub heading: &'a str,
    /// Bytes and percent, by bytes.
    pub front: &'a [(f64, f64)],
    /// The plan.
    pub chosen: (f64, f64),
    /// Bytes that there are.
    pub budget: f64,
}

/// The picture.
pub(super) fn draw(chart: &Chart<'_>) -> String {
    let points = || chart.front.iter().chain([&chart.chosen]);
    let most = |of: &dyn Fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
    let across = round_up(most(&|point| point.0).max(1.0));
    let up = round_up(most(&|point| point.1).max(0.01));
    let x = |bytes: f64| LEFT + (WIDTH - LEFT - RIGHT) * bytes / across;
    let y = |percent: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * percent / up;
    let mut body = String::new();
    for line in 0..=LINES as usize {
        let part = line as f64 / LINES;
        let (bytes, percent) = (part * across, part * up);
        let _ = writeln!(
            body,
            r#"<line class="grid" x1="{LEFT}" x2="{}" y1="{at:.1}" y2="{at:.1}"/>"#,
            WIDTH - RIGHT,
            at = y(percent)
        );
        text(&mut body, (LEFT - 8.0, y(percent) + 4.0), "end", "", &number(percent));
        text(&mut body, (x(bytes), HEIGHT - BOTTOM + 20.0), "middle", "", &number(bytes));
    }
    text(&mut body, (LEFT, 28.0), "start", "head", chart.heading);
    text(&mut body, (LEFT, TOP - 8.0), "start", "", "load of the calling core, %");
    text(&mut body, (WIDTH - RIGHT, HEIGHT - 14.0), "end", "", "internal memory, bytes");
    if chart.budget <= across {
        let _ = writeln!(
            body,
            r#"<line class="budget" x1="{at:.1}" x2="{at:.1}" y1="{TOP}" y2="{}"/>"#,
            HEIGHT - BOTTOM,
            at = x(chart.budget)
        );
    }
    let mut steps = String::new();
    let mut before: Option<f64> = None;
    for (bytes, percent) in chart.front {
        // Less memory than a point needs is of no more use than that of the point before.
        if let Some(before) = before {
            let _ = write!(steps, "{:.1},{:.1} ", x(*bytes), y(before));
        }
        let _ = write!(steps, "{:.1},{:.1} ", x(*bytes), y(*percent));
        before = Some(*percent);
    }
    if let Some(last) = before {
        let _ = write!(steps, "{:.1},{:.1}", WIDTH - RIGHT, y(last));
    }
    let _ = writeln!(body, r#"<polyline class="front" points="{steps}"/>"#);
    for (bytes, percent) in chart.front {
        dot(&mut body, "point", x(*bytes), y(*percent), 3.0);
    }
    dot(&mut body, "chosen", x(chart.chosen.0), y(chart.chosen.1), 5.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n\
         <rect class=\"card\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>\n{body}</svg>\n",
        escaped(chart.heading)
    )
}

fn dot(body: &mut String, class: &str, x: f64, y: f64, radius: f64) {
    let _ = writeln!(body, r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{radius}"/>"#);
}

fn text(body: &mut String, (x, y): (f64, f64), anchor: &str, class: &str, words: &str) {
    let _ = writeln!(
        body,
        r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#,
        escaped(words)
    );
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The next figure that a fifth of is a round one.
fn round_up(value: f64) -> f64 {
    let size = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * size).find(|round| *round >= value).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_drawn_inside() {
        let front = [(0.0, 3.5), (480.0, 2.0), (1920.0, 1.25)];
        let chart = Chart { heading: "a < b", front: &front, chosen: front[1], budget: 1000.0 };
        let drawn = draw(&chart);
        assert_eq!(drawn.matches(r#"class="point""#).count(), 3);
        assert_eq!(drawn.matches(r#"class="chosen""#).count(), 1);
        assert_eq!(drawn.matches(r#"class="budget""#).count(), 1);
        assert!(drawn.contains("a &lt; b") && !drawn.contains("NaN"), "{drawn}");
        assert_eq!([1.0, 1.1, 97.0, 0.25].map(round_up), [1.0, 1.5, 100.0, 0.25]);
        let none = draw(&Chart { front: &[], chosen: (0.0, 0.0), ..chart });
        assert!(!none.contains("NaN") && !none.contains("inf"), "{none}");
    }
}
