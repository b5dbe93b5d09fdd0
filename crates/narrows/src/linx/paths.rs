//! Names with the links that lead to them.

use core::str::FromStr;

use crate::name::Name;

/// Where something is looked for: the names of the links to it, each followed by a slash, and its
/// own name; without that, the last link itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    len: u8,
    bytes: [u8; Path::MAX],
}

/// Not a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathError;

impl core::fmt::Display for PathError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "a path is names of links and of an endpoint with slashes between them, at most {} \
             characters",
            Path::MAX
        )
    }
}

impl core::error::Error for PathError {}

impl Path {
    /// The most bytes.
    pub const MAX: usize = 127;

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.len)).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The first link and what is behind it; none if it is a name without links.
    #[must_use]
    pub fn split(&self) -> Option<(Name, &str)> {
        let (link, rest) = self.as_str().split_once('/')?;
        Some((link.parse().ok()?, rest))
    }

    /// The name, if there are no links before it.
    #[must_use]
    pub fn plain(&self) -> Option<Name> {
        self.as_str().parse().ok()
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Path, PathError> {
        let (links, last) = text.rsplit_once('/').unwrap_or(("", text));
        let named = |part: &str| part.parse::<Name>().is_ok();
        let through = last.len() < text.len();
        let ok = text.len() <= Path::MAX
            && (named(last) || (last.is_empty() && through))
            && (!through || links.split('/').all(named));
        if !ok {
            return Err(PathError);
        }
        let mut path = Path { len: text.len() as u8, bytes: [0; Path::MAX] };
        path.bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(path)
    }
}
