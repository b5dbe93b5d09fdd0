//! Words and numbers of the document.

use crate::contender::{Group, Measure, Mode, Over, Sides};

/// How the document begins.
pub const HEAD: &str = "\
# Benchmarks

Narrows beside what one could use instead, in one run, in turns, over the same two cores. Every
message is written in full by its sender, read in full by its receiver and checked. This page is
written by the command in [its last section](#the-run); nothing on it is typed in, but the reasons
in `bench/reasons.toml`. Absolute figures are this machine's; ratios within the run are what to
compare.";

/// What is said of Aeron if it was not built in.
pub const NO_AERON: &str = "\
Aeron did not take part: this was built without `--features aeron`, which needs what
`ci/setup bench aeron` installs.";

/// How it is measured.
pub const METHOD: &str = "\
- **Payload.** Message *n* is words that follow from *n*. Its sender writes all of them: where the
  message is sent from if the contender offers that, else into memory of its own, which the contender
  then copies. Its receiver adds all of them up where it gets them, and checks the sum, the first and
  the last. *Copies* are those between that writing and that reading.
- **Round trip.** A message there, and an answer of the same length, made anew by the other side,
  back. Medians and the range from the 10th to the 90th percentile are of batches of about 200 µs
  (mean per round trip); the 99th percentile is of single round trips with a reading of the clock in
  each.
- **One way.** As many messages as go in about a millisecond, and at least twice as many as may be
  under way, then one answer that says that all were read: messages a second, that answer included.
  Up to 256 may be under way, 32 of 64 KiB, where that can be chosen. Its percentiles are of such
  streams.
- **Spinning** ends look again and again and never sleep; **blocked** ends sleep in the kernel until
  they are woken; **hybrid** ones look for a while, then sleep.
- **Turns.** In each round everyone is visited once at each size in each mode: a fresh pair of
  processes (or threads) is opened, warmed up for a quarter of the time, measured and closed. Those
  that are compared follow each other directly, in an order that a seed decides. Each figure is of all
  rounds together.
- **Alike.** Both ends are pinned to the same two cores for everyone, helper threads of a library to
  its end's core; nobody has real-time priority. Nothing else of a contender is tuned beyond what the
  table of those who take part says.
- **Floors** are no messaging: they show what the machine allows, check nothing and trust everybody.
- **Over sockets** is a comparison of its own, in which like is compared with like. Over a Unix stream
  socket: Narrows' carrier `stream`, beside such a socket by hand, slept on alone or as one of several.
  Over TCP on the loopback: Narrows by two bridges without keys, one in the process of each end, beside
  ZeroMQ, nng and a socket by hand.
  The threads of Narrows that carry frames leave their end's core: the library lets them run anywhere.";

/// A document that grows.
#[derive(Default)]
pub struct Doc(String);

impl Doc {
    /// A paragraph, heading or list.
    pub fn text(&mut self, text: &str) {
        self.0 += text.trim_end();
        self.0 += "\n\n";
    }

    /// A table: the first column is text, the others are figures.
    pub fn table(&mut self, heads: &[&str], rows: Vec<Vec<String>>) {
        self.0 += &format!("| {} |\n|---|", heads.join(" | "));
        let align = if heads.len() > 2 { "---:|" } else { "---|" };
        self.0 += &align.repeat(heads.len().saturating_sub(1));
        for row in rows {
            self.0 += &format!("\n| {} |", row.join(" | "));
        }
        self.0 += "\n\n";
    }

    /// The whole text.
    pub fn finish(self) -> String {
        self.0.trim_end().to_owned() + "\n"
    }
}

/// What is compared.
pub fn topic((measure, how): (Measure, Mode)) -> String {
    let what = match measure {
        Measure::RoundTrip => "Round trip",
        Measure::OneWay => "One way",
    };
    format!("{what}, {}", mode(how))
}

/// The heading of a comparison.
pub fn heading(group: Group, compared: (Measure, Mode)) -> String {
    match group {
        Group::Machine => topic(compared),
        Group::Sockets => format!("Over sockets: {}", topic(compared)),
    }
}

/// What bytes go over.
pub fn over(over: Over) -> &'static str {
    match over {
        Over::Machine => "one machine",
        Over::Unix => "a Unix stream socket",
        Over::Tcp => "TCP",
    }
}

/// How ends wait.
pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Spinning => "spinning",
        Mode::Blocked => "blocked",
        Mode::Hybrid => "hybrid",
    }
}

/// A contender's name, with a word if it does not work between processes.
pub fn named(name: &str, sides: Sides) -> String {
    match sides {
        Sides::Processes => name.to_owned(),
        Sides::Threads => format!("{name}, threads"),
    }
}

/// A size.
pub fn bytes(bytes: usize) -> String {
    match bytes {
        1024.. if bytes.is_multiple_of(1024) => format!("{} KiB", bytes / 1024),
        _ => format!("{bytes} B"),
    }
}

/// A time in nanoseconds: that of a round trip, or as messages a second.
pub fn figure(measure: Measure, ns: f64) -> String {
    match measure {
        Measure::RoundTrip => scaled(ns, &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)]),
        Measure::OneWay => scaled(1e9 / ns, &[("/s", 1.0), ("k/s", 1e3), ("M/s", 1e6)]),
    }
}

/// Three digits that count, and the largest unit that fits.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let fits = units.iter().rev().find(|(_, unit)| value >= 0.9995 * unit);
    let (name, unit) = fits.or(units.first()).copied().unwrap_or(("", 1.0));
    let value = value / unit;
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        for (ns, text) in [
            (8.123, "8.12 ns"),
            (99.96, "100 ns"),
            (412.3, "412 ns"),
            (999.9, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (2_500_000.0, "2.50 ms"),
        ] {
            assert_eq!(figure(Measure::RoundTrip, ns), text);
        }
        assert_eq!(figure(Measure::OneWay, 12.5), "80.0 M/s");
        assert_eq!(figure(Measure::OneWay, 20_000.0), "50.0 k/s");
        assert_eq!([bytes(8), bytes(1024), bytes(65536)], ["8 B", "1 KiB", "64 KiB"]);
    }
}
