//! Parts of a chip that hold something.

pub(crate) mod cache;
pub(crate) mod dma;
pub(crate) mod fifo;
pub(crate) mod noc;
pub(crate) mod port;
