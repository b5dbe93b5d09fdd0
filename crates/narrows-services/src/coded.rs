//! Values that serde encodes: for types that do not lie in memory in one piece.

use std::any::type_name;
use std::ops::Deref;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::typed::Payload;

/// A value with its encoding, which is postcard's: for text, lists of lists, enums and options, of
/// which a [`Typed`](crate::Typed) one has none.
///
/// Two programs compare the type's name, with its path: they have it from one crate. What it has
/// inside is not compared. Bytes that are no encoding of it are an error, as are bytes behind one.
/// A message, and a response, has at most as many bytes as `longest` says.
///
/// ```
/// use narrows_services::{Coded, Node, Options};
/// # let dir = tempfile::tempdir()?;
/// # let options = Options::new("camera").directory(dir.path());
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Sight {
///     name: String,
///     labels: Vec<(String, f32)>,
/// }
///
/// let camera = Node::with(options)?;
/// let sights = camera.topic("sights").longest(4096).publisher::<Coded<Sight>>()?;
/// let sight = Sight { name: "door".into(), labels: vec![("open".into(), 0.9)] };
/// sights.send(&Coded::new(sight)?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coded<T> {
    value: T,
    bytes: Vec<u8>,
}

impl<T: Serialize> Coded<T> {
    /// Encodes a value.
    ///
    /// # Errors
    /// [`Error::Encoding`] if its `Serialize` fails, as that of a sequence of unknown length does.
    pub fn new(value: T) -> Result<Coded<T>, Error> {
        let failed = |error: postcard::Error| {
            Error::Encoding(type_name::<T>().to_owned(), error.to_string())
        };
        let bytes = postcard::to_stdvec(&value).map_err(failed)?;
        Ok(Coded { value, bytes })
    }
}

impl<T> Coded<T> {
    /// The value alone.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> Deref for Coded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Serialize + DeserializeOwned> Payload for Coded<T> {
    type Owned = Coded<T>;

    fn describe(text: &mut String) {
        text.push_str("Coded{");
        // What is compared has no space.
        text.extend(type_name::<T>().chars().filter(|letter| !letter.is_whitespace()));
        text.push('}');
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn longest(values: usize) -> usize {
        values
    }

    // It lies nowhere as a value.
    fn of(_bytes: &[u8]) -> Option<&Coded<T>> {
        None
    }

    fn of_mut(_bytes: &mut [u8]) -> Option<&mut Coded<T>> {
        None
    }

    fn receive<E>(
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
        wrong: impl FnOnce() -> E,
    ) -> Result<Coded<T>, E> {
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(len).is_err() {
            return Err(wrong());
        }
        bytes.resize(len, 0);
        let filled = fill(&mut bytes)?;
        if filled > len {
            return Err(wrong());
        }
        bytes.truncate(filled);
        match postcard::take_from_bytes(&bytes) {
            Ok((value, [])) => Ok(Coded { value, bytes }),
            _ => Err(wrong()),
        }
    }
}
