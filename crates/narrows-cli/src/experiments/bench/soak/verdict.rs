//! Whether figures that were taken again and again stayed where they were.
//!
//! The first eighth is warm-up and does not count. Of the rest the last quarter is compared with
//! the first.

use serde::{Deserialize, Serialize};

use crate::base::statistics::{median, spread};

/// The fewest samples, warm-up included, that a verdict is made of.
pub const FEWEST: usize = 32;
/// Memory that the last quarter may have more than the first, in KiB, where it does not vary more
/// within the first: what an allocator keeps for later, and less than a byte a message.
const MEMORY: f64 = 256.0;
/// By how much of the first quarter's median a latency may rise, where it does not vary more.
const LATENCY: f64 = 0.1;

/// A figure of the last quarter beside that of the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What was looked at.
    pub what: String,
    /// The unit of the figures.
    pub unit: String,
    /// The figure of the first quarter behind the warm-up.
    pub first: f64,
    /// The figure of the last quarter.
    pub last: f64,
    /// By how much the last may be above the first.
    pub allowed: f64,
    /// Whether it is not above it by more.
    pub flat: bool,
}

impl Check {
    fn new(what: &str, unit: &str, [first, last]: [f64; 2], allowed: f64) -> Check {
        let flat = last - first <= allowed;
        Check { what: what.into(), unit: unit.into(), first, last, allowed, flat }
    }
}

/// The four quarters behind the warm-up; none if there are too few samples.
fn quarters(values: &[f64]) -> Option<[&[f64]; 4]> {
    if values.len() < FEWEST {
        return None;
    }
    let rest = values.get(values.len() / 8..)?;
    let quarter = rest.len() / 4;
    let at = |n: usize| rest.get(n * quarter..(n + 1) * quarter);
    // What does not divide by four belongs to the last, which must not look away at the end.
    Some([at(0)?, at(1)?, at(2)?, rest.get(3 * quarter..)?])
}

fn middle(values: &[f64]) -> Option<f64> {
    median(&mut values.to_vec())
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// A number of things: not one more than before, or no more than may come and go. None if there are
/// too few samples.
pub fn count(what: &str, values: &[f64], passing: f64) -> Option<Check> {
    let [first, .., last] = quarters(values)?;
    Some(Check::new(what, "", [most(first), most(last)], passing))
}

/// Memory in KiB: the median rises by no more than 256 KiB, or than the spread of the first quarter
/// if that is more, or than what may yet be touched for the first time. None if there are too few
/// samples.
pub fn memory(what: &str, values: &[f64], untouched: f64) -> Option<Check> {
    let [first, .., last] = quarters(values)?;
    let allowed = spread(&mut first.to_vec())?.max(MEMORY).max(untouched);
    Some(Check::new(what, "KiB", [middle(first)?, middle(last)?], allowed))
}

/// A latency in µs: the median rises by no more than twice the noise, or than a tenth if that is
/// more. The noise is the largest difference between the medians of a quarter's two halves. None
/// if there are too few samples.
pub fn latency(what: &str, values: &[f64]) -> Option<Check> {
    let all = quarters(values)?;
    let mut noise: f64 = 0.0;
    for quarter in all {
        let (a, b) = quarter.split_at(quarter.len() / 2);
        noise = noise.max((middle(a)? - middle(b)?).abs());
    }
    let [first, .., last] = all;
    let first = middle(first)?;
    let allowed = (2.0 * noise).max(LATENCY * first);
    Some(Check::new(what, "µs", [first, middle(last)?], allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of a figure that varies by a twentieth, plus what `more` gives.
    fn series(level: f64, more: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(11);
        (0..128)
            .map(|n| level * (0.975 + 0.05 * random.f64()) + more(f64::from(n) / 128.0))
            .collect()
    }

    fn flat(check: Option<Check>) -> bool {
        check.unwrap().flat
    }

    #[test]
    fn what_stays_is_flat() {
        assert!(flat(memory("m", &series(4000.0, |_| 0.0), 0.0)));
        assert!(flat(latency("l", &series(50.0, |_| 0.0))));
        assert!(flat(count("c", &[12.0; 64], 0.0)));
    }

    #[test]
    fn what_falls_is_flat() {
        assert!(flat(memory("m", &series(4000.0, |at| -1000.0 * at), 0.0)));
        assert!(flat(latency("l", &series(50.0, |at| -30.0 * at))));
    }

    #[test]
    fn a_leak_of_memory_is_noticed() {
        assert!(!flat(memory("m", &series(4000.0, |at| 1000.0 * at), 0.0)));
        // All at once in the middle is as bad.
        assert!(!flat(memory("m", &series(4000.0, |at| if at < 0.5 { 0.0 } else { 600.0 }), 0.0)));
    }

    #[test]
    fn memory_may_rise_by_what_was_not_touched_and_no_more() {
        let rising = series(4000.0, |at| 1000.0 * at);
        assert!(flat(memory("m", &rising, 2000.0)));
        assert!(!flat(memory("m", &rising, 300.0)));
    }

    #[test]
    fn memory_that_is_taken_while_warming_up_is_no_leak() {
        assert!(flat(memory("m", &series(4000.0, |at| if at < 0.1 { 0.0 } else { 3000.0 }), 0.0)));
    }

    #[test]
    fn one_descriptor_more_is_a_leak() {
        let mut values = vec![12.0; 64];
        values[63] = 13.0;
        assert!(!flat(count("c", &values, 0.0)));
        // Fewer than those that come and go have.
        assert!(flat(count("c", &values, 1.0)));
        // One that is open for a moment now and then is none.
        let values: Vec<f64> = (0..64).map(|n| if n % 8 == 0 { 13.0 } else { 12.0 }).collect();
        assert!(flat(count("c", &values, 0.0)));
    }

    #[test]
    fn a_drift_of_latency_is_noticed_and_noise_is_not() {
        assert!(!flat(latency("l", &series(50.0, |at| 12.0 * at))));
        // As large a change, but up and down within each quarter.
        assert!(flat(latency("l", &series(50.0, |at| 12.0 * (at * 50.0).sin()))));
        assert!(flat(latency("l", &series(50.0, |at| 2.0 * at))));
    }

    #[test]
    fn few_samples_make_no_verdict() {
        let values = [1.0; FEWEST - 1];
        assert_eq!(count("c", &values, 0.0), None);
        assert_eq!(memory("m", &values, 0.0), None);
        assert_eq!(latency("l", &values), None);
        assert!(latency("l", &[1.0; FEWEST]).is_some());
    }
}
