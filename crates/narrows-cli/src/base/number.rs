//! Numbers on the command line: `48`, `1e6`, `1M`, and sizes such as `64KiB`.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// What a number may end with, and by how much that multiplies it.
const THOUSANDS: [(&str, u64); 4] =
    [("k", 1000), ("K", 1000), ("M", 1_000_000), ("G", 1_000_000_000)];
/// As above, for bytes.
const BYTES: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];
/// The whole numbers that a floating-point number has exactly.
const EXACT: f64 = (1_u64 << 53) as f64;

/// A whole number: digits, or with a fraction or an exponent that leave none.
fn whole(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let unit = units.iter().find_map(|(unit, times)| Some((text.strip_suffix(unit)?, *times)));
    let (digits, times) = unit.unwrap_or((text, 1));
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if let Ok(number) = digits.parse::<u64>() {
        return number.checked_mul(times);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+".contains(&byte)) {
        return None;
    }
    let number = digits.parse::<f64>().ok()? * times as f64;
    (number.fract() == 0.0 && number < EXACT).then_some(number as u64)
}

fn within<T: TryFrom<u64>>(number: Option<u64>, range: &RangeInclusive<u64>) -> Option<T> {
    number.filter(|number| range.contains(number)).and_then(|number| T::try_from(number).ok())
}

/// Reads a number of things within a range.
pub fn number<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        within(whole(text, &THOUSANDS), &range)
            .ok_or_else(|| expected("a whole number", &range, "1000, 1k or 1e3"))
    }
}

/// Reads a size in bytes within a range.
pub fn size<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let bytes = whole(text, &BYTES).or_else(|| whole(text, &THOUSANDS));
        within(bytes, &range)
            .ok_or_else(|| expected("bytes", &range, "48, 64KiB (65536), 64k (64000) or 1e6"))
    }
}

fn expected(what: &str, range: &RangeInclusive<u64>, such: impl Display) -> String {
    match (range.start(), range.end()) {
        (0, &u64::MAX) => format!("expected {what}, such as {such}"),
        (least, &u64::MAX) => format!("expected {what}, at least {least}, such as {such}"),
        (least, most) => format!("expected {what} from {least} to {most}, such as {such}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_sizes_take_what_people_write() {
        let count = number::<u64>(0..=u64::MAX);
        let size = size::<u32>(1..=u64::from(u32::MAX));
        for (text, expected) in [("0", 0), ("48", 48), ("1e6", 1_000_000), ("1M", 1_000_000)] {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
        assert_eq!((count("2.5k"), count("1E3"), count("1e+3")), (Ok(2500), Ok(1000), Ok(1000)));
        for (text, expected) in
            [("48", 48), ("64KiB", 65536), ("1MiB", 1 << 20), ("64k", 64000), ("1.5KiB", 1536)]
        {
            assert_eq!(size(text), Ok(expected), "{text}");
        }
        assert_eq!((size("12B"), size("1e6"), size("2MB")), (Ok(12), Ok(1_000_000), Ok(2_000_000)));
    }

    #[test]
    fn what_is_no_such_number_is_refused_with_what_is() {
        let count = number::<u16>(1..=1000);
        for text in ["", "0", "1001", "1M", "-1", "+1", "1.5", "1e-3", "nan", "inf", "k", "1 k"] {
            let expected = "expected a whole number from 1 to 1000, such as 1000, 1k or 1e3";
            assert_eq!(count(text), Err(expected.into()), "{text}");
        }
        let size = size::<u32>(0..=u64::from(u32::MAX));
        for text in ["4GiB", "4294967296", "1KB", "one", "0x10", "1e400"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
