//! A cache that keeps data, not only tags: a program that forgets to clean or to invalidate sees
//! wrong bytes, as on the chip.

use crate::chip;

/// Where a line is: a memory and the address of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub memory: usize,
    pub address: u32,
}

#[derive(Clone, Default)]
struct Line {
    tag: Option<Tag>,
    dirty: bool,
    /// The higher, the later it was used.
    used: u64,
    bytes: Vec<u8>,
}

pub(crate) struct Cache {
    pub shape: chip::Cache,
    lines: Vec<Line>,
    clock: u64,
}

impl Cache {
    pub fn new(shape: chip::Cache) -> Cache {
        let line = Line { bytes: vec![0; shape.line as usize], ..Line::default() };
        Cache { shape, lines: vec![line; (shape.size / shape.line) as usize], clock: 0 }
    }

    fn set(&self, tag: Tag) -> std::ops::Range<usize> {
        let ways = self.shape.ways as usize;
        let sets = (self.lines.len() / ways).max(1);
        let first = (tag.address / self.shape.line) as usize % sets * ways;
        first..first + ways
    }

    /// Where a line is kept, if it is.
    pub fn find(&mut self, tag: Tag) -> Option<usize> {
        let at = self.set(tag).find(|&at| self.lines[at].tag == Some(tag))?;
        self.clock += 1;
        self.lines[at].used = self.clock;
        Some(at)
    }

    /// Where a line would go: an empty place, or that which was used the longest ago.
    pub fn place(&self, tag: Tag) -> usize {
        let set = self.set(tag);
        let first = set.start;
        let age = |at: &usize| match self.lines[*at].tag {
            None => 0,
            Some(_) => self.lines[*at].used + 1,
        };
        set.min_by_key(age).unwrap_or(first)
    }

    /// What has to be written back before a place can be used anew.
    pub fn dirty(&self, at: usize) -> Option<Tag> {
        self.lines[at].tag.filter(|_| self.lines[at].dirty)
    }

    pub fn install(&mut self, at: usize, tag: Tag, bytes: &[u8]) {
        self.clock += 1;
        let line = &mut self.lines[at];
        line.tag = Some(tag);
        line.dirty = false;
        line.used = self.clock;
        let len = line.bytes.len().min(bytes.len());
        line.bytes[..len].copy_from_slice(&bytes[..len]);
    }

    pub fn bytes(&self, at: usize) -> &[u8] {
        &self.lines[at].bytes
    }

    /// Changes bytes of a line, which memory then does not have.
    pub fn write(&mut self, at: usize, offset: usize, bytes: &[u8], dirty: bool) {
        let line = &mut self.lines[at];
        line.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        line.dirty |= dirty;
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
