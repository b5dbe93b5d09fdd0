//! That every published figure has its row, and that each is as it should be or explained.

use super::figures::{Experiment, Role, published, read};
use super::row::{Row, Shown, rows};
use super::text::{summary, text};
use super::{known, measure, s2};
use std::collections::BTreeSet;

/// What the sources published, by experiment: how many figures, and how many orders of them.
const PUBLISHED: [(&str, usize, usize); 37] = [
    ("S0.timer", 2, 0),
    ("S0.phases.128", 6, 0),
    ("S0.phases.32768", 6, 0),
    ("S0.phases.between", 9, 0),
    ("S0.instrument-overhead", 4, 0),
    ("S0.aggregation", 3, 1),
    ("S0.internal-copy.8192", 1, 0),
    ("S1.notification", 3, 0),
    ("S0.notification.sizes", 8, 0),
    ("S0.notification.both", 1, 0),
    ("S0.voip.workload", 18, 3),
    ("S0.voip.polling-interval", 10, 2),
    ("S1.gateway.1K", 3, 0),
    ("S1.gateway.1K.carried", 3, 0),
    ("S1.gateway.unlimited", 2, 0),
    ("S1.gateway.unlimited.carried", 2, 0),
    ("S2.table1", 12, 1),
    ("S2.table2", 12, 2),
    ("S2.table3", 12, 0),
    ("S2.table4", 6, 0),
    ("S2.burst.1024", 2, 1),
    ("S2.frame.4092", 3, 0),
    ("S3.code", 3, 0),
    ("S3.throughput", 5, 2),
    ("S3.headline", 2, 0),
    ("S3.susan", 1, 0),
    ("S4.log.128", 2, 0),
    ("S4.t0.cpu128", 15, 3),
    ("S4.t0.differences", 6, 0),
    ("S4.t1", 2, 1),
    ("S4.t0.words", 0, 15),
    ("S4.t1.words", 0, 5),
    ("S4.t2.words", 0, 2),
    ("TI.am64x.notify", 4, 1),
    ("TI.am64x.rpmsg", 10, 2),
    ("TI.am62p.interrupt", 6, 1),
    ("TI.am62p.poll", 6, 0),
];

fn figure(row: &Row) -> (f64, f64) {
    match (&row.published, &row.ours) {
        (Shown::Figure(published), Shown::Figure(ours)) => (*published, *ours),
        _ => panic!("{} is no figure", row.id),
    }
}

#[test]
fn every_published_figure_is_there_and_has_an_experiment() {
    let all = published().unwrap();
    let found: Vec<(&str, usize, usize)> =
        all.iter().map(|one| (one.id.as_str(), one.figures.len(), one.orders.len())).collect();
    assert_eq!(found, PUBLISHED);
    assert!(known().map(|(id, _)| id).eq(PUBLISHED.iter().map(|(id, ..)| *id)));
}

#[test]
fn orders_and_explanations_are_of_figures_that_there_are() {
    for experiment in published().unwrap() {
        let figures = experiment.figures.iter().map(|figure| figure.key.clone());
        let orders = experiment.orders.iter().map(|order| format!("order.{}", order.key));
        let keys: Vec<String> = figures.chain(orders).collect();
        let known: BTreeSet<&String> = keys.iter().collect();
        assert_eq!(known.len(), keys.len(), "{}: a key is there twice", experiment.id);
        let figures = experiment.orders.iter().filter(|order| !order.in_words);
        let orders = figures.map(|order| &order.of);
        let explained = experiment.explained.iter().map(|one| &one.of);
        for key in orders.chain(explained).flatten() {
            assert!(known.contains(key), "{}: there is no {key}", experiment.id);
        }
    }
}

/// Experiments are simulated once for all that is asserted of them here.
#[test]
fn each_row_is_as_it_should_be_or_explained() {
    let all = published().unwrap();
    let results: Vec<(&Experiment, Vec<Row>)> =
        all.iter().map(|one| (one, measure(one).unwrap())).collect();
    for (experiment, rows) in &results {
        let keys = experiment.figures.len() + experiment.orders.len();
        assert_eq!(rows.len(), keys, "{}: figures without a result", experiment.id);
        for row in rows {
            assert!(
                row.good() || row.explained.is_some(),
                "{} is not as it should be, and nobody says why: {row:?}",
                row.id
            );
            assert!(
                !row.good() || row.explained.is_none(),
                "{} is as it should be: its explanation is out of date",
                row.id
            );
        }
    }
    let rows: Vec<&Row> = results.iter().flat_map(|(_, rows)| rows).collect();
    let inputs: Vec<&&Row> = rows
        .iter()
        .filter(|row| row.role == Role::Input && !OF_THEIR_OWN.contains(&row.id.as_str()))
        .collect();
    assert_eq!(inputs.len(), 52);
    for row in inputs {
        let (published, ours) = figure(row);
        assert!((ours / published - 1.0).abs() <= 0.01, "{}: {published}, {ours}", row.id);
    }
    let told = text(&results, &[]);
    let (first, _) = told.split_once("\n\n").unwrap();
    let first = first.replace('\n', " ");
    assert!(first.contains("Beside them are 62 inputs, 52 as they should be, 21 by"), "{first}");
    // What the platform was solved from comes out, or it would not be solved.
    assert!(rows.iter().filter(|row| row.solved).all(|row| row.good()));
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    for (experiment, rows) in &results {
        assert!(told.contains(&experiment.id), "{}", experiment.id);
        // A long one goes on in the lines behind it.
        let names = first_column(&told, &format!("\n{}, ", experiment.id));
        for row in rows {
            assert!(names.contains(&row.what), "{} is not in {names:?}", row.what);
        }
    }
}

/// What the first column of an experiment's table has, each put together of its lines.
fn first_column(told: &str, heading: &str) -> Vec<String> {
    let columns = told.lines().find(|line| line.contains("published")).unwrap();
    let wide = columns.find("published").unwrap() - 2;
    let (_, own) = told.split_once(heading).unwrap();
    let mut names: Vec<String> = Vec::new();
    for line in own.split("\n\n").next().unwrap().lines() {
        let cell: String = line.chars().take(wide).collect();
        match (cell.strip_prefix("    "), names.last_mut()) {
            (Some(rest), Some(name)) => *name += &format!(" {}", rest.trim()),
            _ => names.push(cell.chars().skip(2).collect::<String>().trim().to_owned()),
        }
    }
    names
}

/// Inputs that contradict others of their source, which were set instead.
const OF_THEIR_OWN: [&str; 10] = [
    "S1.notification.reduction",
    "S2.table2.c44.one",
    "S2.table2.burst.one",
    "S2.table2.rw.one",
    "S2.table3.send.long_rw",
    "S2.table3.receive.short_burst",
    "S2.table3.receive.short_frame",
    "S2.table3.receive.long_burst",
    "S4.log.128.blocking",
    "S4.log.128.latency",
];

fn made_up() -> Experiment {
    let text = r#"
        [[experiment]]
        id = "S9.test"
        at = "nowhere"
        what = "an experiment"
        figures = [
            { key = "a", what = "first", value = 30.0, unit = "us", role = "input" },
            { key = "b", what = "second", value = 20.0, unit = "us", role = "check" },
            { key = "c", what = "third", value = 20.0, unit = "us", role = "check" },
            { key = "most", what = "bound", value = 5.0, unit = "%", role = "check", bound = true },
        ]
        orders = [{ key = "all", what = "in order", of = ["b", "a", "c"] }]
        explained = [{ of = ["b", "order.all"], why = "nobody knows" }]
        "#;
    read(text).unwrap().remove(0)
}

#[test]
fn a_mistake_of_the_published_figures_is_told_with_its_place() {
    let text = "[[experiment]]\nid = 'S9.test'\nat = 3\n";
    let said = read(text).unwrap_err().to_string();
    assert!(said.starts_with("published.toml:3:6: invalid type: integer `3`"), "{said}");
}

fn beside(a: f64, b: f64, c: f64, most: f64) -> Vec<Row> {
    let found = [("a", a), ("b", b), ("c", c), ("most", most)];
    rows(&made_up(), &found.map(|(key, value)| (key.to_owned(), value)).into())
}

#[test]
fn an_error_is_what_ours_is_more_and_roles_say_how_much_may_be() {
    let rows = beside(30.2, 17.1, 23.2, 5.0);
    let errors = [0, 1, 2].map(|at| rows[at].error_percent.map(|error| error.round()));
    assert_eq!(errors, [Some(1.0), Some(-14.0), Some(16.0)]);
    assert_eq!([0, 1, 2].map(|at| rows[at].within), [Some(true), Some(true), Some(false)]);
    assert_eq!(beside(30.4, 17.1, 23.2, 5.0)[0].within, Some(false));
    assert_eq!(rows[1].explained.as_deref(), Some("nobody knows"));
    assert_eq!((rows[3].error_percent, rows[3].within, rows[3].holds), (None, None, Some(true)));
    assert_eq!(beside(30.0, 20.0, 20.0, 5.1)[3].holds, Some(false));
}

#[test]
fn an_order_is_lost_where_ours_is_another_or_none() {
    let order = |a, b, c| beside(a, b, c, 0.0)[4].clone();
    // What was published as equal may come in any order.
    assert_eq!(order(3.0, 2.0, 1.0).holds, Some(true));
    assert_eq!(order(3.0, 1.0, 2.0).holds, Some(true));
    assert_eq!(order(2.0, 3.0, 1.0).holds, Some(false));
    assert_eq!(order(2.0, 1.0, 3.0).holds, Some(false));
    assert_eq!(order(2.0, 1.9999, 1.0).holds, Some(false));
    let row = order(1.0, 3.0, 2.0);
    assert_eq!(row.ours, Shown::Order(["b", "c", "a"].map(str::to_owned).into()));
    assert_eq!((row.role, row.within, row.error_percent), (Role::Check, None, None));
}

#[test]
fn the_summary_counts_what_is_as_it_should_be() {
    let rows = beside(30.0, 10.0, 31.0, 6.0);
    let rows: Vec<&Row> = rows.iter().collect();
    assert!(rows.iter().all(|row| !row.solved));
    assert_eq!(
        summary(&rows).replace('\n', " ").trim(),
        "0 of 2 checks are within 15 %; 0 of 2 orders and bounds of checks hold. Beside them are 1 \
         inputs, 1 as they should be."
    );
    let told = text(&[(&made_up(), beside(30.0, 10.0, 31.0, 6.0))], &[]);
    assert!(told.contains("  first ") && told.contains("! second "), "{told}");
    assert!(told.contains("(second and in order: nobody knows)"), "{told}");
    assert!(told.contains("(third and bound: not explained)"), "{told}");
}

#[test]
fn where_s2_contradicts_itself_and_what_its_proposals_gain_is_said() {
    let notes = s2::notes(&s2::chip().unwrap()).unwrap();
    assert!(notes[0].contains("291 - 255 = 36") && notes[0].contains("computes with 45"));
    for proposal in ["dedicated", "on-chip", "frames", "interrupts"] {
        let names = |note: &&String| note.contains(&format!("had {proposal},"));
        let note = notes.iter().find(names).expect(proposal);
        assert!(note.contains("(-"), "it saves nothing: {note}");
    }
    assert!(notes.iter().any(|note| note.contains("the authors estimate 462")));
}
