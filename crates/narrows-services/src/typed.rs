//! Types whose values travel as they lie in memory, and what two programs compare of them.

use std::fmt::Write as _;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A type of which any bytes are a value, and whose layout is the same in every program that
/// describes it alike. Derive it, with what it needs of zerocopy:
///
/// ```
/// use narrows_services::{FromBytes, Immutable, IntoBytes, KnownLayout, Typed};
///
/// #[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
/// #[repr(C)]
/// struct Reading {
///     sensor: u32,
///     celsius: f32,
/// }
///
/// assert_eq!(narrows_services::described::<Reading>(), "Reading{sensor@0:u32,celsius@4:f32}8");
/// ```
///
/// A type that has bits which are no value cannot be derived:
///
/// ```compile_fail
/// # use narrows_services::{FromBytes, Immutable, IntoBytes, KnownLayout, Typed};
/// #[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
/// #[repr(C)]
/// struct Door {
///     open: bool,
/// }
/// ```
///
/// Nor one with a gap, whose bytes would say what was in this program's memory before:
///
/// ```compile_fail
/// # use narrows_services::{FromBytes, Immutable, IntoBytes, KnownLayout, Typed};
/// #[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
/// #[repr(C)]
/// struct Gap {
///     short: u8,
///     long: u32,
/// }
/// ```
pub trait Typed: FromBytes + IntoBytes + Immutable + KnownLayout {
    /// Adds what there is to compare: name, fields and size, without a space.
    fn describe(text: &mut String);
}

macro_rules! plain {
    ($($kind:ident)*) => {
        $(impl Typed for $kind {
            fn describe(text: &mut String) {
                text.push_str(stringify!($kind));
            }
        })*
    };
}

plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

/// Nothing: what a function takes or gives that needs no bytes.
impl Typed for () {
    fn describe(text: &mut String) {
        text.push_str("()");
    }
}

impl<T: Typed, const N: usize> Typed for [T; N] {
    fn describe(text: &mut String) {
        text.push('[');
        T::describe(text);
        let _ = write!(text, ";{N}]");
    }
}

/// The description of a struct, as the derive writes it.
#[derive(Debug)]
pub struct Struct<'a> {
    text: &'a mut String,
    first: bool,
}

impl<'a> Struct<'a> {
    /// Begins with its name.
    pub fn new(text: &'a mut String, name: &str) -> Struct<'a> {
        text.push_str(name);
        text.push('{');
        Struct { text, first: true }
    }

    /// A field of this name at this place.
    #[must_use]
    pub fn field<T: Typed>(mut self, name: &str, at: usize) -> Struct<'a> {
        if !std::mem::take(&mut self.first) {
            self.text.push(',');
        }
        let _ = write!(self.text, "{name}@{at}:");
        T::describe(self.text);
        self
    }

    /// Ends with its size in bytes.
    pub fn end(self, size: usize) {
        let _ = write!(self.text, "}}{size}");
    }
}

/// What a message, a request or a response carries: a value, or a slice of values whose number
/// differs from message to message.
pub trait Payload {
    /// What a receiver of it has.
    type Owned: std::borrow::Borrow<Self>;

    /// As [`Typed::describe`].
    fn describe(text: &mut String);

    /// Its bytes.
    fn bytes(&self) -> &[u8];

    /// Bytes of the longest one, if there are at most `values` values.
    fn longest(values: usize) -> usize;

    /// The value that lies in these bytes; none if they are not as long as one.
    fn of(bytes: &[u8]) -> Option<&Self>;

    /// The same, to be written.
    fn of_mut(bytes: &mut [u8]) -> Option<&mut Self>;

    /// Makes one of up to `len` bytes, which `fill` writes; it says how many. No value may have
    /// that length, which is `wrong` then.
    fn receive<E>(
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
        wrong: impl FnOnce() -> E,
    ) -> Result<Self::Owned, E>;
}

impl<T: Typed> Payload for T {
    type Owned = T;

    fn describe(text: &mut String) {
        T::describe(text);
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    fn longest(_values: usize) -> usize {
        size_of::<T>()
    }

    #[inline]
    fn of(bytes: &[u8]) -> Option<&T> {
        T::ref_from_bytes(bytes).ok()
    }

    #[inline]
    fn of_mut(bytes: &mut [u8]) -> Option<&mut T> {
        T::mut_from_bytes(bytes).ok()
    }

    #[inline]
    fn receive<E>(
        _len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
        wrong: impl FnOnce() -> E,
    ) -> Result<T, E> {
        let mut value = T::new_zeroed();
        if fill(value.as_mut_bytes())? == size_of::<T>() { Ok(value) } else { Err(wrong()) }
    }
}

impl<T: Typed> Payload for [T] {
    type Owned = Vec<T>;

    fn describe(text: &mut String) {
        text.push('[');
        T::describe(text);
        text.push(']');
    }

    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    fn longest(values: usize) -> usize {
        size_of::<T>().saturating_mul(values)
    }

    fn of(bytes: &[u8]) -> Option<&[T]> {
        <[T]>::ref_from_bytes(bytes).ok()
    }

    fn of_mut(bytes: &mut [u8]) -> Option<&mut [T]> {
        <[T]>::mut_from_bytes(bytes).ok()
    }

    fn receive<E>(
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
        wrong: impl FnOnce() -> E,
    ) -> Result<Vec<T>, E> {
        let each = size_of::<T>().max(1);
        let Ok(mut values) = T::new_vec_zeroed(len / each) else { return Err(wrong()) };
        let filled = fill(values.as_mut_slice().as_mut_bytes())?;
        values.truncate(filled / each);
        if filled.is_multiple_of(each) { Ok(values) } else { Err(wrong()) }
    }
}

/// Makes a value of the `len` bytes that `read` copies from the first on. No value may have that
/// length, which is `wrong` then.
#[inline]
pub(crate) fn read<T: Payload + ?Sized, E>(
    len: usize,
    read: impl FnOnce(&mut [u8]) -> Result<(), E>,
    wrong: impl FnOnce() -> E,
) -> Result<T::Owned, E> {
    let fill = |to: &mut [u8]| {
        let count = len.min(to.len());
        read(to.get_mut(..count).unwrap_or_default())?;
        // What is longer than the type is no value of it either.
        Ok(if count == len { len } else { usize::MAX })
    };
    T::receive(len, fill, wrong)
}

/// What two programs compare of a type.
#[must_use]
pub fn described<T: Payload + ?Sized>() -> String {
    let mut text = String::new();
    T::describe(&mut text);
    text
}

/// Bytes of each value of a type that is described so; 0 if they are not the same for all.
pub(crate) fn fixed(text: &str) -> usize {
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some((of, count)) = inside.and_then(|inside| inside.rsplit_once(';')) {
        return count.parse().map_or(0, |count| fixed(of).saturating_mul(count));
    }
    match text {
        "u8" | "i8" => 1,
        "u16" | "i16" => 2,
        "u32" | "i32" | "f32" => 4,
        "u64" | "i64" | "f64" => 8,
        "u128" | "i128" => 16,
        "usize" | "isize" => size_of::<usize>(),
        // A struct ends with its size.
        _ => text.rsplit_once('}').and_then(|(_, size)| size.parse().ok()).unwrap_or(0),
    }
}

/// A number that tells descriptions apart: FNV-1a of 32 bits.
pub(crate) fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_described_otherwise() {
        assert_eq!(described::<[u16; 3]>(), "[u16;3]");
        assert_eq!(described::<[[i8; 2]]>(), "[[i8;2]]");
        assert_eq!(described::<()>(), "()");
    }

    #[test]
    fn a_description_says_how_long_each_value_is() {
        fn same<T: Payload + ?Sized>(bytes: usize) {
            assert_eq!(fixed(&described::<T>()), bytes, "{}", described::<T>());
            assert_eq!(T::longest(0), bytes);
        }
        same::<()>(0);
        same::<f32>(4);
        same::<i128>(16);
        same::<[[u16; 3]; 5]>(30);
        same::<[u8]>(0);
        same::<[[u16; 3]]>(0);
        assert_eq!(fixed("Point{x@0:f32,y@4:[u8;4]}8"), 8);
        assert_eq!(fixed("[Point{x@0:f32,y@4:[u8;4]}8;3]"), 24);
        for odd in ["", "[", "u33", "[u8;", "[u8;99999999999999999999]", "}", "Coded{(u8,}"] {
            assert_eq!(fixed(odd), 0, "{odd}");
        }
        assert_eq!(fixed("[u8;18446744073709551615]"), usize::MAX);
    }

    #[test]
    fn the_hash_is_that_of_others() {
        // The published vectors of FNV-1a.
        for (text, expected) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(hash(text), expected);
        }
    }

    #[test]
    fn bytes_that_are_no_value_are_wrong() {
        let fill = |count: usize| {
            move |to: &mut [u8]| {
                to[..count].fill(1);
                Ok::<usize, &str>(count)
            }
        };
        let wrong = || "wrong";
        assert_eq!(u32::receive(4, fill(4), wrong), Ok(0x0101_0101));
        assert_eq!(u32::receive(4, fill(3), wrong), Err("wrong"));
        assert_eq!(<[u16]>::receive(8, fill(4), wrong), Ok(vec![0x0101; 2]));
        assert_eq!(<[u16]>::receive(8, fill(5), wrong), Err("wrong"));
        assert_eq!(<[u16]>::receive(8, |_| Err("no"), wrong), Err("no"));
    }
}
