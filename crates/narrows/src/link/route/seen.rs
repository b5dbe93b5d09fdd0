//! Which of an origin's messages have come.

/// Messages behind the newest of which it is known whether they came: a multiple of 64.
const WINDOW: u32 = 256;

/// Whether a message comes for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Once {
    /// It does.
    First,
    /// It has come before.
    Again,
    /// So many newer ones have come that nobody knows.
    Unknown,
    /// It was sent before its origin started anew.
    Past,
}

/// What is known of one origin's messages for this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// The origin's life, if anything came from it.
    life: Option<u64>,
    /// The newest number.
    newest: u32,
    /// Of each number of the window whether it came, at the number's place.
    came: [u64; WINDOW as usize / 64],
}

impl Seen {
    /// Nothing has come.
    pub const NOTHING: Seen = Seen { life: None, newest: 0, came: [0; WINDOW as usize / 64] };

    /// Notes that a message came, by its number and its origin's life.
    pub fn note(&mut self, life: u64, number: u32) -> Once {
        if self.life > Some(life) {
            return Once::Past;
        }
        if self.life < Some(life) {
            *self = Seen { life: Some(life), newest: number, ..Seen::NOTHING };
        }
        let ahead = number.wrapping_sub(self.newest) as i32;
        if ahead > 0 {
            let skipped = (ahead as u32).min(WINDOW);
            for n in 0..skipped {
                self.set(number.wrapping_sub(n), false);
            }
            self.newest = number;
        } else if ahead <= -(WINDOW as i32) {
            return Once::Unknown;
        }
        if self.set(number, true) { Once::Again } else { Once::First }
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
