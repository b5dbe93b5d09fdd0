//! The codec against the tables of the Recommendation, value by value.

use super::*;

/// One positive interval: where it begins and ends, and its quantised value, all in 16 bits.
struct Interval {
    begin: i32,
    end: i32,
    value: i16,
}

/// The intervals as tables 1a and 2a define them: (number of intervals, width) per line, in
/// the table's own unit, which is `unit` steps of a 16-bit sample.
fn intervals(lines: &[(usize, i32)], unit: i32) -> Vec<Interval> {
    let mut all = Vec::new();
    let mut begin = 0;
    for &(count, width) in lines {
        for _ in 0..count {
            let end = begin + width * unit;
            let middle = (begin + end) / 2;
            all.push(Interval { begin, end, value: i16::try_from(middle).unwrap() });
            begin = end;
        }
    }
    all
}

fn table(law: Law) -> Vec<Interval> {
    match law {
        Law::A => {
            let lines = [(32, 2), (16, 4), (16, 8), (16, 16), (16, 32), (16, 64), (16, 128)];
            intervals(&lines, 8)
        }
        Law::Mu => {
            let lines = [
                (1, 1),
                (15, 2),
                (16, 4),
                (16, 8),
                (16, 16),
                (16, 32),
                (16, 64),
                (16, 128),
                (16, 256),
            ];
            let mut all = intervals(&lines, 4);
            // The first interval of mu-law reaches as far below zero, so its middle is zero.
            all[0].value = 0;
            all
        }
    }
}

/// The character signal of interval `n`, written bit by bit as in the tables.
fn signal(law: Law, n: usize, negative: bool) -> u8 {
    let n = u8::try_from(n).unwrap();
    match law {
        Law::A => (n | if negative { 0 } else { 0x80 }) ^ 0b0101_0101,
        Law::Mu => (0x7f - n) | if negative { 0 } else { 0x80 },
    }
}

#[test]
fn the_tables_have_the_ends_that_the_recommendation_gives() {
    assert_eq!(table(Law::A).len(), 128);
    assert_eq!(table(Law::A)[127].end, 4096 * 8);
    assert_eq!(table(Law::Mu).len(), 128);
    assert_eq!(table(Law::Mu)[127].end, 8159 * 4);
    assert_eq!(table(Law::Mu)[127].value, 8031 * 4);
}

#[test]
fn every_sample_gets_the_code_of_its_interval() {
    for law in [Law::A, Law::Mu] {
        let table = table(law);
        for sample in i16::MIN..=i16::MAX {
            let negative = sample < 0;
            let size = if negative { -1 - i32::from(sample) } else { i32::from(sample) };
            let n =
                table.iter().position(|one| (one.begin..one.end).contains(&size)).unwrap_or(127);
            assert_eq!(encode_sample(law, sample), signal(law, n, negative), "{law:?} {sample}");
        }
    }
}

#[test]
fn every_code_gets_the_value_of_its_interval() {
    for law in [Law::A, Law::Mu] {
        for (n, one) in table(law).iter().enumerate() {
            assert_eq!(decode_sample(law, signal(law, n, false)), one.value, "{law:?} {n}");
            assert_eq!(decode_sample(law, signal(law, n, true)), -one.value, "{law:?} -{n}");
        }
    }
}

#[test]
fn decoding_and_encoding_again_changes_nothing() {
    for law in [Law::A, Law::Mu] {
        for code in 0..=u8::MAX {
            let again = encode_sample(law, decode_sample(law, code));
            // Mu-law has two codes for zero; the negative one comes back as the positive one.
            let expected = if (law, code) == (Law::Mu, 0x7f) { 0xff } else { code };
            assert_eq!(again, expected, "{law:?} {code:#04x}");
        }
    }
}

#[test]
fn known_codes() {
    for (law, sample, code) in [
        (Law::A, 0, 0xd5),
        (Law::A, -1, 0x55),
        (Law::A, i16::MAX, 0xaa),
        (Law::A, i16::MIN, 0x2a),
        (Law::Mu, 0, 0xff),
        (Law::Mu, -1, 0x7f),
        (Law::Mu, i16::MAX, 0x80),
        (Law::Mu, i16::MIN, 0x00),
    ] {
        assert_eq!(encode_sample(law, sample), code, "{law:?} {sample}");
    }
}

/// Tables 5 and 6 give the codes of a sine of 1 kHz at 0 dBm0, eight samples a turn.
#[test]
fn the_reference_sine_is_a_sine() {
    for (law, codes) in [
        (Law::A, [0x34, 0x21, 0x21, 0x34, 0xb4, 0xa1, 0xa1, 0xb4]),
        (Law::Mu, [0x1e, 0x0b, 0x0b, 0x1e, 0x9e, 0x8b, 0x8b, 0x9e]),
    ] {
        let found = codes.map(|code| f64::from(decode_sample(law, code)));
        for (turn, value) in found.iter().enumerate() {
            let angle = (turn as f64 + 0.5) * std::f64::consts::FRAC_PI_4;
            let ideal = -angle.sin() * found[5] / (std::f64::consts::FRAC_PI_8 * 3.0).sin();
            assert!((value - ideal).abs() < 0.05 * found[5], "{law:?} {turn}: {value} {ideal}");
        }
    }
}

#[test]
fn frames_are_samples_one_after_the_other() {
    let samples: Vec<i16> = (0..160).map(|n| n * 200 - 16_000).collect();
    let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    for law in [Law::A, Law::Mu] {
        let mut codes = [0; 160];
        assert_eq!(encode(law, &bytes, &mut codes), Ok(160));
        let mut back = [0; 320];
        assert_eq!(decode(law, &codes, &mut back), Ok(320));
        for (n, sample) in samples.iter().enumerate() {
            assert_eq!(codes[n], encode_sample(law, *sample));
            let value = i16::from_le_bytes([back[2 * n], back[2 * n + 1]]);
            assert_eq!(value, decode_sample(law, codes[n]));
        }
        assert_eq!(encode(law, &bytes[1..], &mut codes), Err(Refusal::Request));
        assert_eq!(encode(law, &bytes, &mut codes[1..]), Err(Refusal::Response));
        assert_eq!(decode(law, &codes, &mut back[1..]), Err(Refusal::Response));
    }
}
