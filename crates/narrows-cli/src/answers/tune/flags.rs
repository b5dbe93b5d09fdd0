//! The command line of `narrows tune`.

use crate::base::number::{number, size};
use crate::base::offered::{flows, offered};
use crate::base::options::{PageFile, places};
use crate::base::shipped;
use crate::formats::strategy;
use crate::formats::values::{Choice, strategy_name};
use clap::builder::StringValueParser;
use clap::{Args, ValueEnum, ValueHint};
use narrows_sim::time::Frequency;
use std::path::PathBuf;

/// What is to be least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Objective {
    /// Time of the calling core
    #[default]
    Load,
    /// The sum of all latency bounds
    Latency,
    /// The clock of the calling core, of those of the platform or of --clocks
    Energy,
}

impl Objective {
    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Objective::Load => "load",
            Objective::Latency => "latency",
            Objective::Energy => "energy",
        }
    }
}

/// What `tune` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows tune workloads/voice.toml --on davinci
  narrows tune workloads/voice.toml --on host --objective latency
  narrows tune workloads/voice.toml --on davinci --memory 1024 --svg front.svg
  narrows tune workloads/voice.toml --on davinci --objective energy \\
      --clocks 99MHz,148.5MHz,297MHz
  narrows tune workloads/voice.toml --on davinci --json | jq '.results[0].flows'

Every flow is given the strategy with which all together cost least, within the
internal memory, the deadlines and the time of the cores. What a strategy costs
is said by a model (docs/MODEL.md) whose constants are measured first: by short
simulations on a chip, between two processes on this machine.")]
pub struct Tune {
    /// The workload file
    #[arg(value_name = "WORKLOAD.toml", default_value = "workloads/voice.toml",
          value_parser = offered(flows(), shipped::path("workloads")), hide_possible_values = true,
          value_hint = ValueHint::FilePath)]
    pub workload: PathBuf,
    /// Where it is to run: the name of a platform, or its file, or `host`
    #[arg(long, value_name = "PLATFORM|host", default_value = "host", hide_possible_values = true,
          value_parser = offered(places(), StringValueParser::new()))]
    pub on: String,
    /// What is to be least
    #[arg(long, value_enum, default_value_t = Objective::Load)]
    pub objective: Objective,
    /// Bytes of internal memory of each DSP, instead of the workload's or all that the platform has
    #[arg(long, value_name = "SIZE", value_parser = size::<u32>(0..=u32::MAX.into()))]
    pub memory: Option<u32>,
    /// The most that all flows may take of the calling core, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0, value_parser = percent)]
    pub load: f64,
    /// Cores to call, each with an internal memory of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u8>(1..=8))]
    pub dsps: u8,
    /// Strategies to choose from, instead of all that make sense (spin for latency only)
    #[arg(long, value_name = "NAME|all", value_delimiter = ',', hide_possible_values = true,
          value_parser = offered(strategy::offered(&[]), strategy_name))]
    pub strategy: Vec<Choice>,
    /// Of energy: clocks that the calling core can have, instead of those in the platform's file
    #[arg(long, value_name = "CLOCK,…", value_delimiter = ',', value_parser = clock)]
    pub clocks: Vec<Frequency>,
    /// Draw the front of load against memory into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// A page of what was found.
    #[command(flatten)]
    pub page: PageFile,
}

pub(in crate::answers) fn percent(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|percent: &f64| *percent > 0.0 && *percent <= 100.0);
    value.ok_or_else(|| "expected percent of a core, above 0 and at most 100".to_owned())
}

pub(in crate::answers) fn clock(text: &str) -> Result<Frequency, String> {
    let expected = || "expected a clock, such as 297MHz".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(expected)?;
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "GHz" => 1e9,
        "MHz" => 1e6,
        "kHz" => 1e3,
        "Hz" => 1.0,
        _ => return Err(expected()),
    };
    let hertz = number.parse::<f64>().map_err(|_| expected())? * unit;
    if !(1.0..=1e12).contains(&hertz) {
        return Err(expected());
    }
    Ok(Frequency(hertz as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_percents_are_checked() {
        assert_eq!(clock("297MHz"), Ok(Frequency(297_000_000)));
        assert_eq!(clock("148.5MHz"), Ok(Frequency(148_500_000)));
        for wrong in ["297", "MHz", "0MHz", "-1GHz", "1THz", "NaNMHz", "1.2.3GHz"] {
            assert!(clock(wrong).is_err(), "{wrong}");
        }
        assert_eq!(percent("12.5"), Ok(12.5));
        for wrong in ["0", "-1", "101", "NaN", "inf", "x"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
