//! What the threads of a node wait with, named in one place: the model checker puts its own there.

pub(super) use parking_lot::{Condvar, Mutex, MutexGuard};

pub(super) use crate::Bell;
