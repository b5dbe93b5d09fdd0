//! Peers' memory in which packets were received, and which of its blocks the application has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use narrows::link::LinkId;
use narrows::memory::{Block, Layout};
use narrows::platform::{Memory, Platform};

use super::home::{Home, On, Peer};

/// The receiver's side of a channel.
pub(in crate::mcapi) type Inlet<H> = narrows::endpoint::Inlet<On<H>>;

/// Blocks begin at multiples of 64 bytes.
const LINE: u32 = 64;
/// Lines of the largest region that packets are received in; a node of MCAPI's has fewer.
const LINES: usize = 1 << 15;
/// What a line has that no packet of the application's begins at.
const NOTHING: u16 = u16::MAX;

/// For each line of a region the block that begins there, if the application has it. A caller that
/// looks has the node's lock.
type Blocks = [AtomicU16; LINES];

/// Which lines a packet of the application's begins at, by their addresses.
struct Lines {
    /// Where the first begins.
    base: usize,
    blocks: Arc<Blocks>,
}

impl Lines {
    fn new(base: usize) -> Option<Lines> {
        let blocks: Arc<[AtomicU16]> = (0..LINES).map(|_| AtomicU16::new(NOTHING)).collect();
        // It is as long as the array: the conversion cannot fail, and nothing is dropped here.
        Some(Lines { base, blocks: blocks.try_into().map_err(std::mem::forget).ok()? })
    }

    /// Notes that the application has a block: where it is, which `keep` has before.
    #[inline(always)]
    fn put(&self, offset: u32, block: Block, keep: impl FnOnce(usize)) {
        keep(self.base.wrapping_add(offset as usize));
        // No region has more lines, so that this is the one: masked, it need not be compared.
        if let Some(line) = self.blocks.get((offset / LINE) as usize & (LINES - 1)) {
            // Relaxed, as below: the node's lock orders it.
            line.store(block.0, Ordering::Relaxed);
        }
    }

    fn has(&self, at: usize) -> bool {
        let line = line_at(&self.blocks[..], self.base, at);
        line.is_some_and(|line| line.load(Ordering::Relaxed) != NOTHING)
    }
}

/// The line that begins at an address.
#[inline(always)]
fn line_at(blocks: &[AtomicU16], base: usize, at: usize) -> Option<&AtomicU16> {
    // Turned, what is no multiple of a line is too much as well.
    blocks.get(at.wrapping_sub(base).rotate_right(LINE.trailing_zeros()))
}

/// The memory to which packets are given back the short way: what that needs of a lender.
pub(super) struct Likely {
    /// The link that it came over.
    pub link: LinkId,
    base: usize,
    blocks: Arc<[AtomicU16]>,
}

impl Likely {
    /// No memory: no packet is given back to it.
    pub fn none() -> Likely {
        Likely { link: LinkId::NONE, base: 0, blocks: Arc::new([]) }
    }

    /// Takes a packet back from the application: its block, if there was one.
    #[inline(always)]
    pub fn take_back(&self, at: usize) -> Option<Block> {
        let line = line_at(&self.blocks, self.base, at)?;
        let block = line.load(Ordering::Relaxed);
        if block == NOTHING {
            return None;
        }
        line.store(NOTHING, Ordering::Relaxed);
        Some(Block(block))
    }
}

/// The memory of a peer's, which stays there when the peer is gone.
pub(super) struct Lender<H: Home> {
    link: LinkId,
    layout: Layout,
    region: Peer<H>,
    lent: H::Lent,
    lines: Lines,
}

impl<H: Home> Lender<H> {
    /// None if it is more than a node of MCAPI's has.
    pub fn new(link: LinkId, region: &Peer<H>, layout: &Layout) -> Option<Arc<Lender<H>>> {
        const { assert!(On::<H>::LINE.is_multiple_of(LINE)) };
        if region.size() > LINE * LINES as u32 {
            return None;
        }
        let (lent, base) = H::lend(region, layout)?;
        let lines = Lines::new(base)?;
        Some(Arc::new(Lender { link, layout: *layout, region: region.clone(), lent, lines }))
    }

    /// The link that it came over.
    pub fn link(&self) -> LinkId {
        self.link
    }

    /// Takes the next packet off a channel of its link's, if one is there: whether credit is due.
    /// `keep` has its address and its length.
    #[inline(always)]
    pub fn take(
        this: &Arc<Self>,
        from: &mut Inlet<H>,
        keep: impl FnOnce(usize, usize),
    ) -> Option<bool> {
        // Whose memory it is, is looked at as late as can be: it takes a register.
        from.take_packet(
            || (&this.region, &this.layout),
            |packet| {
                let len = packet.len;
                if H::BROUGHT_SHORT {
                    H::bring(&this.lent, &this.region, packet.offset, len);
                }
                this.lines.put(packet.offset, packet.block, |at| keep(at, len as usize));
            },
        )
    }

    /// Whether packets are taken the short way.
    pub fn is_short(&self) -> bool {
        H::takes_short(&self.lent)
    }

    /// What giving back to it needs.
    pub fn likely(&self) -> Likely {
        Likely { link: self.link, base: self.lines.base, blocks: self.lines.blocks.clone() }
    }

    /// Notes that the application has a block, whose address `keep` has. A block that it has
    /// already, which a peer that does not keep the rules sent again, it has once.
    pub fn note(&self, offset: u32, len: u32, block: Block, keep: impl FnOnce(usize)) {
        H::bring(&self.lent, &self.region, offset, len);
        self.lines.put(offset, block, keep);
    }

    /// Whether the application has a packet at an address.
    pub fn has(&self, at: usize) -> bool {
        self.lines.has(at)
    }

    /// Whether the application has any packet of it.
    pub fn lends(&self) -> bool {
        self.lines.blocks.iter().any(|line| line.load(Ordering::Relaxed) != NOTHING)
    }

    /// Whether an address is in this memory.
    pub fn contains(&self, at: usize) -> bool {
        at.wrapping_sub(self.lines.base) < self.region.size() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_found_by_its_address_alone_and_once() {
        let base = 7 << 12;
        let lines = Lines::new(base).unwrap();
        let back = Likely { link: LinkId::NONE, base, blocks: lines.blocks.clone() };
        let last = (LINES as u32 - 1) * LINE;
        for (offset, block) in [(0, Block(0)), (64, Block(0x1fff)), (last, Block(3))] {
            let mut at = 0;
            lines.put(offset, block, |address| at = address);
            assert_eq!(at, base + offset as usize);
            assert!(lines.has(at));
            for near in [at + 1, at.wrapping_sub(1), at + 63, at ^ 1 << 40, 0, usize::MAX] {
                assert!(!lines.has(near) && back.take_back(near).is_none(), "{near:#x}");
            }
            assert_eq!(
                (back.take_back(at), back.take_back(at), lines.has(at)),
                (Some(block), None, false)
            );
        }
        assert!(
            back.take_back(base + (LINES << 6)).is_none() && back.take_back(base - 64).is_none()
        );
    }
}
