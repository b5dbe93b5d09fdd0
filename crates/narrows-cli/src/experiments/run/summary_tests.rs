use super::*;
use crate::base::machine::Machine;
use crate::base::report::{Load, Phases, Report};
use crate::base::statistics::Summary;

fn one(median: f64) -> Summary {
    Summary { median, p99: 10.0 * median, ..Summary::default() }
}

/// A row of a flow whose C takes all but 4 µs.
fn row(flow: &str, strategy: &str, median: f64, load: f64) -> RunRow {
    let phase = one(1.0);
    RunRow {
        flow: flow.into(),
        strategy: strategy.into(),
        rtt_us: one(median),
        phases_us: Some(Phases { a: phase, b: phase, c: one(median - 4.0), d: phase, e: phase }),
        phase_calls: 100,
        cpu_percent: Load { caller: load, callee: 1.0 },
        sent: 100,
        received: 100,
        ..RunRow::default()
    }
}

fn said(rows: Vec<RunRow>, platform: Option<&str>) -> String {
    let machine = Machine { platform: platform.map(str::to_owned), ..Machine::default() };
    let report = RunReport {
        report: Report::new("run", machine, rows),
        decisions: Vec::new(),
        chip: Vec::new(),
    };
    summary(&report, false)
}

#[test]
fn the_best_are_named_with_the_reason_and_where_the_rest_is() {
    let rows = [("spin", 10.0, 99.0), ("interrupt", 60.0, 5.0), ("poll", 500.0, 2.0)];
    let rows = rows.map(|(strategy, median, load)| row("a", strategy, median, load));
    let text = said(rows.into(), None);
    assert_eq!(
        text,
        "300 sent, 300 received, 0 lost, 0 late\n\nbest of 3\n  \
         quickest    spin, 10.0 µs; then interrupt with 60.0\n  \
         least load  poll, 2.00 %; then interrupt with 5.00\n  \
         least p99   spin, 100 µs; then interrupt with 600\n\
         spin is ahead by C, the other core: 6.00 µs where interrupt has 56.0.\n"
            .to_owned()
            + LATER
            + "\n"
    );
}

#[test]
fn what_is_too_close_is_not_told_apart_but_on_a_chip() {
    let rows = || vec![row("a", "one", 100.0, 5.0), row("a", "other", 105.0, 5.2)];
    let here = said(rows(), None);
    assert_eq!(here.matches("other is too close to tell apart").count(), 3, "{here}");
    assert!(!here.contains("ahead by"), "{here}");
    let chip = said(rows(), Some("davinci"));
    assert!(chip.contains("quickest    one, 100 µs; then other with 105"), "{chip}");
    assert!(chip.contains("one is ahead by C"), "{chip}");
}

#[test]
fn a_strategy_that_refuses_a_flow_is_not_among_the_best() {
    let refused = RunRow { received: 0, sent: 0, ..row("b", "quick", 0.0, 1.0) };
    let rows = vec![
        row("a", "quick", 1.0, 1.0),
        refused,
        row("a", "slow", 100.0, 9.0),
        row("b", "slow", 300.0, 9.0),
    ];
    let text = said(rows, None);
    let expected =
        "round trip 200 µs at the median, p99 2000 µs, as means of the flows; load 9.00 %";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_strategy_that_refused_sessions_says_so_wherever_it_stands() {
    let refused = RunRow { refusals: 2, ..row("a", "poll", 500.0, 2.0) };
    let text = said(vec![row("a", "spin", 10.0, 99.0), refused], None);
    for line in [
        "quickest    spin, 10.0 µs; then poll (2 sessions refused) with 500",
        "least load  poll (2 sessions refused), 2.00 %; then spin with 99.0",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let refused = RunRow { refusals: 1, ..row("a", "other", 105.0, 5.2) };
    let text = said(vec![row("a", "one", 100.0, 5.0), refused], None);
    let close = "other (1 session refused) is too close to tell apart";
    assert_eq!(text.matches(close).count(), 3, "{text}");
}

#[test]
fn what_adapting_gained_is_one_sentence() {
    let with = |auto: (f64, u64), fixed: (f64, u64)| {
        let row =
            |name, (load, late)| RunRow { deadline_misses: late, ..row("a", name, 9.0, load) };
        said(vec![row("auto", auto), row("static", fixed), row("copy", (50.0, 9))], Some("chip"))
    };
    let paid = with((4.0, 0), (8.0, 3));
    let sentence = "Adapting paid: auto took 4.00 % of the calling core with 0 calls late or lost;";
    assert!(paid.replace('\n', " ").contains(sentence), "{paid}");
    assert!(paid.replace('\n', " ").contains("static, the best that stays, 8.00 % with 3 calls."));
    for (auto, fixed, what) in [
        ((4.0, 1), (8.0, 1), "Adapting paid"),
        ((8.0, 0), (8.0, 1), "Adapting paid"),
        ((8.0, 1), (8.0, 1), "Adapting made no clear difference"),
        ((9.0, 1), (8.0, 1), "Adapting did not pay"),
        ((8.0, 2), (8.0, 1), "Adapting did not pay"),
        ((9.0, 2), (8.0, 1), "Adapting did not pay"),
        ((9.0, 0), (8.0, 1), "Adapting won one thing and lost another"),
        ((7.0, 2), (8.0, 1), "Adapting won one thing and lost another"),
    ] {
        let text = with(auto, fixed);
        assert!(text.contains(what), "{what}: {text}");
    }
    let alone = said(vec![row("a", "auto", 9.0, 4.0)], None).replace('\n', " ");
    assert!(!alone.contains("Adapting"), "{alone}");
    assert!(alone.contains("by --strategy auto,copy/interrupt/external."), "{alone}");
    let staying = said(vec![row("a", "copy", 9.0, 4.0)], None);
    assert!(!staying.contains("dapting"), "{staying}");
}

#[test]
fn loads_of_less_traffic_are_not_compared_with_those_of_all() {
    let auto = RunRow {
        refusals: 2,
        first_refusal: Some("40 bytes of internal memory are missing".into()),
        ..row("b", "auto", 9.0, 4.0)
    };
    let none = RunRow { sent: 0, received: 0, ..auto.clone() };
    for (last, carried) in [(auto, 200), (none, 100)] {
        let rows = vec![
            row("a", "auto", 9.0, 4.0),
            last,
            row("a", "static", 9.0, 8.0),
            row("b", "static", 9.0, 8.0),
        ];
        let text = said(rows, Some("chip")).replace('\n', " ");
        assert!(text.contains("0 late, 2 sessions refused"), "{text}");
        assert!(!text.contains("Adapting paid"), "{text}");
        let of = format!("auto refused 2 sessions and carried {carried} calls at 4.00 %");
        assert!(text.contains(&of), "{text}");
        assert!(text.contains("refused 0 sessions and carried 200 calls at 8.00 %"), "{text}");
    }
}
