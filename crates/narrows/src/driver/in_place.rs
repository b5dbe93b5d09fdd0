//! Made in the sender's pool and read there by the receiver; the block goes back when the receiver
//! is done. Collecting part of it copies just that part.
//!
//! A peer may write to what is being read in place. The stack's own readers copy each part before
//! they use it, so a hostile peer can feed them nonsense and nothing worse.

use super::Driver;
use crate::platform::Platform;

/// See the module page.
pub struct InPlace;

impl<P: Platform> Driver<P> for InPlace {
    const MADE_IN_POOL: bool = true;
    const READ_IN_PLACE: bool = true;
}
