//! What a processor has done.

/// Messages so far. Each number wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sent to queues of this processor.
    pub local: u64,
    /// Sent to other processors.
    pub sent: u64,
    /// Delivered here from other processors.
    pub delivered: u64,
    /// Passed on to another processor.
    pub forwarded: u64,
    /// Sent another way, because their link ended before the neighbour said that it has them.
    pub rerouted: u64,
    /// Waited for a link, because none was up that leads to their processor.
    pub stranded: u64,
    /// Dropped: no link leads to the target's processor, or none came up in time.
    pub no_route: u64,
    /// Dropped: as many hops made as are allowed.
    pub hop_limit: u64,
    /// Dropped: the target's queue is not open.
    pub unknown_queue: u64,
    /// Dropped: the target's queue is full.
    pub queue_full: u64,
    /// Dropped: the application has all messages of the IPC service's pool that it may have.
    pub pool_empty: u64,
    /// Dropped: longer than the next processor takes.
    pub too_long: u64,
    /// Dropped: of an origin over [`Limits::processors`](super::Limits::processors).
    pub unknown_origin: u64,
    /// Dropped: they had come before. Nothing is lost with them.
    pub doubled: u64,
    /// Dropped: sent before their processor started anew, or sent again and so late that nobody
    /// knows whether they had come before.
    pub late: u64,
    /// Links that ended because the neighbour broke the protocol.
    pub broken: u64,
}

impl Counts {
    /// Messages that were dropped and perhaps came to nobody.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let full = self.unknown_queue + self.queue_full + self.pool_empty;
        self.no_route + self.hop_limit + full + self.too_long + self.unknown_origin + self.late
    }
}
