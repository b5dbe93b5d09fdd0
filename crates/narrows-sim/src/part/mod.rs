//! Parts of a chip that hold something.

pub(crate) mod cache;
