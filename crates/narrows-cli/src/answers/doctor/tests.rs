//! What is printed of findings and of memory.

use super::*;
use crate::base::checks::examine;
use crate::base::machine::Root;

fn found(check: &str, level: Level) -> Finding {
    let long = "a sentence that is long enough to need a second line on a screen of 80 columns";
    Finding {
        check: check.to_owned(),
        level,
        found: long.to_owned(),
        effect: long.to_owned(),
        advice: long.to_owned(),
    }
}

#[test]
fn the_text_fits_eighty_columns_and_says_the_worst_first() {
    let machine = Machine::look(&Root::default());
    let findings =
        [found("isolation", Level::Note), found("cores", Level::Bad), found("numa", Level::Good)];
    let text = text(&machine, &findings);
    assert!(text.starts_with("1 that spoil measurements, 1 to know"), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(text.find("! cores").unwrap() < text.find("- isolation").unwrap());
}

#[test]
fn memory_adds_up() {
    let part = |name: &str, bytes| Memory { name: name.to_owned(), bytes };
    let text = memory_text(&[part("slots", 4096), part("pool", 65536)]);
    assert!(text.contains("together") && text.contains("69632"), "{text}");
    let rows =
        [Row::Memory(part("pool", 65536)), Row::Finding(examine(&Root::default()).remove(0))];
    let json = serde_json::to_string(&rows).unwrap();
    assert!(json.starts_with(r#"[{"name":"pool","bytes":65536},{"check":"#), "{json}");
    assert_eq!(serde_json::from_str::<Vec<Row>>(&json).unwrap(), rows);
}
