//! What flows through accelerators come to, and what is refused.

use super::*;
use crate::formats::offload::parse;
use crate::formats::platform;
use std::path::Path;

const FLOW: &str = "[[flow]]\nname = 'a'\naccelerator = 'fft'\ncount = 24\n";

fn chip() -> Chip {
    platform::load_any("bmm-clusters").unwrap()
}

fn work(text: &str) -> Offload {
    parse(Path::new("w.toml"), text).unwrap().unwrap()
}

fn cast_of(text: &str) -> Result<Cast, String> {
    let chip = chip();
    let clusters = chip.clusters.as_ref().unwrap();
    cast(&chip, clusters, &work(text)).map_err(|failure| failure.to_string())
}

#[test]
fn each_flow_has_two_cores_of_its_own_and_one_beside_the_accelerator_sets_it_up() {
    let two = format!("{FLOW}to = 'cpu0'\n{}", FLOW.replace("'a'", "'b'"));
    let cast = cast_of(&two).unwrap();
    let cores: Vec<[usize; 2]> = cast.flows.iter().map(|ends| ends.cores).collect();
    // The first core of each other cluster, and then the second ones.
    assert_eq!(cores, [[2, 0], [4, 1]]);
    assert_eq!(cast.helpers, [(0, 7)]);
}

#[test]
fn flows_that_the_chip_has_nothing_for_are_refused_in_a_sentence() {
    for (text, said) in [
        (FLOW.replace("fft", "dct"), "flow a: bmm-clusters has no accelerator dct: it has fft"),
        (format!("{FLOW}to = 'cpu9'\n"), "flow a: bmm-clusters has no core cpu9: it has cpu0"),
        (
            format!("{FLOW}from = 'cpu6'\nto = 'cpu7'\n"),
            "each core of cluster3 is an end of a flow: one has to be left",
        ),
        (
            (0..4).map(|at| FLOW.replace("'a'", &format!("'f{at}'"))).collect(),
            "bmm-clusters has 8 cores: each flow needs two of its own",
        ),
    ] {
        let found = cast_of(&text).unwrap_err();
        assert!(found.contains(said), "{found}");
    }
    let davinci = platform::load_any("davinci").unwrap();
    let found = advise(&davinci, &work(FLOW), |_| {}).unwrap_err().to_string();
    assert!(found.contains("davinci has no clusters"), "{found}");
    let mut small = chip();
    small.clusters.as_mut().unwrap().manager.ports = 1;
    let found = advise(&small, &work(FLOW), |_| {}).unwrap_err().to_string();
    assert!(found.contains("no FIFO that holds a block fits"), "{found}");
}

#[test]
fn what_is_enough_is_within_the_part_of_the_best_and_nothing_fewer_is() {
    let (chip, work) = (chip(), work(FLOW));
    let advice = advise(&chip, &work, |_| {}).unwrap();
    let own = advice.best();
    for (at, trial) in advice.trials.iter().enumerate() {
        let gain = beside(&work, &trial.flows, &own.flows);
        assert!(gain <= 1.0 / (1.0 - WITHIN) + 1e-9, "{trial:?} {own:?}");
        assert!(at >= advice.chosen || gain < 1.0, "{trial:?} {own:?}");
        assert!(trial.flows.iter().all(|flow| flow.busy <= 1.0 && flow.held >= 0.0), "{trial:?}");
    }
    let again = advise(&chip, &work, |_| {}).unwrap();
    assert_eq!(advice, again);
}

/// The rate of a function that is slower than all else is what its facts say.
#[test]
fn a_slow_function_is_what_flows_wait_for_and_it_alone_says_how_fast_they_are() {
    let (mut chip, work) = (chip(), work(FLOW));
    let function = &mut chip.clusters.as_mut().unwrap().accelerators[0];
    function.latency = Cost::Cycles(5000);
    let takes = function.takes().micros();
    let advice = advise(&chip, &work, |_| {}).unwrap();
    assert_eq!(advice.reasons[0].waits, Waits::Function);
    let Figures { per_second, busy, .. } = advice.best().flows[0];
    assert!((per_second * takes / 1e6 - 1.0).abs() < 0.02, "{per_second} blocks of {takes} µs");
    assert!(busy > 0.9, "{busy}");
    assert_eq!(advice.best().setting.ports, 1);
}

#[test]
fn flows_are_carried_wherever_fifos_are() {
    use narrows_sim::chip::Partitioning;
    let two = format!("{FLOW}{}period = '20us'\n", FLOW.replace("'a'", "'b'"));
    for partitioning in Partitioning::ALL {
        for hardware in [false, true] {
            let mut chip = chip();
            let manager = &mut chip.clusters.as_mut().unwrap().manager;
            (manager.partitioning, manager.hardware) = (partitioning, hardware);
            let clusters = chip.clusters.as_ref().unwrap();
            let (work, setting) = (work(&two), Setting { ports: 2, credits: 512 });
            let cast = cast(&chip, clusters, &work).unwrap();
            let figures = carry(&chip, &work, &cast, setting).unwrap().expect("there is room");
            assert!(figures.iter().all(|flow| flow.p99 > 0.0 && flow.per_second > 0.0));
        }
    }
}
