//! Workloads whose flows go through accelerators of a chip: blocks from a core to a hardware
//! function, and its results to another core.

use std::path::Path;
use std::time::Duration;

use narrows_sim::file::{Mistake, Table, Text};

use crate::base::failure::Failure;
use crate::base::input;
use crate::formats::workload::units::duration;

/// Flows of a file, at most.
const MOST_FLOWS: usize = 16;
/// Blocks of a flow that does not say.
const BLOCKS: u32 = 100;
const TOP: [&str; 2] = ["name", "flow"];
const FLOW: [&str; 6] = ["name", "accelerator", "from", "to", "period", "count"];

/// A stream of blocks through an accelerator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its name; no other flow has it.
    pub name: String,
    /// The accelerator's name.
    pub accelerator: String,
    /// The core that sends blocks; one that is free if it does not say.
    pub from: Option<String>,
    /// The core that receives results, likewise.
    pub to: Option<String>,
    /// From one block to the next; as fast as they go without.
    pub period: Option<Duration>,
    /// Blocks.
    pub count: u32,
}

/// Such a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offload {
    /// What reports call it; the file's name without its ending if it does not say.
    pub name: String,
    /// The flows; never empty.
    pub flows: Vec<Flow>,
}

/// The flows of a file's text; none if none of them names an accelerator. `path` names the file in
/// messages.
///
/// # Errors
/// The first mistake with its place.
pub fn parse(path: &Path, text: &str) -> Result<Option<Offload>, Failure> {
    let document = Text { path, text }.parse().map_err(input::wrong)?;
    let named = || {
        let flows = document.any().find("flow")?.array("").ok()?;
        flows.iter().find_map(|flow| flow.as_table()?.find("accelerator"))
    };
    if named().is_none() {
        return Ok(None);
    }
    let top = document.top(&TOP).map_err(input::wrong)?;
    offload(path, &top).map(Some).map_err(input::wrong)
}

fn offload(path: &Path, top: &Table<'_>) -> Result<Offload, Mistake> {
    let name = input::name(path, top)?;
    let mut flows: Vec<Flow> = Vec::new();
    for table in top.some_tables("flow", MOST_FLOWS, &FLOW)? {
        let one = flow(&table)?;
        if flows.iter().any(|other| other.name == one.name) {
            let value = table.get("name", "a name")?;
            return Err(value.wrong("a name that no other flow has"));
        }
        let ends = |flow: &Flow| [flow.from.clone(), flow.to.clone()];
        let taken: Vec<String> = flows.iter().flat_map(ends).flatten().collect();
        for (key, core) in [("from", &one.from), ("to", &one.to)] {
            let Some(core) = core else { continue };
            let twice = key == "to" && one.from.as_ref() == Some(core);
            if taken.contains(core) || twice {
                let value = table.get(key, "a core")?;
                return Err(value.wrong("a core that is no other end of a flow"));
            }
        }
        flows.push(one);
    }
    Ok(Offload { name, flows })
}

fn flow(table: &Table<'_>) -> Result<Flow, Mistake> {
    let core = |key| table.find(key).map(|value| value.name()).transpose();
    Ok(Flow {
        name: table.get("name", "a name")?.name()?,
        accelerator: table.get("accelerator", "the name of an accelerator of the chip")?.name()?,
        from: core("from")?,
        to: core("to")?,
        period: table.find("period").map(|value| duration(&value)).transpose()?,
        count: table.find("count").map_or(Ok(BLOCKS), |value| value.number(20..=10_000))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[[flow]]\nname = \"a\"\naccelerator = \"fft\"\nfrom = \"cpu0\"\n\
                        period = \"20us\"\n[[flow]]\nname = \"b\"\naccelerator = \"fft\"\n\
                        to = \"cpu1\"\ncount = 30\n";

    fn read(text: &str) -> Result<Option<Offload>, String> {
        parse(Path::new("dir/net.toml"), text).map_err(|failure| failure.to_string())
    }

    #[test]
    fn flows_are_read_and_files_of_other_flows_left_alone() {
        let found = read(GOOD).unwrap().unwrap();
        assert_eq!(found.name, "net");
        let [one, other] = &found.flows[..] else { panic!("two flows") };
        assert_eq!((one.period, one.count), (Some(Duration::from_micros(20)), BLOCKS));
        assert_eq!((one.from.as_deref(), one.to.as_deref()), (Some("cpu0"), None));
        assert_eq!((other.period, other.count, other.to.as_deref()), (None, 30, Some("cpu1")));
        assert_eq!(read("[[flow]]\nname = 'a'\nfunction = 'echo'\nrequest = 4\n"), Ok(None));
        assert_eq!(read("flow = 3"), Ok(None));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place() {
        for (from, to, said) in [
            ("\"b\"", "\"a\"", "7:8: flow.name is a; expected a name that no other flow has"),
            ("\"cpu1\"", "\"cpu0\"", "9:6: flow.to is cpu0; expected a core that is no other end"),
            ("count = 30", "count = 19", "10:9: flow.count is 19; expected a whole number from 20"),
            (
                "count = 30",
                "depth = 30",
                "10:1: unknown key flow.depth; expected name, accelerator",
            ),
            ("\"20us\"", "\"0s\"", "5:10: flow.period is 0s; expected a duration above zero"),
            ("\"20us\"", "20", "5:10: flow.period is 20; expected a duration above zero"),
            ("name = \"b\"\n", "", "6:1: flow.name is missing; expected a name"),
            ("name = \"b\"\naccelerator = \"fft\"", "name = \"b\"", "flow.accelerator is missing"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let found = read(&GOOD.replacen(from, to, 1)).expect_err(to);
            assert!(found.contains(said), "{to}\nfound    {found}\nexpected {said}");
        }
        let both = GOOD.replacen("period", "to = \"cpu0\"\nperiod", 1);
        assert!(read(&both).unwrap_err().contains("5:6: flow.to is cpu0"));
    }
}
