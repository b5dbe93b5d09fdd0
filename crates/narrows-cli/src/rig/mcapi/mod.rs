//! Both sides of the C library: the calls that are measured, the threads that make them, and nodes
//! of simulated cores.

pub(crate) mod calls;
pub(crate) mod home;
pub(crate) mod side;
