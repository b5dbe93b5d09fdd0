//! The report of a run for a screen of 80 columns: a table for each flow with a line for each
//! strategy, the loads, the details if they are asked for, notes, and a summary as the last.

use super::live::sentence;
use super::summary::{distinct, summary};
use crate::base::report::{DecisionRow, RunReport, RunRow};
use crate::base::statistics::Summary;
use crate::base::table::{self, Table, counted, number};
use std::time::Duration;

/// Decisions that are printed.
const DECISIONS: usize = 16;

/// The whole report; `duration` is how long each strategy was to run.
pub fn text(name: &str, duration: Duration, run: &RunReport, details: bool) -> String {
    let RunReport { report, decisions, chip } = run;
    let rows = &report.results;
    let on = report.machine.elsewhere().map(|on| format!(" {on}")).unwrap_or_default();
    let strategies = distinct(rows.iter().map(|row| row.strategy.as_str())).len();
    let strategies = counted(strategies, "strategy", "strategies");
    let each = humantime::format_duration(duration);
    let mut text = format!("{name}{on}: {strategies}, {each} each\n");
    let flows = distinct(rows.iter().map(|row| row.flow.as_str()));
    let of = |flow: &str| rows.iter().filter(|row| row.flow == flow).collect::<Vec<&RunRow>>();
    for flow in &flows {
        text.push_str(&format!("\n{flow}: medians and p99 in µs\n"));
        text.push_str(&medians(&of(flow)));
        text.push_str(&against_deadline(&of(flow)));
    }
    text.push_str(
        "\nA copy in, B message and bell, C other core, D response noticed, E copy out\n",
    );
    text.push_str("\nload in % of a core\n");
    text.push_str(&loads(rows));
    if details {
        for flow in &flows {
            text.push_str(&format!("\n{flow}: p99 to max in µs\n"));
            text.push_str(&worst(&of(flow)));
            text.push_str(&format!("\n{flow}: jitter in µs, late, throughput\n"));
            text.push_str(&pace(&of(flow)));
        }
        chip.iter().for_each(|row| text.push_str(&row.text()));
    }
    text.push_str(&decided(rows, decisions, details));
    text.push_str(&audio(rows));
    text.push('\n');
    text.push_str(&refusals(rows));
    for note in &report.notes {
        text.push_str(&table::wrap("- ", note));
    }
    text.push_str(&table::wrap("- ", &report.machine.line()));
    text.push('\n');
    text.push_str(&summary(run, details));
    text
}

/// A figure, or a dash where nothing was measured.
fn figure(row: &RunRow, value: f64) -> String {
    if row.received == 0 { "-".to_owned() } else { number(value) }
}

/// One of the figures that are told of many measurements.
type Figure = fn(&Summary) -> f64;

/// A figure of each phase, or dashes: fewer calls have them.
fn phases(row: &RunRow, figure: Figure) -> [String; 5] {
    let Some(all) = &row.phases_us else { return [(); 5].map(|()| "-".to_owned()) };
    [all.a, all.b, all.c, all.d, all.e].map(|one| number(figure(&one)))
}

fn medians(rows: &[&RunRow]) -> String {
    let mut table = Table::figures(&["strategy", "A", "B", "C", "D", "E", "trip", "p99", "lost"]);
    for row in rows {
        let mut cells = vec![row.strategy.clone()];
        cells.extend(phases(row, |one| one.median));
        cells.extend([figure(row, row.rtt_us.median), figure(row, row.rtt_us.p99)]);
        cells.push(row.lost.to_string());
        table.row(cells);
    }
    table.render()
}

fn worst(rows: &[&RunRow]) -> String {
    let mut table = Table::figures(&["strategy", "", "A", "B", "C", "D", "E", "trip"]);
    for row in rows {
        let figures: [(&str, Figure); 4] = [
            ("p99", |one| one.p99),
            ("p99.9", |one| one.p999),
            ("p99.99", |one| one.p9999),
            ("max", |one| one.max),
        ];
        for (at, (name, of)) in figures.into_iter().enumerate() {
            let strategy = if at == 0 { row.strategy.clone() } else { String::new() };
            let mut cells = vec![strategy, name.to_owned()];
            cells.extend(phases(row, of));
            cells.push(figure(row, of(&row.rtt_us)));
            table.row(cells);
        }
    }
    table.render()
}

fn pace(rows: &[&RunRow]) -> String {
    let names = ["strategy", "median", "p99", "max", "±", "late", "calls/s", "KiB/s"];
    let mut table = Table::figures(&names);
    for row in rows {
        let jitter = &row.jitter_us;
        let mut cells = vec![row.strategy.clone()];
        cells.extend(
            [jitter.median, jitter.p99, jitter.max, jitter.deviation].map(|v| figure(row, v)),
        );
        cells.push(row.deadline_misses.to_string());
        cells.extend([row.calls_per_second, row.bytes_per_second / 1024.0].map(|v| figure(row, v)));
        table.row(cells);
    }
    table.render()
}

/// How long responses took from when their requests were due, beside the deadline; nothing of a
/// flow without one.
fn against_deadline(rows: &[&RunRow]) -> String {
    let Some(deadline) = rows.iter().find_map(|row| row.deadline_us) else { return String::new() };
    let mut table = Table::figures(&["since due", "median", "p99", "max", "late"]);
    for row in rows {
        let Summary { median, p99, max, .. } = row.since_due_us;
        let mut cells = vec![row.strategy.clone()];
        cells.extend([median, p99, max].map(|value| figure(row, value)));
        cells.push(row.deadline_misses.to_string());
        table.row(cells);
    }
    format!("{}deadline, since due: {} µs\n", table.render(), number(deadline))
}

/// The two processes carry all flows, so there is one line for each strategy.
fn loads(rows: &[RunRow]) -> String {
    let mut table = Table::figures(&["strategy", "caller", "callee"]);
    let mut before = "";
    for row in rows {
        if row.strategy != before && row.refused.is_none() {
            let load = &row.cpu_percent;
            table.row(vec![row.strategy.clone(), number(load.caller), number(load.callee)]);
            before = &row.strategy;
        }
    }
    table.render()
}

/// How often flows switched, and among the details the latest decisions.
fn decided(rows: &[RunRow], decisions: &[DecisionRow], details: bool) -> String {
    if decisions.is_empty() {
        return String::new();
    }
    let switches: u64 = rows.iter().map(|row| row.switches).sum();
    let mut text = format!("\n{} decisions, {switches} switches", decisions.len());
    if !details {
        return text + "\n";
    }
    if decisions.len() > DECISIONS {
        text.push_str(&format!("; the last {DECISIONS}, all with --json"));
    }
    text.push('\n');
    for row in decisions.iter().skip(decisions.len().saturating_sub(DECISIONS)) {
        text.push_str(&table::wrap("  ", &sentence(row)));
    }
    text
}

fn refusals(rows: &[RunRow]) -> String {
    let mut text = String::new();
    for row in rows {
        if let Some(why) = &row.refused {
            text.push_str(&table::wrap("- ", &format!("{} {}: {why}", row.flow, row.strategy)));
        }
        if let Some(why) = &row.first_refusal {
            let times = counted(row.refusals as usize, "time", "times");
            let said = format!("{} {}: refused {times}; first as {why}", row.flow, row.strategy);
            text.push_str(&table::wrap("- ", &said));
        }
    }
    text
}

fn audio(rows: &[RunRow]) -> String {
    let mut text = String::new();
    let written = rows.iter().filter_map(|row| Some((row, row.audio.as_ref()?.file.as_ref()?)));
    for (at, (row, file)) in written.enumerate() {
        if at == 0 {
            text.push_str("\nreturned audio\n");
        }
        let verdict = match row.audio.as_ref().map_or(0, |audio| audio.differing) {
            0 => String::new(),
            some => format!(" ({some} samples WRONG)"),
        };
        text.push_str(&format!("  {file}{verdict}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::machine::Machine;
    use crate::base::report::{Audio, Phases};
    use crate::base::usage::{BusRow, CacheRow, ChipRow, CoreRow};

    fn row(strategy: &str) -> RunRow {
        let one = Summary {
            median: 123.456,
            p99: 12_345.6,
            p999: 54_321.0,
            p9999: 87_654.3,
            max: 98_765.4,
        };
        RunRow {
            flow: "encode".into(),
            strategy: strategy.into(),
            phases_us: Some(Phases { a: one, b: one, c: one, d: one, e: one }),
            phase_calls: 999,
            rtt_us: one,
            calls_per_second: 1_000_000.0,
            bytes_per_second: 5e9,
            sent: 1000,
            received: 999,
            lost: 1,
            deadline_misses: 2,
            audio: Some(Audio { file: None, samples: 160, differing: 0 }),
            ..RunRow::default()
        }
    }

    fn chip() -> ChipRow {
        let cache = Some(CacheRow { hits: 123_456_789, misses: 4_567_890 });
        let core = CoreRow {
            core: "a core whose name is long".into(),
            busy_us: 1e5,
            idle_us: 9e5,
            switches: 1_234_567,
            interrupts: 1_234_567,
            interrupt_us: 12_345.6,
            data: cache,
            instructions: cache,
            second: None,
        };
        let bus = BusRow { transfers: 12_345_678, busy_us: 5e5, ..BusRow::default() };
        ChipRow { of: "all".into(), time_us: 1e6, cores: vec![core], buses: vec![bus] }
    }

    fn report() -> RunReport {
        let machine = Machine {
            cpu: "Fast 1".into(),
            cores: 2,
            kernel: "6.1.0".into(),
            virtualised: true,
            carrier: Some("memory".into()),
            ..Machine::default()
        };
        let refused = RunRow {
            flow: "encode".into(),
            strategy: "in_place/poll".into(),
            refused: Some("there is no memory of that placement".into()),
            ..RunRow::default()
        };
        let rows = vec![row("copy_engine/coalesced/external"), row("copy/spin/internal"), refused];
        let mut report = crate::base::report::Report::new("run", machine, rows);
        report
            .notes
            .push("a note that is long enough to need a second line on a screen ".repeat(2));
        let switch = crate::base::report::SwitchRow {
            flow: "encode".into(),
            to: "copy_batched/interrupt/external".into(),
            ..Default::default()
        };
        let decision = DecisionRow {
            cause: "arrived".into(),
            flow: Some("encode".into()),
            reason: "saves".into(),
            switches: vec![switch],
            ..DecisionRow::default()
        };
        RunReport { report, decisions: vec![decision; 20], chip: vec![chip()] }
    }

    #[test]
    fn it_fits_eighty_columns_and_says_the_sum_last() {
        for details in [false, true] {
            let text = text("voice", Duration::from_secs(2), &report(), details);
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
            assert!(text.starts_with("voice: 3 strategies, 2s each\n"), "{text}");
            let (tables, last) = text.rsplit_once("\n\n2000 sent").expect("a summary");
            assert!(last.starts_with(", 1998 received, 2 lost, 4 late; audio as the codec's"));
            assert!(!last.contains("medians") && last.lines().count() < 12, "{text}");
            assert!(tables.contains("no memory of that placement"), "{text}");
            assert!(tables.contains("load in % of a core"), "{text}");
        }
    }

    #[test]
    fn the_long_tables_are_among_the_details() {
        let text = |details| text("voice", Duration::from_secs(2), &report(), details);
        let (short, long) = (text(false), text(true));
        for part in [
            "p99 to max in",
            "jitter in",
            "encode arrived: saves: encode to copy_batched/",
            "the chip, all: 1000000 µs",
            "long    10.0    90.0",
            "code  123456789  4567890      3.57",
        ] {
            assert!(!short.contains(part) && long.contains(part), "{part}: {short}");
        }
        assert!(long.contains("20 decisions, 0 switches; the last 16, all with --json"), "{long}");
        assert!(short.contains("20 decisions, 0 switches\n"), "{short}");
        assert!(short.contains("--details") && !long.contains("--details"), "{short}");
    }
}
