//! Packets that were received and not released.

use narrows::link::LinkId;
use narrows::memory::Block;

/// Packets that an application can have at a time.
const MOST: usize = 4096;
const PLACES: usize = 2 * MOST;

/// A packet of the application's.
#[derive(Clone, Copy, Debug)]
struct Packet {
    at: usize,
    link: LinkId,
    block: Block,
}

/// The packets, found by their addresses.
pub(super) struct Held {
    places: Box<[Option<Packet>]>,
    count: usize,
}

impl Held {
    pub fn new() -> Held {
        Held { places: vec![None; PLACES].into_boxed_slice(), count: 0 }
    }

    /// Whether one more can be had.
    pub fn room(&self) -> bool {
        self.count < MOST
    }

    fn first(at: usize) -> usize {
        // Blocks are multiples of a line apart.
        (at >> 6).wrapping_mul(0x9e37_79b9) >> 7 & (PLACES - 1)
    }

    /// Notes one, for which there is [room](Held::room).
    pub fn insert(&mut self, at: usize, link: LinkId, block: Block) {
        let first = Held::first(at);
        for i in 0..PLACES {
            if let Some(place @ None) = self.places.get_mut((first + i) & (PLACES - 1)) {
                *place = Some(Packet { at, link, block });
                self.count += 1;
                return;
            }
        }
    }

    fn find(&self, at: usize) -> Option<usize> {
        let first = Held::first(at);
        for i in 0..PLACES {
            let place = (first + i) & (PLACES - 1);
            match self.places.get(place)? {
                Some(packet) if packet.at == at => return Some(place),
                Some(_) => {}
                None => return None,
            }
        }
        None
    }

    pub fn has(&self, at: usize) -> bool {
        self.find(at).is_some()
    }

    /// Takes a packet out: whose block it is.
    pub fn remove(&mut self, at: usize) -> Option<(LinkId, Block)> {
        let mut hole = self.find(at)?;
        let packet = self.places.get_mut(hole)?.take()?;
        self.count -= 1;
        // What lies behind and could be nearer to its place fills the hole.
        let mut next = hole;
        loop {
            next = (next + 1) & (PLACES - 1);
            let Some(Some(other)) = self.places.get(next).copied() else { break };
            let from = Held::first(other.at);
            let distance = |to: usize| to.wrapping_sub(from) & (PLACES - 1);
            if distance(hole) < distance(next) {
                self.places.swap(hole, next);
                hole = next;
            }
        }
        Some((packet.link, packet.block))
    }
}
