//! Peers' memory in which packets were received, and which of its blocks the application has.

use std::sync::atomic::{AtomicU16, Ordering};

use narrows::link::LinkId;
use narrows::memory::{Block, Layout};
use narrows::platform::Memory;
use narrows_host::{Host, PeerRegion};

use super::transfer::Inlet;

/// Blocks begin at multiples of so many bytes.
const LINE: u32 = 64;
/// Lines of the largest region that packets are received in; a node of MCAPI's has fewer.
const LINES: usize = 1 << 15;
/// What a line has that no packet of the application's begins at.
const NOTHING: u16 = u16::MAX;

const _: () = assert!(<Host as narrows::platform::Platform>::LINE == LINE);

/// A packet that was received: its address, its length, and whether credit is due.
pub(super) type Packet = (usize, usize, bool);

/// The memory of a peer's, which stays there when the peer is gone.
pub(super) struct Lender {
    /// Where it begins.
    base: usize,
    link: LinkId,
    layout: Layout,
    region: PeerRegion,
    /// For each line the block that begins there, if the application has it. A word's change need not
    /// be seen by anybody but who has the node's lock.
    lines: Box<[AtomicU16; LINES]>,
}

impl Lender {
    /// None if it is more than a node of MCAPI's has.
    pub fn new(link: LinkId, region: &PeerRegion, layout: &Layout) -> Option<Lender> {
        if region.size() > LINE * LINES as u32 {
            return None;
        }
        let lines: Box<[AtomicU16]> = (0..LINES).map(|_| AtomicU16::new(NOTHING)).collect();
        let base = region.at(0, layout.size())?.expose_provenance();
        let (region, layout) = (region.clone(), *layout);
        Some(Lender { base, link, layout, region, lines: lines.try_into().ok()? })
    }

    /// The link that it came over.
    pub fn link(&self) -> LinkId {
        self.link
    }

    /// Takes the next packet off a channel of its link's, if one is there.
    #[inline(always)]
    pub fn take(&self, inlet: &mut Inlet) -> Option<Packet> {
        let packet = inlet.take_packet(&self.region, &self.layout)?;
        self.note(packet.offset, packet.block);
        Some((self.base.wrapping_add(packet.offset as usize), packet.len as usize, packet.due))
    }

    /// Notes that the application has a block: its address. A block that it has already, which a peer
    /// that does not keep the rules sent again, it has once.
    #[inline(always)]
    pub fn note(&self, offset: u32, block: Block) -> usize {
        if let Some(line) = self.lines.get((offset / LINE) as usize) {
            line.store(block.0, Ordering::Relaxed);
        }
        self.base.wrapping_add(offset as usize)
    }

    /// The line that begins at an address.
    #[inline(always)]
    fn line(&self, at: usize) -> Option<&AtomicU16> {
        // Turned, what is no multiple of a line is too much as well.
        self.lines.get(at.wrapping_sub(self.base).rotate_right(LINE.trailing_zeros()))
    }

    /// Takes a packet back from the application: its block, if there was one.
    #[inline(always)]
    pub fn take_back(&self, at: usize) -> Option<Block> {
        let line = self.line(at)?;
        let block = line.load(Ordering::Relaxed);
        if block == NOTHING {
            return None;
        }
        line.store(NOTHING, Ordering::Relaxed);
        Some(Block(block))
    }

    /// Whether the application has a packet at an address.
    pub fn has(&self, at: usize) -> bool {
        self.line(at).is_some_and(|line| line.load(Ordering::Relaxed) != NOTHING)
    }

    /// Whether an address is in this memory.
    pub fn contains(&self, at: usize) -> bool {
        at.wrapping_sub(self.base) < self.region.size() as usize
    }
}
