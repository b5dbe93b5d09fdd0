//! Rows as text: how many are as they should be, each of them, and why the others are not.

use super::figures::{Experiment, Role};
use super::row::{Row, Shown};
use crate::base::table::{Align, Table, listed, wrap};

/// The summary in a few lines, the table, and what there is no figure of.
pub fn text(experiments: &[(&Experiment, Vec<Row>)], notes: &[String]) -> String {
    let rows: Vec<&Row> = experiments.iter().flat_map(|(_, rows)| rows).collect();
    let mut text = summary(&rows);
    let mut table = Table::new(&[
        ("", Align::Left),
        ("published", Align::Right),
        ("ours", Align::Right),
        ("unit", Align::Left),
        ("error", Align::Right),
        ("role", Align::Left),
    ]);
    for row in &rows {
        table.row(cells(row));
    }
    let mut lines = table.wrapped().into_iter();
    text.push('\n');
    text.extend(lines.next());
    for (experiment, rows) in experiments {
        text.push('\n');
        text.push_str(&wrap("", &format!("{}, {}", experiment.id, experiment.at)));
        text.push_str(&wrap("", &experiment.what));
        text.extend(lines.by_ref().take(rows.len()));
        for (names, why) in misses(rows) {
            text.push_str(&wrap("  ", &format!("({}: {why})", listed(&names))));
        }
    }
    for note in notes {
        text.push('\n');
        text.push_str(&wrap("", note));
    }
    text
}

/// What is not as it should be, and why; what has one reason, together.
fn misses(rows: &[Row]) -> Vec<(Vec<&str>, &str)> {
    let mut all: Vec<(Vec<&str>, &str)> = Vec::new();
    for row in rows.iter().filter(|row| !row.good()) {
        let why = row.explained.as_deref().unwrap_or("not explained");
        match all.iter_mut().find(|(_, known)| *known == why) {
            Some((names, _)) => names.push(&row.what),
            None => all.push((vec![&row.what], why)),
        }
    }
    all
}

/// How many checks are as they should be. What platforms were set from is told apart: it says
/// nothing of how good they are.
pub fn summary(rows: &[&Row]) -> String {
    let share = |what: &dyn Fn(&Row) -> bool| {
        let all: Vec<&&Row> = rows.iter().filter(|row| what(row)).collect();
        (all.iter().filter(|row| row.good()).count(), all.len())
    };
    let (near, checks) = share(&|row| row.within.is_some() && row.role == Role::Check);
    let (kept, held) = share(&|row| row.holds.is_some() && row.role == Role::Check);
    let percent = Role::Check.allowed_percent();
    let mut sentence = format!("{near} of {checks} checks are within {percent} %");
    sentence += &match held {
        0 => ".".to_owned(),
        _ => format!("; {kept} of {held} orders and bounds of checks hold."),
    };
    let (set, inputs) = share(&|row| row.role == Role::Input);
    let solved = rows.iter().filter(|row| row.solved).count();
    if inputs > 0 {
        sentence += &format!(" Beside them are {inputs} inputs, {set} as they should be");
        sentence += &match solved {
            0 => ".".to_owned(),
            some => format!(", {some} by construction: the platform was solved from them."),
        };
    }
    wrap("", &sentence)
}

fn cells(row: &Row) -> Vec<String> {
    let mark = if row.good() { ' ' } else { '!' };
    let what = format!("{mark} {}", row.what);
    let role = if row.solved { "solved" } else { row.role.name() }.to_owned();
    let none = String::new;
    let (Shown::Figure(published), Shown::Figure(ours)) = (&row.published, &row.ours) else {
        let said = if row.holds == Some(true) { "kept" } else { "lost" };
        return vec![what, "order".into(), said.into(), none(), none(), role];
    };
    let bound = || if row.holds == Some(true) { "kept" } else { "broken" }.to_owned();
    let error = row.error_percent.map_or_else(bound, |error| format!("{error:+.1} %"));
    let unit = if row.unit == "us" { "µs" } else { &row.unit };
    let places = places(*published);
    let published = format!("{published:.places$}");
    vec![what, published, format!("{ours:.places$}"), unit.to_owned(), error, role]
}

/// As many places as were published, and one at least.
fn places(published: f64) -> usize {
    published.to_string().split_once('.').map_or(1, |(_, places)| places.len())
}
