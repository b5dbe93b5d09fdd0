//! Where a file is wrong.

use super::*;
use serde::Deserialize;

fn source(text: &str) -> Text<'_> {
    Text { path: Path::new("dir/x.toml"), text }
}

#[test]
fn what_is_no_toml_is_told_with_its_place() {
    for (text, expected) in [
        ("a = 1\nb = ", "dir/x.toml:2:5: "),
        ("a = 1\na = 2", "dir/x.toml:2:1: "),
        ("ä = 1", "dir/x.toml:1:1: "),
        ("a = 'ä' b", "dir/x.toml:1:9: "),
        ("[a", "dir/x.toml:1:3: "),
    ] {
        let said = source(text).parse().unwrap_err();
        assert!(matches!(said.problem, Problem::Syntax(_)));
        let said = said.to_string();
        assert!(said.starts_with(expected), "{text}\nfound    {said}\nexpected {expected}");
        assert!(!said.contains('\n'), "{said}");
        assert_eq!(source(text).into::<Read>().unwrap_err().to_string(), said);
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    list: Vec<Item>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "what it is read to does not matter here")]
struct Item {
    count: u32,
}

#[test]
fn what_a_type_refuses_is_told_with_its_place() {
    let read = source("[[list]]\ncount = 3\n[[list]]\ncount = 4").into::<Read>().unwrap();
    assert_eq!(read.list.iter().map(|item| item.count).collect::<Vec<u32>>(), [3, 4]);
    for (text, expected) in [
        ("[[list]]\ncount = 'ä'", "dir/x.toml:2:9: invalid type: string \"ä\", expected u32"),
        ("list = [{ count = 1, 'ö' = 2 }]", "dir/x.toml:1:22: unknown field `ö`"),
        ("[[list]]\ncount = 1\n[[list]]\n", "dir/x.toml:3:1: missing field `count`"),
        ("other = 1", "dir/x.toml:1:1: unknown field `other`"),
    ] {
        let said = source(text).into::<Read>().unwrap_err().to_string();
        assert!(said.starts_with(expected), "{text}\nfound    {said}\nexpected {expected}");
        assert!(!said.contains('\n'), "{said}");
    }
}

#[test]
fn a_value_is_told_with_its_key_and_its_place() {
    let text = "[one]\nnumber = 'ä'\nlist = [1, 'two', \"\"]\nlong = '''a\nb'''\nname = 'a b'\n";
    let document = source(text).parse().unwrap();
    let one = document.top(&["one"]).unwrap().get("one", "a table").unwrap().any_table().unwrap();
    let value = |key| one.get(key, "it").unwrap();
    let list = value("list").array("a list").unwrap();
    for (mistake, expected) in [
        (value("number").number(1..=3_u8).unwrap_err(), "2:10: one.number is ä; expected a whole"),
        (value("number").number_from(1).unwrap_err(), "2:10: one.number is ä; expected a whole"),
        (value("number").flag().unwrap_err(), "2:10: one.number is ä; expected true or false"),
        (value("list").number_from(1).unwrap_err(), "3:8: one.list is [1, 'two', \"\"]; expected"),
        (list[0].number(2..=3_u64).unwrap_err(), "3:9: one.list is 1; expected a whole number"),
        (list[1].any_table().unwrap_err(), "3:12: one.list is two; expected a table"),
        (list[2].wrong("more"), "3:19: one.list is \"\"; expected more"),
        (value("long").name().unwrap_err(), "4:8: one.long is a…; expected a name"),
        (value("name").name().unwrap_err(), "6:8: one.name is a b; expected a name"),
        (one.get("other", "it").unwrap_err(), "1:1: one.other is missing; expected it"),
        (document.top(&["x", "y"]).unwrap_err(), "1:2: unknown key one; expected x or y"),
        (source(text).fail(&source(text).end(), "so"), "6:13: so"),
    ] {
        let said = mistake.to_string();
        let place = said.strip_prefix("dir/x.toml:").unwrap_or_else(|| panic!("{said}"));
        assert!(place.starts_with(expected), "found    {place}\nexpected {expected}");
        let line: usize = text.split_inclusive('\n').take(mistake.line - 1).map(str::len).sum();
        let column = text[line..mistake.byte].chars().count();
        assert_eq!(column + 1, mistake.column, "{said}");
    }
}
