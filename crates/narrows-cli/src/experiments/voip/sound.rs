//! What is said, and whether it is what was heard.

use crate::formats::wav::RATE;
use std::path::Path;

/// Samples of a part that is compared: 200 ms.
const PART: usize = RATE as usize / 5;
/// Samples of a block of a part: 20 ms.
const BLOCK: usize = RATE as usize / 50;
/// How much later, at most, a part is heard for the first time: 1.5 s, less than the speech takes
/// before it comes again.
const FIRST: usize = RATE as usize * 3 / 2;
/// By how much a part may be shifted against the one before it: 100 ms.
const SHIFT: usize = RATE as usize / 10;
/// A part with less than this, on average, says nothing.
const SILENCE: i64 = 64;

/// How well something was heard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Heard {
    /// The correlation of all parts with what was said, each where it fits best.
    pub correlation: f64,
    /// How often a part was shifted against the one before it: something was left out or put in.
    pub shifts: u32,
}

/// Speech, over and over, for this many seconds.
pub(super) fn repeated(speech: &[i16], seconds: usize) -> Vec<i16> {
    speech.iter().copied().cycle().take(seconds * RATE as usize).collect()
}

/// The samples of a recording, as a telephone writes it: a header of fixed length, which counts
/// itself among the samples, so that other readers find the file cut short.
pub(super) fn recorded(path: &Path) -> Option<Vec<i16>> {
    /// Bytes of it.
    const HEADER: usize = 44;
    let bytes = std::fs::read(path).ok()?;
    let (samples, _) = bytes.get(HEADER..)?.as_chunks::<2>();
    Some(samples.iter().map(|sample| i16::from_le_bytes(*sample)).collect())
}

/// Compares a recording with what was said; none if nothing of it was heard.
pub(super) fn compare(said: &[i16], heard: &[i16]) -> Option<Heard> {
    let mut delay: Option<usize> = None;
    let mut shifts = 0;
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for (number, part) in said.chunks_exact(PART).enumerate() {
        if loudness(part) < SILENCE {
            continue;
        }
        let at = number * PART;
        let (from, to) = match delay {
            None => (0, FIRST),
            Some(delay) => (delay.saturating_sub(SHIFT), delay + SHIFT),
        };
        // The recording ends before what could have been said. What comes first may have been
        // heard soon, however short the recording is.
        let last = heard.len().saturating_sub(at + PART);
        let to = if delay.is_none() { to.min(last) } else { to };
        if to > last || at + PART > heard.len() {
            break;
        }
        let best = best(part, heard, at, from, to)?;
        shifts += u32::from(delay.is_some_and(|delay| delay != best));
        delay = Some(best);
        parts.push((at, best));
    }
    delay.map(|_| Heard { correlation: correlation(said, heard, &parts), shifts })
}

/// The correlation of parts, each with its begin and delay. Where the delay changes it does so
/// within a part, so each block is taken as the part around it, or as the one before or behind.
fn correlation(said: &[i16], heard: &[i16], parts: &[(usize, usize)]) -> f64 {
    let mut sums = Sums::default();
    for (place, (at, delay)) in parts.iter().enumerate() {
        let other = |place: Option<usize>| {
            place.and_then(|place| parts.get(place)).map_or(*delay, |(_, delay)| *delay)
        };
        let delays = [*delay, other(place.checked_sub(1)), other(place.checked_add(1))];
        let part = said.get(*at..at + PART).unwrap_or_default();
        for (number, block) in part.chunks(BLOCK).enumerate() {
            let there = |delay: usize| heard.get(at + number * BLOCK + delay..).unwrap_or_default();
            let best = delays.into_iter().min_by_key(|delay| distance(block, there(*delay)));
            sums.add(block, there(best.unwrap_or(*delay)));
        }
    }
    sums.correlation()
}

/// How different a block is from what is there.
fn distance(block: &[i16], there: &[i16]) -> i64 {
    let square = |(one, other): (&i16, &i16)| (i64::from(*one) - i64::from(*other)).pow(2);
    match there.len() < block.len() {
        true => i64::MAX,
        false => block.iter().zip(there).map(square).sum(),
    }
}

fn loudness(part: &[i16]) -> i64 {
    part.iter().map(|sample| i64::from(*sample).abs()).sum::<i64>() / part.len().max(1) as i64
}

/// The delay at which a part fits best: sought with every fourth sample, then with all.
fn best(part: &[i16], heard: &[i16], at: usize, from: usize, to: usize) -> Option<usize> {
    let fit = |delay: usize, step: usize| {
        let mut sums = Sums::default();
        let there = heard.get(at + delay..).unwrap_or_default();
        let pairs = part.iter().zip(there).step_by(step);
        pairs.for_each(|(one, other)| sums.pair(*one, *other));
        sums.correlation()
    };
    let most = |delays: std::ops::RangeInclusive<usize>, step| {
        delays.map(|delay| (delay, fit(delay, step))).max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let (near, _) = most(from..=to, 8)?;
    most(near.saturating_sub(2)..=near + 2, 1).map(|(delay, _)| delay)
}

/// What a correlation is made of.
#[derive(Default)]
struct Sums {
    count: f64,
    one: f64,
    other: f64,
    squares: [f64; 2],
    product: f64,
}

impl Sums {
    fn pair(&mut self, one: i16, other: i16) {
        let (one, other) = (f64::from(one), f64::from(other));
        self.count += 1.0;
        self.one += one;
        self.other += other;
        self.squares = [self.squares[0] + one * one, self.squares[1] + other * other];
        self.product += one * other;
    }

    fn add(&mut self, part: &[i16], heard: &[i16]) {
        part.iter().zip(heard).for_each(|(one, other)| self.pair(*one, *other));
    }

    /// 0 where one of both is silent.
    fn correlation(&self) -> f64 {
        let Sums { count, one, other, squares: [first, second], product } = *self;
        let spread = (first - one * one / count) * (second - other * other / count);
        match spread > 0.0 {
            true => (product - one * other / count) / spread.sqrt(),
            false => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise, which is like itself nowhere else.
    fn noise(samples: usize) -> Vec<i16> {
        let mut random = fastrand::Rng::with_seed(7);
        (0..samples).map(|_| random.i16(-8000..8000)).collect()
    }

    #[test]
    fn what_was_heard_later_is_the_same() {
        let said = noise(40_000);
        let heard: Vec<i16> = [&[0; 777][..], &said].concat();
        let found = compare(&said, &heard).expect("heard");
        assert!(found.correlation > 0.9999, "{found:?}");
        assert_eq!(found.shifts, 0);
    }

    #[test]
    fn a_short_recording_is_compared_as_far_as_it_goes() {
        let said = noise(40_000);
        let heard: Vec<i16> = [&[0; 777][..], &said[..9_000]].concat();
        let found = compare(&said, &heard).expect("heard");
        assert!(found.correlation > 0.9999, "{found:?}");
        assert_eq!(compare(&said, &heard[..PART - 1]), None);
    }

    #[test]
    fn what_was_left_out_is_a_shift_and_costs_a_block_or_two() {
        let said = noise(80_000);
        let heard: Vec<i16> = [&[0; 500][..], &said[..30_000], &said[30_100..]].concat();
        let found = compare(&said, &heard).expect("heard");
        assert_eq!(found.shifts, 1);
        assert!(found.correlation < 0.9999 && found.correlation > 0.99, "{found:?}");
    }

    #[test]
    fn other_sounds_and_silence_are_not_what_was_said() {
        let said = noise(40_000);
        let other: Vec<i16> = noise(60_000).split_off(20_000);
        let found = compare(&said, &other).expect("something was heard");
        assert!(found.correlation < 0.2, "{found:?}");
        let found = compare(&said, &[0; 60_000]).expect("silence");
        assert_eq!(found.correlation, 0.0);
        assert_eq!(compare(&said, &[]), None);
        assert_eq!(compare(&[0; 40_000], &said), None);
    }

    #[test]
    fn speech_comes_over_and_over() {
        assert_eq!(repeated(&[1, 2, 3], 1).len(), 8000);
        assert_eq!(repeated(&[1, 2, 3], 1)[3..6], [1, 2, 3]);
        assert!(repeated(&[], 1).is_empty());
    }
}
