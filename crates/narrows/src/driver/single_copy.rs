//! Made in the sender's pool, copied out by the receiver: the only copy is the receiver's.

use super::Driver;
use crate::platform::Platform;

/// See the module page.
pub struct SingleCopy;

impl<P: Platform> Driver<P> for SingleCopy {
    const MADE_IN_POOL: bool = true;
}
