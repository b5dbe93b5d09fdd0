//! What each phase of a call is compared with: its part of what the machine allows.
//!
//! A bare round trip has two ways, one for the request (B) and one for the response (D). A payload
//! that is copied in and out on the other core takes two copies, of which a call needs four: the
//! caller's in (A), the callee's out and in (C), and the caller's out (E).

use narrows::strategy::Strategy;

use super::choice;
use super::limit::Kind;
use super::pair::Pair;
use crate::failure::Failure;
use crate::phases::Parts;

/// The limits of one round, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floors {
    /// A bare round trip.
    pub bell: f64,
    /// The payload copied in and out.
    pub copy: f64,
}

impl Floors {
    /// Measures a batch of each.
    ///
    /// # Errors
    /// The other process is gone.
    pub fn measure(pair: &mut Pair, strategy: &Strategy, bytes: usize) -> Result<Floors, Failure> {
        let bell = if choice::sleeps(strategy) { Kind::Eventfd } else { Kind::LineEachWay };
        Ok(Floors { bell: pair.limit(bell, 0)?, copy: pair.limit(Kind::Copy, bytes)? })
    }

    /// The parts of the phases A to E.
    pub fn parts(self) -> Parts {
        let (bell, copy) = (self.bell / 2.0, self.copy / 2.0);
        [copy, bell, 2.0 * copy, bell, copy]
    }
}
