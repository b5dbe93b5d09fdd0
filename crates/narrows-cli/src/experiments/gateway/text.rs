//! Rows as tables.

use super::row::{Answer, Row};
use crate::base::table::{Align, Table, wrap};

/// All that was measured, here and in the simulator.
pub(super) fn text(rows: &[Row], notes: &[String]) -> String {
    let mut text = String::from("Load in % of a core, the DSP's as long as it is at work\n\n");
    text.push_str(&loads(rows).render());
    text.push_str("\nFrames, and times of the DSP's answers in ms\n\n");
    text.push_str(&frames(rows).render());
    for note in notes {
        text.push('\n');
        text.push_str(&wrap("", note));
    }
    text
}

fn table(columns: &[&str]) -> Table {
    let align = |at: usize| if at < 2 { Align::Left } else { Align::Right };
    let columns: Vec<(&str, Align)> =
        columns.iter().enumerate().map(|(at, name)| (*name, align(at))).collect();
    Table::new(&columns)
}

fn some(figure: Option<f64>, places: usize) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.places$}"))
}

fn loads(rows: &[Row]) -> Table {
    let adds = rows.iter().any(|row| row.sessions_carried.is_some());
    let mut columns = vec!["", "strategies", "load", "DSP", "sessions", "refused", "decisions"];
    if adds {
        columns.extend(["before late", "ended by"]);
    }
    let mut table = table(&columns);
    for row in rows {
        let sessions: usize = row.flows.iter().map(|flow| flow.sessions).sum();
        let mut cells = vec![
            row.source.clone(),
            row.strategy.clone(),
            format!("{:.2}", row.load_percent),
            some(row.dsp_percent, 1),
            sessions.to_string(),
            row.refused.to_string(),
            row.decisions.len().to_string(),
        ];
        if adds {
            let carried = row.sessions_carried.map(|count| count.to_string());
            cells.push(carried.unwrap_or_default());
            cells.push(row.ended_by.unwrap_or_default().to_owned());
        }
        table.row(cells);
    }
    table
}

fn frames(rows: &[Row]) -> Table {
    let mut table = table(&[
        "", "", "", "sent", "heard", "lost", "late", "dropped", "own", "silent", "answer", "p99",
        "work",
    ]);
    for row in rows {
        for (at, flow) in row.flows.iter().enumerate() {
            let first = |text: &str| if at == 0 { text.to_owned() } else { String::new() };
            let answer = |of: fn(&Answer) -> f64| {
                some(flow.answer_us.as_ref().map(|answer| of(answer) / 1000.0), 2)
            };
            table.row(vec![
                first(&row.source),
                first(&row.strategy),
                flow.kind.to_owned(),
                flow.sent.to_string(),
                flow.heard.unwrap_or(flow.carried).to_string(),
                flow.lost.to_string(),
                flow.late.to_string(),
                flow.dropped.to_string(),
                flow.own.to_string(),
                flow.silent.to_string(),
                answer(|answer| answer.median),
                answer(|answer| answer.p99),
                some(flow.work_us.map(|work| work / 1000.0), 2),
            ]);
        }
    }
    table
}
