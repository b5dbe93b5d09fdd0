//! Which of an origin's messages have come.

/// Messages behind the newest of which it is known whether they came: a multiple of 64.
const WINDOW: u32 = 256;
/// Older ones that have not come, of which it is known.
const MISSING: usize = 32;
/// How far behind the newest anything is known.
const FAR: u32 = 1 << 30;

/// Whether a message comes for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Once {
    /// It comes for the first time.
    First,
    /// It has come before.
    Again,
    /// Nobody knows: too many newer ones have come.
    Unknown,
    /// It was sent before its origin started anew.
    Past,
}

/// What is known of one origin's messages for this node: of those of a window behind the newest
/// each, and of older ones which have not come. A message that was sent again another way may come
/// by both, and the slower copy behind any number of newer messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// The origin's life, if anything came from it.
    life: Option<u64>,
    /// The newest number.
    newest: u32,
    /// Of each number of the window whether it came, at the number's place.
    came: [u64; WINDOW as usize / 64],
    /// Numbers behind the window that have not come, oldest first.
    missing: [u32; MISSING],
    /// How many there are.
    count: u8,
    /// Up to this number nothing is known.
    unknown: u32,
}

impl Seen {
    /// Nothing has come.
    pub const NOTHING: Seen = Seen {
        life: None,
        newest: 0,
        came: [0; WINDOW as usize / 64],
        missing: [0; MISSING],
        count: 0,
        unknown: 0,
    };

    /// Notes that a message came, by its number and its origin's life.
    pub fn note(&mut self, life: u64, number: u32) -> Once {
        if self.life > Some(life) {
            return Once::Past;
        }
        if self.life < Some(life) {
            let unknown = number.wrapping_sub(WINDOW);
            *self = Seen { life: Some(life), newest: number, unknown, ..Seen::NOTHING };
        }
        let ahead = number.wrapping_sub(self.newest) as i32;
        if ahead > 0 {
            self.advance(number, ahead as u32);
        } else if ahead <= -(WINDOW as i32) {
            return self.find(number);
        }
        if self.set(number, true) { Once::Again } else { Once::First }
    }

    /// Moves the window on to a number so far ahead.
    fn advance(&mut self, number: u32, ahead: u32) {
        // What did not come of the numbers that leave the window is missing; of more than there are
        // places for, the oldest is unknown.
        let leaving = ahead.min(WINDOW + MISSING as u32);
        if ahead > leaving {
            self.forget(number.wrapping_sub(WINDOW + MISSING as u32));
        }
        let oldest = number.wrapping_sub(WINDOW).wrapping_sub(leaving - 1);
        for n in 0..leaving {
            let left = oldest.wrapping_add(n);
            let was_in = self.newest.wrapping_sub(left) < WINDOW;
            if !(was_in && self.has(left)) {
                self.miss(left);
            }
        }
        for n in 0..ahead.min(WINDOW) {
            self.set(number.wrapping_sub(n), false);
        }
        self.newest = number;
        // Numbers go round: what is very old must not come to look as if it were ahead.
        if number.wrapping_sub(self.unknown) > FAR {
            self.forget(number.wrapping_sub(FAR));
        }
    }

    /// A number that has not come leaves the window.
    fn miss(&mut self, number: u32) {
        if (number.wrapping_sub(self.unknown) as i32) <= 0 {
            return;
        }
        if usize::from(self.count) == MISSING {
            self.forget(self.missing[0]);
        }
        self.missing[usize::from(self.count)] = number;
        self.count += 1;
    }

    /// Nothing is known any more up to a number.
    fn forget(&mut self, number: u32) {
        self.unknown = number;
        let all = &self.missing[..usize::from(self.count)];
        let old = all.iter().take_while(|one| number.wrapping_sub(**one) as i32 >= 0).count();
        self.missing.copy_within(old.., 0);
        self.count -= old as u8;
    }

    /// Whether a number behind the window comes for the first time.
    fn find(&mut self, number: u32) -> Once {
        let all = &self.missing[..usize::from(self.count)];
        if let Some(at) = all.iter().position(|one| *one == number) {
            self.missing.copy_within(at + 1.., at);
            self.count -= 1;
            return Once::First;
        }
        match number.wrapping_sub(self.unknown) as i32 {
            ..=0 => Once::Unknown,
            _ => Once::Again,
        }
    }

    fn has(&self, number: u32) -> bool {
        let place = (number % WINDOW) as usize;
        self.came[place / 64] & 1 << (place % 64) != 0
    }

    /// Sets whether a number came; whether it had before.
    fn set(&mut self, number: u32, came: bool) -> bool {
        let place = (number % WINDOW) as usize;
        let (word, bit) = (&mut self.came[place / 64], 1 << (place % 64));
        let before = *word & bit != 0;
        *word = if came { *word | bit } else { *word & !bit };
        before
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn each_number_is_new_once_in_whatever_order() {
        let mut seen = Seen::NOTHING;
        for first in [u32::MAX - 300, 0, 5000] {
            for n in [0, 2, 1, 255, 254, 3] {
                assert_eq!(seen.note(1, first.wrapping_add(n)), Once::First, "{n}");
                assert_eq!(seen.note(1, first.wrapping_add(n)), Once::Again, "{n}");
            }
        }
        assert_eq!(seen.note(1, 5000 + 400), Once::First);
        assert_eq!(seen.note(1, 5000), Once::Unknown);
        assert_eq!(seen.note(1, 5000 + 255), Once::Again);
        assert_eq!(seen.note(1, 5000 + 253), Once::First);
    }

    /// A slow copy is not taken for a message that comes late, nor the other way round.
    #[test]
    fn whatever_comes_behind_many_newer_ones_is_new_once() {
        for start in [0, u32::MAX - 500] {
            let mut seen = Seen::NOTHING;
            let note = |seen: &mut Seen, n: u32| seen.note(1, start.wrapping_add(n));
            for n in (0..5000).filter(|n| n % 200 != 7) {
                assert_eq!(note(&mut seen, n), Once::First);
            }
            for n in (0..5000).step_by(200) {
                assert_eq!(note(&mut seen, n), Once::Again, "{n}");
                assert_eq!(note(&mut seen, n + 7), Once::First, "{n}");
                assert_eq!(note(&mut seen, n + 7), Once::Again, "{n}");
            }
        }
    }

    /// All orders that leave few enough behind, beside a set of all that came.
    #[test]
    fn random_orders_are_told_as_a_set_tells_them() {
        for seed in 1..200_u32 {
            let mut random = seed.wrapping_mul(2_654_435_761);
            let mut next = |below: u32| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (random >> 8) % below
            };
            let start = next(u32::MAX >> 8).wrapping_mul(256);
            let (mut seen, mut came) = (Seen::NOTHING, std::collections::BTreeSet::new());
            let (mut newest, mut behind) = (0, std::vec::Vec::new());
            for step in 0..3000 {
                let n = match next(8) {
                    // One that was left out, one that may have come, or the next but some.
                    0 if !behind.is_empty() => {
                        behind.swap_remove(next(behind.len() as u32) as usize)
                    }
                    1 if step > 0 => newest - next(newest.min(2000) + 1),
                    _ if step == 0 => 0,
                    _ => {
                        let left = next(3).min((MISSING - behind.len()) as u32);
                        behind.extend(newest + 1..=newest + left);
                        newest += left + 1;
                        newest
                    }
                };
                behind.retain(|one| *one != n);
                let once = if came.insert(n) { Once::First } else { Once::Again };
                assert_eq!(seen.note(1, start.wrapping_add(n)), once, "{seed}: {n} of {newest}");
            }
        }
    }

    #[test]
    fn of_more_that_are_missing_than_there_are_places_the_oldest_are_unknown() {
        let mut seen = Seen::NOTHING;
        for n in (0..1000).filter(|n| n % 10 > 0) {
            assert_eq!(seen.note(1, n), Once::First);
        }
        // 740 is the newest that is missing.
        let unknown = 740 - 10 * MISSING as u32;
        for n in (0..=740).step_by(10) {
            let known = |n: u32, once: Once| if n > unknown { once } else { Once::Unknown };
            assert_eq!(seen.note(1, n), known(n, Once::First), "{n}");
            assert_eq!(seen.note(1, n + 1), known(n + 1, Once::Again), "{n}");
        }
        // A neighbour that jumps leaves nothing to go through.
        for far in [400, 1 << 30, (1 << 31) - 1] {
            let newest = 999 + far;
            assert_eq!(seen.note(1, newest), Once::First);
            assert_eq!(seen.note(1, newest - 255), Once::First);
            assert_eq!(seen.note(1, newest - 256), Once::First);
            assert_eq!(seen.note(1, newest - 256), Once::Again);
            assert_eq!(seen.note(1, newest - 256 - MISSING as u32), Once::Unknown);
            seen = Seen::NOTHING;
            assert_eq!(seen.note(1, 999), Once::First);
        }
    }

    #[test]
    fn a_new_life_begins_anew_and_the_past_does_not_come_back() {
        let mut seen = Seen::NOTHING;
        assert_eq!(seen.note(0, 7), Once::First);
        assert_eq!(seen.note(3, 7), Once::First);
        assert_eq!(seen.note(2, 8), Once::Past);
        assert_eq!(seen.note(3, 7), Once::Again);
        // In a new life a first message that was overtaken is new too.
        assert_eq!(seen.note(4, 100), Once::First);
        assert_eq!(seen.note(4, 99), Once::First);
    }
}
