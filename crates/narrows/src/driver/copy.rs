//! Copied in by the sender, copied out by the receiver. A short payload travels in the slot.

use super::Driver;
use crate::platform::Platform;

/// See the module page.
pub struct Copy;

impl<P: Platform> Driver<P> for Copy {}
