//! Files of tasks and the messages between them, for `narrows advise` on a board whose processors
//! share no memory.

use std::path::Path;

use narrows_sim::file::{Mistake, Table, Text, Value, listed};

use crate::base::failure::Failure;
use crate::base::input;

/// Tasks of a file, at most: all ways to place them are weighed up.
pub const MOST_TASKS: usize = 12;
const MOST_TRAFFIC: usize = 256;
const TOP: [&str; 3] = ["name", "task", "traffic"];
const TASK: [&str; 2] = ["name", "load"];
const TRAFFIC: [&str; 4] = ["from", "to", "bytes", "per_second"];
const A_LOAD: &str = "percent of a processor as a text, such as \"12.5%\", or cycles a second as a \
                      whole number";
const A_NAME: &str = "the name of a task";

/// What a task takes of its processor beside its messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Percent of it.
    Percent(f64),
    /// Cycles a second.
    Cycles(u64),
}

/// A task.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its name; no other task has it.
    pub name: String,
    /// What it takes beside its messages.
    pub load: Load,
}

/// Messages of a task for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Which task sends, by its place.
    pub from: usize,
    /// Which one receives.
    pub to: usize,
    /// Bytes of each.
    pub bytes: usize,
    /// How many a second.
    pub per_second: u32,
}

/// Tasks and their messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// What reports call it; the file's name without its ending if it does not say.
    pub name: String,
    /// The tasks; never empty.
    pub tasks: Vec<Task>,
    /// Messages; never empty, and never from a task to itself.
    pub traffic: Vec<Traffic>,
}

/// The tasks of a file's text; none if the file has no `[[task]]` and is a workload of flows.
/// `path` names it in messages.
///
/// # Errors
/// The first mistake with its place.
pub fn parse(path: &Path, text: &str) -> Result<Option<Graph>, Failure> {
    let document = Text { path, text }.parse().map_err(input::wrong)?;
    if document.any().find("task").is_none() {
        return Ok(None);
    }
    let top = document.top(&TOP).map_err(input::wrong)?;
    graph(path, &top).map(Some).map_err(input::wrong)
}

fn graph(path: &Path, top: &Table<'_>) -> Result<Graph, Mistake> {
    let name = input::name(path, top)?;
    let mut tasks: Vec<Task> = Vec::new();
    for table in top.some_tables("task", MOST_TASKS, &TASK)? {
        let value = table.get("name", A_NAME)?;
        let name = value.name()?;
        if tasks.iter().any(|task| task.name == name) {
            return Err(value.wrong("a name that no other task has"));
        }
        tasks.push(Task { name, load: load(&table.get("load", A_LOAD)?)? });
    }
    let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    let mut traffic = Vec::new();
    for table in top.some_tables("traffic", MOST_TRAFFIC, &TRAFFIC)? {
        let (from, _) = place(&table, "from", &names)?;
        let (to, value) = place(&table, "to", &names)?;
        if from == to {
            return Err(value.wrong("another task than from"));
        }
        let bytes = table.get("bytes", "bytes of each message")?.number(4..=65_536)?;
        let per_second = table.get("per_second", "messages a second")?.number(1..=1_000_000)?;
        traffic.push(Traffic { from, to, bytes, per_second });
    }
    Ok(Graph { name, tasks, traffic })
}

fn place<'a>(table: &Table<'a>, key: &str, names: &[&str]) -> Result<(usize, Value<'a>), Mistake> {
    let expected = format!("{A_NAME}: {}", listed(names.iter().copied()));
    let value = table.get(key, &expected)?;
    let found = value.as_str().and_then(|name| names.iter().position(|one| *one == name));
    let at = found.ok_or_else(|| value.wrong(&expected))?;
    Ok((at, value))
}

fn load(value: &Value<'_>) -> Result<Load, Mistake> {
    let percent = value.as_str().and_then(|text| text.strip_suffix('%')?.trim().parse().ok());
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    let load = percent.map(Load::Percent).or_else(|| value.as_integer().map(Load::Cycles));
    load.ok_or_else(|| value.wrong(A_LOAD))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[[task]]\nname = \"a\"\nload = \"12.5%\"\n[[task]]\nname = \"b\"\n\
                        load = 8000000\n[[traffic]]\nfrom = \"a\"\nto = \"b\"\nbytes = 24\n\
                        per_second = 100\n";

    fn read(text: &str) -> Result<Option<Graph>, String> {
        parse(Path::new("dir/net.toml"), text).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_file_of_tasks_is_read_and_one_of_flows_is_none() {
        let graph = read(GOOD).unwrap().unwrap();
        assert_eq!(graph.name, "net");
        assert_eq!(graph.tasks[0].load, Load::Percent(12.5));
        assert_eq!(graph.tasks[1].load, Load::Cycles(8_000_000));
        assert_eq!(graph.traffic, [Traffic { from: 0, to: 1, bytes: 24, per_second: 100 }]);
        assert_eq!(read("[[flow]]\nname = \"a\"\n"), Ok(None));
    }

    #[test]
    fn mistakes_are_told_where_they_are() {
        for (from, to, expected) in [
            ("name = \"b\"", "name = \"a\"", "5:8: task.name is a; expected a name that no other"),
            ("\"12.5%\"", "\"120%\"", "3:8: task.load is 120%; expected percent of a processor"),
            ("\"12.5%\"", "\"some\"", "3:8: task.load is some; expected percent of a processor"),
            ("\"12.5%\"", "true", "3:8: task.load is true; expected percent of a processor"),
            ("load = \"12.5%\"\n", "", "1:1: task.load is missing; expected percent"),
            ("to = \"b\"", "to = \"a\"", "9:6: traffic.to is a; expected another task than from"),
            ("to = \"b\"", "to = \"c\"", "9:6: traffic.to is c; expected the name of a task: a or"),
            ("bytes = 24", "bytes = 0", "10:9: traffic.bytes is 0; expected a whole number from 4"),
            ("per_second = 100", "per_second = 0", "11:14: traffic.per_second is 0; expected a"),
            (
                "[[traffic]]",
                "[[trafic]]",
                "7:3: unknown key trafic; expected name, task or traffic",
            ),
        ] {
            let text = GOOD.replacen(from, to, 1);
            let said = read(&text).unwrap_err();
            let said = said.strip_prefix("dir/net.toml:").unwrap();
            assert!(
                said.starts_with(expected),
                "{from} → {to}\nfound    {said}\nexpected {expected}"
            );
        }
        let many: String =
            (0..13).map(|n| format!("[[task]]\nname = \"t{n}\"\nload = 1\n")).collect();
        let said = read(&many).unwrap_err();
        assert!(said.contains("task") && said.contains("12"), "{said}");
    }
}
