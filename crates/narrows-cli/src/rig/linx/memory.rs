//! Where everything lies in the memory of a simulated chip: signals in pools of its cores, areas
//! and buffers for frames past their caches or in them.

use std::cell::RefCell;

use narrows::driver::area::{ADMINISTRATION, Gathered};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::{Hands, Stretch};

use super::hand::Hand;

/// Buffers for frames that a core has received and not yet looked at, for each unit.
const BUFFERS: u32 = 16;
/// Bytes of all of them.
const ROOM: u32 = 1 << 18;
/// Blocks of a core's pool.
const BLOCKS: u32 = 128;
/// Where the parts of the chip's memory begin, beside the [mutexes](super::hand): pools, and what
/// lies between cores.
const POOLS: u32 = 1 << 20;
const POOL: u32 = 1 << 18;
const BETWEEN: u32 = 5 << 20;

/// What there is no room for, how many bytes of it, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// Pools of signals.
    Pools(u64, u64),
    /// Everything with the frames between cores, which come behind pools.
    Frames(u64, u64),
}

/// Bytes of the longest frame that any chip could have room for.
const MOST: usize = 1 << 22;

/// Where everything lies.
#[derive(Clone)]
pub(crate) struct Map {
    /// The memory of code and pools, and that of areas and frames.
    pub home: usize,
    pub frames: usize,
    cores: u32,
    pub mtu: usize,
    block: u32,
}

impl Map {
    /// A chip's map; where areas are not to be cached, the chip gets a second way to its memory,
    /// past all caches.
    ///
    /// # Errors
    /// There is no room.
    pub fn new(
        chip: &mut Chip,
        cores: usize,
        mtu: usize,
        longest: usize,
        cached: bool,
    ) -> Result<Map, NoRoom> {
        let home = chip.cores.first().map_or(0, |core| core.home);
        let size = chip.memories.get(home).map_or(0, |memory| u64::from(memory.size));
        if mtu > MOST {
            return Err(NoRoom::Frames(mtu as u64, size));
        }
        let mut frames = home;
        if let (false, Some(mut past)) = (cached, chip.memories.get(home).cloned()) {
            past.name = format!("{} past caches", past.name);
            past.cached = false;
            chip.memories.push(past);
            frames = chip.memories.len() - 1;
        }
        let room = u64::from(BETWEEN - POOLS);
        let least = 4 * (longest as u64 + 64);
        let block = u32::try_from(longest).ok().filter(|_| least <= room);
        let block =
            block.ok_or(NoRoom::Pools(least * cores as u64, room))?.next_multiple_of(64) + 64;
        let map = Map { home, frames, cores: cores as u32, mtu, block };
        let pools = u64::from(map.pool()) * u64::from(map.cores);
        if pools > room {
            return Err(NoRoom::Pools(pools, room));
        }
        let between = u64::from(BETWEEN) + u64::from(map.unit()) * u64::from(map.cores.pow(2));
        if between > size { Err(NoRoom::Frames(between, size)) } else { Ok(map) }
    }

    /// Signals that the pool of a core has room for.
    pub fn blocks(&self) -> u32 {
        (POOL * 4 / self.block).clamp(4, BLOCKS)
    }

    fn pool(&self) -> u32 {
        self.block * self.blocks()
    }

    /// Bytes of one side of a unit: its area, and its buffers for frames.
    fn unit(&self) -> u32 {
        self.area() + self.buffer() * self.buffers()
    }

    pub fn buffers(&self) -> u32 {
        (ROOM / (self.mtu as u32).max(1)).clamp(2, BUFFERS)
    }

    pub fn area(&self) -> u32 {
        let gathered = Gathered::<Hand>::room(self.buffers(), self.mtu).unwrap_or(u32::MAX / 64);
        gathered.max(ADMINISTRATION + self.mtu as u32).next_multiple_of(64)
    }

    pub fn buffer(&self) -> u32 {
        (self.mtu as u32).next_multiple_of(32)
    }

    pub fn base(&self, own: usize, peer: usize) -> u32 {
        BETWEEN + self.unit() * (own as u32 * self.cores + peer as u32)
    }
}

/// The pool of a core's signals. What came back last goes first.
pub(crate) struct Pool {
    map: Map,
    free: RefCell<Vec<u32>>,
}

impl Pool {
    pub fn new(map: &Map, core: usize) -> Pool {
        let base = POOLS + map.pool() * core as u32;
        let free = (0..map.blocks()).rev().map(|at| base + at * map.block).collect();
        Pool { map: map.clone(), free: RefCell::new(free) }
    }

    pub fn take(&self, hands: &Hands) -> Option<Stretch> {
        let address = self.free.borrow_mut().pop()?;
        Some(Stretch::new(hands, (self.map.home, address), self.map.block))
    }

    pub fn at(&self, hands: &Hands, address: u32) -> Stretch {
        Stretch::new(hands, (self.map.home, address), self.map.block)
    }

    pub fn give(&self, signal: &Stretch) {
        if let Ok((_, address)) = signal.find(0, 0) {
            self.free.borrow_mut().push(address);
        }
    }
}
