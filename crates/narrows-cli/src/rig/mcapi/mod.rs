//! Both sides of the C library: the calls that are measured, the threads that make them, nodes of
//! simulated cores, and strips of an image.

pub(crate) mod calls;
pub(crate) mod home;
pub(crate) mod side;
pub(crate) mod strips;
