//! Tasks on simulated boards: what is predicted, and what comes out.

use std::path::Path;

use super::*;
use crate::formats::{platform, tasks};

/// How far what is simulated may be from what was predicted: messages that meet wait for each
/// other, and the cost of one is measured where nothing else goes on.
const ERROR: f64 = 0.05;

fn graph(tasks: &[(&str, &str)], traffic: &[(&str, &str, usize, u32)]) -> Graph {
    let mut text = String::new();
    for (name, load) in tasks {
        text += &format!("[[task]]\nname = \"{name}\"\nload = {load}\n");
    }
    for (from, to, bytes, rate) in traffic {
        text += &format!(
            "[[traffic]]\nfrom = \"{from}\"\nto = \"{to}\"\nbytes = {bytes}\nper_second = {rate}\n"
        );
    }
    tasks::parse(Path::new("graph.toml"), &text).unwrap().unwrap()
}

fn asked(board: &str, graph: &Graph) -> Result<Advice, String> {
    let chip = platform::load_any(board).unwrap();
    advise(&chip, graph, 1.0).map_err(|failure| failure.to_string())
}

#[test]
fn two_tasks_that_talk_end_on_one_processor_and_that_saves_what_was_predicted() {
    let tasks = [("a", "\"30%\""), ("b", "\"30%\""), ("c", "\"30%\""), ("d", "\"20%\"")];
    let traffic =
        [("a", "c", 4092, 200), ("c", "a", 24, 200), ("b", "d", 1024, 300), ("a", "b", 24, 20)];
    for board in ["quatro67", "pci44"] {
        let Advice { clustered, spread } = asked(board, &graph(&tasks, &traffic)).unwrap();
        let at = &clustered.at;
        assert!(at[0] == at[2] && at[1] == at[3], "{board}: {at:?}");
        assert_eq!(spread.at, if board == "pci44" { [0, 1, 2, 0] } else { [0, 1, 2, 3] });
        for placement in [&clustered, &spread] {
            let simulated = placement.simulated.as_ref().unwrap();
            let ratio = simulated.messages / placement.predicted.messages;
            assert!((ratio - 1.0).abs() < ERROR, "{board}: {placement:?}");
        }
        let saved = |of: fn(&Placement) -> f64| of(&spread) - of(&clustered);
        let predicted = saved(|one| one.predicted.messages);
        let came = saved(|one| one.simulated.as_ref().map_or(0.0, |sum| sum.messages));
        assert!(predicted > 0.01, "{board}: {predicted}");
        assert!((came / predicted - 1.0).abs() < ERROR, "{board}: {came}, {predicted}");
    }
}

#[test]
fn capacity_forces_them_apart() {
    let busy = graph(&[("a", "\"60%\""), ("b", "\"60%\"")], &[("a", "b", 1024, 100)]);
    let at = asked("quatro67", &busy).unwrap().clustered.at;
    assert_ne!(at[0], at[1]);
    let idle = graph(&[("a", "\"40%\""), ("b", "64000000")], &[("a", "b", 1024, 100)]);
    let at = asked("quatro67", &idle).unwrap().clustered.at;
    assert_eq!(at[0], at[1], "64 million cycles are 40 % of 160 MHz");
    let at = asked("pci44", &graph(&[("a", "\"70%\""), ("b", "20000000")], &[("a", "b", 64, 9)]));
    let at = at.unwrap().clustered.at;
    assert_ne!(at[0], at[1], "20 million cycles are 40 % of 50 MHz");
}

#[test]
fn what_cannot_be_is_said_in_a_sentence() {
    let heavy = [("a", "\"90%\""), ("b", "\"90%\""), ("c", "\"90%\""), ("d", "\"90%\"")];
    let said = asked("pci44", &graph(&heavy, &[("a", "b", 24, 10)])).unwrap_err();
    assert!(said.contains("no placement of 4 tasks keeps each of the 3 processors"), "{said}");
    assert!(said.contains("they take 360.0 % of 300.0 %"), "{said}");
    let said = asked("pci44", &graph(&[("a", "60000000"), ("b", "0")], &[("a", "b", 24, 10)]));
    assert!(said.unwrap_err().contains("cannot carry a within 100.0 %"));
    let said = asked("quatro67", &graph(&heavy[..2], &[("a", "b", 65536, 10)])).unwrap_err();
    assert!(said.contains("a message of 65536 bytes is longer than any of quatro67"), "{said}");
}

#[test]
fn a_spread_that_a_processor_cannot_carry_is_not_simulated() {
    let tasks = [("a", "\"90%\""), ("b", "\"5%\""), ("c", "\"5%\""), ("d", "\"60%\"")];
    let Advice { clustered, spread } =
        asked("pci44", &graph(&tasks, &[("a", "d", 24, 10)])).unwrap();
    assert!(clustered.simulated.is_some());
    assert!(spread.simulated.is_none() && spread.predicted.busy[0] > 1.0, "{spread:?}");
}
