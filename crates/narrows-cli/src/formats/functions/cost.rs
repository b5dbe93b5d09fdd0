//! What a function takes of a core: a time for each request, and a time for each of its bytes.

use crate::formats::functions::MAX_DURATION;
use narrows_sim::chip::Core;
use narrows_sim::time::Time;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What a cost is written as.
pub(crate) const A_COST: &str = "a time, a time for each byte, or their sum, such as \"1.2 ms\", \
                                 \"2 ns/B\" or \"300 us + 2 ns/B\"";
/// The request that takes at most [`MAX_DURATION`], in bytes: the longest that there is.
const LONGEST: usize = 1 << 24;

/// Units of time, the longest first, in femtoseconds.
const UNITS: [(&str, u64); 5] = [
    ("s", 1_000_000_000_000_000),
    ("ms", 1_000_000_000_000),
    ("us", 1_000_000_000),
    ("µs", 1_000_000_000),
    ("ns", 1_000_000),
];
/// Femtoseconds of a picosecond.
const PICO: u64 = 1000;

/// A time for each request, and one for each of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// In picoseconds.
    request: u64,
    /// In femtoseconds: a processor may copy dozens of bytes in a nanosecond.
    byte: u64,
}

impl Cost {
    /// From nanoseconds, to three digits each, as a measurement has no more.
    pub fn measured(request_ns: f64, byte_ns: f64) -> Cost {
        let digits = |value: f64| format!("{value:.2e}").parse::<f64>().unwrap_or_default();
        let [request, byte] = [request_ns, byte_ns].map(|ns| digits(ns.max(0.0)));
        Cost { request: (request * 1e3).round() as u64, byte: (byte * 1e6).round() as u64 }
    }

    /// What a request of this many bytes takes, to the nanosecond above.
    pub fn of(self, bytes: usize) -> Duration {
        let Cost { request, byte } = self;
        let femtos = u128::from(request) * u128::from(PICO) + u128::from(byte) * bytes as u128;
        let nanos = femtos.div_ceil(1_000_000);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl FromStr for Cost {
    type Err = String;

    /// # Errors
    /// What would have been right.
    fn from_str(text: &str) -> Result<Cost, String> {
        let wrong = || A_COST.to_owned();
        let (mut request, mut byte) = (None, None);
        for term in text.split('+').map(str::trim) {
            let digits = term.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
            let (number, unit) = term.split_at(digits);
            let (unit, part, divisor) = match unit.strip_suffix('B').map(str::trim_end) {
                Some(rate) => (rate.strip_suffix('/').ok_or_else(wrong)?, &mut byte, 1.0),
                None => (unit, &mut request, PICO as f64),
            };
            let found = UNITS.iter().find(|(name, _)| *name == unit.trim());
            let (_, femtos) = found.ok_or_else(wrong)?;
            let number: f64 = number.parse().map_err(|_| wrong())?;
            // A cast of what is too large gives the largest, which is refused below.
            let time = (number * *femtos as f64 / divisor).round() as u64;
            if part.replace(time).is_some() {
                return Err(wrong());
            }
        }
        let cost = Cost { request: request.unwrap_or(0), byte: byte.unwrap_or(0) };
        match cost.of(LONGEST) <= MAX_DURATION {
            true => Ok(cost),
            false => Err(format!("at most 24h for a request of {} MiB", LONGEST >> 20)),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cost { request, byte } = *self;
        if request > 0 || byte == 0 {
            time(f, request, PICO)?;
        }
        if byte > 0 {
            f.write_str(if request > 0 { " + " } else { "" })?;
            time(f, byte, 1)?;
            f.write_str("/B")?;
        }
        Ok(())
    }
}

/// Writes the time of `parts` parts, each of `femtos` femtoseconds, in the longest unit of which
/// there is a whole one.
fn time(f: &mut fmt::Formatter<'_>, parts: u64, femtos: u64) -> fmt::Result {
    let fits = |(_, unit): &(&str, u64)| parts >= unit / femtos;
    let (name, unit) = UNITS.into_iter().find(fits).unwrap_or(("ns", 1_000_000));
    write!(f, "{} {name}", parts as f64 / (unit / femtos) as f64)
}

/// What a function takes of a core for a request of `bytes` bytes: what the workload says, or else
/// the platform.
pub(crate) fn taken(core: &Core, function: &str, cost: Option<Cost>, bytes: usize) -> Time {
    match cost {
        Some(cost) => cost.of(bytes).into(),
        None => core.function(function).at(core.clock) * bytes.div_ceil(4) as u64,
    }
}

/// What a flow's function takes on the chips that a workload names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Costs {
    /// The workload does not say.
    #[default]
    Unsaid,
    /// The same on every chip.
    Everywhere(Cost),
    /// On chips of these names.
    On(Vec<(String, Cost)>),
}

impl Costs {
    /// On a chip.
    pub fn on(&self, chip: &str) -> Option<Cost> {
        match self {
            Costs::Unsaid => None,
            Costs::Everywhere(cost) => Some(*cost),
            Costs::On(all) => all.iter().find(|(name, _)| name == chip).map(|(_, cost)| *cost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(text: &str) -> Cost {
        text.parse().unwrap_or_else(|expected| panic!("{text}: {expected}"))
    }

    #[test]
    fn a_time_and_a_time_for_each_byte_are_read_and_written() {
        for (text, bytes, nanos) in [
            ("1.2 ms", 0, 1_200_000),
            ("1.2ms", 1000, 1_200_000),
            ("300 us + 2 ns/B", 0, 300_000),
            ("300 us + 2 ns/B", 320, 300_640),
            ("2ns/B+300us", 320, 300_640),
            ("2 ns / B", 320, 640),
            (" 1 s + 1 us/B ", 1, 1_000_001_000),
            ("5 µs", 7, 5000),
            // To the nanosecond above.
            ("0.03 ns/B", 1, 1),
            ("0.03 ns/B", 1000, 30),
            ("0 ns", 1 << 24, 0),
        ] {
            assert_eq!(cost(text).of(bytes), Duration::from_nanos(nanos), "{text}");
        }
        for text in ["1.2 ms", "2 ns/B", "300 us + 2.1 ns/B", "0.03 ns/B", "0 ns", "1 s + 1 ms/B"] {
            assert_eq!(cost(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_cost_is_refused() {
        for text in [
            "",
            "1",
            "ms",
            "-1 ms",
            "1 ms - 2 ns/B",
            "+",
            "1 ms +",
            "1 ms + 2 ms",
            "2 ns/B + 1 ns/B",
            "1 h",
            "1 ns/b",
            "1 nsB",
            "1 /B",
            "1.2.3 ms",
            ". ms",
            "1e3 us",
            "inf ms",
            "NaN ms",
            "1 2 ms",
            "1 ms 2 ns/B",
            "1 ms/B/B",
            "1 B",
        ] {
            assert_eq!(text.parse::<Cost>(), Err(A_COST.to_owned()), "{text}");
        }
        for text in ["86401 s", "6 ms/B", "9999999999999999999999 s", "99999999999999999999 s/B"] {
            let most = "at most 24h for a request of 16 MiB".to_owned();
            assert_eq!(text.parse::<Cost>(), Err(most), "{text}");
        }
        assert!("86400 s".parse::<Cost>().is_ok() && "5 ms/B".parse::<Cost>().is_ok());
    }

    #[test]
    fn a_measurement_has_three_digits() {
        let cost = Cost::measured(312_345.0, 2.0949);
        assert_eq!(cost.to_string(), "312 us + 2.09 ns/B");
        assert_eq!(Cost::measured(0.0, 0.01234).to_string(), "0.0123 ns/B");
        assert_eq!(Cost::measured(-3.0, -1.0).to_string(), "0 ns");
        assert_eq!(cost.to_string().parse(), Ok(cost));
    }

    #[test]
    fn each_chip_may_have_its_own() {
        let (one, other) = (cost("1 ms"), cost("2 ms"));
        let named = Costs::On(vec![("a".into(), one), ("b".into(), other)]);
        assert_eq!((named.on("b"), named.on("c")), (Some(other), None));
        assert_eq!((Costs::Everywhere(one).on("c"), Costs::Unsaid.on("c")), (Some(one), None));
    }
}
