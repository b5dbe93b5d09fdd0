//! What moves the bytes of frames, on a simulated chip and on this machine.

use narrows::driver::NotThere;
use narrows::driver::area::{Engine, Exposes};

/// What moves bytes for any of the five.
pub(crate) trait Carrier: Exposes + Engine {
    /// Copies from one buffer to another.
    ///
    /// # Errors
    /// They are not inside.
    fn copy(
        &self,
        to: (&mut Self::Buffer, usize),
        from: (&Self::Buffer, usize),
        len: usize,
    ) -> Result<(), NotThere>;

    /// Does what it takes to have the next frame come to another buffer.
    fn refill(&self) {}
}
