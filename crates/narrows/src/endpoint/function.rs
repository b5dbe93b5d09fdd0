//! Functions that other cores can call, and how they fail.

use super::{Sink, Source};
use crate::link::Name;

/// A function that other cores can call.
pub struct Function<'a> {
    /// What it is looked up by.
    pub name: Name,
    /// What it does.
    pub run: &'a mut Body<'a>,
}

/// What a function does: reads the request, writes the response. What of that fails is the
/// function's own failure, unless it says otherwise.
///
/// ```
/// use narrows::endpoint::{Failure, Sink, Source};
///
/// fn square(request: &dyn Source, response: &mut dyn Sink) -> Result<(), Failure> {
///     let mut number = [0; 4];
///     request.read(0, &mut number)?;
///     let number = u64::from(u32::from_le_bytes(number));
///     response.write(0, &(number * number).to_le_bytes())
/// }
/// ```
pub type Body<'a> = dyn FnMut(&dyn Source, &mut dyn Sink) -> Result<(), Failure> + 'a;

/// Why a function gave no response, or bytes were not read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The function could not use the request, or there is less than was to be read.
    Refused,
    /// The response is longer than the caller said it takes, or more than there is room for.
    TooLong,
    /// The request is longer than the callee has room for.
    NoRoom,
}

impl Failure {
    pub(super) fn status(result: Result<(), Failure>) -> u8 {
        match result {
            Ok(()) => 0,
            Err(Failure::Refused) => 1,
            Err(Failure::TooLong) => 2,
            Err(Failure::NoRoom) => 3,
        }
    }
    pub(super) fn from_status(status: u8) -> Option<Failure> {
        match status {
            0 => None,
            2 => Some(Failure::TooLong),
            3 => Some(Failure::NoRoom),
            _ => Some(Failure::Refused),
        }
    }
}
