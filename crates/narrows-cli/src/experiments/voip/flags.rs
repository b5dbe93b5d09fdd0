//! The command line of `narrows voip`.

use crate::base::options::{PageFile, TraceFile};
use crate::formats::functions::g711::Law;
use crate::formats::strategy;
use crate::formats::values::duration;
use clap::{Args, ValueEnum};
use narrows::strategy::{Notification, Strategy};
use std::path::PathBuf;
use std::time::Duration;

/// Where frames are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Codec {
    /// In the telephone itself.
    Client,
    /// In a second process.
    Dsp,
}

/// What `voip` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows voip                           a call without the DSP, and one with it
  narrows voip --table 3 --length 30s    the five configurations of S0 table 3
  narrows voip --codec dsp --strategy poll=20ms/internal --calls 2
  narrows voip --codec dsp --kill 3s     the DSP dies in the call and comes back

The packages and the plugin are there after:
  ci/setup telephone && make -C apps/linphone-dsp")]
pub struct Voip {
    /// Talk for so long in each call
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = duration)]
    pub length: Duration,
    /// So many calls at once, each of two telephones
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=8))]
    pub calls: u16,
    /// Where frames are coded, one after the other
    #[arg(long, value_name = "client|dsp", value_delimiter = ',', default_values = ["client", "dsp"])]
    pub codec: Vec<Codec>,
    /// How calls of the DSP travel, one after the other; each names interrupt, poll=TIME or
    /// timer=TIME
    #[arg(long, value_name = "STRATEGY", value_delimiter = ',', value_parser = told,
          default_value = "interrupt/internal")]
    pub strategy: Vec<String>,
    /// Instead, the configurations of table 3 or 4 of S0, with what it has
    #[arg(long, value_name = "3|4", value_delimiter = ',', conflicts_with_all = ["codec", "strategy", "work"],
          value_parser = clap::value_parser!(u8).range(3..=4))]
    pub table: Vec<u8>,
    /// Have each call of the DSP take so long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub work: Option<Duration>,
    /// The law of G.711
    #[arg(long, value_name = "a|mu", default_value = "a", value_parser = law)]
    pub law: Law,
    /// What is said, instead of speech that comes with the command: a WAV file, 8 kHz, 16 bit, mono
    #[arg(long, value_name = "FILE.wav")]
    pub play: Option<PathBuf>,
    /// Kill the DSP so long into the calls, and start it again a second later
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub kill: Option<Duration>,
    /// After the first calls make more for so long, each time with other telephones, but the same
    /// registrar and DSP
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "kill")]
    pub again: Option<Duration>,
    /// The UDP port of the registrar, instead of a free one
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Where the plugin and the DSP were built
    #[arg(long, value_name = "DIR", default_value = "apps/linphone-dsp/build")]
    pub plugin: PathBuf,
    /// Keep the logs, recordings and captures in this directory
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// A page of what was found.
    #[command(flatten)]
    pub page: PageFile,
    /// A trace of what happened.
    #[command(flatten)]
    pub trace: TraceFile,
}

/// A strategy by which the plugin can be told of answers.
fn told(text: &str) -> Result<String, String> {
    let parsed: Strategy = text.parse().map_err(|error| strategy::explain(text, &error))?;
    let named =
        |word: &str| ["interrupt", "poll=", "timer="].iter().any(|one| word.starts_with(one));
    let can = matches!(
        parsed.notification,
        Notification::Interrupt | Notification::Poll { .. } | Notification::Timer { .. }
    );
    match can && text.split('/').any(named) {
        true => Ok(text.to_owned()),
        false => Err("a telephone is told by interrupt, poll=TIME or timer=TIME: name one of \
                      them, such as single_copy/poll=20ms/internal"
            .to_owned()),
    }
}

fn law(text: &str) -> Result<Law, String> {
    let named = [Law::A, Law::Mu].into_iter().find(|law| law.name() == text);
    named.ok_or_else(|| "a or mu is wanted".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_says_how_the_telephone_is_told() {
        for good in ["interrupt", "single_copy/poll=5ms/internal", "in_place/timer=5ms"] {
            assert_eq!(told(good), Ok(good.to_owned()));
        }
        for (bad, part) in [
            ("internal", "poll=TIME or timer=TIME"),
            ("poll", "poll=TIME or timer=TIME"),
            ("spin", "poll=TIME or timer=TIME"),
            ("interupt", "interrupt"),
        ] {
            let said = told(bad).expect_err(bad);
            assert!(said.contains(part), "{said}");
        }
    }
}
