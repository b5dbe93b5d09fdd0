//! The page of a soak: whether it stayed flat, and everything over time.

use super::Taken;
use super::sample::Sample;
use super::verdict::Check;
use crate::base::machine::Machine;
use crate::base::page::Page;
use crate::base::page::chart::{Cell, Chart, Data, Kind};
use crate::base::page::words::figure;
use crate::base::table::number;

/// A figure of an interval.
type Figure = fn(&Sample) -> f64;

/// The page.
pub(super) fn page(machine: &Machine, strategy: &str, taken: &Taken, checks: &[Check]) -> Page {
    let samples = &taken.samples[..];
    let mut page = Page::new(format!("bench soak {strategy}"), machine);
    let rising: Vec<&Check> = checks.iter().filter(|check| !check.flat).collect();
    page.headline = match (checks.len(), rising.as_slice()) {
        (0, _) => "The soak was too short for a verdict".into(),
        (all, []) => format!("All {all} figures stayed flat"),
        (all, some) => format!("{} of {all} figures rose", some.len()),
    };
    if let Some(last) = samples.last() {
        page.why = format!(
            "{} seconds at full load. In the last interval half of all calls took {} or less, and \
             {} messages a second went both ways.",
            number(last.at_s),
            figure(last.median_us, "us"),
            number(last.messages_per_second)
        );
    }
    for check in &rising {
        let unit = &check.unit;
        let said = format!(
            "From {} to {}, where it may rise by {}.",
            figure(check.first, unit),
            figure(check.last, unit),
            figure(check.allowed, unit)
        );
        page.find(format!("{} rose", check.what), said);
    }
    page.notes.extend(taken.churn.as_ref().map(|churn| churn.sentence()));
    let latency = over_time(
        samples,
        "Calls by interval, in µs",
        "µs, logarithmic",
        true,
        &[
            ("median", |one| one.median_us),
            ("p99", |one| one.p99_us),
            ("p99.9", |one| one.p999_us),
            ("max", |one| one.max_us),
        ],
    );
    let memory = over_time(
        samples,
        "Private memory, in KiB",
        "KiB",
        false,
        &[
            ("here", |one| one.here.private_kib as f64),
            ("there", |one| one.there.private_kib as f64),
        ],
    );
    let rate = over_time(
        samples,
        "Messages and calls a second",
        "a second, logarithmic",
        true,
        &[("messages", |one| one.messages_per_second), ("calls", |one| one.calls_per_second)],
    );
    page.first = Some(latency);
    page.section("Over time", "", vec![memory, rate]);
    let tables = vec![
        Chart::table("The last quarter beside the first", "", Data::of(checks)),
        Chart::table("Each interval", "", Data::of(samples)),
    ];
    page.section("All figures", "", tables);
    page
}

/// A line for each figure.
fn over_time(
    samples: &[Sample],
    title: &str,
    unit: &str,
    log: bool,
    figures: &[(&str, Figure)],
) -> Chart {
    let mut data = Data::new(&["figure", "at s", "value"]);
    for (name, of) in figures {
        for sample in samples {
            data.row([Cell::from(*name), sample.at_s.into(), of(sample).into()]);
        }
    }
    Chart {
        title: title.into(),
        says: String::new(),
        kind: Some(Kind::Lines {
            series: Some("figure".into()),
            x: "at s".into(),
            y: "value".into(),
            limit: None,
            x_label: "seconds from the beginning".into(),
            y_label: unit.into(),
            log_x: false,
            log_y: log,
            step: false,
        }),
        data,
    }
}
