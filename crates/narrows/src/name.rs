//! Names of nodes and functions.

use core::fmt;
use core::str::FromStr;

/// A name of 1 to 31 characters out of `A`–`Z`, `a`–`z`, `0`–`9`, `.`, `_` and `-`, not starting
/// with a dot, so that it can be a file's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    // First, and 0 behind the name: names are in the order of their letters.
    bytes: [u8; Name::MAX],
    len: u8,
}

/// Not a [`Name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameError;

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name has 1 to 31 letters, digits, '.', '_' or '-' and starts with no dot")
    }
}

impl core::error::Error for NameError {}

impl Name {
    /// The most characters.
    pub const MAX: usize = 31;

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.len)).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Name, NameError> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let ok = !text.is_empty()
            && text.len() <= Name::MAX
            && !text.starts_with('.')
            && text.bytes().all(fits);
        if !ok {
            return Err(NameError);
        }
        let mut name = Name { len: text.len() as u8, bytes: [0; Name::MAX] };
        name.bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({})", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn a_name_is_said_as_it_is_written() {
        let name: Name = "dsp.2".parse().expect("a name");
        assert_eq!(format!("{name}|{name:>7}|{name:?}"), "dsp.2|  dsp.2|Name(dsp.2)");
    }

    #[test]
    fn names_are_in_the_order_of_their_letters() {
        let sorted = ["arm", "dsp", "dsp.1", "dsp.10", "dsp.2", "gpp"];
        let names = sorted.map(|name| name.parse::<Name>().expect("a name"));
        assert!(names.is_sorted(), "{names:?}");
    }
}
