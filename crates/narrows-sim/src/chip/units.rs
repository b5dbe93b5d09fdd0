//! Numbers with units, exactly: a decimal fraction is scaled, never rounded.

use crate::time::{Frequency, Time};

/// Units and the powers of ten that they stand for.
type Units<'a> = &'a [(&'a str, u32)];

const TIMES: Units<'_> = &[("ps", 0), ("ns", 3), ("us", 6), ("µs", 6), ("ms", 9), ("s", 12)];
const FREQUENCIES: Units<'_> = &[("Hz", 0), ("kHz", 3), ("MHz", 6), ("GHz", 9)];
const SIZES: [(&str, u32); 4] = [("B", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30)];

/// A time such as `133.2us`.
pub(super) fn time(text: &str) -> Option<Time> {
    scaled(text, TIMES).map(Time)
}

/// A frequency such as `297MHz`.
pub(super) fn frequency(text: &str) -> Option<Frequency> {
    scaled(text, FREQUENCIES).map(Frequency)
}

/// A size such as `16KiB`.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let (_, power) = SIZES.iter().find(|(name, _)| *name == unit)?;
    whole(number)?.checked_mul(1 << power)
}

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

/// The number in the smallest of the units, if it is a whole one of those.
fn scaled(text: &str, units: Units<'_>) -> Option<u64> {
    let (number, unit) = split(text);
    let (_, power) = units.iter().find(|(name, _)| *name == unit)?;
    let (before, after) = match number.split_once('.') {
        Some((before, after)) => (before, Some(after)),
        None => (number, None),
    };
    let unit = 10_u64.checked_pow(*power)?;
    let large = whole(before)?.checked_mul(unit)?;
    let Some(after) = after else { return Some(large) };
    let digits = whole(after)?;
    let parts = 10_u64.checked_pow(u32::try_from(after.len()).ok()?)?;
    let small = u128::from(digits) * u128::from(unit);
    if !small.is_multiple_of(u128::from(parts)) {
        return None;
    }
    large.checked_add(u64::try_from(small / u128::from(parts)).ok()?)
}

/// Digits and nothing else, at least one.
fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_exact() {
        let picos = |text| time(text).map(|time| time.0);
        assert_eq!(picos("133.2us"), Some(133_200_000));
        assert_eq!(picos("10ns"), Some(10_000));
        assert_eq!(picos("0.001ns"), Some(1));
        assert_eq!(picos("1.5µs"), Some(1_500_000));
        assert_eq!(picos("2s"), Some(2_000_000_000_000));
        assert_eq!(picos("0.100000000000s"), Some(100_000_000_000));
        assert_eq!(frequency("32.768kHz"), Some(Frequency(32_768)));
        assert_eq!(frequency("297MHz"), Some(Frequency(297_000_000)));
        assert_eq!(bytes("16KiB"), Some(16_384));
        assert_eq!(bytes("3B"), Some(3));
    }

    #[test]
    fn what_is_no_number_with_a_unit_is_none() {
        for text in [
            "",
            "1",
            "us",
            "1us ",
            " 1us",
            "-1us",
            "+1us",
            "1,5us",
            "1.us",
            ".5us",
            "1.5.2us",
            "1e3us",
            "0.0001ns",
            "99999999999999999999ns",
            "20000000s",
            "1US",
            "1m",
            "0.00000000000000000001s",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
        for text in ["", "MHz", "297", "297mhz", "0.5Hz", "1.0000000001GHz"] {
            assert_eq!(frequency(text), None, "{text}");
        }
        for text in ["", "16", "16KB", "1.5KiB", "99999999999GiB", "16 KiB"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
