//! Parts of a chip that hold something.

pub(crate) mod block_dma;
pub(crate) mod buffer_manager;
pub(crate) mod cache;
pub(crate) mod dma;
pub(crate) mod fault;
pub(crate) mod fifo;
pub(crate) mod noc;
pub(crate) mod port;
pub(crate) mod synchroniser;
pub(crate) mod window;
