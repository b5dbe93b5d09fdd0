//! Rows as tables.

use super::plan::Beside;
use super::row::Row;
use crate::base::table::{Table, wrap};

/// All that was measured, and what was published beside it.
pub(super) fn text(rows: &[Row], notes: &[String]) -> String {
    let mut text = String::from("Load in % of a core, times on the wire and of answers in ms\n\n");
    text.push_str(&costs(rows).render());
    text.push_str("\nThe voice, and frames by who coded them\n\n");
    text.push_str(&voice(rows).render());
    if rows.iter().any(|row| row.published.is_some()) {
        text.push_str("\nPublished, simulated, here\n\n");
        text.push_str(&beside(rows).render());
    }
    for note in notes {
        text.push('\n');
        text.push_str(&wrap("", note));
    }
    text
}

fn some(figure: Option<f64>, places: usize) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.places$}"))
}

fn costs(rows: &[Row]) -> Table {
    let mut table =
        Table::figures(&["", "client", "DSP", "packets", "apart", "dev", "most", "answer", "p99"]);
    for row in rows {
        let latency = |of: fn(&super::row::Latency) -> f64| {
            some(row.latency_us.as_ref().map(|latency| of(latency) / 1000.0), 2)
        };
        table.row(vec![
            row.name.clone(),
            format!("{:.3}", row.cpu_percent),
            some(row.dsp_cpu_percent, 3),
            row.packets.to_string(),
            format!("{:.2}", row.interarrival_ms),
            format!("{:.2}", row.stddev_ms),
            format!("{:.1}", row.longest_ms),
            latency(|latency| latency.median),
            latency(|latency| latency.p99),
        ]);
    }
    table
}

fn voice(rows: &[Row]) -> Table {
    let mut table = Table::figures(&[
        "", "delay ms", "alike", "shifts", "by DSP", "here", "late", "counted", "lost",
    ]);
    for row in rows {
        table.row(vec![
            row.name.clone(),
            some(row.mouth_to_ear_ms, 1),
            some(row.correlation, 5),
            row.shifts.to_string(),
            row.frames_dsp.to_string(),
            row.frames_here.to_string(),
            row.frames_late.to_string(),
            row.frames_served.map_or_else(|| "–".to_owned(), |count| count.to_string()),
            row.lost.to_string(),
        ]);
    }
    table
}

fn beside(rows: &[Row]) -> Table {
    let mut table = Table::figures(&["", "of", "load %", "apart ms", "dev ms", "answer ms"]);
    for row in rows {
        let (Some(published), Some(simulated)) = (row.published, row.simulated) else { continue };
        let here = Beside {
            arm_percent: Some(row.cpu_percent),
            interarrival_ms: Some(row.interarrival_ms),
            stddev_ms: Some(row.stddev_ms),
            latency_ms: row.latency_us.map(|latency| latency.median / 1000.0),
        };
        let sources = [("published", published), ("simulated", simulated), ("here", here)];
        for (at, (of, figures)) in sources.into_iter().enumerate() {
            table.row(vec![
                if at == 0 { row.name.clone() } else { String::new() },
                of.to_owned(),
                some(figures.arm_percent, 2),
                some(figures.interarrival_ms, 2),
                some(figures.stddev_ms, 2),
                some(figures.latency_ms, 2),
            ]);
        }
    }
    table
}
