//! A page against what people put into names, and sentences against figures.

use super::chart::{Cell, Data, Kind};
use super::words::{Contender, best, front, micros};
use super::*;

const WORST: &str = "</script><script>alert(1)</script>\"'&<b>\u{2028}";

fn chart(name: &str) -> Chart {
    let mut data = Data::new(&["strategy", "A", name]);
    data.row([name.into(), 0.25.into(), Cell::Empty]);
    data.row(["other".into(), 12.5.into(), name.into()]);
    let kind = Kind::Stack {
        label: "strategy".into(),
        parts: vec!["A".into()],
        meanings: vec![name.into()],
        unit: "µs".into(),
    };
    Chart { title: name.into(), says: name.into(), kind: Some(kind), data }
}

fn page(name: &str) -> Page {
    let finding = Finding {
        check: name.into(),
        level: Level::Bad,
        found: name.into(),
        effect: name.into(),
        advice: name.into(),
    };
    let mut page = Page {
        title: name.into(),
        place: name.into(),
        headline: name.into(),
        why: name.into(),
        first: Some(chart(name)),
        spoils: vec![finding],
        notes: vec![name.into()],
        ..Page::default()
    };
    page.find(name, name);
    page.section(name, name, vec![chart(name), Chart::table(name, name, chart(name).data)]);
    page
}

#[test]
fn names_with_markup_are_text() {
    let (plain, worst) = (
        html::render(&page("name"), "narrows", "now"),
        html::render(&page(WORST), &format!("narrows {WORST}"), "now"),
    );
    for text in ["<script", "</script", "<b>", "<td", "<figure", "<svg"] {
        let count = |page: &str| page.matches(text).count();
        assert_eq!(count(&plain), count(&worst), "{text}");
    }
    assert!(worst.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert!(!worst.contains("\"'&<b>"));
}

#[test]
fn a_page_fetches_nothing() {
    let text = html::render(&page("name"), "narrows", "now");
    let outside = |attribute: &str| {
        let begin = format!(" {attribute}=\"");
        let values = text.split(&begin).skip(1).filter_map(|rest| rest.split('"').next());
        let outside = values.filter(|value| !value.starts_with("data:"));
        outside.map(str::to_owned).collect::<Vec<String>>()
    };
    let head = text.split("<script>").next().unwrap();
    assert!(!head.contains("src=") && !head.contains("url("), "{head}");
    assert!(outside("href").is_empty() && outside("src").is_empty());
    assert!(text.contains("default-src 'none'"));
}

#[test]
fn the_data_are_a_table_and_csv() {
    let data = chart("a, b").data;
    assert_eq!(data.csv(), "strategy,A,\"a, b\"\n\"a, b\",0.25,\nother,12.5,\"a, b\"\n");
    let text = html::render(&page("a, b"), "narrows", "now");
    assert!(
        text.contains("href=\"data:text/csv;charset=utf-8,strategy,A,%22a,%20b%22%0A"),
        "{text}"
    );
    assert!(text.contains("download=\"a-b.csv\""));
    assert!(text.contains("<td class=\"number\" data-value=\"0.25\">0.25</td>"));
    assert!(text.contains("<th scope=\"row\">other</th>"));
}

#[test]
fn figures_that_are_no_numbers_are_left_out() {
    for figure in [f64::NAN, f64::INFINITY] {
        assert_eq!(Cell::from(figure), Cell::Empty);
    }
    assert_eq!((Cell::from(3.0).shown(), Cell::from(1234.56).shown()), ("3".into(), "1235".into()));
}

#[test]
fn the_command_line_is_what_a_shell_takes() {
    let words = ["/usr/bin/narrows", "run", "it's.toml", "--strategy", "copy/poll=5ms", ""];
    let line = command(words.into_iter().map(str::to_owned));
    assert_eq!(line, r"narrows run 'it'\''s.toml' --strategy copy/poll=5ms ''");
}

#[test]
fn the_best_is_told_from_noise() {
    let rounds: Vec<Vec<f64>> =
        [10.0, 10.1, 30.0].map(|level| (0..9).map(|n| level + f64::from(n)).collect()).into();
    let one = |at: usize, name| Contender { name, figure: rounds[at][4], rounds: &rounds[at] };
    let said = |all: Vec<Contender<'_>>, exact| {
        let best = best(all, false, exact).unwrap();
        (best.first.name.to_owned(), best.beside(micros))
    };
    let (first, beside) = said(vec![one(2, "slow"), one(0, "fast")], false);
    assert_eq!(
        (first.as_str(), beside.as_str()),
        ("fast", "; next is slow with 34.0 µs, 2.43 times as much")
    );
    let (_, beside) = said(vec![one(0, "a"), one(1, "b")], false);
    assert_eq!(beside, "; b with 14.1 µs is within the noise of that");
    let (_, beside) = said(vec![one(0, "a"), one(1, "b")], true);
    assert_eq!(beside, "; next is b with 14.1 µs, 0.7 % more");
    let (_, beside) = said(vec![one(0, "a"), one(0, "b")], true);
    assert_eq!(beside, "; b is the same");
    let few = Contender { name: "few", figure: 50.0, rounds: &[] };
    let unknown = best([one(0, "a"), few], false, false).unwrap();
    assert_eq!(unknown.apart, None, "without rounds nobody knows");
    let most = best([one(0, "a"), one(2, "b")], true, false).unwrap();
    assert_eq!((most.first.name, best([], true, false).is_none()), ("b", true));
}

#[test]
fn the_front_is_what_nothing_is_better_than() {
    let points = [(1.0, 9.0), (2.0, 5.0), (2.0, 6.0), (3.0, 5.0), (9.0, 1.0)];
    assert_eq!(front(&points), [true, true, false, false, true]);
}
