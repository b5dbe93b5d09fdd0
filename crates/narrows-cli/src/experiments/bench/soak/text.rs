//! What a soak came to, as text or as rows of JSON.

use super::sample::Sample;
use super::verdict::{self, Check};
use super::{Row, Taken};
use crate::base::failure::Failure;
use crate::base::machine::Machine;
use crate::base::report::Report;
use crate::base::table::{Align, Table, number, wrap};
use crate::experiments::bench::task::Asked;
use crate::experiments::bench::traffic::{Count, Counts};

/// Prints what a soak came to.
///
/// # Errors
/// Standard output refuses it.
pub(super) fn print(
    machine: &Machine,
    asked: &Asked<'_>,
    strategy: &str,
    taken: &Taken,
    checks: &[Check],
    counts: &Counts,
) -> Result<(), Failure> {
    let samples = &taken.samples[..];
    let time = samples.last().map_or(0.0, |sample| sample.at_s);
    let mut notes = vec![format!(
        "{strategy}: {} s at full load, {} messages and {} calls from here, {} samples",
        number(time),
        counts.get(Count::Sent),
        counts.get(Count::Started),
        samples.len()
    )];
    notes.push(match checks {
        [] => format!("too short for a verdict: that takes {} samples", verdict::FEWEST),
        checks if checks.iter().all(|check| check.flat) => "all flat".into(),
        _ => "NOT FLAT, see below".into(),
    });
    if taken.knocks > 0 {
        notes.push(format!(
            "{} messages to a side that was going to sleep: {} lay there unrung",
            taken.knocks, taken.unrung
        ));
    }
    notes.extend(taken.churn.as_ref().map(|churn| churn.sentence()));
    let rows = checks.iter().cloned().map(Row::Check);
    let rows = rows.chain(samples.iter().copied().map(Row::Sample));
    let rows = rows.chain(taken.churn.clone().map(Row::Churn)).collect();
    let report = Report { notes, ..Report::new("bench soak", machine.clone(), rows) };
    asked.print(&report, || {
        let mut text = machine.elsewhere().map(|on| on + "\n\n").unwrap_or_default();
        text.extend(report.notes.iter().map(|note| wrap("", note)));
        if !checks.is_empty() {
            text += &format!("\n{}", checks_table(checks));
        }
        text + "\n" + &samples_table(samples, machine.r#virtual)
    })
}

fn checks_table(checks: &[Check]) -> String {
    let mut table = Table::new(&[
        ("from the first quarter to the last", Align::Left),
        ("first", Align::Right),
        ("last", Align::Right),
        ("may rise", Align::Right),
        ("unit", Align::Left),
        ("", Align::Left),
    ]);
    for check in checks {
        table.row(vec![
            check.what.clone(),
            number(check.first),
            number(check.last),
            number(check.allowed),
            check.unit.clone(),
            if check.flat { "flat" } else { "RISES" }.into(),
        ]);
    }
    table.render()
}

/// Eight samples from the whole run, the last among them.
fn samples_table(samples: &[Sample], simulated: bool) -> String {
    const SHOWN: usize = 8;
    let mut table = Table::new(&[
        ("at s", Align::Right),
        ("messages/s", Align::Right),
        ("calls/s", Align::Right),
        ("median µs", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("KiB here", Align::Right),
        ("there", Align::Right),
        ("blocks", Align::Right),
    ]);
    let shown = samples.len().min(SHOWN);
    for at in 1..=shown {
        let Some(sample) = samples.get(at * samples.len() / shown - 1) else { continue };
        table.row(vec![
            number(sample.at_s),
            number(sample.messages_per_second),
            number(sample.calls_per_second),
            number(sample.median_us),
            number(sample.p99_us),
            number(sample.p999_us),
            sample.here.private_kib.to_string(),
            if simulated { "-".into() } else { sample.there.private_kib.to_string() },
            sample.blocks.to_string(),
        ]);
    }
    table.render()
}
