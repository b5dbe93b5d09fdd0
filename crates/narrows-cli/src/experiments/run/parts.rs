//! Round trips by the part of the run in which they came, so that the median of each part can be
//! told: what medians of parts differ by is the noise within a run.

use crate::base::statistics::median;
use fastrand::Rng;

/// Parts of a run.
pub(super) const PARTS: u32 = 20;
/// Round trips that are kept of a part: if there are more, a sample that is drawn evenly.
const KEPT: usize = 256;

/// The round trips of each part.
pub(crate) struct Parts {
    random: Rng,
    /// How many there were, and those that are kept, in nanoseconds.
    parts: Vec<(u64, Vec<f64>)>,
}

impl Default for Parts {
    /// With room for all, so that counting takes none.
    fn default() -> Parts {
        let parts = (0..PARTS).map(|_| (0, Vec::with_capacity(KEPT))).collect();
        Parts { random: Rng::with_seed(1), parts }
    }
}

impl Parts {
    /// Counts a round trip of the part of that number.
    pub fn push(&mut self, part: usize, nanos: f64) {
        let Some((seen, kept)) = self.parts.get_mut(part) else { return };
        *seen += 1;
        if kept.len() < KEPT {
            kept.push(nanos);
        } else if let Some(one) = kept.get_mut(self.random.u64(..*seen) as usize) {
            *one = nanos;
        }
    }

    /// The median of each part that has any.
    pub fn medians(&self) -> Vec<f64> {
        self.parts.iter().filter_map(|(_, kept)| median(&mut kept.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_median_also_of_more_than_are_kept() {
        let mut parts = Parts::default();
        for n in 0..100_000_u32 {
            parts.push(0, f64::from(n));
        }
        [7.0, 9.0, 8.0].into_iter().for_each(|nanos| parts.push(3, nanos));
        parts.push(PARTS as usize, 1.0);
        let [first, second] = parts.medians()[..] else { panic!("{:?}", parts.medians()) };
        assert!((40_000.0..60_000.0).contains(&first), "{first}");
        assert_eq!(second, 8.0);
        assert!(parts.parts.iter().all(|(_, kept)| kept.capacity() == KEPT));
    }
}
