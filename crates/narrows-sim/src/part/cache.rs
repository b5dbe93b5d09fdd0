//! A cache that keeps data, not only tags: a program that forgets to clean or to invalidate sees
//! wrong bytes, as on the chip.

use crate::chip;

/// What a cache did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// How often something was looked up in it.
    pub lookups: u64,
    /// How often it was not there.
    pub misses: u64,
}

impl CacheUse {
    /// How often it was there.
    #[must_use]
    pub fn hits(self) -> u64 {
        self.lookups.saturating_sub(self.misses)
    }

    pub(crate) fn since(self, before: CacheUse) -> CacheUse {
        CacheUse { lookups: self.lookups - before.lookups, misses: self.misses - before.misses }
    }

    pub(crate) fn with(self, other: CacheUse) -> CacheUse {
        CacheUse { lookups: self.lookups + other.lookups, misses: self.misses + other.misses }
    }
}

/// Where a line is: a memory and the address of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub memory: usize,
    pub address: u32,
}

#[derive(Clone, Copy, Default)]
struct Line {
    tag: Option<Tag>,
    dirty: bool,
    /// The higher, the later it was used.
    used: u64,
}

pub(crate) struct Cache {
    pub shape: chip::Cache,
    lines: Vec<Line>,
    /// The lines' bytes, one behind the other.
    bytes: Vec<u8>,
    clock: u64,
    /// An address names its set by the bits of `mask`, which lie behind `shift` bits that name a
    /// byte of a line: sets and bytes of a line are powers of two.
    mask: u32,
    shift: u32,
    /// What was looked up in it, and what had to be brought.
    pub used: CacheUse,
}

impl Cache {
    pub fn new(shape: chip::Cache) -> Cache {
        let lines = (shape.size / shape.line) as usize;
        let sets = shape.size / shape.line / shape.ways;
        debug_assert!(sets.is_power_of_two() && shape.line.is_power_of_two());
        Cache {
            shape,
            lines: vec![Line::default(); lines],
            bytes: vec![0; shape.size as usize],
            clock: 0,
            mask: sets - 1,
            shift: shape.line.trailing_zeros(),
            used: CacheUse::default(),
        }
    }

    #[inline]
    fn set(&self, tag: Tag) -> std::ops::Range<usize> {
        let ways = self.shape.ways as usize;
        let first = (tag.address >> self.shift & self.mask) as usize * ways;
        first..first + ways
    }

    /// Where a line is kept, if it is.
    #[inline]
    pub fn has(&self, tag: Tag) -> Option<usize> {
        let set = self.set(tag);
        let first = set.start;
        Some(first + self.lines[set].iter().position(|line| line.tag == Some(tag))?)
    }

    /// As [`Cache::has`], to use it.
    #[inline]
    pub fn find(&mut self, tag: Tag) -> Option<usize> {
        let at = self.has(tag)?;
        self.clock += 1;
        self.lines[at].used = self.clock;
        Some(at)
    }

    /// Where a line would go: an empty place, or that which was used the longest ago.
    #[inline]
    pub fn place(&self, tag: Tag) -> usize {
        let set = self.set(tag);
        let first = set.start;
        let age = |line: &Line| if line.tag.is_some() { line.used + 1 } else { 0 };
        let ages = self.lines[set].iter().map(age).enumerate();
        first + ages.min_by_key(|(_, age)| *age).map_or(0, |(at, _)| at)
    }

    /// What has to be written back before a place can be used anew.
    pub fn dirty(&self, at: usize) -> Option<Tag> {
        self.lines[at].tag.filter(|_| self.lines[at].dirty)
    }

    pub fn install(&mut self, at: usize, tag: Tag, bytes: &[u8]) {
        self.used.misses += 1;
        self.clock += 1;
        self.lines[at] = Line { tag: Some(tag), dirty: false, used: self.clock };
        let kept = self.place_of(at);
        self.bytes[kept].copy_from_slice(bytes);
    }

    fn place_of(&self, at: usize) -> std::ops::Range<usize> {
        let first = at << self.shift;
        first..first + (1 << self.shift)
    }

    pub fn bytes(&self, at: usize) -> &[u8] {
        &self.bytes[self.place_of(at)]
    }

    /// Changes bytes of a line, which memory then does not have.
    pub fn write(&mut self, at: usize, offset: usize, bytes: &[u8], dirty: bool) {
        let first = self.place_of(at).start + offset;
        self.bytes[first..first + bytes.len()].copy_from_slice(bytes);
        self.lines[at].dirty |= dirty;
    }

    /// Memory has what the line has.
    pub fn cleaned(&mut self, at: usize) {
        self.lines[at].dirty = false;
    }

    pub fn forget(&mut self, at: usize) {
        self.lines[at].tag = None;
        self.lines[at].dirty = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(ways: u32) -> Cache {
        Cache::new(chip::Cache { size: 128, line: 32, ways, write_back: true, allocate: true })
    }

    fn bring(cache: &mut Cache, address: u32) -> usize {
        let tag = Tag { memory: 0, address: address / 32 * 32 };
        let at = cache.find(tag).unwrap_or_else(|| cache.place(tag));
        cache.install(at, tag, &[address as u8; 32]);
        at
    }

    #[test]
    fn addresses_a_cache_apart_collide_in_a_direct_mapped_one_and_not_in_one_of_two_ways() {
        for (ways, kept) in [(1, false), (2, true)] {
            let mut cache = cache(ways);
            bring(&mut cache, 0);
            bring(&mut cache, 128);
            assert_eq!(cache.find(Tag { memory: 0, address: 0 }).is_some(), kept, "{ways}");
        }
    }

    #[test]
    fn the_line_that_was_used_the_longest_ago_goes_first() {
        let mut cache = cache(4);
        for address in [0, 32, 64, 96] {
            bring(&mut cache, address);
        }
        cache.find(Tag { memory: 0, address: 0 });
        bring(&mut cache, 256);
        assert_eq!(cache.find(Tag { memory: 0, address: 32 }), None);
        assert!(cache.find(Tag { memory: 0, address: 0 }).is_some());
    }

    #[test]
    fn lines_of_two_memories_at_one_address_are_two() {
        let mut cache = cache(2);
        bring(&mut cache, 0);
        assert_eq!(cache.find(Tag { memory: 1, address: 0 }), None);
    }

    #[test]
    fn what_was_written_is_dirty_until_it_is_cleaned() {
        let mut cache = cache(1);
        let at = bring(&mut cache, 64);
        assert_eq!(cache.dirty(at), None);
        cache.write(at, 4, &[9; 3], true);
        assert_eq!(cache.dirty(at), Some(Tag { memory: 0, address: 64 }));
        assert_eq!(cache.bytes(at)[3..8], [64, 9, 9, 9, 64]);
        cache.cleaned(at);
        assert_eq!(cache.dirty(at), None);
    }
}
