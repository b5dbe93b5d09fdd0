//! A number that tells texts apart.

use std::fmt;

/// Of everything that was added, in that order: FNV-1a with 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds some bytes. Where they end counts: two texts are told from one.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().copied().chain((bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_apart() {
        let of = |texts: &[&str]| {
            let mut print = Fingerprint::default();
            texts.iter().for_each(|text| print.add(text.as_bytes()));
            print.to_string()
        };
        let all = [of(&[]), of(&[""]), of(&["ab"]), of(&["a", "b"]), of(&["ba"]), of(&["b", "a"])];
        for (at, one) in all.iter().enumerate() {
            assert_eq!(one.len(), 16);
            assert!(!all[..at].contains(one), "{at}");
        }
    }
}
