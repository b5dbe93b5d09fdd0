//! Whether two measurements differ by more than noise.
//!
//! Both have rounds, each with a figure of its own. The *bootstrap* draws as many rounds as there
//! are, with repetition, from either, and notes by how much the medians of what was drawn differ.
//! It does this `DRAWS` times at most. Of these differences, 95 in 100 lie in an interval. If 0
//! lies outside of it, the medians differ by more than the rounds of either differ among
//! themselves.

use crate::base::statistics::median;
use fastrand::Rng;

/// The fewest rounds on either side that an interval is made of: with fewer, medians of what is
/// drawn are nearly always the same round.
pub const FEWEST: usize = 7;
/// How often is drawn. Where there are many rounds it is less often, so that about `WORK` of them
/// are drawn in all, but never less often than `LEAST`.
const DRAWS: usize = 2000;
const LEAST: usize = 200;
const WORK: usize = 4_000_000;
/// What is drawn with: the same rounds give the same interval.
const SEED: u64 = 1;

/// By how much a median differs from another, in percent of the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Of the medians themselves.
    pub percent: f64,
    /// Where the interval of 95 % begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

impl Change {
    /// From the rounds of either; none if there are too few, or nothing to take percents of.
    pub fn of(before: &[f64], after: &[f64]) -> Option<Change> {
        if before.len().min(after.len()) < FEWEST {
            return None;
        }
        let percent = |before: f64, after: f64| 100.0 * (after / before - 1.0);
        let (middle, other) = (median(&mut before.to_vec())?, median(&mut after.to_vec())?);
        if middle <= 0.0 {
            return None;
        }
        let draws = (WORK / before.len().max(after.len())).clamp(LEAST, DRAWS);
        let mut random = Rng::with_seed(SEED);
        let (mut one, mut two) = (vec![0.0; before.len()], vec![0.0; after.len()]);
        let mut differences: Vec<f64> = (0..draws)
            .map(|_| {
                percent(drawn(&mut random, before, &mut one), drawn(&mut random, after, &mut two))
            })
            .collect();
        differences.sort_by(f64::total_cmp);
        let at = |part: usize| differences.get(draws * part / 1000).copied();
        Some(Change { percent: percent(middle, other), low: at(25)?, high: at(974)? })
    }

    /// Whether the interval is on one side of 0.
    pub fn is_beyond_noise(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// The median of rounds that are drawn with repetition into `room`.
fn drawn(random: &mut Rng, rounds: &[f64], room: &mut [f64]) -> f64 {
    for one in room.iter_mut() {
        *one = rounds.get(random.usize(..rounds.len())).copied().unwrap_or_default();
    }
    let middle = room.len().div_ceil(2) - 1;
    let (_, median, _) = room.select_nth_unstable_by(middle, f64::total_cmp);
    *median
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds about a level, most within a twentieth, one in ten far above.
    fn rounds(random: &mut Rng, count: usize, level: f64) -> Vec<f64> {
        let one = |random: &mut Rng| {
            let outlier = if random.u8(..10) == 0 { 2.0 } else { 1.0 };
            level * (0.975 + 0.05 * random.f64()) * outlier
        };
        (0..count).map(|_| one(random)).collect()
    }

    #[test]
    fn what_differs_clearly_is_beyond_noise() {
        let mut random = Rng::with_seed(3);
        let (before, after) = (rounds(&mut random, 15, 100.0), rounds(&mut random, 15, 120.0));
        let change = Change::of(&before, &after).unwrap();
        assert!(change.is_beyond_noise(), "{change:?}");
        assert!(change.low <= change.percent && change.percent <= change.high, "{change:?}");
        assert!((15.0..25.0).contains(&change.percent), "{change:?}");
        assert_eq!(Change::of(&before, &after), Some(change), "the same rounds, the same interval");
    }

    #[test]
    fn equal_measurements_are_rarely_beyond_noise() {
        for count in [FEWEST, 15, 40] {
            let mut random = Rng::with_seed(5);
            let beyond = (0..200).filter(|_| {
                let two = [(); 2].map(|()| rounds(&mut random, count, 100.0));
                Change::of(&two[0], &two[1]).unwrap().is_beyond_noise()
            });
            let beyond = beyond.count();
            assert!(beyond <= 20, "{beyond} of 200 with {count} rounds");
        }
    }

    #[test]
    fn too_few_rounds_and_nothing_to_divide_by_give_none() {
        assert_eq!(Change::of(&[1.0; FEWEST - 1], &[2.0; 30]), None);
        assert_eq!(Change::of(&[0.0; FEWEST], &[2.0; FEWEST]), None);
        let same = Change::of(&[2.0; FEWEST], &[2.0; FEWEST]).unwrap();
        assert_eq!((same.percent, same.is_beyond_noise()), (0.0, false));
    }
}
