//! docs/CHOOSING.md against the program: its words are strategies, and the figures of simulated
//! chips are those that its commands print.

use crate::common::{narrows, stdout};
use narrows::strategy::Strategy;
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/CHOOSING.md");

/// The cells of the table with these headings, without the code marks.
fn table(headings: &[&str]) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.replace('`', "").trim().into()).collect()
    };
    let mut lines = PAGE.lines().skip_while(|line| cells(line) != headings);
    assert!(lines.next().is_some(), "CHOOSING.md has no table of {headings:?}");
    let rows: Vec<_> = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells).collect();
    assert!(rows.len() > 1, "{headings:?}: {rows:?}");
    rows
}

/// The page's command of this beginning.
fn command(beginning: &str) -> &'static str {
    let found: Vec<&str> = PAGE.lines().filter(|line| line.starts_with(beginning)).collect();
    let [line] = found[..] else { panic!("{beginning}: {found:?}") };
    line
}

/// What it prints. The first word is the program.
fn printed(command: &str, more: &[&str]) -> String {
    let words: Vec<&str> = command.split(' ').skip(1).chain(more.iter().copied()).collect();
    stdout(&narrows(&words))
}

/// The words in code marks of a table's column, with numbers in place of letters that stand for
/// them.
fn words(first: &str, column: usize) -> Vec<String> {
    let rows = PAGE.lines().skip_while(|line| !line.starts_with(first)).skip(2);
    let cells = rows.take_while(|line| line.starts_with('|'));
    let cells = cells.filter_map(|line| line.split('|').nth(column + 1));
    let code = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let number = |word: &str| word.replace("=TIME", "=5ms").replace(['K', 'P'], "2");
    code.map(number).collect()
}

#[test]
fn words_of_strategies_are_understood() {
    let advised = words("| traffic | strategy |", 1);
    let no_strategy = ["send_all", "receive_all", "narrows run --strategy auto", "narrows-tune"];
    let (others, advised): (Vec<_>, Vec<_>) =
        advised.into_iter().partition(|word| no_strategy.contains(&word.as_str()));
    assert_eq!(others, no_strategy);
    let (axes, said) = (words("| axis | words |", 1), words("| word | how", 0));
    let found = [advised.len(), axes.len(), said.len()];
    assert!(found.iter().zip([8, 20, 2]).all(|(found, more_than)| *found > more_than), "{found:?}");
    for word in advised.iter().chain(&axes).chain(&said) {
        let parsed = word.parse::<Strategy>();
        assert!(parsed.is_ok(), "{word}: {parsed:?}");
    }
}

#[test]
fn calls_on_the_chip_take_what_its_command_prints() {
    let headings = ["bytes", "copy", "single_copy", "in_place", "copy_engine"];
    let report = printed(command("narrows bench pingpong --on davinci --bytes 8,"), &["--json"]);
    let report: Value = serde_json::from_str(&report).expect("a report");
    let results = report["results"].as_array().expect("rows");
    for row in table(&headings) {
        let bytes: u64 = row[0].parse().expect("bytes");
        for (transfer, said) in headings[1..].iter().zip(&row[1..]) {
            let name = format!("{transfer}/interrupt/external call");
            let measured = results
                .iter()
                .find(|found| found["name"] == *name && found["bytes"] == bytes)
                .unwrap_or_else(|| panic!("{name} of {bytes} bytes: {report}"));
            assert_eq!(measured["unit"], "ns");
            let micros = measured["value"].as_f64().expect("a figure") / 1000.0;
            assert_eq!(&format!("{micros:.0}"), said, "{name} of {bytes} bytes");
        }
    }
}

#[test]
fn sizes_and_memories_of_chips_compare_as_its_command_prints() {
    let memories = table(&["chip", "bytes", "ratio", "why"]);
    let parts = ["chip", "32 calls", "32 requests in one message (granularity=32)"];
    let parts = table(&parts);
    assert_eq!((memories.len(), parts.len()), (3, 3));
    for (memory, part) in memories.iter().zip(&parts) {
        assert_eq!(memory[0], part[0]);
        let text = printed(&format!("narrows bench sizes --on {}", memory[0]), &[]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for sentence in [
            format!("internal takes {} of external at {} bytes.", memory[2], memory[1]),
            format!("32 calls take {} times as long as one call", part[1]),
            format!("32 requests gathered in one message {} times.", part[2]),
        ] {
            assert!(text.contains(&sentence), "{}: {sentence} {text}", memory[0]);
        }
    }
}

/// What `advise` says, as the page has it: each strategy once, with the flows that have it if they
/// differ; or why there is none.
fn advised(command: &str) -> String {
    let words: Vec<&str> = command.split(' ').skip(1).chain(["--json"]).collect();
    let workload = words[1];
    let file = format!("{}/../../{workload}", env!("CARGO_MANIFEST_DIR"));
    let words: Vec<&str> =
        words.iter().map(|word| if *word == workload { file.as_str() } else { word }).collect();
    let output = narrows(&words);
    if !output.status.success() {
        assert_eq!(output.status.code(), Some(3), "{}", crate::common::text(&output.stderr));
        let said = crate::common::text(&output.stderr);
        let said = said.trim_start_matches("narrows: ").split(':').next().unwrap_or_default();
        return format!("nothing: {said}");
    }
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let rows = report["results"].as_array().expect("rows");
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        let strategy = row["strategy"].as_str().expect("a strategy").to_owned();
        let dsp = row["dsp"].as_u64().expect("a core");
        let on = if dsp > 0 { format!(" on called core {dsp}") } else { String::new() };
        let flow = row["flow"].as_str().expect("a flow").to_owned() + &on;
        match all.iter_mut().find(|(other, _)| *other == strategy) {
            Some((_, flows)) => flows.push(flow),
            None => all.push((strategy, vec![flow])),
        }
    }
    let several = rows.len() > 1;
    let each = all.iter().map(|(strategy, flows)| match several {
        true => format!("{strategy} ({})", flows.join(", ")),
        false => strategy.clone(),
    });
    each.collect::<Vec<_>>().join("; ")
}

#[test]
fn advice_for_ten_workloads_is_what_the_page_says() {
    let rows = table(&["command", "traffic", "an engineer", "advise"]);
    assert_eq!(rows.len(), 10);
    let wrong: Vec<String> = rows
        .iter()
        .map(|row| (&row[0], &row[3], advised(&row[0])))
        .filter(|(_, written, said)| *written != said)
        .map(|(command, written, said)| format!("{command}: {said}, not {written}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
