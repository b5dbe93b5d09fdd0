//! Which configurations are tried, and what papers and simulator have of each.

use super::flags::{Codec, Voip};
use crate::base::failure::{Failure, Kind};
use crate::experiments::papers::figures::published;
use crate::experiments::papers::{self, measure, row::Shown};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// A configuration.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Configuration {
    /// What it is called.
    pub name: String,
    /// How calls travel to the DSP; none if telephones code themselves.
    pub strategy: Option<String>,
    /// How long each call of the DSP takes.
    pub work: Duration,
    /// Whether the telephone that is called gives its frames to the DSP too.
    pub both: bool,
    /// The experiment of the papers that it is one of, with its key there.
    pub of: Option<(&'static str, &'static str)>,
}

/// Figures of a configuration that are not measured here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Beside {
    /// The load of the processor with the client.
    pub arm_percent: Option<f64>,
    /// The mean time between packets.
    pub interarrival_ms: Option<f64>,
    /// Its standard deviation.
    pub stddev_ms: Option<f64>,
    /// How long after a call began it was known to be done.
    pub latency_ms: Option<f64>,
}

const TABLE_3: &str = "S0.voip.workload";
const TABLE_4: &str = "S0.voip.polling-interval";
/// S0 section 4.2: a frame takes the DSP about 6 ms. At 50 frames a second each way one telephone
/// uses 60 % of it, so of two that talk with each other one codes itself.
const WORK: Duration = Duration::from_millis(6);

/// The configurations that were asked for.
pub(super) fn configurations(args: &Voip) -> Vec<Configuration> {
    let mut all = Vec::new();
    for table in &args.table {
        match table {
            3 => all.extend(
                [
                    ("ARM", None),
                    ("ARM+DSP+Intr+Extl", Some("in_place/interrupt/external")),
                    ("ARM+DSP+Poll+Extl", Some("in_place/poll=20ms/external")),
                    ("ARM+DSP+Intr+Intl", Some("in_place/interrupt/internal")),
                    ("ARM+DSP+Poll+Intl", Some("in_place/poll=20ms/internal")),
                ]
                .map(|(key, strategy)| published_as(TABLE_3, key, strategy, Duration::ZERO)),
            ),
            // S1 section 5.1: the flag is looked at whenever a timer expires that always runs.
            _ => all.extend(
                [
                    ("interrupt", "in_place/interrupt/internal"),
                    ("poll-5ms", "in_place/timer=5ms/internal"),
                    ("poll-10ms", "in_place/timer=10ms/internal"),
                    ("poll-15ms", "in_place/timer=15ms/internal"),
                    ("poll-20ms", "in_place/timer=20ms/internal"),
                ]
                .map(|(key, strategy)| published_as(TABLE_4, key, Some(strategy), WORK)),
            ),
        }
    }
    if !all.is_empty() {
        return all;
    }
    let work = args.work.unwrap_or_default();
    for codec in &args.codec {
        let strategies: Vec<Option<&String>> = match codec {
            Codec::Client => vec![None],
            Codec::Dsp => args.strategy.iter().map(Some).collect(),
        };
        all.extend(strategies.into_iter().map(|strategy| Configuration {
            name: strategy.map_or("client", |strategy| strategy).to_owned(),
            strategy: strategy.cloned(),
            work: if strategy.is_some() { work } else { Duration::ZERO },
            // As for the tables: with two telephones it would have more to do than it can.
            both: work < Duration::from_millis(3),
            of: None,
        }));
    }
    all
}

fn published_as(
    id: &'static str,
    key: &'static str,
    strategy: Option<&str>,
    work: Duration,
) -> Configuration {
    Configuration {
        name: key.to_owned(),
        strategy: strategy.map(str::to_owned),
        work,
        both: work.is_zero(),
        of: Some((id, key)),
    }
}

/// What was published and what the simulator gives, by the keys of an experiment's configurations.
pub(super) type Known = BTreeMap<(&'static str, &'static str), (Beside, Beside)>;

/// Looks up all that was asked for.
///
/// # Errors
/// [`Kind::Internal`], as for `narrows papers`.
pub(super) fn known(configurations: &[Configuration]) -> Result<Known, Failure> {
    let mut known = Known::new();
    for id in [TABLE_3, TABLE_4] {
        let wanted: Vec<_> = configurations
            .iter()
            .filter_map(|configuration| configuration.of.filter(|(of, _)| *of == id))
            .collect();
        if wanted.is_empty() {
            continue;
        }
        let all = published()?;
        let experiment = all.iter().find(|experiment| experiment.id == id).ok_or_else(|| {
            Failure::new(Kind::Internal, format!("there is no experiment {id}: report this defect"))
        })?;
        let rows = measure(experiment)?;
        for of in wanted {
            let beside = |shown: fn(&papers::row::Row) -> &Shown| {
                let find = |figure: &str| {
                    let id = format!("{id}.{}.{figure}", of.1);
                    number(shown(rows.iter().find(|row| row.id == id)?))
                };
                Beside {
                    arm_percent: find("arm_percent"),
                    interarrival_ms: find("interarrival_ms"),
                    stddev_ms: find("stddev_ms"),
                    latency_ms: find("latency_ms"),
                }
            };
            known.insert(of, (beside(|row| &row.published), beside(|row| &row.ours)));
        }
    }
    Ok(known)
}

fn number(shown: &Shown) -> Option<f64> {
    match shown {
        Shown::Figure(figure) => Some(*figure),
        Shown::Order(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::documented::{assert_same, inner, keys};
    use clap::Parser;

    #[test]
    fn what_stands_beside_a_measured_call_is_what_the_description_says() {
        let beside = serde_json::to_value(Beside::default()).unwrap();
        let table = "A row of `voip`";
        assert_same(table, &keys(&beside), &inner(table, "published", &[]));
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        voip: Voip,
    }

    fn planned(line: &str) -> Vec<Configuration> {
        let words = ["voip"].into_iter().chain(line.split_whitespace());
        configurations(&Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).voip)
    }

    #[test]
    fn every_configuration_of_a_table_has_published_and_simulated_figures() {
        let all = planned("--table 3,4");
        let known = known(&all).expect("the papers are known");
        assert_eq!((all.len(), known.len()), (10, 10));
        for configuration in all {
            let of = configuration.of.expect("it is published");
            let (published, simulated) = known.get(&of).expect("it is known");
            for beside in [published, simulated] {
                let third = beside.latency_ms.or(beside.stddev_ms);
                assert!(beside.arm_percent.is_some() && third.is_some(), "{of:?}: {beside:?}");
            }
        }
    }

    #[test]
    fn each_codec_and_strategy_is_a_configuration() {
        let names = |line| planned(line).into_iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names(""), ["client", "interrupt/internal"]);
        assert_eq!(names("--codec dsp --strategy interrupt,poll=20ms"), ["interrupt", "poll=20ms"]);
        // A DSP that has much to do for each frame codes for the caller alone.
        let both = |line| planned(line).into_iter().all(|one| one.both);
        assert!(both("") && !both("--work 6ms"));
    }
}
