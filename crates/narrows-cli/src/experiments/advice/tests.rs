//! Judging of trials that are made up, and proposals for a chip.

use super::judge::Judge;
use super::propose::{groups, same_kind};
use super::trial::{Extent, Trial, duration};
use super::{Assignment, Fit, sifted};
use crate::formats::strategy::literal;
use crate::formats::workload::{Recorded, Source, parse};
use crate::rig::plan::{Least, Subject};
use narrows_tune::model::Flow;
use std::time::Duration;

const LOAD: Judge = Judge { least: Least::Load, load: 100.0 };
const LATENCY: Judge = Judge { least: Least::Latency, load: 100.0 };

/// By a strategy, with these loads in its repeats and this 99th percentile.
fn trial(strategy: &str, loads: &[f64], p99: f64) -> Trial {
    Trial {
        loads: loads.iter().map(|load| [*load, 0.0]).collect(),
        efforts: loads.to_vec(),
        latencies: vec![p99; loads.len()],
        p99: vec![p99],
        received: 100,
        ..Trial::new(&vec![literal(strategy)], Fit::default(), false)
    }
}

fn best(judge: &Judge, trials: &[Trial]) -> String {
    trials[judge.order(trials)[0]].assignment[0].to_string()
}

#[test]
fn least_wins_where_it_is_less_than_nobody_minds() {
    let trials = [
        trial("copy/interrupt", &[10.0, 10.2], 600.0),
        trial("copy/poll=5ms", &[9.0, 9.1], 9000.0),
    ];
    assert_eq!(best(&LOAD, &trials), "copy/poll=5ms/external");
    assert_eq!(best(&LATENCY, &trials), "copy/interrupt/external");
    assert!(!LOAD.standing(&trials[1], &trials[0]).equal);
    assert_eq!(LOAD.standing(&trials[1], &trials[0]).confidence, 1.0);
    assert_eq!(LOAD.standing(&trials[0], &trials[1]).confidence, 0.0);
}

#[test]
fn among_equals_latency_decides_then_memory_then_what_is_simpler() {
    let slow = trial("copy/poll=5ms", &[2.60, 2.60], 10_500.0);
    let quick = trial("copy/interrupt", &[2.61, 2.62], 640.0);
    assert_eq!(best(&LOAD, &[slow.clone(), quick.clone()]), "copy/interrupt/external");
    let inside = Trial {
        fit: Fit { memory: vec![640], ..Fit::default() },
        ..trial("copy_lazy/interrupt", &[2.60, 2.60], 630.0)
    };
    assert_eq!(best(&LOAD, &[inside, quick.clone()]), "copy/interrupt/external");
    let harder = trial("copy_engine/interrupt", &[2.60, 2.60], 640.0);
    assert_eq!(best(&LOAD, &[harder, quick]), "copy/interrupt/external");
    // A hundredth of a percent of a core is nothing, whatever part of the load it is.
    let trials =
        [trial("copy/poll=5ms", &[0.030], 5000.0), trial("copy/interrupt", &[0.035], 10.0)];
    assert_eq!(best(&LOAD, &trials), "copy/interrupt/external");
}

#[test]
fn what_does_not_hold_comes_last_whatever_it_takes() {
    let fine = trial("copy/interrupt", &[10.0], 600.0);
    let late = Trial { late: 1, ..trial("copy/poll=5ms", &[1.0], 9000.0) };
    let no = Trial { refused: Some("no".into()), ..trial("in_place/spin", &[0.5], 1.0) };
    let trials = [no, late, fine];
    let order = LOAD.order(&trials);
    assert_eq!(order, [2, 1, 0]);
    assert_eq!(LOAD.equal(&trials, &order), 1);
    let tight = Judge { load: 5.0, ..LOAD };
    assert!(!tight.holds(&trials[2]), "it takes more than the budget");
}

#[test]
fn what_is_far_from_the_best_in_a_part_of_a_trial_has_no_whole_one() {
    let made = [
        trial("copy/interrupt", &[10.0], 600.0),
        trial("copy/poll=5ms", &[10.1], 9000.0),
        trial("in_place/interrupt", &[11.0], 600.0),
        Trial { late: 1, ..trial("in_place/poll=5ms", &[9.0], 500.0) },
        Trial { refused: Some("no".into()), ..trial("copy_engine/interrupt", &[9.0], 500.0) },
    ];
    let all: Vec<Assignment> = made.iter().map(|trial| trial.assignment.clone()).collect();
    let sift = |judge: &Judge, made: &[Trial]| {
        let mut asked = Vec::new();
        let left = sifted(&all, judge, |some, extent| {
            asked.push((extent, some.len()));
            let of = |one: &Assignment| made.iter().find(|trial| trial.assignment == *one).cloned();
            Ok(some.iter().filter_map(of).collect())
        });
        let left = left.unwrap().iter().map(|one| one[0].to_string()).collect::<Vec<_>>();
        (left, asked)
    };
    let (left, asked) = sift(&LOAD, &made);
    assert_eq!(left, ["copy/interrupt/external", "copy/poll=5ms/external"]);
    assert_eq!(asked, [(Extent::Glance, 5), (Extent::Repeat, 2)]);
    let (left, _) = sift(&LATENCY, &made);
    assert_eq!(left, ["copy/interrupt/external", "in_place/interrupt/external"]);
    // What has more than the budget in a part may have less in the whole, if it is hardly more.
    assert_eq!(sift(&Judge { load: 10.0, ..LOAD }, &made).0.len(), 2);
    assert!(sift(&Judge { load: 9.0, ..LOAD }, &made).0.is_empty());
}

#[test]
fn on_a_noisy_machine_what_repeats_differ_by_is_no_difference_and_one_in_a_hundred_may_be_late() {
    let noisy = |one: Trial| Trial { noisy: true, ..one };
    let slow = noisy(trial("copy/poll=5ms", &[1.0, 2.0, 3.0], 9000.0));
    let quick = noisy(trial("copy/interrupt", &[2.9, 1.9, 1.6], 90.0));
    assert_eq!(best(&LOAD, &[slow.clone(), quick.clone()]), "copy/interrupt/external");
    // The same differences in every round are one.
    let more = noisy(trial("copy/interrupt", &[1.2, 2.2, 3.2], 90.0));
    assert_eq!(best(&LOAD, &[slow, more]), "copy/poll=5ms/external");
    let late = |lateness: &[f64]| Trial {
        late: lateness.iter().map(|part| (part * 100.0) as u64).sum(),
        lateness: lateness.to_vec(),
        ..quick.clone()
    };
    assert!(LOAD.holds(&late(&[0.01, 0.01, 0.01])));
    assert!(!LOAD.holds(&late(&[0.02, 0.02, 0.0])));
    // What stops a core in one round would have stopped it under any strategy.
    assert!(LOAD.holds(&late(&[0.0, 1.0, 0.0])));
    let disturbed = Trial { efforts: vec![0.5, 1.5, 2.5], ..late(&[0.0, 1.0, 0.0]) };
    let whole = noisy(trial("copy/poll=5ms", &[1.0, 2.0, 3.0], 9000.0));
    assert_eq!(best(&LOAD, &[whole, disturbed]), "copy/interrupt/external");
}

#[test]
fn sessions_are_a_group_and_kinds_differ_in_words_not_in_times() {
    let subject = |name: &str, millis| Subject {
        name: name.into(),
        flow: Flow { period: Some(Duration::from_millis(millis)), ..Flow::default() },
        strategies: vec![literal("copy/interrupt")],
    };
    let all = [subject("audio-1", 20), subject("video", 100), subject("audio-2", 20)];
    assert_eq!(groups(&all), [vec![0, 2], vec![1]]);
    let kind = |a: &str, b: &str| same_kind(&literal(a), &literal(b));
    assert!(kind("copy/poll=5ms", "copy_lazy/poll=1ms"));
    assert!(!kind("copy/poll=5ms", "copy/interrupt"));
    assert!(!kind("copy/interrupt/internal", "copy/interrupt/external"));
}

#[test]
fn a_trial_lasts_until_each_flow_that_was_recorded_has_called() {
    let text = "duration = \"10s\"\n\
        [[flow]]\nname = \"often\"\nperiod = \"1ms\"\nrequest = 48\nfunction = \"echo\"\n\
        [[flow]]\nname = \"late\"\nperiod = \"1ms\"\nrequest = 48\nfunction = \"echo\"\n";
    let mut workload = parse(std::path::Path::new("here"), text).unwrap();
    let rate = 2000.0;
    let before = duration(&workload, rate, 1);
    assert!(before < Duration::from_secs(1), "{before:?}");
    assert!(duration(&workload, rate, 4) <= before / 4 + Duration::from_millis(1));
    let at = Duration::from_secs(4);
    let calls = [Recorded { at, request: 48, response: 48 }];
    let Source::Own { recorded, .. } = &mut workload.flows[1].source else { panic!() };
    *recorded = Some(calls[..].into());
    let after = duration(&workload, rate, 1);
    assert!(after > at && after <= workload.duration, "{after:?}");
}
