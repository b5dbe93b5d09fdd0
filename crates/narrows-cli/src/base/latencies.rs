//! Latencies of a run of any length, counted in a histogram whose memory does not grow with them.

use super::failure::Failure;
use super::output;
use super::statistics::Summary;
use hdrhistogram::Histogram;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Significant decimal digits that are kept of a latency: a figure is at most a thousandth above
/// what was measured.
const DIGITS: u8 = 3;
/// Values that a histogram of this many digits tells apart in a power of two.
const SUB_BUCKETS: u32 = 2048;
/// What is counted without making room first, in picoseconds: up to ten seconds.
const USUAL: u64 = 10_000_000_000_000;
/// Lines of a distribution for each halving of the distance to the largest.
const TICKS: u32 = 5;
/// Picoseconds of a nanosecond and of a microsecond.
const NANO: f64 = 1e3;
const MICRO: f64 = 1e6;

/// How often which latency was measured.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// In picoseconds, of which simulated times are made.
    counts: Histogram<u64>,
    // The histogram has these with fewer digits.
    min: f64,
    max: f64,
    sum: f64,
}

impl Default for Latencies {
    fn default() -> Latencies {
        let mut counts = Histogram::new_with_bounds(1, USUAL, DIGITS)
            .expect("the digits and bounds are those of a histogram");
        counts.auto(true);
        Latencies { counts, min: f64::INFINITY, max: 0.0, sum: 0.0 }
    }
}

impl Latencies {
    /// Counts a latency in nanoseconds.
    pub fn push(&mut self, nanos: f64) {
        let nanos = nanos.max(0.0);
        // It grows as far as numbers do.
        let _ = self.counts.record((nanos * NANO).round() as u64);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
        self.sum += nanos;
    }

    /// Counts a latency.
    pub fn add(&mut self, latency: Duration) {
        self.push(latency.as_nanos() as f64);
    }

    /// Counts all of another.
    pub fn join(&mut self, other: &Latencies) {
        // As in `push`.
        let _ = self.counts.add(&other.counts);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.counts.len()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.counts.reset();
        (self.min, self.max, self.sum) = (f64::INFINITY, 0.0, 0.0);
    }

    /// The figures in nanoseconds, each less `deducted` but not below zero. All zero if there are
    /// none.
    pub fn summary(&self, deducted: f64) -> Summary {
        if self.total() == 0 {
            return Summary::default();
        }
        let less = |nanos: f64| (nanos - deducted).max(0.0);
        let at = |part| less((self.counts.value_at_quantile(part) as f64 / NANO).min(self.max));
        Summary {
            median: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
            max: less(self.max),
        }
    }

    /// The smallest and the mean in nanoseconds, each less `deducted` but not below zero; zero if
    /// there are none.
    pub fn least_and_mean(&self, deducted: f64) -> (f64, f64) {
        match self.total() {
            0 => (0.0, 0.0),
            count => {
                ((self.min - deducted).max(0.0), (self.sum / count as f64 - deducted).max(0.0))
            }
        }
    }

    /// Their standard deviation in nanoseconds; 0 if there are none.
    pub fn deviation(&self) -> f64 {
        self.counts.stdev() / NANO
    }

    /// The distribution as points: for each N, in microseconds what one latency of N exceeds. Less
    /// `deducted` nanoseconds but not below zero.
    pub fn points(&self, deducted: f64) -> Vec<(f64, f64)> {
        let largest = self.total() as f64;
        let points = self.counts.iter_quantiles(TICKS).map(|step| {
            let value = (step.value_iterated_to() as f64).min(self.max * NANO);
            let one_of = 1.0 / (1.0 - step.quantile_iterated_to());
            (one_of.min(largest), (value - deducted * NANO).max(0.0) / MICRO)
        });
        let mut points: Vec<(f64, f64)> = points.collect();
        points.dedup();
        points
    }

    /// The percentile distribution in microseconds, each less `deducted` nanoseconds but not below
    /// zero, in the form in which HdrHistogram writes it and its plotter reads it.
    pub fn distribution(&self, deducted: f64) -> String {
        let mut text = format!(
            "{:>12} {:>14} {:>10} {:>14}\n\n",
            "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
        );
        let less = |picos: f64| (picos - deducted * NANO).max(0.0) / MICRO;
        let mut seen = 0;
        for step in self.counts.iter_quantiles(TICKS) {
            seen += step.count_since_last_iteration();
            let value = less((step.value_iterated_to() as f64).min(self.max * NANO));
            let part = step.quantile_iterated_to();
            text += &format!("{value:12.3} {part:14.12} {seen:10}");
            if part < 1.0 {
                text += &format!(" {:14.2}", 1.0 / (1.0 - part));
            }
            text.push('\n');
        }
        let (mean, max) = (less(self.counts.mean()), less(self.max * NANO));
        let deviation = self.counts.stdev() / MICRO;
        let buckets = self.counts.buckets();
        text += &format!("#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]\n");
        text += &format!("#[Max     = {max:12.3}, Total count    = {:12}]\n", self.total());
        text + &format!("#[Buckets = {buckets:12}, SubBuckets     = {SUB_BUCKETS:12}]\n")
    }
}

/// Writes distributions, each with what it is of: one to the file, several to one each, whose name
/// says what it is of.
///
/// # Errors
/// [`Kind::Output`](super::failure::Kind) if one cannot be written.
pub fn write(path: &Path, all: &[(String, String)]) -> Result<(), Failure> {
    match all {
        [(_, text)] => output::write_file(path, text.as_bytes()),
        all => all
            .iter()
            .try_for_each(|(of, text)| output::write_file(&named(path, of), text.as_bytes())),
    }
}

/// The file beside a path for what has that name.
fn named(path: &Path, of: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let of: String = of.chars().map(plain).collect();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}-{of}");
    if let Some(ending) = path.extension() {
        name += &format!(".{}", ending.to_string_lossy());
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(count: u32) -> Latencies {
        let mut all = Latencies::default();
        (1..=count).for_each(|nanos| all.push(f64::from(nanos)));
        all
    }

    /// Whether a figure is what was measured, or up to a thousandth more.
    fn near(figure: f64, measured: f64) -> bool {
        (measured..=measured * 1.001).contains(&figure)
    }

    #[test]
    fn figures_are_at_most_a_thousandth_above_what_was_measured() {
        let all = up_to(1_000_000);
        let found = all.summary(0.0);
        for (figure, measured) in [
            (found.median, 500_000.0),
            (found.p99, 990_000.0),
            (found.p999, 999_000.0),
            (found.p9999, 999_900.0),
        ] {
            assert!(near(figure, measured), "{figure} for {measured}");
        }
        assert_eq!(found.max, 1_000_000.0);
        assert_eq!(all.least_and_mean(1.0), (0.0, 499_999.5));
        assert!((all.deviation() / 288_675.0 - 1.0).abs() < 0.001, "{}", all.deviation());
        let less = all.summary(400_000.0);
        assert!(near(less.median + 400_000.0, 500_000.0), "{less:?}");
        assert_eq!(all.summary(2e6), Summary::default());
    }

    #[test]
    fn the_histogram_and_a_list_have_the_same_rule() {
        for count in [1, 2, 3, 4, 99, 100, 101, 1000] {
            let mut list: Vec<f64> = (1..=count).map(|n| f64::from(n) * 1e4).collect();
            let mut all = Latencies::default();
            list.iter().for_each(|nanos| all.push(*nanos));
            let (found, exact) = (all.summary(0.0), Summary::of(&mut list).unwrap());
            for (figure, measured) in [
                (found.median, exact.median),
                (found.p99, exact.p99),
                (found.p999, exact.p999),
                (found.max, exact.max),
            ] {
                assert!(near(figure, measured), "{figure} for {measured} of {count}");
            }
        }
    }

    #[test]
    fn points_say_what_one_of_many_exceeds() {
        let points = up_to(10_000).points(0.0);
        assert!(points.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 <= two[1].1));
        let half = points.iter().find(|(one_of, _)| *one_of == 2.0).unwrap();
        assert!(near(half.1, 5.0), "{half:?}");
        assert_eq!(points.last(), Some(&(10_000.0, 10.0)));
        assert!(Latencies::default().points(0.0).is_empty());
    }

    #[test]
    fn several_distributions_have_a_file_each() {
        let of = |path: &str| named(Path::new(path), "voice-copy/poll=5ms/internal");
        assert_eq!(of("a/b.hgrm"), Path::new("a/b-voice-copy_poll_5ms_internal.hgrm"));
        assert_eq!(of("b"), Path::new("b-voice-copy_poll_5ms_internal"));
    }

    #[test]
    fn none_are_zero_and_the_longest_is_counted() {
        let mut all = Latencies::default();
        assert_eq!((all.summary(1.0), all.least_and_mean(1.0)), (Summary::default(), (0.0, 0.0)));
        all.add(Duration::from_secs(24 * 3600));
        assert_eq!((all.total(), all.summary(0.0).max), (1, 86_400e9));
        assert_eq!(all.summary(0.0).median, 86_400e9);
        all.join(&up_to(10));
        assert_eq!((all.total(), all.least_and_mean(0.0).0), (11, 1.0));
        all.clear();
        assert_eq!((all.total(), all.summary(0.0)), (0, Summary::default()));
    }

    #[test]
    fn the_distribution_is_as_its_plotter_reads_it() {
        let text = up_to(10_000).distribution(0.0);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0].split_whitespace().collect::<Vec<_>>(),
            ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
        );
        let rows: Vec<Vec<f64>> = lines[2..]
            .iter()
            .take_while(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
            .collect();
        assert!(rows.windows(2).all(|two| two[0][0] <= two[1][0] && two[0][2] <= two[1][2]));
        let middle = rows.iter().find(|row| row[1] == 0.5).unwrap();
        assert!(near(middle[0], 5.0) && middle[3] == 2.0, "{middle:?}");
        let last = rows.last().unwrap();
        assert!(last.len() == 3 && last[1] == 1.0 && last[2] == 10_000.0, "{last:?}");
        assert!(text.contains("Total count    =        10000]"), "{text}");
    }
}
